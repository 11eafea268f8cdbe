//! The power face between two cells of a level, as both see it: whole area, open area, distance, and how the
//! free surface crosses the segment between the centres [power §4.1].

use crate::channels;
use crate::neighbourhood::{Code, Kind};
use crate::stencil::{PowerFace, StencilTable};
use fluvial_foundation::AXES;
use fluvial_grids::paged::{Layout, Reader, SolverGrid};
use fluvial_grids::pyramid::{NEIGHBOURS, opposite};

/// A solid's signed distance in metres at a point, negative inside; it must not change faster than the point
/// moves.
pub type SolidDistance<'a> = &'a (dyn Fn([f64; 3]) -> f64 + Sync);

/// What bounds the liquid besides the walls of the box.
#[derive(Clone, Copy, Default)]
pub struct Boundary<'a> {
    /// Channel with the liquid's signed distance at leaves and ghosts; all leaves are liquid without it.
    pub phi: Option<usize>,
    /// Solids.
    pub solid: Option<SolidDistance<'a>>,
}

/// Solids farther from a leaf's centre than this cut none of its faces, in its own edges: no corner of a power cell is farther away
/// (`power_cells_are_small`).
pub const CLEAR_OF_SOLIDS: f64 = 1.5;

/// Fields that can be read page by page.
pub trait Fields {
    /// The cells of a channel in a page.
    fn channel(&self, page: u64, channel: usize) -> &[f32; 64];
}

impl Fields for SolverGrid {
    #[inline(always)]
    fn channel(&self, page: u64, channel: usize) -> &[f32; 64] {
        SolverGrid::channel(self, page, channel)
    }
}

impl Fields for Reader<'_, 64> {
    #[inline(always)]
    fn channel(&self, page: u64, channel: usize) -> &[f32; 64] {
        Reader::channel(self, page, channel)
    }
}

/// A face between two cells of a level, in units of the level's edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Area.
    pub area: f64,
    /// Area outside solids.
    pub open_area: f64,
    /// Distance of the leaves' centres.
    pub distance: f64,
}

/// Looks up faces of a level. A code of the layout names a cell.
pub struct Pairs<'a, F> {
    /// The level's fields.
    pub fields: &'a F,
    /// Where cells lie.
    pub layout: Layout,
    /// Power cells.
    pub table: &'a StencilTable,
    /// What bounds the liquid.
    pub boundary: Boundary<'a>,
    /// Low corner of the box, m.
    pub min: [f64; 3],
    /// Edge of a cell, m.
    pub dx: f64,
    /// What to add to a cell's code to come to its neighbours.
    pub steps: [u64; 18],
}

/// Codes of the steps to a cell's neighbours.
pub fn neighbour_steps(layout: &Layout) -> [u64; 18] {
    NEIGHBOURS.map(|offset| layout.encode(offset.map(i64::from)))
}

