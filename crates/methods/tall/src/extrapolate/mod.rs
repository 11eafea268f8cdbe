//! Velocity in the air [tall §3.3]: exact near the surface, a rough estimate everywhere beyond.
//!
//! Near the surface the velocity is constant along the gradient of phi (eq. 7 at rest); beyond, means of
//! known velocities come down a hierarchy of grids. Twins in `extrapolate.wgsl`.

use crate::field::{Velocity, for_each_sample, nearest};
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;

/// Marks velocities as known in liquid (phi <= 0) and as unknown elsewhere.
pub fn mark_known(out: &mut [Velocity], u: &[Velocity], grid: &TallGrid, phi: &[f32]) {
    for_each_sample(grid, out, |s| {
        let [x, y, z, _] = u[s.index];
        if phi[s.index] <= 0.0 { [x, y, z, 1.0] } else { [0.0; 4] }
    });
}

/// One pass of the upwind solution of grad phi . grad u = 0 in the band 0 < phi < `band_m`, from all known
/// neighbours with smaller phi; the larger step counts on each axis. First order; four passes fill a band of
/// two cells. Verified by `extrapolation_is_first_order` and `the_band_fills`.
pub fn band_pass(out: &mut [Velocity], u: &[Velocity], grid: &TallGrid, phi: &[f32], band_m: f32) {
    for_each_sample(grid, out, |s| {
        let here = phi[s.index];
        if here <= 0.0 || here >= band_m {
            return u[s.index];
        }
        let (mut sum, mut total) = ([0.0f32; 3], 0.0f32);
        for axis in 0..3 {
            let (mut drop, mut upwind) = (0.0f32, [0.0f32; 4]);
            for side in [-1, 1] {
                let mut cell = [s.i as i32, s.y, s.k as i32];
                cell[axis] += side;
                if grid.holds(cell[0], cell[1], cell[2]) != Holds::Cell {
                    continue;
                }
                let there = nearest(grid, phi, [cell[0], cell[2]], cell[1] as f32);
                let value = nearest(grid, u, [cell[0], cell[2]], cell[1] as f32);
                if value[3] >= KNOWN && here - there > drop {
                    (drop, upwind) = (here - there, value);
                }
            }
            (0..3).for_each(|c| sum[c] += drop * upwind[c]);
            total += drop;
        }
        if total > 0.0 { [sum[0] / total, sum[1] / total, sum[2] / total, 1.0] } else { u[s.index] }
    });
}

/// A blend of known values has this weight at least; rounding may keep it from 1.
const KNOWN: f32 = 0.999;

