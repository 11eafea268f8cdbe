//! New heights of tall cells, and fields moved to the new grid [tall §3.6]. Twins in
//! `remesh.wgsl`.

use crate::field::{Value, at};
use crate::redistance::REACH_CELLS;
use crate::volume::share;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;

/// What the heights aim at.
#[derive(Clone, Copy, Debug)]
pub struct RemeshParams {
    /// Cubic cells below the lowest surface (G_L).
    pub cells_below: f32,
    /// Cubic cells above the highest surface (G_A).
    pub cells_above: f32,
    /// Largest difference between neighbouring tall cells' tops, cells (D).
    pub difference: f32,
    /// Smoothing passes.
    pub smoothing: usize,
    /// Passes that bound the difference.
    pub limiting: usize,
}

impl Default for RemeshParams {
    fn default() -> Self {
        RemeshParams { cells_below: 8.0, cells_above: 8.0, difference: 4.0, smoothing: 2, limiting: 2 }
    }
}

/// The range of tops, (lowest, highest) in cells, of every column: the lowest keeps `cells_above` cubic cells
/// over the highest surface, the highest keeps `cells_below` under the lowest. A dry column has its cubic
/// cells at the ground, where liquid will arrive.
pub fn top_ranges(out: &mut [[f32; 2]], grid: &TallGrid, phi: &[f32], params: &RemeshParams) {
    let regular = grid.regular as f32;
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, range) in row.iter_mut().enumerate() {
            let ground = (grid.column(i, k)[0] + LEAST_TALL) as f32;
            *range = top_range(surfaces(grid, phi, i, k), ground, regular, params);
        }
    });
}

/// The range of tops of a column of `regular` cubic cells over `ground`, from the heights of its lowest and
/// highest surfaces.
pub fn top_range(surfaces: Option<(f32, f32)>, ground: f32, regular: f32, params: &RemeshParams) -> [f32; 2] {
    let Some((lowest, highest)) = surfaces else { return [ground; 2] };
    [(highest + params.cells_above - regular).max(ground), (lowest - params.cells_below).max(ground)]
}

/// Bounds the ranges from above by those of the columns around, as far along x and z as cells are wanted below surfaces. Tall
/// cells are for the deep inside, where flow is linear: beside a thin layer, one that stands in a sheet climbing a wall takes in
/// at its foot what the line between its ends cannot let out at its top.
/// Test: `no_tall_cell_stands_beside_shallow_water`.
pub fn keep_off_shallows(
    ranges: &mut [[f32; 2]],
    grid: &TallGrid,
    params: &RemeshParams,
    work: &mut Vec<f32>,
) {
    let reach = params.cells_below.ceil() as usize;
    let (nx, nz) = (grid.nx, grid.nz);
    let around = |n: usize, end: usize| n.saturating_sub(reach)..(n + reach + 1).min(end);
    work.resize(ranges.len(), 0.0);
    parallel::for_each_chunk_mut(work, nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            *out = around(i, nx).map(|i| ranges[i + nx * k][1]).fold(f32::MAX, f32::min);
        }
    });
    parallel::for_each_chunk_mut(ranges, nx, |k, row| {
        for (i, range) in row.iter_mut().enumerate() {
            let lowest = around(k, nz).map(|k| work[i + nx * k]).fold(f32::MAX, f32::min);
            range[1] = lowest.max((grid.column(i, k)[0] + LEAST_TALL) as f32);
        }
    });
}

/// Bounds the ranges from above: room above the surface is not needed beyond the domain, and no tall cell
/// reaches into an obstacle.
pub fn limit_ranges(ranges: &mut [[f32; 2]], limits: &[[f32; 2]]) {
    for (range, limit) in ranges.iter_mut().zip(limits) {
        *range = [range[0].min(limit[0]), range[1].min(limit[1])];
    }
}

/// Height of the lowest surface (the first air above the column's foot, cells) and of the highest (just over
/// the last liquid); none in a dry column.
fn surfaces(grid: &TallGrid, phi: &[f32], i: usize, k: usize) -> Option<(f32, f32)> {
    let (mut lowest, mut highest) = (None, None);
    for j in 0..grid.rows() {
        let (here, y) = (phi[grid.index(i, j, k)], grid.y(i, j, k) as f32);
        if here <= 0.0 {
            highest = Some(y + 1.0);
        } else if lowest.is_none() {
            lowest = Some(y);
        }
        // A surface inside the tall cell lies where phi, linear there, vanishes.
        if j == 1 {
            let (foot, below) = (phi[grid.index(i, 0, k)], grid.column(i, k)[0] as f32);
            if (foot <= 0.0) != (here <= 0.0) {
                let crossing = below + (y - below) * (foot / (foot - here));
                match foot <= 0.0 {
                    true => (lowest, highest) = (Some(crossing.floor()), Some(crossing.floor() + 1.0)),
                    false => lowest = Some(below),
                }
            }
        }
    }
    highest.map(|high| (lowest.unwrap_or(grid.above(i, k) as f32), high))
}