impl<F: Fields> Pairs<'_, F> {
    /// A field's value in a cell.
    #[inline]
    pub fn value(&self, channel: usize, cell: u64) -> f32 {
        self.fields.channel(self.layout.page(cell), channel)[self.layout.cell_in_page(cell)]
    }

    /// What a cell is.
    #[inline]
    pub fn kind(&self, cell: u64) -> Kind {
        Kind::from_field(self.value(channels::CODE, cell))
    }

    /// Is a cell liquid?
    #[inline]
    pub fn is_liquid(&self, cell: u64) -> bool {
        self.boundary.phi.is_none_or(|phi| self.value(phi, cell) < 0.0)
    }

    /// The cell at neighbour `k`.
    #[inline]
    pub fn next(&self, cell: u64, k: usize) -> u64 {
        self.layout.add(cell, self.steps[k])
    }

    /// The face between a cell and its neighbour `k`, if they share one on this level. It is taken from the
    /// power cell of the lower of the two that is a leaf, so that both see the same numbers to the last
    /// bit.
    pub fn pair(&self, cell: u64, k: usize) -> Option<Pair> {
        let (at, code, k) = self.seen_from(cell, k)?;
        let power = self.table.get(code);
        let (area, distance) = power.level[k];
        if area == 0.0 {
            return None;
        }
        let open = match self.boundary.solid {
            None => 1.0,
            Some(solid) => {
                let face = &power.faces[power.face_at[k] as usize];
                let at = self.layout.decode(at);
                let center = AXES.map(|a| self.min[a] + self.dx * (f64::from(at[a]) + 0.5));
                match solid(center) > CLEAR_OF_SOLIDS * self.dx {
                    true => 1.0,
                    false => open_fraction(face, center, self.dx, solid),
                }
            }
        };
        Some(Pair { area, open_area: open * area, distance })
    }

    /// Centre of area of the face towards neighbour `k`, m, and its unit normal out of the cell.
    pub fn geometry(&self, cell: u64, k: usize) -> Option<([f64; 3], [f64; 3])> {
        let (seen, code, seen_k) = self.seen_from(cell, k)?;
        let power = self.table.get(code);
        if power.level[seen_k].0 == 0.0 {
            return None;
        }
        let face = &power.faces[power.face_at[seen_k] as usize];
        let at = self.layout.decode(seen);
        let centroid = AXES.map(|a| self.min[a] + self.dx * (f64::from(at[a]) + 0.5 + face.centroid[a]));
        let sign = if seen == cell { 1.0 } else { -1.0 };
        Some((centroid, face.normal.map(|n| sign * n)))
    }

    /// The leaf that a face is taken from, its code, and the other cell's place as seen from it.
    fn seen_from(&self, cell: u64, k: usize) -> Option<(u64, Code, usize)> {
        let next = self.next(cell, k);
        let (own, other) = (self.kind(cell), self.kind(next));
        let own_is_lower = NEIGHBOURS[k].iter().find(|&&v| v != 0) == Some(&1);
        match (own, other) {
            (Kind::Unknown, _) | (_, Kind::Unknown) | (Kind::Ghost, Kind::Ghost) => None,
            (Kind::Leaf(code), Kind::Ghost) => Some((cell, code, k)),
            (Kind::Ghost, Kind::Leaf(code)) => Some((next, code, opposite(k))),
            (Kind::Leaf(code), Kind::Leaf(_)) if own_is_lower => Some((cell, code, k)),
            (Kind::Leaf(_), Kind::Leaf(code)) => Some((next, code, opposite(k))),
        }
    }

    /// Open area and distance of the octree's face between a cell and its neighbour across a side: one edge
    /// apart, one and a half where the neighbour is larger. Solids take what they take of the power face
    /// [power §4.3]: `L_1`.
    pub fn octree_face(&self, cell: u64, k: usize) -> Option<(f64, f64)> {
        if k >= 6 {
            return None;
        }
        let pair = self.pair(cell, k)?;
        let next = self.next(cell, k);
        let is_larger = [cell, next].iter().any(|&c| self.kind(c) == Kind::Ghost);
        Some((pair.open_area / pair.area, if is_larger { 1.5 } else { 1.0 }))
    }

    /// How far along the segment from a liquid cell to its neighbour the surface is, if the neighbour is not
    /// liquid; by linear interpolation of phi.
    pub fn surface_fraction(&self, cell: u64, k: usize) -> Option<f64> {
        let phi = self.boundary.phi?;
        let [a, b] = [cell, self.next(cell, k)].map(|c| f64::from(self.value(phi, c)));
        (b >= 0.0).then(|| a / (a - b))
    }
}

/// The part of a face that lies outside solids. The distance is taken at the face's corners and is linear
/// between them and the centre of area; each triangle of that fan is cut by the straight zero line of its
/// three values. Exact for solids with a plane surface; verified by `boundary.rs`.
pub fn open_fraction(face: &PowerFace, center: [f64; 3], dx: f64, solid: SolidDistance) -> f64 {
    let world = |p: [f64; 3]| AXES.map(|a| center[a] + dx * p[a]);
    let middle = solid(world(face.centroid));
    let values: Vec<f64> = face.corners.iter().map(|&c| solid(world(c))).collect();
    let (mut open, mut whole) = (0.0, 0.0);
    for n in 0..values.len() {
        let next = (n + 1) % values.len();
        let area = triangle_area(face.centroid, face.corners[n], face.corners[next]);
        whole += area;
        open += area * positive_fraction([middle, values[n], values[next]]);
    }
    open / whole
}

fn triangle_area(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    let [u, v] = [b, c].map(|p| AXES.map(|n| p[n] - a[n]));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    0.5 * cross.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// The part of a triangle where the linear interpolation of its corners' values is positive.
fn positive_fraction(values: [f64; 3]) -> f64 {
    let [a, b, c] = values;
    let corner = |a: f64, b: f64, c: f64| a * a / ((a - b) * (a - c));
    match [a > 0.0, b > 0.0, c > 0.0] {
        [true, true, true] => 1.0,
        [false, false, false] => 0.0,
        [true, false, false] => corner(a, b, c),
        [false, true, false] => corner(b, c, a),
        [false, false, true] => corner(c, a, b),
        [false, true, true] => 1.0 - corner(a, b, c),
        [true, false, true] => 1.0 - corner(b, c, a),
        [true, true, false] => 1.0 - corner(c, a, b),
    }
}
