//! Cycles [tall Alg. 2 to 4]. The non-symmetric system is solved by cycles alone.

use super::stencil::{Layers, Row, bounded, build_rows, layers, residual, smooth_colour};
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

/// The hierarchy, finest level first.
pub struct Multigrid {
    /// Levels, finest first.
    pub levels: Vec<Level>,
}

impl Multigrid {
    /// Levels for grids of this size; [`Multigrid::build`] fills them.
    pub fn new(grid: &TallGrid) -> Multigrid {
        let grids = coarsen_until(grid, |g| g.samples() <= COARSEST_SAMPLES);
        let levels: Vec<Level> = grids.into_iter().map(Level::new).collect();
        Multigrid { levels }
    }

    /// Operators of all levels for new heights, a level set and solid fractions (Algorithm 2, lines 1 to 5).
    /// Pressures stay as they are.
    pub fn build(&mut self, grid: &TallGrid, phi: &[f32], fraction: &[f32], walls: &Walls) {
        let levels = &mut self.levels;
        levels[0].grid.clone_from(grid);
        levels[0].phi.copy_from_slice(phi);
        levels[0].fraction.copy_from_slice(fraction);
        layers(&mut levels[0].layers, grid);
        for n in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(n);
            let (fine, coarse) = (&fine[n - 1], &mut coarse[0]);
            coarse.grid.cover(&fine.grid);
            coarsen_phi(&mut coarse.phi, &coarse.grid, &fine.grid, &fine.phi, n <= BUBBLE_LEVELS);
            coarsen_fraction(&mut coarse.fraction, &coarse.grid, &fine.grid, &fine.fraction);
            coarsen_layers(&mut coarse.layers, &coarse.grid, &fine.grid, &fine.layers);
        }
        for (n, level) in levels.iter_mut().enumerate() {
            // Corrections have either sign.
            let walls = if n == 0 { walls } else { &Walls::HOLDING };
            build_rows(&mut level.rows, &level.grid, (&level.phi, &level.fraction), &level.layers, walls);
        }
    }

    /// Solves for the right side in the finest level's `b`, from the pressure in its `p`.
    pub fn solve(&mut self, cycles: &Cycles) {
        (0..cycles.full + cycles.v).for_each(|n| self.cycle(n, cycles));
    }

    /// Cycle `n` of a solution: full ones come first.
    pub fn cycle(&mut self, n: usize, cycles: &Cycles) {
        match n < cycles.full {
            true => self.full_cycle(cycles),
            false => self.v_cycle(0, cycles),
        }
    }

    /// Algorithm 3 from level `l` (0 is the finest) on.
    pub fn v_cycle(&mut self, l: usize, cycles: &Cycles) {
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

    /// Algorithm 4, on the residual; the finest level takes part in it with its pressure itself, whose bounds its sweeps keep.
    pub fn full_cycle(&mut self, cycles: &Cycles) {
        let last = self.levels.len() - 1;
        let finest = &mut self.levels[0];
        residual(&mut finest.r, &finest.grid, &finest.rows, &finest.p, &finest.b);
        finest.full_b.copy_from_slice(&finest.r);
        for l in 0..last {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            let fine = &fine[l];
            restrict(&mut coarse[0].full_b, &coarse[0].grid, (&fine.grid, &fine.layers), &fine.full_b);
        }
        for l in (0..=last).rev() {
            if l > 0 {
                let level = &mut self.levels[l];
                level.p.fill(0.0);
                level.b.copy_from_slice(&level.full_b);
            }
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
