//! Cycles [tall Alg. 2 to 4]. The non-symmetric system is solved by cycles alone.
//!
//! Two things keep them from diverging, which the paper's cycles do where liquid has let go of walls and around bubbles and steep columns:
//! - Where the bound of the pressure at a wall acts (`walls`), the pressure is given. Coarser levels that do not know it answer the residual
//!   beside such walls with corrections as large as the liquid behind them asks for, the bound cuts them off at the wall, and the next cycle takes them
//!   back: two thin sheets between walls went up and down by 1 kPa from cycle to cycle, and by 1e6 m/s from step to step. So coarser levels are built for
//!   every cycle with such cells as air ([`mark_held_back`]).
//! - Of the way from the smoothed pressure to that after the correction and the sweeps that follow, the part is taken that has least energy
//!   ([`part_to_take`]). A correction that overshoots is shortened.

use super::stencil::{Layers, Row, bounded, build_rows, layers, mark_held_back, residual, smooth_colour};
use super::transfer::{add_prolonged, coarsen_fraction, coarsen_layers, coarsen_phi, restrict};
use crate::hierarchy::coarsen_until;
use crate::walls::Walls;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;

/// How the pressure is solved for.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// Full cycles, first.
    pub full: usize,
    /// V-cycles, after them.
    pub v: usize,
    /// Sweeps before coarser levels.
    pub before: usize,
    /// Sweeps after them.
    pub after: usize,
    /// Over-relaxed sweeps on the coarsest level, which has at most [`COARSEST_SAMPLES`].
    pub coarsest: usize,
}

impl Default for Cycles {
    /// The paper's: one full cycle and two V-cycles of 2 + 2 sweeps.
    fn default() -> Self {
        Cycles { full: 1, v: 2, before: 2, after: 2, coarsest: 10 }
    }
}

/// The coarsest level fits the memory of one workgroup (16 KiB of pressures).
pub const COARSEST_SAMPLES: usize = 2048;

/// By how much sweeps on the coarsest level overshoot. Ten of them leave what forty plain ones do: the residual falls by the
/// same factors from full cycle to full cycle (test `the_residual_falls_exponentially`), and on a GPU the sweeps of that
/// one workgroup were half of the solution's time.
pub const OVER_RELAXATION: f32 = 1.6;

/// Levels that keep bubbles of air (the paper's C).
pub const BUBBLE_LEVELS: usize = 2;

/// One level: geometry, operator and vectors.
pub struct Level {
    /// Geometry.
    pub grid: TallGrid,
    /// Level set.
    pub phi: Vec<f32>,
    /// Solid fraction.
    pub fraction: Vec<f32>,
    /// Operator.
    pub rows: Vec<Row>,
    /// Pressure, or the correction of the finer level's.
    pub p: Vec<f32>,
    /// Right side.
    pub b: Vec<f32>,
    /// Right side of full cycles.
    full_b: Vec<f32>,
    r: Vec<f32>,
    layers: Vec<Layers>,
    work: Vec<f32>,
}

impl Level {
    fn new(grid: TallGrid) -> Level {
        let zeros = || vec![0.0f32; grid.samples()];
        let (phi, fraction, p, work) = (zeros(), zeros(), zeros(), zeros());
        let (b, full_b, r) = (zeros(), zeros(), zeros());
        let layers = vec![[1.0; 2]; grid.columns.len()];
        let rows = vec![[0.0; 8]; grid.samples()];
        Level { grid, phi, fraction, rows, p, b, full_b, r, layers, work }
    }

    fn solve_coarsest(&mut self, sweeps: usize) {
        for half in 0..2 * sweeps {
            smooth_colour(&mut self.work, &self.grid, &self.rows, &self.p, &self.b, half as i32 % 2);
            let overshoot = self.work.iter_mut().zip(self.p.iter().zip(&self.rows));
            overshoot.for_each(|(new, (old, row))| *new = bounded(row, old + OVER_RELAXATION * (*new - old)));
            std::mem::swap(&mut self.p, &mut self.work);
        }
    }

    fn smooth(&mut self, sweeps: usize) {
        for _ in 0..sweeps {
            for colour in 0..2 {
                smooth_colour(&mut self.work, &self.grid, &self.rows, &self.p, &self.b, colour);
                std::mem::swap(&mut self.p, &mut self.work);
            }
        }
    }
}

