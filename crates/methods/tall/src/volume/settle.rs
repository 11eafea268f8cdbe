//! Surfaces displaced to what columns hold: what stands on their ground and what is aloft, each for itself.

use super::{Flow, Held, Open, held_in, share};
use crate::field::for_each_sample;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use std::ops::Range;

/// A column's liquid: what stands on its ground, and what is aloft.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Divided {
    /// First row of what is aloft; the number of rows where nothing is.
    pub aloft: usize,
    /// What both hold.
    pub held: [Held; 2],
}

impl Divided {
    fn rows(&self, grid: &TallGrid) -> [Range<usize>; 2] {
        [0..self.aloft, self.aloft..grid.rows()]
    }

    /// The part (0 standing, 1 aloft) that receives what sources bring: an amount and its moment of heights. A tap above a pool fills its own jet.
    pub fn part_of(&self, grid: &TallGrid, [i, k]: [usize; 2], [amount, moment]: [f32; 2]) -> usize {
        usize::from(self.aloft < grid.rows() && moment >= amount * grid.y(i, self.aloft, k) as f32)
    }

    /// Volume of both, cells.
    pub fn volume(&self) -> f32 {
        self.held[0].volume + self.held[1].volume
    }
}

/// The first row above the widest air below liquid: above the cubic cell without liquid where phi is largest. The number of
/// rows where there is none.
fn first_aloft(grid: &TallGrid, phi: &[f32], [i, k]: [usize; 2]) -> usize {
    let (mut widest, mut aloft, mut is_below_liquid) = (0.0f32, grid.rows(), false);
    for row in (2..grid.rows()).rev() {
        let cells = phi[grid.index(i, row, k)] / grid.dx_m;
        if share(cells) > 0.0 {
            is_below_liquid = true;
        } else if is_below_liquid && cells > widest {
            (widest, aloft) = (cells, row + 1);
        }
    }
    aloft
}

/// Divides what columns hold. A column `as_one`, where all leaves, is not divided, nor one that a
/// source pours into while no more stands in it than is aloft: what a jet misses of its flow would be owed by what it falls on.
pub fn divide(
    out: &mut [Divided],
    grid: &TallGrid,
    phi: &[f32],
    open: &Open,
    as_one: impl Fn([usize; 2]) -> bool + Sync + Send,
    pours: impl Fn([usize; 2]) -> bool + Sync + Send,
) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            out.aloft = if as_one([i, k]) { grid.rows() } else { first_aloft(grid, phi, [i, k]) };
            out.held = out.rows(grid).map(|rows| held_in(grid, phi, open, [i, k], rows, 0.0));
            if pours([i, k]) && out.held[0].volume <= out.held[1].volume {
                out.aloft = grid.rows();
                out.held = out.rows(grid).map(|rows| held_in(grid, phi, open, [i, k], rows, 0.0));
            }
        }
    });
}

/// Columns before the step.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// phi, of which columns hold...
    pub phi: &'a [f32],
    /// ...this much,
    pub held: &'a [Held],
    /// and this much beside it.
    pub residual: &'a [f32],
}

/// What every column lacks after the fluxes: what it held, its residual and what flowed, less what phi says of it now. What
/// is aloft lacks what lay in its rows and has flowed into them, less what phi says; the residual is of what stands.
pub fn lacking(out: &mut [[f32; 2]], start: &Start, flow: &Flow, flux: &[[f32; 2]], now: &[Divided]) {
    let grid = flow.grid;
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let c = i + grid.nx * k;
            let from_x = if i > 0 { flux[c - 1][0] } else { 0.0 };
            let from_z = if k > 0 { flux[c - grid.nx][1] } else { 0.0 };
            let flowed = (from_x - flux[c][0]) + (from_z - flux[c][1]);
            let all = (start.held[c].volume - now[c].volume()) + (start.residual[c] + flowed);
            let mut aloft = 0.0;
            if now[c].aloft < grid.rows() {
                let before = held_in(grid, start.phi, flow.open, [i, k], now[c].aloft..grid.rows(), 0.0);
                aloft = (before.volume - now[c].held[1].volume) + flow.entering_upper([i, k], now[c].aloft);
            }
            *out = [all - aloft, aloft];
        }
    });
}

