//! Velocity past the liquid: known face values carried outward, layer by layer.

use crate::Scratch;
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::{FaceField, UniformGrid};

/// Gives the `layers` layers of faces around those with `valid != 0` the mean of their known 6-neighbours
/// (of the same axis), one layer after the other. `valid` becomes layer + 1 on faces of that layer (at most
/// 255). Whether a face is open or solid is the caller's matter: mark it valid or set it afterwards.
///
/// A constant field is extended with its own bits; across a plane front along an axis the extension is
/// constant along the normal (tests/level_set/extrapolation.rs).
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
        crate::fit(&mut scratch.known_in_row, ny * nz);
        let counts = &mut scratch.known_in_row;
        parallel::for_each_chunk_mut(counts, ny, |k, counts| {
            for (row, count) in valid[k * slab..(k + 1) * slab].chunks(nx).zip(counts) {
                *count = row.iter().fold(0, |sum, &v| sum + (v != 0) as u32);
            }
        });
        for layer in 1..=layers {
            let (u_known, known, counts): (&[f32], &[u8], &[u32]) = (u, valid, &scratch.known_in_row);
            parallel::for_each_chunk_mut(&mut scratch.layer[..nz], 1, |k, found| {
                found[0].clear();
                find_layer(&mut found[0], u_known, known, counts, [nx, ny, nz], k);
            });
            let found = &scratch.layer;
            let mark = (layer + 1).min(255) as u8;
            parallel::for_each_chunk_mut2((u, slab), (valid, slab), |k, u, valid| {
                for &(index, value) in &found[k] {
                    let at = index as usize - k * slab;
                    (u[at], valid[at]) = (value, mark);
                }
            });
            parallel::for_each_chunk_mut(&mut scratch.known_in_row, ny, |k, counts| {
                for &(index, _) in &found[k] {
                    counts[(index as usize - k * slab) / nx] += 1;
                }
            });
        }
    }
}

/// Faces of slab k that are unknown and have known neighbours, with the mean of these; `counts` says how many faces of
/// each row are known.
fn find_layer(
    found: &mut Vec<(u32, f32)>,
    u: &[f32],
    known: &[u8],
    counts: &[u32],
    [nx, ny, nz]: [usize; 3],
    k: usize,
) {
    let mut touched = vec![0u8; nx];
    for j in 0..ny {
        let count = |j: usize, k: usize| counts[j + ny * k];
        let around = [
            count(j.saturating_sub(1), k),
            count((j + 1).min(ny - 1), k),
            count(j, k.saturating_sub(1)),
            count(j, (k + 1).min(nz - 1)),
        ];
        let full = nx as u32;
        if count(j, k) == full || count(j, k) == 0 && around == [0; 4] {
            continue;
        }
        let start = nx * (j + ny * k);
        let row = |j: usize, k: usize| &known[nx * (j + ny * k)..nx * (j + ny * k) + nx];
        let center = row(j, k);
        touched.copy_from_slice(row(j.saturating_sub(1), k));
        for other in [row((j + 1).min(ny - 1), k), row(j, k.saturating_sub(1)), row(j, (k + 1).min(nz - 1))] {
            for i in 0..nx {
                touched[i] |= other[i];
            }
        }
        // One pass per direction, and a look at the whole row before its faces: these loops vectorise.
        for i in 1..nx {
            touched[i] |= center[i - 1];
        }
        for i in 1..nx {
            touched[i - 1] |= center[i];
        }
        let mut any = false;
        for i in 0..nx {
            any |= (center[i] == 0) & (touched[i] != 0);
        }
        if !any {
            continue;
        }
        for i in 0..nx {
            if center[i] == 0 && touched[i] != 0 {
                found.push(((start + i) as u32, mean_of_known(u, known, [nx, ny, nz], [i, j, k])));
            }
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
