//! What surrounds a leaf, as a number of 19 bits, and where the neighbours' centres then lie [power §6.1].
//!
//! Lengths are in quarters of the leaf's edge, its centre is the origin: all centres have integer
//! coordinates, and so have the squared radii of circumscribed spheres, `r^2 = 3/4 dx^2`. (The paper prints
//! `dx / sqrt(3)` for the radius; only with `sqrt(3)/2 dx` is the sphere circumscribed, and does the plane
//! between two leaves pass through their shared corners.)

use crate::polyhedron::HalfSpace;
use fluvial_grids::pyramid::NEIGHBOURS;

/// The leaves that share a face or an edge with a leaf: 18 bits where none is larger, 9 where none is
/// smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u32);

/// Marks a leaf with larger neighbours.
const HAS_LARGER: u32 = 1 << 18;
/// Marks leaves and ghosts in fields.
const IS_LEAF: u32 = 1 << 19;
const IS_GHOST: u32 = 1 << 20;

/// What a cell of a level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Divided, beyond a wall, or inside a larger leaf and next to no leaf of this level.
    Unknown,
    /// Inside a larger leaf, next to a leaf of this level.
    Ghost,
    /// A leaf, with its neighbourhood.
    Leaf(Code),
}

impl Kind {
    /// As it is kept in a field; unknown cells are zero.
    pub fn to_field(self) -> f32 {
        f32::from_bits(match self {
            Kind::Unknown => 0,
            Kind::Ghost => IS_GHOST,
            Kind::Leaf(code) => code.0 | IS_LEAF,
        })
    }

    /// From a field.
    #[inline]
    pub fn from_field(value: f32) -> Kind {
        match value.to_bits() {
            0 => Kind::Unknown,
            IS_GHOST => Kind::Ghost,
            bits => Kind::Leaf(Code(bits & !IS_LEAF)),
        }
    }
}

/// A neighbour's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A leaf of the same size, or the larger leaf that holds the cell of the same size there: number in
    /// [`NEIGHBOURS`].
    Level(usize),
    /// A smaller leaf: number in [`NEIGHBOURS`] of the cell of the same size that it is a child of, and which
    /// child (x + 2 y + 4 z).
    Smaller(usize, usize),
}

/// A neighbour: its place, its centre and its edge in quarters of the leaf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where it is.
    pub slot: Slot,
    /// Centre relative to the leaf's.
    pub center: [i64; 3],
    /// Edge; the leaf's own is [`EDGE`].
    pub edge: i64,
}

/// The leaf's own edge in the units of this module.
pub const EDGE: i64 = 4;

impl Code {
    /// All codes are less than this.
    pub const COUNT: usize = (HAS_LARGER as usize) + (1 << 9);

    /// All neighbours are of the same size.
    pub const UNIFORM: Code = Code((1 << 18) - 1);

    /// No larger neighbours: bit `k` is one where neighbour `k` has the same size, zero where smaller ones
    /// are.
    pub fn with_smaller(same: u32) -> Code {
        assert!(same < 1 << 18);
        Code(same)
    }

    /// No smaller neighbours. `parity` has a bit per axis: does the leaf lie on the high side of its parent?
    /// `larger` has bits for the larger leaves across faces (x, y, z) and edges (along x, y, z), in the
    /// directions that point out of the parent.
    pub fn with_larger(parity: u32, larger: u32) -> Code {
        assert!(parity < 8 && larger < 64);
        if larger == 0 { Code::UNIFORM } else { Code(HAS_LARGER | parity << 6 | larger) }
    }

    /// Is some neighbour larger?
    #[inline]
    pub fn has_larger(self) -> bool {
        self.0 & HAS_LARGER != 0
    }

    /// Are the leaves at neighbour `k` smaller?
    #[inline]
    pub fn is_smaller(self, k: usize) -> bool {
        !self.has_larger() && self.0 >> k & 1 == 0
    }

    /// The direction that points out of the parent along each axis.
    fn outward(self) -> [i8; 3] {
        [0, 1, 2].map(|a| if self.0 >> (6 + a) & 1 == 1 { 1 } else { -1 })
    }

    /// All neighbours.
    pub fn sites(self) -> Vec<Site> {
        let mut sites = vec![];
        for (k, offset) in NEIGHBOURS.iter().enumerate() {
            let center = offset.map(|v| EDGE * v as i64);
            let same = Site { slot: Slot::Level(k), center, edge: EDGE };
            if self.has_larger() {
                sites.extend(self.site_beside_larger(same, *offset));
            } else if self.0 >> k & 1 == 1 {
                sites.push(same);
            } else {
                sites.extend(smaller_sites(k, *offset, center));
            }
        }
        sites
    }

    /// What lies at a place of the leaf's size: such a leaf, a larger one, or one that is met in another
    /// direction.
    fn site_beside_larger(self, same: Site, offset: [i8; 3]) -> Option<Site> {
        let outward = self.outward();
        // The step from the parent to the cell of its size that holds the place.
        let step = [0, 1, 2].map(|a| if offset[a] == outward[a] { offset[a] } else { 0 });
        let larger = larger_bit(step).is_some_and(|bit| self.0 >> bit & 1 == 1);
        if !larger {
            return Some(same);
        }
        let parent = outward.map(|s| -(EDGE / 2) * s as i64);
        let center = [0, 1, 2].map(|a| parent[a] + 2 * EDGE * step[a] as i64);
        (step == offset).then_some(Site { slot: same.slot, center, edge: 2 * EDGE })
    }
}

/// Which of the six bits stands for a step out of the parent: by face or, with two nonzero components, by
/// edge.
pub fn larger_bit(step: [i8; 3]) -> Option<usize> {
    let nonzero = |a: &usize| step[*a] != 0;
    match (0..3).filter(nonzero).count() {
        1 => (0..3).find(nonzero),
        2 => (0..3).find(|a| !nonzero(a)).map(|a| 3 + a),
        _ => None,
    }
}

/// The children of the neighbour at `center` that touch the leaf: four across a face, two across an edge.
fn smaller_sites(k: usize, offset: [i8; 3], center: [i64; 3]) -> impl Iterator<Item = Site> {
    (0..8usize).filter_map(move |child| {
        let side = [0, 1, 2].map(|a| 2 * (child >> a & 1) as i64 - 1);
        let touches = (0..3).all(|a| offset[a] == 0 || i64::from(offset[a]) == -side[a]);
        let center = [0, 1, 2].map(|a| center[a] + EDGE / 4 * side[a]);
        touches.then_some(Site { slot: Slot::Smaller(k, child), center, edge: EDGE / 2 })
    })
}

/// The points nearer to a leaf of edge `edge` at the origin than to the leaf at `center`, in the power of
/// their circumscribed spheres: `2 c . x <= |c|^2 - r_c^2 + r^2` [power §4.1].
pub fn nearer_half_space(edge: i64, center: [i64; 3], other_edge: i64) -> HalfSpace {
    let square = |e: i64| 3 * e * e / 4;
    debug_assert!(edge % 2 == 0 && other_edge % 2 == 0, "radii squared are integers");
    let offset = center.iter().map(|c| c * c).sum::<i64>() - square(other_edge) + square(edge);
    HalfSpace { normal: center.map(|c| 2 * c), offset }
}