/// Columns with less open surface than this have none to displace, cells.
const LEAST_SURFACE: f32 = 0.05;

/// Passes that even out what columns lack.
pub const SPREAD_PASSES: usize = 2;

/// One pass that evens out what columns lack, without changing its sum: an eighth goes to each neighbour that has
/// a surface, a quarter from columns that have none.
pub fn spread_pass(out: &mut [[f32; 2]], lacking: &[[f32; 2]], grid: &TallGrid, now: &[Divided]) {
    let n = grid.nx;
    parallel::for_each_chunk_mut(out, n, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let c = i + n * k;
            *out = std::array::from_fn(|part| {
                let has_surface = |c: usize| now[c].held[part].surface >= LEAST_SURFACE;
                let given = |from: usize, to: usize| match (has_surface(from), has_surface(to)) {
                    (_, false) => 0.0,
                    (true, true) => 0.125 * lacking[from][part],
                    (false, true) => 0.25 * lacking[from][part],
                };
                let mut sum = lacking[c][part];
                for (there, is_there) in [
                    (c.wrapping_sub(1), i > 0),
                    (c + 1, i + 1 < n),
                    (c.wrapping_sub(n), k > 0),
                    (c + n, k + 1 < grid.nz),
                ] {
                    if is_there {
                        sum += given(there, c) - given(c, there);
                    }
                }
                sum
            });
        }
    });
}

/// A surface is displaced by no more than this in a step, cells; what is left stays residual.
pub const MOST_DISPLACED: f32 = 0.5;
/// Rounds of Newton's method for a displacement.
const ROUNDS: usize = 4;

/// How far, in cells, the surfaces of what stands and of what is aloft must be displaced outwards for them to hold what they
/// lack. 0 where there is no surface. Second, whether the bound held one back.
pub fn displacements(
    out: &mut [([f32; 2], bool)],
    grid: &TallGrid,
    phi: &[f32],
    open: &Open,
    (now, lacking): (&[Divided], &[[f32; 2]]),
) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let c = i + grid.nx * k;
            *out = ([0.0; 2], false);
            for (part, rows) in now[c].rows(grid).into_iter().enumerate() {
                let (mut shift, mut here) = (0.0f32, now[c].held[part]);
                let target = here.volume + lacking[c][part];
                let mut is_held_back = false;
                for _ in 0..ROUNDS {
                    if here.surface < LEAST_SURFACE {
                        break;
                    }
                    let wanted = shift + (target - here.volume) / here.surface;
                    shift = wanted.clamp(-MOST_DISPLACED, MOST_DISPLACED);
                    is_held_back = shift != wanted;
                    here = held_in(grid, phi, open, [i, k], rows.clone(), -shift);
                }
                out.0[part] = shift;
                out.1 |= is_held_back;
            }
        }
    });
}

/// A dry column that lacks as much as this gets a film, cells: half a cell is the least that the projection sees.
const LEAST_FILM: f32 = 0.5;

/// Displaces the surfaces of all columns, and lays films on dry ground that lacks enough for one.
pub fn displace(
    out: &mut [f32],
    grid: &TallGrid,
    phi: &[f32],
    (now, lacking): (&[Divided], &[[f32; 2]]),
    shift: &[([f32; 2], bool)],
) {
    for_each_sample(grid, out, |s| {
        let c = s.i + grid.nx * s.k;
        let part = usize::from(s.j >= now[c].aloft);
        let displaced = phi[s.index] - shift[c].0[part] * grid.dx_m;
        let is_dry = now[c].held[0].surface == 0.0 && phi[grid.index(s.i, 0, s.k)] > 0.0;
        if part == 1 || !is_dry || lacking[c][0] < LEAST_FILM {
            return displaced;
        }
        let over_ground = (s.y - grid.column(s.i, s.k)[0]) as f32 + 0.5;
        displaced.min((over_ground - lacking[c][0]) * grid.dx_m)
    });
}
