//! The fast path: trilinear interpolation in a dual cell of eight leaves of one size. The same operations in the same order as
//! `grids::Lattice`, so that results agree with those of a uniform grid bit for bit.

use super::lattice::Value;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Located;

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

/// Low sample and fraction towards the high one among `count` samples; beyond the outermost ones the fraction leaves
/// 0 to 1: linear continuation to the wall.
#[inline(always)]
pub fn split(v: f32, count: usize) -> (u32, f32) {
    let low = (v as u32).min(count as u32 - 2);
    (low, v - low as f32)
}

/// Value at a point in a leaf with uniform surroundings.
#[inline(always)]
pub fn cells<V: Value>(tree: &Octree, located: &Located, q_cell: &[V], x: Vec3) -> V {
    let dual = Dual::new(tree, located, x);
    let leaves = dual.leaves;
    let mut c = [V::default(); 8];
    for (c, &leaf) in c.iter_mut().zip(leaves) {
        *c = q_cell[leaf as usize];
    }
    between(c, dual.at_centers)
}

/// The dual cell around a point.
pub struct Dual<'a> {
    tree: &'a Octree,
    leaves: &'a [u32; 8],
    /// Fractions between cell centres.
    at_centers: [f32; 3],
    /// Fractions between faces, and whether the point's own cell is the high one along an axis.
    at_faces: [f32; 3],
    high: [bool; 3],
}

impl<'a> Dual<'a> {
    /// For a leaf whose surroundings are uniform.
    #[inline(always)]
    pub fn new(tree: &'a Octree, located: &Located, x: Vec3) -> Self {
        let shape = tree.shape();
        let dx = shape.dx_of(located.level);
        let cells = shape.cells(located.level);
        let center = (x - (shape.min + 0.5 * dx)) / dx;
        let face = (x - shape.min) / dx;
        let (mut node, mut at_centers, mut at_faces, mut high) = ([0; 3], [0.0; 3], [0.0; 3], [false; 3]);
        for a in 0..3 {
            let (low, fraction) = split(center[a], cells[a]);
            (node[a], at_centers[a]) = (low + 1, fraction);
            // The last face belongs to the last cell.
            let (own, fraction) = split(face[a], cells[a] + 1);
            (at_faces[a], high[a]) = (fraction, own > low);
        }
        Dual { tree, leaves: tree.dual_cell(located, node), at_centers, at_faces, high }
    }

    /// A component at faces: the two faces of the point's cell and of three neighbours.
    #[inline(always)]
    pub fn component(&self, u_face: &[f32], axis: Axis) -> f32 {
        let faces = self.tree.cell_faces();
        let own = (self.high[axis] as usize) << axis;
        let mut c = [0.0; 8];
        for (n, c) in c.iter_mut().enumerate() {
            let leaf = self.leaves[(n & !(1 << axis)) | own];
            let side = 2 * axis + ((n >> axis) & 1);
            *c = u_face[faces[leaf as usize][side] as usize];
        }
        let mut f = self.at_centers;
        f[axis] = self.at_faces[axis];
        between(c, f)
    }
}