/// The middle of each range.
pub fn middles(out: &mut [f32], ranges: &[[f32; 2]]) {
    out.iter_mut().zip(ranges).for_each(|(out, r)| *out = 0.5 * (r[0] + r[1]));
}

/// Within the range; where it is empty, room above the surface wins (the paper's preference of its condition
/// 2).
fn clamped(top: f32, range: [f32; 2]) -> f32 {
    top.min(range[1]).max(range[0])
}

/// The tops of the four neighbouring columns; a wall repeats the column itself.
fn sides(grid: &TallGrid, tops: &[f32], i: usize, k: usize) -> [f32; 4] {
    let at = |i: usize, k: usize| tops[i + grid.nx * k];
    [
        at(i.saturating_sub(1), k),
        at((i + 1).min(grid.nx - 1), k),
        at(i, k.saturating_sub(1)),
        at(i, (k + 1).min(grid.nz - 1)),
    ]
}

/// One smoothing pass, within the ranges.
pub fn smooth_pass(out: &mut [f32], tops: &[f32], grid: &TallGrid, ranges: &[[f32; 2]]) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let [a, b, c, d] = sides(grid, tops, i, k);
            let column = i + grid.nx * k;
            *out = clamped(0.5 * tops[column] + 0.125 * (((a + b) + c) + d), ranges[column]);
        }
    });
}

/// One pass of the bound on differences [tall eq. 10], after which room above the surface is
/// restored.
///
/// The paper prints the largest neighbour plus D as the bound; only single peaks would be cut by it, and a
/// steep ramp, whose every column has a higher neighbour, would stay. The condition that it states asks for
/// the smallest: `neighbouring_tops_differ_by_no_more_than_allowed`.
pub fn limit_pass(out: &mut [f32], tops: &[f32], grid: &TallGrid, ranges: &[[f32; 2]], difference: f32) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let [a, b, c, d] = sides(grid, tops, i, k);
            let column = i + grid.nx * k;
            let lowest = a.min(b).min(c).min(d);
            *out = tops[column].min(lowest + difference).max(ranges[column][0]);
        }
    });
}

/// Terrain and tall-cell heights from tops.
pub fn columns_from_tops(out: &mut [[i32; 2]], grid: &TallGrid, tops: &[f32]) {
    for ((out, column), top) in out.iter_mut().zip(&grid.columns).zip(tops) {
        *out = [column[0], ((top + 0.5).floor() as i32 - column[0]).max(LEAST_TALL)];
    }
}

/// Work arrays of [`remesh`].
#[derive(Default)]
pub struct Scratch {
    /// Ranges of tops.
    pub ranges: Vec<[f32; 2]>,
    tops: [Vec<f32>; 2],
}

/// New heights for the surface that phi gives. `limits` bound the ranges from above, see [`limit_ranges`].
pub fn remesh(
    out: &mut [[i32; 2]],
    grid: &TallGrid,
    phi: &[f32],
    params: &RemeshParams,
    limits: &[[f32; 2]],
    work: &mut Scratch,
) {
    work.ranges.resize(grid.columns.len(), [0.0; 2]);
    top_ranges(&mut work.ranges, grid, phi, params);
    keep_off_shallows(&mut work.ranges, grid, params, &mut work.tops[0]);
    limit_ranges(&mut work.ranges, limits);
    heights(out, grid, params, work);
}

/// New heights from the ranges of tops in the work arrays.
pub fn heights(out: &mut [[i32; 2]], grid: &TallGrid, params: &RemeshParams, work: &mut Scratch) {
    work.tops.iter_mut().for_each(|t| t.resize(grid.columns.len(), 0.0));
    let [a, b] = &mut work.tops;
    middles(a, &work.ranges);
    for _ in 0..params.smoothing {
        smooth_pass(b, a, grid, &work.ranges);
        std::mem::swap(a, b);
    }
    for _ in 0..params.limiting {
        limit_pass(b, a, grid, &work.ranges, params.difference);
        std::mem::swap(a, b);
    }
    columns_from_tops(out, grid, a);
}

/// A field on the new heights: cubic cells take the old value at their place, tall cells the line that fits
/// the old values of all their sub-cells best. The line keeps their sum. Linear fields come back exactly:
/// `a_linear_field_survives_remeshing`.
pub fn transfer<T: Value + Line>(out: &mut [T], new: &TallGrid, old: &TallGrid, values: &[T]) {
    let slab = new.nx * new.rows();
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        for i in 0..new.nx {
            let [terrain, tall] = new.column(i, k);
            let old_value = |y: i32| at(values, old.locate(i, k, y as f32));
            let (bottom, top) = fit(tall, |t| old_value(terrain + t));
            out[i] = bottom;
            out[i + new.nx] = top;
            (2..new.rows()).for_each(|j| out[i + new.nx * j] = old_value(new.y(i, j, k)));
        }
    });
}

