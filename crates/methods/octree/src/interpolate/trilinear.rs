//! The fast path: trilinear interpolation in a dual cell of eight leaves of one size. The same operations in
//! the same order as `grids::Lattice`, so that results agree with those of a uniform grid bit for bit.

use super::stencil::Even;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Located;
use std::ops::{Add, Mul, Sub};

/// What can be interpolated: numbers and vectors.
pub trait Value: Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<f32, Output = Self> {}
impl Value for f32 {}
impl Value for Vec3 {}

#[inline(always)]
fn lerp<V: Value>(a: V, b: V, t: f32) -> V {
    a + (b - a) * t
}

/// Trilinear interpolation between eight values, x fastest.
#[inline(always)]
pub fn between<V: Value>(c: [V; 8], f: [f32; 3]) -> V {
    let low = lerp(lerp(c[0], c[1], f[0]), lerp(c[2], c[3], f[0]), f[1]);
    let high = lerp(lerp(c[4], c[5], f[0]), lerp(c[6], c[7], f[0]), f[1]);
    lerp(low, high, f[2])
}

/// Low sample and fraction towards the high one among `count` samples; beyond the outermost ones the fraction
/// leaves 0 to 1: linear continuation to the wall.
#[inline(always)]
pub fn split(v: f32, count: usize) -> (u32, f32) {
    let low = (v as u32).min(count as u32 - 2);
    (low, v - low as f32)
}

/// The samples around a point in a leaf with uniform surroundings, whose faces have uniform ones too along an axis. They
/// are found by counting in blocks, which stay in the cache, and not through the leaves' and nodes' own tables, which do
/// not.
pub struct Dual<'a> {
    tree: &'a Octree,
    located: &'a Located,
    /// Low cell and fractions between cell centres.
    low_center: [u32; 3],
    at_centers: [f32; 3],
}

impl<'a> Dual<'a> {
    /// For a leaf whose surroundings are uniform.
    #[inline(always)]
    pub fn new(tree: &'a Octree, located: &'a Located, x: Vec3) -> Self {
        let shape = tree.shape();
        let dx = shape.dx_of(located.level);
        let cells = shape.cells(located.level);
        let center = (x - (shape.min + 0.5 * dx)) / dx;
        let (mut low_center, mut at_centers) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            (low_center[a], at_centers[a]) = split(center[a], cells[a]);
        }
        Dual { tree, located, low_center, at_centers }
    }

    /// The leaves around the point.
    #[inline(always)]
    pub fn cells(&self) -> Even {
        Even { samples: self.tree.leaves_near(self.located, self.low_center), at: self.at_centers }
    }

    /// The faces of an axis around the point.
    #[inline(always)]
    pub fn faces(&self, axis: Axis, x: Vec3) -> Even {
        let shape = self.tree.shape();
        let (mut low, mut at) = (self.low_center, self.at_centers);
        let along = (x[axis] - shape.min[axis]) / shape.dx_of(self.located.level);
        // The last face belongs to the last cell.
        (low[axis], at[axis]) = split(along, shape.cells(self.located.level)[axis] + 1);
        Even { samples: self.tree.faces_near(self.located, axis, low), at }
    }
}
