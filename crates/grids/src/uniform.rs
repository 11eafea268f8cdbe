//! The uniform MAC grid: cell centres, face centres per axis, nodes, each a [`Lattice`].

use crate::Lattice;
use fluvial_foundation::{Aabb, Axis, Vec3};

/// A box of cubic cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformGrid {
    /// Lower corner of the box, metres.
    pub min: Vec3,
    /// Cells along each axis.
    pub cells: [usize; 3],
    /// Edge of a cell, metres.
    pub dx: f32,
}

impl UniformGrid {
    /// Cells in all.
    #[inline]
    pub fn cell_count(&self) -> usize {
        self.cells[0] * self.cells[1] * self.cells[2]
    }

    /// Cell centres.
    #[inline]
    pub fn cell_centers(&self) -> Lattice {
        Lattice { size: self.cells, origin: self.min + 0.5 * self.dx, spacing: self.dx }
    }

    /// Centres of the faces whose normal is `axis`: one more than cells along it, walls included.
    /// Face (i, j, k) lies on the low side of cell (i, j, k).
    #[inline]
    pub fn faces(&self, axis: Axis) -> Lattice {
        let mut size = self.cells;
        size[axis] += 1;
        let mut half = Vec3::splat(0.5);
        half[axis] = 0.0;
        Lattice { size, origin: self.min + self.dx * half, spacing: self.dx }
    }

    /// Cell corners.
    #[inline]
    pub fn nodes(&self) -> Lattice {
        Lattice { size: self.cells.map(|n| n + 1), origin: self.min, spacing: self.dx }
    }

    /// The box that the cells fill.
    #[inline]
    pub fn bounds(&self) -> Aabb {
        let size = Vec3::new(self.cells[0] as f32, self.cells[1] as f32, self.cells[2] as f32);
        Aabb { min: self.min, max: self.min + self.dx * size }
    }

    /// Interpolated velocity at a world position (constant beyond the outermost faces).
    #[inline]
    pub fn sample_velocity(&self, u_face: &FaceField, x_in_world: Vec3) -> Vec3 {
        Vec3::new(
            self.faces(0).sample(&u_face[0], x_in_world),
            self.faces(1).sample(&u_face[1], x_in_world),
            self.faces(2).sample(&u_face[2], x_in_world),
        )
    }
}

/// One value per face, a flat array per axis in the layout of [`UniformGrid::faces`].
#[derive(Debug, Default, PartialEq)]
pub struct FaceField {
    components: [Vec<f32>; 3],
}

impl FaceField {
    /// `value` on every face.
    #[inline]
    pub fn constant(grid: &UniformGrid, value: f32) -> Self {
        FaceField { components: std::array::from_fn(|axis| vec![value; grid.faces(axis).len()]) }
    }

    /// The three arrays, to be written at once.
    #[inline]
    pub fn components_mut(&mut self) -> &mut [Vec<f32>; 3] {
        &mut self.components
    }

    /// Copies all values from another field of the same grid.
    #[inline]
    pub fn copy_from(&mut self, other: &FaceField) {
        for axis in 0..3 {
            self.components[axis].copy_from_slice(&other.components[axis]);
        }
    }
}

impl Clone for FaceField {
    fn clone(&self) -> Self {
        FaceField { components: self.components.clone() }
    }

    /// Takes over size and values of another field; memory that is there is used again.
    fn clone_from(&mut self, other: &FaceField) {
        for axis in 0..3 {
            self.components[axis].clone_from(&other.components[axis]);
        }
    }
}

impl std::ops::Index<Axis> for FaceField {
    type Output = Vec<f32>;
    #[inline]
    fn index(&self, axis: Axis) -> &Vec<f32> {
        &self.components[axis]
    }
}

impl std::ops::IndexMut<Axis> for FaceField {
    #[inline]
    fn index_mut(&mut self, axis: Axis) -> &mut Vec<f32> {
        &mut self.components[axis]
    }
}