/// Means of the known velocities among the eight fine cells of each coarse one.
pub fn restrict_known(out: &mut [Velocity], coarse: &TallGrid, fine: &TallGrid, u: &[Velocity]) {
    for_each_sample(coarse, out, |s| {
        let (mut sum, mut count) = ([0.0f32; 3], 0.0f32);
        for n in 0..8 {
            let (i, y, k) = fine_cell([s.i as i32, s.y, s.k as i32], n);
            if fine.holds(i, y, k) == Holds::Cell {
                let value = nearest(fine, u, [i, k], y as f32);
                if value[3] >= KNOWN {
                    (0..3).for_each(|c| sum[c] += value[c]);
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { [sum[0] / count, sum[1] / count, sum[2] / count, 1.0] } else { [0.0; 4] }
    });
}

/// Fine cell `n` (0 to 7) of a coarse cell: x counts fastest, then y, then z.
pub(crate) fn fine_cell([i, y, k]: [i32; 3], n: i32) -> (i32, i32, i32) {
    (2 * i + (n & 1), 2 * y + ((n >> 1) & 1), 2 * k + (n >> 2))
}

/// Fills unknown velocities of a single column, the coarsest grid, with the mean of its known ones.
pub fn fill_coarsest(out: &mut [Velocity], u: &[Velocity]) {
    let (mut sum, mut count) = ([0.0f32; 3], 0.0f32);
    for value in u.iter().filter(|v| v[3] >= KNOWN) {
        (0..3).for_each(|c| sum[c] += value[c]);
        count += 1.0;
    }
    let n = count.max(1.0);
    let mean = [sum[0] / n, sum[1] / n, sum[2] / n, 1.0];
    out.iter_mut().zip(u).for_each(|(out, v)| *out = if v[3] >= KNOWN { *v } else { mean });
}

/// Unknown fine velocities by trilinear interpolation of the coarse grid's, of which all are known. Coarse
/// cells outside the grid are left out and the weights of the others made to add up to 1.
pub fn prolong_unknown(
    out: &mut [Velocity],
    u: &[Velocity],
    fine: &TallGrid,
    coarse: &TallGrid,
    coarse_u: &[Velocity],
) {
    for_each_sample(fine, out, |s| {
        if u[s.index][3] >= KNOWN {
            return u[s.index];
        }
        let (mut sum, mut total) = ([0.0f32; 3], 0.0f32);
        for n in 0..8 {
            let ([i, y, k], weight) = coarse_cell([s.i as i32, s.y, s.k as i32], n);
            if coarse.holds(i, y, k) == Holds::Cell {
                let value = nearest(coarse, coarse_u, [i, k], y as f32);
                (0..3).for_each(|c| sum[c] += weight * value[c]);
                total += weight;
            }
        }
        [sum[0] / total, sum[1] / total, sum[2] / total, 1.0]
    });
}

/// Coarse cell `n` (0 to 7) around a fine cell, and its trilinear weight: 3/4 an axis for the cell that
/// covers it, 1/4 for the one beside.
pub(crate) fn coarse_cell([i, y, k]: [i32; 3], n: i32) -> ([i32; 3], f32) {
    let along = |c: i32, beside: bool| -> (i32, f32) {
        if beside { ((c >> 1) + if c & 1 == 1 { 1 } else { -1 }, 0.25) } else { (c >> 1, 0.75) }
    };
    let (x, wx) = along(i, n & 1 == 1);
    let (y, wy) = along(y, (n >> 1) & 1 == 1);
    let (z, wz) = along(k, n >> 2 == 1);
    ([x, y, z], wx * wy * wz)
}

/// How the velocity is extrapolated.
#[derive(Clone, Copy, Debug)]
pub struct BandParams {
    /// Width of the accurate band in cells.
    pub band_cells: f32,
    /// Passes over it.
    pub passes: usize,
}

impl Default for BandParams {
    fn default() -> Self {
        BandParams { band_cells: 2.0, passes: 4 }
    }
}

/// Work arrays: two a level.
pub struct Scratch {
    levels: Vec<[Vec<Velocity>; 2]>,
}

impl Scratch {
    /// For a hierarchy that ends in a single column.
    pub fn new(grids: &[TallGrid]) -> Scratch {
        let two = |g: &TallGrid| [vec![[0.0; 4]; g.samples()], vec![[0.0; 4]; g.samples()]];
        Scratch { levels: grids.iter().map(two).collect() }
    }
}

/// The whole of [tall §3.3]: a velocity at every sample, from those in liquid. `grids` must end
/// in a single column.
pub fn extrapolate(
    u: &mut [Velocity],
    grids: &[TallGrid],
    phi: &[f32],
    params: BandParams,
    work: &mut Scratch,
) {
    let finest = &grids[0];
    let [a, b] = &mut work.levels[0];
    mark_known(a, u, finest, phi);
    for _ in 0..params.passes {
        band_pass(b, a, finest, phi, params.band_cells * finest.dx_m);
        std::mem::swap(a, b);
    }
    for level in 1..grids.len() {
        let (fine, coarse) = work.levels.split_at_mut(level);
        restrict_known(&mut coarse[0][0], &grids[level], &grids[level - 1], &fine[level - 1][0]);
    }
    let [a, b] = work.levels.last_mut().expect("a hierarchy has levels");
    fill_coarsest(b, a);
    std::mem::swap(a, b);
    for level in (0..grids.len() - 1).rev() {
        let (fine, coarse) = work.levels.split_at_mut(level + 1);
        let [a, b] = &mut fine[level];
        prolong_unknown(b, a, &grids[level], &grids[level + 1], &coarse[0][0]);
        std::mem::swap(a, b);
    }
    u.copy_from_slice(&work.levels[0][0]);
}