/// Sums by row of a change of pressure times the residual before it, and times what it has removed of that.
pub fn work_by_row(out: &mut [[f32; 2]], p: [&[f32]; 2], residual: [&[f32]; 2]) {
    let nx = p[0].len() / out.len();
    for (row, out) in out.iter_mut().enumerate() {
        *out = [0.0; 2];
        for n in row * nx..(row + 1) * nx {
            let change = p[1][n] - p[0][n];
            out[0] += change * residual[0][n];
            out[1] += change * (residual[0][n] - residual[1][n]);
        }
    }
}

/// Sums that are added up side by side: as many as a workgroup has invocations.
const LANES: usize = 256;

/// Which part of a change e of pressure is best, 0 to 1, by the sums of [`work_by_row`]: with residuals r and r' before and after it is e r / e (r - r'), where the
/// energy p A p / 2 - b p is least, which the pressure within its bounds makes least of all. (By the square of what is left instead, beside lids and blocks
/// much less is taken than would do.) All of it where nothing can be said. A part of the way keeps the bounds.
pub fn part_to_take(by_row: &[[f32; 2]]) -> f32 {
    let mut lanes = [[0.0f32; 2]; LANES];
    for (n, row) in by_row.iter().enumerate() {
        (0..2).for_each(|c| lanes[n % LANES][c] += row[c]);
    }
    let [along, all] = lanes.iter().fold([0.0f32; 2], |sum, lane| [sum[0] + lane[0], sum[1] + lane[1]]);
    // Operators without 1/dx^2 are negative: so are both sums.
    if all < 0.0 { (along / all).clamp(0.0, 1.0) } else { 1.0 }
}

/// The hierarchy, finest level first.
pub struct Multigrid {
    /// Levels, finest first.
    pub levels: Vec<Level>,
    /// phi of the finest level as coarser ones see it.
    phi_seen: Vec<f32>,
    /// The finest level's pressure before a correction.
    p_smoothed: Vec<f32>,
    work_by_row: Vec<[f32; 2]>,
    /// Is there a wall that liquid lets go of?
    lets_go: bool,
}

impl Multigrid {
    /// Levels for grids of this size; [`Multigrid::build`] fills them.
    pub fn new(grid: &TallGrid) -> Multigrid {
        let grids = coarsen_until(grid, |g| g.samples() <= COARSEST_SAMPLES);
        let levels: Vec<Level> = grids.into_iter().map(Level::new).collect();
        let zeros = || vec![0.0f32; grid.samples()];
        let work_by_row = vec![[0.0; 2]; grid.rows() * grid.nz];
        Multigrid { levels, phi_seen: zeros(), p_smoothed: zeros(), work_by_row, lets_go: false }
    }