/// phi on the new heights, as [`transfer`] has it, but for tall cells that hold liquid and air, where heights are new or liquid comes down from above.
///
/// The line that fits a distance best has its zero elsewhere than the distance, the farther off the longer the tall cell (5 cells of water under 40 of
/// air, both at most 5 cells away from the surface, come out as 1): water is made and lifted. The line here stands for as much
/// liquid as there was, on the ground, and is nowhere steeper than a distance, nor longer than phi is kept.
/// Test: `tall_cells_with_a_surface_keep_their_liquid`.
pub fn transfer_phi(out: &mut [f32], new: &TallGrid, old: &TallGrid, phi: &[f32]) {
    transfer(out, new, old, phi);
    let slab = new.nx * new.rows();
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        for i in 0..new.nx {
            let [terrain, tall] = new.column(i, k);
            let ends = [out[i] / new.dx_m, out[i + new.nx] / new.dx_m];
            let comes_from_above = ends[0] > 0.0 && ends[1] <= 0.0;
            if old.column(i, k) == [terrain, tall] && !comes_from_above {
                continue;
            }
            let in_cells = |t: i32| at(phi, old.locate(i, k, (terrain + t) as f32)) / new.dx_m;
            let [bottom, top] = line_of_liquid(tall, ends, in_cells);
            (out[i], out[i + new.nx]) = (bottom * new.dx_m, top * new.dx_m);
        }
    });
}

/// The longest side of a line that stands for liquid, cells: what the rounds below may add stays within what is kept of phi.
const LONGEST_LINE: f32 = REACH_CELLS - 0.5;
/// Rounds of Newton's method for the liquid that a line stands for, as many as halve the error where there is hardly any.
const LINE_ROUNDS: usize = 8;

/// The ends of the line, in cells, that stands for as much liquid as `count` values of phi do: the given one where all is liquid or all is air.
fn line_of_liquid(count: i32, ends: [f32; 2], phi_cells: impl Fn(i32) -> f32) -> [f32; 2] {
    let n = count as f32;
    let liquid = (0..count).fold(0.0f32, |sum, t| sum + share(phi_cells(t)));
    if liquid <= 0.0 {
        return ends.map(|end| end.max(0.5));
    }
    if liquid >= n {
        return ends.map(|end| end.min(-0.5));
    }
    // phi vanishes `liquid` cells above the tall cell's foot, which is half a cell below its lower end.
    let lengths = [liquid - 0.5, n - 0.5 - liquid];
    let slope = (LONGEST_LINE / lengths[0].max(lengths[1])).min(1.0);
    let mut line = [-slope * lengths[0], slope * lengths[1]];
    for _ in 0..LINE_ROUNDS {
        let (mut held, mut cut) = (0.0f32, 0.0f32);
        for t in 0..count {
            let here = line[0].blend(line[1], t as f32 / (n - 1.0));
            held += share(here);
            cut += if here.abs() < 0.5 { 1.0 } else { 0.0 };
        }
        let shift = if cut > 0.0 { (held - liquid) / cut } else { 0.0 };
        line = line.map(|end| end + shift);
    }
    line
}

/// The ends of the line that fits `count` values at equal distances best, by least squares.
pub fn fit<T: Line>(count: i32, value: impl Fn(i32) -> T) -> (T, T) {
    let n = count as f32;
    let middle = 0.5 * (n - 1.0);
    let (mut sum, mut moment) = (T::ZERO, T::ZERO);
    for t in 0..count {
        let v = value(t);
        sum = sum.plus(v, 1.0);
        moment = moment.plus(v, t as f32 - middle);
    }
    // Sum of (t - middle)^2 is n (n^2 - 1) / 12; the ends lie at the middle -+ (n - 1) / 2.
    let mean = T::ZERO.plus(sum, 1.0 / n);
    let rise = 6.0 / (n * (n + 1.0));
    (mean.plus(moment, -rise), mean.plus(moment, rise))
}

/// Sums of values with factors.
pub trait Line: Copy {
    /// Nothing.
    const ZERO: Self;
    /// `self + factor * other`.
    fn plus(self, other: Self, factor: f32) -> Self;
}

impl Line for f32 {
    const ZERO: f32 = 0.0;
    fn plus(self, other: f32, factor: f32) -> f32 {
        self + factor * other
    }
}

impl Line for [f32; 4] {
    const ZERO: [f32; 4] = [0.0; 4];
    fn plus(self, other: [f32; 4], factor: f32) -> [f32; 4] {
        std::array::from_fn(|c| self[c] + factor * other[c])
    }
}
