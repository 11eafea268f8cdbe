//! Between levels of multigrid [tall §3.7.1]. Twins in `transfer.wgsl`.

use super::stencil::{Layers, Row, bounded, is_held_back};
use crate::extrapolate::{coarse_cell, fine_cell};
use crate::field::{for_each_sample, nearest};
use crate::remesh::fit;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;

/// Solid fraction of the coarse cell (i, y, k): mean of the eight fine ones; terrain and what lies beyond
/// walls is solid.
fn mean_fraction(fine: &TallGrid, fraction: &[f32], cell: [i32; 3]) -> f32 {
    let mut sum = 0.0;
    for n in 0..8 {
        let (i, y, k) = fine_cell(cell, n);
        sum += match fine.holds(i, y, k) {
            Holds::Solid => 1.0,
            Holds::Air => 0.0,
            Holds::Cell => nearest(fine, fraction, [i, k], y as f32),
        };
    }
    sum * 0.125
}

/// phi of a coarse cell: mean of the fine values outside the terrain. While bubbles are kept and the signs
/// differ, mean of the positive ones alone.
fn mean_phi(fine: &TallGrid, phi: &[f32], cell: [i32; 3], keep_bubbles: bool) -> f32 {
    let (mut all, mut count, mut air, mut air_count) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
    for n in 0..8 {
        let (i, y, k) = fine_cell(cell, n);
        let holds = fine.holds(i, y, k);
        if holds == Holds::Solid {
            continue;
        }
        // Above the column there is air, whatever its last value says.
        let below = nearest(fine, phi, [i, k], y as f32);
        let value = if holds == Holds::Air { below.max(fine.dx_m) } else { below };
        all += value;
        count += 1.0;
        if value > 0.0 {
            air += value;
            air_count += 1.0;
        }
    }
    if keep_bubbles && air_count > 0.0 && air_count < count {
        return air / air_count;
    }
    if count > 0.0 { all / count } else { fine.dx_m }
}

/// A coarse field from a function of its cells: cubic cells take it, tall cells the line that fits it best.
fn coarse_field(out: &mut [f32], coarse: &TallGrid, value: impl Fn([i32; 3]) -> f32 + Sync + Send) {
    for_each_sample(coarse, out, |s| {
        let (i, k) = (s.i as i32, s.k as i32);
        if s.j >= 2 {
            return value([i, s.y, k]);
        }
        let [terrain, tall] = coarse.column(s.i, s.k);
        let (bottom, top) = fit(tall, |t| value([i, terrain + t, k]));
        if s.j == 0 { bottom } else { top }
    });
}

/// Solid fraction on the coarser grid. A line that fits fractions may leave 0 to 1 at its ends; it is cut
/// there, which shapes corrections and no solution.
pub fn coarsen_fraction(out: &mut [f32], coarse: &TallGrid, fine: &TallGrid, fraction: &[f32]) {
    coarse_field(out, coarse, |cell| mean_fraction(fine, fraction, cell));
    out.iter_mut().for_each(|f| *f = f.clamp(0.0, 1.0));
}

/// phi on the coarser grid. Bubbles are kept on the two finest levels (the paper's C = 2).
pub fn coarsen_phi(out: &mut [f32], coarse: &TallGrid, fine: &TallGrid, phi: &[f32], keep_bubbles: bool) {
    coarse_field(out, coarse, |cell| mean_phi(fine, phi, cell, keep_bubbles));
}

/// Sums over the fine equations that end `end` (0 lower, 1 upper) of a coarse tall cell stands for: thickness
/// times residual, and thickness, in fine cells.
///
/// The lower end stands for what lies in its own eight fine cells (terrain counts as a residual of zero, as
/// in cubic cells); the upper for the upper ends of its four fine columns and for the cubic cells between
/// them and the top of the coarse tall cell. The inside of a tall cell has no equation and does not count
/// (see [`Layers`]).
fn end_sums(
    coarse: &TallGrid,
    (fine, layers): (&TallGrid, &[Layers]),
    residual: impl Fn(usize) -> f32,
    [i, end, k]: [usize; 3],
) -> [f32; 2] {
    let [terrain, tall] = coarse.column(i, k);
    let covered = if end == 0 { 2 * terrain + 2 } else { 2 * (terrain + tall) };
    let mut sums = [0.0f32; 2];
    for n in 0..4 {
        let (i, k) = (2 * i + (n & 1), 2 * k + (n >> 1));
        if i >= fine.nx || k >= fine.nz {
            sums[1] += if end == 0 { 2.0 } else { 0.0 };
            continue;
        }
        let ends = layers[i + fine.nx * k];
        if end == 0 {
            sums[1] += (fine.column(i, k)[0] - 2 * terrain).min(2) as f32;
        }
        for j in (if end == 0 { 0 } else { 1 })..fine.rows() {
            if fine.y(i, j, k) >= covered {
                break;
            }
            let thickness = if j < 2 { ends[j] } else { 1.0 };
            sums[0] += thickness * residual(fine.index(i, j, k));
            sums[1] += thickness;
        }
    }
    sums
}

/// Layers of the coarser grid's tall cells: the mean thickness of what their ends stand for, in coarse cells.
pub fn coarsen_layers(out: &mut [Layers], coarse: &TallGrid, fine: &TallGrid, layers: &[Layers]) {
    parallel::for_each_chunk_mut(out, coarse.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            *out = [0, 1].map(|end| end_sums(coarse, (fine, layers), |_| 0.0, [i, end, k])[1] * 0.125);
        }
    });
}

/// Restriction [tall eq. 19]: mean of the eight fine residuals around a coarse cubic cell, zero
/// where there is no unknown; for a tall cell's ends, mean over the equations they stand for. Times 4,
/// because the operators have no 1/dx^2.
pub fn restrict(
    out: &mut [f32],
    coarse: &TallGrid,
    (fine, layers): (&TallGrid, &[Layers]),
    residual: &[f32],
) {
    for_each_sample(coarse, out, |s| {
        if s.j < 2 {
            let [sum, thickness] = end_sums(coarse, (fine, layers), |n| residual[n], [s.i, s.j, s.k]);
            return 4.0 * (sum / thickness);
        }
        let mut sum = 0.0;
        for n in 0..8 {
            let (i, y, k) = fine_cell([s.i as i32, s.y, s.k as i32], n);
            if fine.holds(i, y, k) == Holds::Cell {
                sum += nearest(fine, residual, [i, k], y as f32);
            }
        }
        0.5 * sum
    });
}

/// Prolongation: `p + trilinear interpolation of the coarse correction` at unknowns. Coarse cells outside the
/// grid are left out and the weights of the others made to add up to 1.
pub fn add_prolonged(
    out: &mut [f32],
    p: &[f32],
    (fine, rows): (&TallGrid, &[Row]),
    coarse: &TallGrid,
    correction: &[f32],
) {
    for_each_sample(fine, out, |s| {
        if rows[s.index][6] == 0.0 {
            return 0.0;
        }
        if is_held_back(&rows[s.index], p[s.index]) {
            return p[s.index];
        }
        let (mut sum, mut total) = (0.0f32, 0.0f32);
        for n in 0..8 {
            let ([i, y, k], weight) = coarse_cell([s.i as i32, s.y, s.k as i32], n);
            if coarse.holds(i, y, k) == Holds::Cell {
                sum += weight * nearest(coarse, correction, [i, k], y as f32);
                total += weight;
            }
        }
        bounded(&rows[s.index], p[s.index] + sum / total)
    });
}
