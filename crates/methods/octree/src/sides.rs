//! Sides of thin solids on a tree. Around thin solids all leaves are finest ones, and [`Sides`] of a lattice of
//! finest cells tell which of them see each other.

use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::patch::{Patch, Reach};
use fluvial_grids::sides::NEAR_CELLS;
use fluvial_grids::{Lattice, Octree, Sides};

/// Sides on a lattice of finest cells.
#[derive(Clone, Copy, Debug)]
pub struct TreeSides<'a> {
    /// Which cells see each other.
    pub sides: &'a Sides,
    /// The centres of the cells that they are given for.
    pub cells: Lattice,
    /// The first of these among all finest cells.
    pub offset: [u32; 3],
}

impl TreeSides<'_> {
    /// No thin solid anywhere.
    pub const NONE: TreeSides<'static> = TreeSides {
        sides: Sides::NONE,
        cells: Lattice { size: [1; 3], origin: Vec3::ZERO, spacing: 1.0 },
        offset: [0; 3],
    };

    /// Where a finest leaf lies on the lattice.
    #[inline]
    pub fn place(&self, tree: &Octree, leaf: usize) -> Option<[usize; 3]> {
        if self.sides.is_empty() {
            return None;
        }
        let cell = tree.cells()[leaf];
        let at: [usize; 3] =
            std::array::from_fn(|a| (cell.at[a] as u32).wrapping_sub(self.offset[a]) as usize);
        (cell.level == 0 && (0..3).all(|a| at[a] < self.cells.size[a])).then_some(at)
    }

    /// Where a finest leaf near a thin solid lies on the lattice.
    #[inline]
    pub fn near_place(&self, tree: &Octree, leaf: usize) -> Option<[usize; 3]> {
        self.place(tree, leaf).filter(|&[i, j, k]| self.sides.is_near(self.cells.index(i, j, k)))
    }

    /// Is a leaf near a thin solid?
    #[inline]
    pub fn is_near(&self, tree: &Octree, leaf: usize) -> bool {
        self.near_place(tree, leaf).is_some()
    }

    /// Is there a thin solid between two leaves that share a face?
    #[inline]
    pub fn divides(&self, tree: &Octree, leaf: usize, other: usize) -> bool {
        let (Some(at), Some(to)) = (self.near_place(tree, leaf), self.place(tree, other)) else {
            return false;
        };
        let axis = (0..3).find(|&a| at[a] != to[a]);
        axis.is_some_and(|axis: Axis| {
            self.sides.is_barred(self.cells.index(at[0], at[1], at[2]), axis, to[axis] > at[axis])
        })
    }

    /// Which of the cells around a place it sees, see [`Sides::seen_around`].
    pub fn sees(&self, tree: &Octree, leaf: usize, other: usize) -> bool {
        let (Some(at), Some(to)) = (self.near_place(tree, leaf), self.place(tree, other)) else {
            return true;
        };
        let offset: [isize; 3] = std::array::from_fn(|a| to[a] as isize - at[a] as isize);
        let bit = (offset[0] + 1) + 3 * (offset[1] + 1) + 9 * (offset[2] + 1);
        offset.iter().all(|o| o.abs() <= 1) && self.sides.seen_around(&self.cells, at) >> bit & 1 == 1
    }

    /// The leaf at a place of the lattice; the one that holds its centre where it is larger.
    #[inline]
    pub fn leaf(&self, tree: &Octree, cell: usize) -> usize {
        let at = self.cells.coordinates(cell);
        let fine = std::array::from_fn(|a| at[a] as u32 + self.offset[a]);
        let found = tree.leaf_at(0, fine);
        found.unwrap_or_else(|| tree.locate(self.cells.position(at[0], at[1], at[2])).cell) as usize
    }

    /// A field at cell centres as a place sees it, round corners: what the box between two places hides would let a shaken bowl with walls
    /// of two cells leak by a quarter in five seconds.
    pub fn patch(&self, tree: &Octree, q_cell: &[f32], at: [usize; 3], radius: usize) -> Patch {
        let reach = Reach { radius, round_corners: true, ..Reach::default() };
        Patch::reaching(|cell| q_cell[self.leaf(tree, cell)], &self.cells, self.sides, at, reach)
    }

    /// The place on the lattice that a point lies in.
    #[inline]
    fn place_of(&self, x: Vec3) -> Option<[usize; 3]> {
        let p = (x - self.cells.origin) / self.cells.spacing + 0.5;
        let inside = (0..3).all(|a| p[a] >= 0.0 && p[a] < self.cells.size[a] as f32);
        (!self.sides.is_empty() && inside).then(|| std::array::from_fn(|a| p[a] as usize))
    }

    /// Where a path from `x` to `goal` ends: it slides along thin solids. Test: `paths_and_samples_stay_on_their_side`.
    pub fn walk(&self, x: Vec3, goal: Vec3) -> Vec3 {
        let (Some(start), end) = (self.place_of(x), self.place_of(goal)) else { return goal };
        let near = |[i, j, k]: [usize; 3]| self.sides.is_near(self.cells.index(i, j, k));
        if !near(start) && !end.is_some_and(near) {
            return goal;
        }
        let center = self.cells.position(start[0], start[1], start[2]);
        let relative = |x: Vec3| ((x - center) / self.cells.spacing).to_array();
        let to = relative(goal);
        let (_, end) = self.sides.walk(&self.cells, start, relative(x), to);
        if end == to { goal } else { center + self.cells.spacing * Vec3::from_array(end) }
    }

    /// A field at cell centres at a point near a thin solid, as its cell sees it; none elsewhere.
    pub fn sample(&self, tree: &Octree, q_cell: &[f32], x: Vec3) -> Option<f32> {
        let at = self.place_of(x)?;
        if !self.sides.is_near(self.cells.index(at[0], at[1], at[2])) {
            return None;
        }
        let patch = self.patch(tree, q_cell, at, NEAR_CELLS);
        let center = self.cells.position(at[0], at[1], at[2]);
        let [i, j, k] = patch.center;
        let place = (x - center) / self.cells.spacing + Vec3::new(i as f32, j as f32, k as f32);
        Some(patch.lattice.interpolate(patch.values(), patch.lattice.stencil_at(place)))
    }
}
