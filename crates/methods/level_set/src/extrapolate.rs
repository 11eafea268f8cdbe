//! Velocity past the liquid: known face values carried outward, layer by layer.

use crate::Scratch;
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::{FaceField, UniformGrid};

/// Gives the `layers` layers of faces around those with `valid != 0` the mean of their known 6-neighbours
/// (of the same axis), one layer after the other. `valid` becomes layer + 1 on faces of that layer (at most
/// 255). The kernel does not know solids: the caller marks their faces valid or sets them afterwards.
///
/// A constant field is extended with its own bits; across a plane front along an axis the extension is
/// constant along the normal (tests/extrapolation.rs).
pub fn extrapolate_velocity(
    u_face: &mut FaceField,
    valid: &mut [Vec<u8>; 3],
    grid: &UniformGrid,
    layers: usize,
    scratch: &mut Scratch,
) {
    for axis in AXES {
        let lattice = grid.faces(axis);
        let [nx, ny, nz] = lattice.size;
        let slab = nx * ny;
        let (u, valid) = (&mut u_face[axis], &mut valid[axis]);
        assert!(u.len() == lattice.len() && valid.len() == lattice.len());
        if scratch.layer.len() < nz {
            scratch.layer.resize(nz, Vec::new());
        }
        let (reached, front, added) = (&mut scratch.reached, &mut scratch.front, &mut scratch.added);
        reached.set_where(&lattice, |face| valid[face] != 0);
        front.clone_from(reached);
        for layer in 1..=layers {
            reached.grow(added, front);
            front.set_to(added);
            let (u_known, known, new): (&[f32], &[u8], &[Vec<u32>]) = (u, valid, added);
            parallel::for_each_chunk_mut(&mut scratch.layer[..nz], 1, |k, found| {
                found[0].clear();
                found[0].extend(new[k].iter().map(|&face| {
                    let at = lattice.coordinates(face as usize);
                    (face, mean_of_known(u_known, known, [nx, ny, nz], at))
                }));
            });
            let found = &scratch.layer;
            let mark = (layer + 1).min(255) as u8;
            parallel::for_each_chunk_mut2((u, slab), (valid, slab), |k, u, valid| {
                for &(index, value) in &found[k] {
                    let at = index as usize - k * slab;
                    (u[at], valid[at]) = (value, mark);
                }
            });
        }
    }
}

#[inline]
fn mean_of_known(u: &[f32], known: &[u8], size: [usize; 3], c: [usize; 3]) -> f32 {
    let strides = [1, size[0], size[0] * size[1]];
    let index = c[0] + strides[1] * c[1] + strides[2] * c[2];
    let (mut sum, mut count) = (0.0f64, 0u32); // f64: the mean of equal values is that value to the bit
    for axis in 0..3 {
        // Both neighbours of an axis first: mirroring swaps commuting operands only.
        let low = if c[axis] > 0 { index - strides[axis] } else { index };
        let high = if c[axis] + 1 < size[axis] { index + strides[axis] } else { index };
        let (has_low, has_high) = (known[low] != 0, known[high] != 0);
        let pair = if has_low { u[low] as f64 } else { 0.0 } + if has_high { u[high] as f64 } else { 0.0 };
        sum += pair;
        count += has_low as u32 + has_high as u32;
    }
    (sum / count as f64) as f32
}
