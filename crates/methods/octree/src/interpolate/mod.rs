//! Interpolation of values at cell centres or at the faces of an axis [octree §5].
//!
//! Where a point's surroundings are of one size, and no larger cell's kernel reaches it, every variant is
//! trilinear interpolation, and is computed as such from one dual cell of the tree: that is most points.
//! Elsewhere [`Interpolation::Mls`] fits a linear function to the samples around the point by moving least
//! squares, as the paper does, and [`Interpolation::Continuous`] blends the trilinear interpolants of two
//! levels.
//!
//! Linear fields are reproduced everywhere, between the outermost samples and a wall too: samples mirrored at
//! a wall take values that continue the field linearly (the paper's repeat the value, and lose linear fields
//! there).

mod blend;
mod lattice;
mod mls;
mod stencil;
mod trace;
mod trilinear;

pub use stencil::{Spot, Stencils};
pub use trace::{Centres, Tracing};

use fluvial_foundation::{AXES, Aabb, Axis, Vec3};
use fluvial_grids::Octree;
use lattice::{Family, Out};
use stencil::Even;
use trilinear::Dual;

/// What happens where cells of different size meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Moving least squares with trilinear kernels [octree eq. 33 to 35]: jumps a little where a sample
    /// enters or leaves.
    #[default]
    Mls,
    /// Continuous: the trilinear interpolants of neighbouring levels, blended by how near samples of each
    /// are.
    Continuous,
}

/// Interpolates on one tree.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'a> {
    tree: &'a Octree,
    kind: Interpolation,
    bounds: Aabb,
}

impl<'a> Sampler<'a> {
    /// For fields on a tree.
    #[inline]
    pub fn new(tree: &'a Octree, kind: Interpolation) -> Self {
        Sampler { tree, kind, bounds: tree.shape().bounds() }
    }

    /// A point and its leaf, which is probably of a level; points outside are moved to the domain's hull. What is read at
    /// it need not search for it again.
    #[inline]
    pub fn spot(&self, x_in_world: Vec3, level: usize) -> Spot {
        let x = self.inside(x_in_world);
        Spot { x, located: self.tree.locate_near(x, level) }
    }

    /// Value at a point of a field at cell centres. Points outside are moved to the domain's hull.
    /// Verified by `interpolation.rs`.
    #[inline]
    pub fn cells(&self, q_cell: &[f32], x_in_world: Vec3) -> f32 {
        self.cells_at(q_cell, &self.spot(x_in_world, 0))
    }

    /// The same at a point whose leaf is known.
    #[inline]
    pub fn cells_at(&self, q_cell: &[f32], spot: &Spot) -> f32 {
        debug_assert_eq!(q_cell.len(), self.tree.cell_count());
        match self.even_cells(spot) {
            Some(even) => even.read(q_cell),
            None => self.general(Family::Cells, q_cell, spot),
        }
    }

    /// One component of a field at face centres.
    #[inline]
    pub fn component(&self, u_face: &[f32], axis: Axis, x_in_world: Vec3) -> f32 {
        self.component_at(u_face, axis, &self.spot(x_in_world, 0))
    }

    /// The same at a point whose leaf is known.
    #[inline]
    pub fn component_at(&self, u_face: &[f32], axis: Axis, spot: &Spot) -> f32 {
        debug_assert_eq!(u_face.len(), self.tree.face_count());
        match self.even_faces(axis, spot) {
            Some(even) => even.read(u_face),
            None => self.general(Family::Faces(axis), u_face, spot),
        }
    }

    /// Least and largest of the samples on the cell at a point and on its neighbours.
    pub fn component_range(&self, u_face: &[f32], axis: Axis, spot: &Spot) -> [f32; 2] {
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        let mut see_cell = |cell: usize| {
            for side in [2 * axis, 2 * axis + 1] {
                let u = u_face[self.tree.cell_faces()[cell][side] as usize];
                range = [range[0].min(u), range[1].max(u)];
            }
        };
        see_cell(spot.cell());
        for &face in &self.tree.cell_faces()[spot.cell()] {
            self.tree.cells_beside(face as usize).for_each(&mut see_cell);
        }
        range
    }

    /// All three components of a field at face centres.
    #[inline]
    pub fn velocity(&self, u_face: &[f32], x_in_world: Vec3) -> Vec3 {
        debug_assert_eq!(u_face.len(), self.tree.face_count());
        let spot = self.spot(x_in_world, 0);
        if spot.located.uniform_along == [true; 3] {
            let dual = Dual::new(self.tree, &spot.located, spot.x);
            let component = |axis: Axis| dual.faces(axis, spot.x).read(u_face);
            return Vec3::new(component(0), component(1), component(2));
        }
        let mut u = Vec3::ZERO;
        for axis in AXES {
            u[axis] = self.component_at(u_face, axis, &spot);
        }
        u
    }

    /// Is the value at a point a plain trilinear one, found without a search? For statistics.
    #[inline]
    pub fn is_fast(&self, x_in_world: Vec3) -> bool {
        self.tree.locate(self.inside(x_in_world)).uniform
    }

    #[inline]
    fn inside(&self, x: Vec3) -> Vec3 {
        x.max(self.bounds.min).min(self.bounds.max)
    }

    #[inline(always)]
    fn even_cells(&self, spot: &Spot) -> Option<Even> {
        spot.located.uniform.then(|| Dual::new(self.tree, &spot.located, spot.x).cells())
    }

    #[inline(always)]
    fn even_faces(&self, axis: Axis, spot: &Spot) -> Option<Even> {
        let dual = || Dual::new(self.tree, &spot.located, spot.x);
        spot.located.uniform_along[axis].then(|| dual().faces(axis, spot.x))
    }

    #[cold]
    #[inline(never)]
    fn general(&self, family: Family, values: &[f32], spot: &Spot) -> f32 {
        let mut sum = 0.0;
        let even = self.weigh(family, spot, &mut |n, weight| sum += weight * values[n as usize] as f64);
        even.map_or(sum as f32, |even| even.read(values))
    }

    /// The samples that a value where cells of different size meet is made of: these eight, or what is handed out.
    fn weigh(&self, family: Family, spot: &Spot, out: Out) -> Option<Even> {
        match self.kind {
            Interpolation::Mls => mls::weigh(self.tree, family, &spot.located, spot.x, out),
            Interpolation::Continuous => {
                blend::weigh(self.tree, family, &spot.located, spot.x, out);
                None
            }
        }
    }
}
