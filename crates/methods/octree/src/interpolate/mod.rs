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
mod trace;
mod trilinear;

pub use trace::Tracing;

use fluvial_foundation::{AXES, Aabb, Axis, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Located;
use lattice::Family;

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

    /// Value at a point of a field at cell centres. Points outside are moved to the domain's hull.
    /// Verified by `interpolation.rs`.
    #[inline]
    pub fn cells(&self, q_cell: &[f32], x_in_world: Vec3) -> f32 {
        debug_assert_eq!(q_cell.len(), self.tree.cell_count());
        let x = self.inside(x_in_world);
        let located = self.tree.locate(x);
        if located.uniform {
            return trilinear::cells(self.tree, &located, q_cell, x);
        }
        self.general(Family::Cells, q_cell, &located, x)
    }

    /// One component of a field at face centres.
    #[inline]
    pub fn component(&self, u_face: &[f32], axis: Axis, x_in_world: Vec3) -> f32 {
        debug_assert_eq!(u_face.len(), self.tree.face_count());
        let x = self.inside(x_in_world);
        let located = self.tree.locate(x);
        if located.uniform_along[axis] {
            let dual = trilinear::Dual::new(self.tree, &located, x);
            return dual.component(u_face, axis);
        }
        self.general(Family::Faces(axis), u_face, &located, x)
    }

    /// Least and largest of the samples that [`Self::component`] reads; where sizes meet those on the cell at the point
    /// and on its neighbours.
    pub fn component_range(&self, u_face: &[f32], axis: Axis, x_in_world: Vec3) -> [f32; 2] {
        let x = self.inside(x_in_world);
        let located = self.tree.locate(x);
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        let mut see = |face: u32| {
            let u = u_face[face as usize];
            range = [range[0].min(u), range[1].max(u)];
        };
        if located.uniform_along[axis] {
            let dual = trilinear::Dual::new(self.tree, &located, x);
            dual.faces(axis).into_iter().for_each(see);
            return range;
        }
        let mut see_cell = |cell: usize| {
            [2 * axis, 2 * axis + 1].iter().for_each(|&side| see(self.tree.cell_faces()[cell][side]));
        };
        see_cell(located.cell as usize);
        for &face in &self.tree.cell_faces()[located.cell as usize] {
            self.tree.cells_beside(face as usize).for_each(&mut see_cell);
        }
        range
    }

    /// All three components of a field at face centres.
    #[inline]
    pub fn velocity(&self, u_face: &[f32], x_in_world: Vec3) -> Vec3 {
        debug_assert_eq!(u_face.len(), self.tree.face_count());
        let x = self.inside(x_in_world);
        let located = self.tree.locate(x);
        if located.uniform_along == [true; 3] {
            let dual = trilinear::Dual::new(self.tree, &located, x);
            return Vec3::new(
                dual.component(u_face, 0),
                dual.component(u_face, 1),
                dual.component(u_face, 2),
            );
        }
        let mut u = Vec3::ZERO;
        for axis in AXES {
            u[axis] = if located.uniform_along[axis] {
                trilinear::Dual::new(self.tree, &located, x).component(u_face, axis)
            } else {
                self.general(Family::Faces(axis), u_face, &located, x)
            };
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

    #[cold]
    #[inline(never)]
    fn general(&self, family: Family, values: &[f32], located: &Located, x: Vec3) -> f32 {
        match self.kind {
            Interpolation::Mls => mls::interpolate(self.tree, family, values, located, x),
            Interpolation::Continuous => blend::interpolate(self.tree, family, values, located, x),
        }
    }
}
