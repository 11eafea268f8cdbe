//! The continuous variant.
//!
//! `I_l = (1 - b) T_l + b I_(l+1)`: `T_l` interpolates trilinearly on level l's lattice, with means of finer
//! samples and interpolants of coarser ones where it has none of its own; `b` interpolates, on the next
//! coarser lattice, the indicator of places that are not finer. All of these are continuous, hence so is
//! their blend; all keep linear fields; in uniform surroundings `b` is 0 or 1 and one trilinear interpolation
//! remains. The paper reaches continuity by ghost samples with stretched kernels [octree §5.1, Fig. 9]; this
//! needs no knowledge of the surroundings and no linear systems.

use super::lattice::{Family, Lattices, Out, for_corners};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Located;

/// The samples that the value at a point of the domain is made of.
pub fn weigh(tree: &Octree, family: Family, located: &Located, x: Vec3, out: Out) {
    let lattices = Lattices { tree, family };
    let shape = tree.shape();
    // Coordinates in f64 from here: a place's own rounding must not show as a jump.
    let coordinates = |level: usize| {
        let dx = shape.dx_of(level) as f64;
        let offset = family.offset();
        [0, 1, 2].map(|a| (x[a] as f64 - shape.min[a] as f64) / dx - offset[a] as f64)
    };
    let mut rest = 1.0;
    // A finer level has no part in the value unless the leaf touches it.
    for level in located.level - located.near_finer as usize..shape.levels {
        let mut coarser = 0.0;
        if level + 1 < shape.levels {
            let count = family.count(tree, level + 1);
            for_corners(coordinates(level + 1), |mut at, weight| {
                for a in 0..3 {
                    at[a] = at[a].clamp(0, count[a] - 1);
                }
                coarser += if family.is_finer(tree, level + 1, at) { 0.0 } else { weight };
            });
        }
        // Sums of eight weights may miss one by rounding.
        if coarser < 1.0 - 1e-12 {
            lattices.weigh_trilinear(level, coordinates(level), rest * (1.0 - coarser), out);
        }
        rest *= coarser;
        if rest == 0.0 {
            break;
        }
    }
}
