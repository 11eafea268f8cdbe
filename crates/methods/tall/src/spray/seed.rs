//! Where trial particles begin.

use super::{Params, Particle, TRIAL, Water, chance, mix};
use crate::field::interpolate;

/// From the middle of a cell to its corner, cells.
const HALF_DIAGONAL: f32 = 0.8661;

/// Trial particles that a sample of the grid tries to make in a step; rounded up or down by chance so that the mean is exact.
///
/// They start in the uppermost layer of the water, a cell thick (phi_gen is -dx) [tall §3.9.3], all of its depths equally likely: as many as
/// the surface has area. Cells that have any part of the layer try.
pub fn trial_count(water: &Water, column: usize, row: usize, share: f32, params: &Params) -> (u32, u32) {
    let grid = water.before;
    let (i, k) = (column % grid.nx, column / grid.nx);
    let n = grid.index(i, row, k);
    let phi = water.phi_before[n];
    if row < 2 || phi > HALF_DIAGONAL * grid.dx_m || phi < -(1.0 + HALF_DIAGONAL) * grid.dx_m {
        return (0, 0);
    }
    let seed = mix(params.step ^ mix(n as u32));
    let wanted = params.trials_1_s * share * params.dt_s;
    ((wanted + chance(seed, 0)).floor() as u32, seed)
}

/// Calls `with` for the trial particles of a column that begin in the water. They have no numbers yet.
pub fn seed_column(
    water: &Water,
    column: usize,
    share: f32,
    params: &Params,
    mut with: impl FnMut(Particle),
) {
    let grid = water.before;
    let (i, k) = (column % grid.nx, column / grid.nx);
    for row in 2..grid.rows() {
        let (count, seed) = trial_count(water, column, row, share, params);
        for n in 0..count {
            let cell = [i as f32, grid.y(i, row, k) as f32, k as f32];
            if let Some(trial) = trial(water, cell, mix(seed.wrapping_add(1 + n)), params) {
                with(trial);
            }
        }
    }
}

/// A place in a cell, moved with the water to the moment of its birth and from then on for itself.
fn trial(water: &Water, cell: [f32; 3], seed: u32, params: &Params) -> Option<Particle> {
    let start: [f32; 3] = std::array::from_fn(|c| cell[c] + chance(seed, c as u32) - 0.5);
    let phi = interpolate(water.before, water.phi_before, start);
    let is_inside = (0..3).all(|c| start[c] >= params.low[c] && start[c] <= params.high[c]);
    if phi > 0.0 || phi < -water.before.dx_m || !is_inside {
        return None;
    }
    let v = water.velocity(start);
    let born_s = chance(seed, 3) * params.dt_s;
    let x = std::array::from_fn(|c| start[c] + born_s / water.grid.dx_m * v[c]);
    // Its age says from when on it moves in this step, see `advance`.
    Some(Particle { x, radius_m: -phi, v, left_s: params.trial_s, kind: TRIAL, seed, id: 0, age_s: -born_s })
}