    /// Operators of all levels for new heights, a level set and solid fractions (Algorithm 2, lines 1 to 5); of the coarser ones in every cycle where
    /// walls let go. Pressures stay as they are.
    pub fn build(&mut self, grid: &TallGrid, phi: &[f32], fraction: &[f32], walls: &Walls) {
        let levels = &mut self.levels;
        levels[0].grid.clone_from(grid);
        levels[0].phi.copy_from_slice(phi);
        levels[0].fraction.copy_from_slice(fraction);
        layers(&mut levels[0].layers, grid);
        let finest = &mut levels[0];
        build_rows(&mut finest.rows, &finest.grid, (&finest.phi, &finest.fraction), &finest.layers, walls);
        self.phi_seen.copy_from_slice(phi);
        for n in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(n);
            let (fine, coarse) = (&fine[n - 1], &mut coarse[0]);
            coarse.grid.cover(&fine.grid);
            coarsen_fraction(&mut coarse.fraction, &coarse.grid, &fine.grid, &fine.fraction);
            coarsen_layers(&mut coarse.layers, &coarse.grid, &fine.grid, &fine.layers);
        }
        self.lets_go = walls.lets_go.contains(&true);
        if !self.lets_go {
            self.build_coarse();
        }
    }

    /// phi and operators of the coarser levels.
    fn build_coarse(&mut self) {
        let levels = &mut self.levels;
        for n in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(n);
            let (fine, coarse) = (&fine[n - 1], &mut coarse[0]);
            let fine_phi = if n == 1 { &self.phi_seen } else { &fine.phi };
            coarsen_phi(&mut coarse.phi, &coarse.grid, &fine.grid, fine_phi, n <= BUBBLE_LEVELS);
            // Corrections have either sign.
            let fields = (&coarse.phi[..], &coarse.fraction[..]);
            build_rows(&mut coarse.rows, &coarse.grid, fields, &coarse.layers, &Walls::HOLDING);
        }
    }

    /// Shows coarser levels where the pressure is at its bound.
    fn show_held_back(&mut self) {
        if self.lets_go {
            let finest = &self.levels[0];
            mark_held_back(&mut self.phi_seen, &finest.grid, &finest.phi, &finest.rows, &finest.p);
            self.build_coarse();
        }
    }

    /// Solves for the right side in the finest level's `b`, from the pressure in its `p`.
    pub fn solve(&mut self, cycles: &Cycles) {
        (0..cycles.full + cycles.v).for_each(|n| self.cycle(n, cycles));
    }

    /// Cycle `n` of a solution: full ones come first. A full cycle is one whose coarser levels are solved by Algorithm 4, and a V-cycle after it.
    pub fn cycle(&mut self, n: usize, cycles: &Cycles) {
        if self.levels.len() == 1 {
            return self.levels[0].solve_coarsest(cycles.coarsest);
        }
        if n < cycles.full {
            self.correct_by(cycles, Self::full_cycle);
        }
        self.correct_by(cycles, |all, cycles| {
            all.levels[1].p.fill(0.0);
            all.v_cycle(1, cycles);
        });
    }

    /// Sweeps over the finest level, a correction that `solve` finds on the coarser ones, and sweeps again.
    fn correct_by(&mut self, cycles: &Cycles, solve: impl FnOnce(&mut Self, &Cycles)) {
        self.levels[0].smooth(cycles.before);
        self.show_held_back();
        self.restrict_residual(0);
        self.p_smoothed.copy_from_slice(&self.levels[0].p);
        solve(self, cycles);
        self.add_correction(0);
        let finest = &mut self.levels[0];
        finest.smooth(cycles.after);
        // The finest level has no part in Algorithm 4: its right side there is free.
        let after = &mut finest.full_b;
        residual(after, &finest.grid, &finest.rows, &finest.p, &finest.b);
        work_by_row(&mut self.work_by_row, [&self.p_smoothed, &finest.p], [&finest.r, after]);
        let part = part_to_take(&self.work_by_row);
        let way = finest.p.iter_mut().zip(&self.p_smoothed);
        way.for_each(|(p, smoothed)| *p = smoothed * (1.0 - part) + *p * part);
    }

    /// Algorithm 3 from level `l`, below the finest, on.
    fn v_cycle(&mut self, l: usize, cycles: &Cycles) {
        if l + 1 == self.levels.len() {
            return self.levels[l].solve_coarsest(cycles.coarsest);
        }
        self.levels[l].smooth(cycles.before);
        self.restrict_residual(l);
        self.levels[l + 1].p.fill(0.0);
        self.v_cycle(l + 1, cycles);
        self.add_correction(l);
        self.levels[l].smooth(cycles.after);
    }

    /// Algorithm 4 on the levels below the finest, for the right side of level 1.
    fn full_cycle(&mut self, cycles: &Cycles) {
        let last = self.levels.len() - 1;
        let first = &mut self.levels[1];
        first.full_b.copy_from_slice(&first.b);
        for l in 1..last {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            let fine = &fine[l];
            restrict(&mut coarse[0].full_b, &coarse[0].grid, (&fine.grid, &fine.layers), &fine.full_b);
        }
        for l in (1..=last).rev() {
            let level = &mut self.levels[l];
            level.p.fill(0.0);
            level.b.copy_from_slice(&level.full_b);
            if l < last {
                self.add_correction(l);
            }
            self.v_cycle(l, cycles);
        }
    }

    fn restrict_residual(&mut self, l: usize) {
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&mut fine[l], &mut coarse[0]);
        residual(&mut fine.r, &fine.grid, &fine.rows, &fine.p, &fine.b);
        restrict(&mut coarse.b, &coarse.grid, (&fine.grid, &fine.layers), &fine.r);
    }

    fn add_correction(&mut self, l: usize) {
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&mut fine[l], &coarse[0]);
        add_prolonged(&mut fine.work, &fine.p, (&fine.grid, &fine.rows), &coarse.grid, &coarse.p);
        std::mem::swap(&mut fine.p, &mut fine.work);
    }

    /// Largest residual of the finest level, in its right side's unit.
    pub fn largest_residual(&mut self) -> f64 {
        let finest = &mut self.levels[0];
        residual(&mut finest.r, &finest.grid, &finest.rows, &finest.p, &finest.b);
        let (r, chunk) = (&finest.r, parallel::CHUNK);
        parallel::ordered_max(parallel::chunk_count(r.len(), chunk), |c| {
            let part = r[parallel::chunk_range(c, chunk, r.len())].iter().map(|v| f64::from(v.abs()));
            part.fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
        })
    }
}
