//! How much memory traffic the solvers cannot avoid, and how fast their kernels move it.
//!
//! Counted is what must be read or written once in a pass over the unknowns of a level when caches hold
//! nothing from the pass before: 4 bytes a value of f32, the three stored coefficients where they are read at
//! all. Not counted are padding, what caches fetch before a write, and anything that a pass reads twice.

use crate::cg::MultigridCg;
use crate::layout::{Split, window};
use crate::multigrid::{Level, Multigrid};
use crate::operator::Operator;
use fluvial_foundation::parallel;
use std::time::Instant;

/// A kernel of the finest level, timed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelTiming {
    /// What it does.
    pub name: &'static str,
    /// Bytes that one pass must move.
    pub bytes: usize,
    /// Least time of a pass, seconds.
    pub seconds: f64,
}

/// Unknowns of a level, and those in blocks whose coefficients are read.
#[derive(Clone, Copy, Default)]
struct Size {
    unknowns: usize,
    general: usize,
}

impl Size {
    fn of(op: &Operator) -> Size {
        let mut size = Size::default();
        for span in (0..op.storage.rows.len()).flat_map(|n| op.row(n).spans) {
            let places = op.diag.iter().flat_map(|d| window(d, span.at(), span.len()));
            let found = places.filter(|d| **d != 0.0).count();
            size.unknowns += found;
            size.general += if span.general { found } else { 0 };
        }
        size
    }

    /// So many bytes an unknown, and the coefficients where they matter.
    fn bytes(self, each: usize) -> usize {
        each * self.unknowns + 12 * self.general
    }
}

/// Right side, diagonal and solution in, solution out.
const SWEEP: usize = 16;
/// Right side, diagonal and solution in, residual out.
const RESIDUAL: usize = 16;
/// Right side and diagonal in, solution and the residual of one colour out.
const DOWN: usize = 14;
/// As a sweep; the coarse correction is counted with the coarse level.
const UP: usize = 16;
/// z and the diagonal in; p, q, d and r in and out.
const UPDATE: usize = 40;
/// `x += d` with d cleared, then x, right side, diagonal and its f64 excess in, residual out.
const REPLACE: usize = 24 + 28;
/// Start and right side in, x, b and three directions out.
const LOAD: usize = 40;

impl Multigrid {
    /// Bytes of the V-cycle from a level down and back.
    pub fn cycle_bytes(&self, top: usize) -> usize {
        let sizes: Vec<Size> = self.levels[top..].iter().map(|level| Size::of(&level.op)).collect();
        let level = |pair: &[Size]| {
            // In: the residual of one colour. Coarse: right side out; solution in, out in grid order, in
            // again, weights.
            let transfer = 2 * pair[0].unknowns + (4 + 8 + 4 + 4) * pair[1].unknowns;
            pair[0].bytes(DOWN) + pair[0].bytes(UP) + transfer
        };
        sizes.windows(2).map(level).sum()
    }

    /// Bytes of a full cycle and of the residual before it.
    pub fn full_cycle_bytes(&self) -> usize {
        let sizes: Vec<Size> = self.levels.iter().map(|level| Size::of(&level.op)).collect();
        let down = sizes.windows(2).map(|pair| (4 + 4 + 2 + 2) * pair[0].unknowns + 4 * pair[1].unknowns);
        let cycles = (0..self.levels.len()).map(|n| self.cycle_bytes(n));
        sizes[0].bytes(REPLACE) + down.sum::<usize>() + cycles.sum::<usize>()
    }
}

impl MultigridCg {
    /// Bytes of a solve with so many cycles and residuals taken anew.
    pub(crate) fn solve_bytes(&self, cycles: usize, residuals: usize) -> usize {
        let multigrid = &self.solution.multigrid;
        let finest = Size::of(&multigrid.levels[0].op);
        let iteration = multigrid.cycle_bytes(0) + finest.bytes(UPDATE);
        finest.bytes(LOAD) + cycles * iteration + residuals * finest.bytes(REPLACE)
    }

    /// Times the kernels on the prepared problem, each `repeats` times over. The last solution is kept.
    pub fn time_kernels(&mut self, repeats: usize) -> Vec<KernelTiming> {
        let finest = Size::of(&self.solution.multigrid.levels[0].op);
        let mut timings = Vec::new();
        let mut time = |name, bytes, pass: &mut (dyn FnMut() + Send)| {
            let seconds = (0..repeats.max(1)).map(|_| {
                let start = Instant::now();
                parallel::on_worker(&mut *pass);
                start.elapsed().as_secs_f64()
            });
            timings.push(KernelTiming { name, bytes, seconds: seconds.fold(f64::INFINITY, f64::min) });
        };
        let level = &mut self.solution.multigrid.levels[0];
        time("red-black sweep", finest.bytes(SWEEP), &mut || plain_sweep(level));
        let out = &mut self.q;
        time("residual", finest.bytes(RESIDUAL), &mut || plain_residual(out, level));
        if level.down.is_some() {
            time("two sweeps and residual, one pass", finest.bytes(DOWN), &mut || level.descend());
            time("correction and two sweeps, one pass", finest.bytes(UP), &mut || level.ascend());
        }
        time("update of all vectors", finest.bytes(UPDATE), &mut || {
            self.update(0.0, 0.0);
        });
        timings
    }
}

/// One red-black sweep, colour after colour.
fn plain_sweep(level: &mut Level) {
    let Level { op, x: [x0, x1], b, .. } = level;
    op.for_rows(x0, |row, out| op.relax_row((out, row.start), (x1, 0), b, row, 0));
    op.for_rows(x1, |row, out| op.relax_row((out, row.start), (x0, 0), b, row, 1));
}

/// `out = b - A x`.
fn plain_residual(out: &mut Split, level: &Level) {
    let Level { op, x, b, .. } = level;
    for colour in 0..2 {
        op.for_rows(&mut out[colour], |row, out| {
            op.residual_row((out, row.start), &x[colour], (&x[1 - colour], 0), b, row, colour);
        });
    }
}
