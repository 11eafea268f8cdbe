//! Multigrid alone: full cycles until the residual is small enough [tall §3.7.1, Alg. 2 to 4].

use crate::layout::Split;
use crate::solution::Solution;
use crate::{Info, Params, PoissonProblem, PrepareInfo, PressureSolver, SolveError};
use fluvial_foundation::parallel;

/// Without halving the best residual for so many cycles the solve has stagnated.
const STAGNATION_WINDOW: usize = 10;
/// A residual so many times the first one will not come back.
const DIVERGED: f64 = 1e3;

/// Full multigrid cycles without conjugate gradients around them; owns all memory, to be reused from step to
/// step.
///
/// Each iteration takes the residual of the f64 solution and adds the correction of one full cycle: the
/// residual is solved on the coarsest level, and on every finer level the interpolated solution is improved
/// by a V-cycle with two red-black sweeps before and after. No sum over all cells decides on anything but
/// when to stop, and the operator need not be symmetric; conjugate gradients
/// ([`MultigridCg`](crate::MultigridCg)) need fewer iterations. Verified by `tests/full_cycles.rs`.
pub struct FullCycles {
    solution: Solution,
    /// Residual of every level but the finest.
    residuals: Vec<Split>,
    /// Cycles of the last solve.
    cycles: usize,
}

impl FullCycles {
    /// Memory for a grid of so many cells.
    pub fn new(cells: [usize; 3]) -> Self {
        FullCycles { solution: Solution::new(cells), residuals: Vec::new(), cycles: 0 }
    }

    fn iterate(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let rhs_norm = self.solution.load(p, rhs, params.norm);
        let mut info = Info::default();
        if rhs_norm == 0.0 {
            self.solution.set_zero(p);
            info.history.push(0.0);
            return Ok(info);
        }
        let wanted = (params.relative_tolerance * rhs_norm).max(params.absolute_tolerance);
        let (mut first, mut best, mut best_at) = (None, f64::INFINITY, 0);
        let result = loop {
            let norm = self.solution.residual(rhs, params.norm);
            info.history.push(norm / rhs_norm);
            info.relative_residual = norm / rhs_norm;
            if !norm.is_finite() {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if norm <= wanted {
                break Ok(());
            }
            if norm > DIVERGED * *first.get_or_insert(norm) {
                break Err(SolveError::Divergence { history: info.history.clone() });
            }
            if info.iterations == params.max_iterations {
                break Err(SolveError::MaxIterations { history: info.history.clone() });
            }
            if norm < 0.5 * best {
                (best, best_at) = (norm, info.iterations);
            } else if info.iterations > best_at + STAGNATION_WINDOW {
                break Err(SolveError::Stagnation { history: info.history.clone() });
            }
            self.solution.multigrid.full_cycle(&mut self.residuals);
            self.add_correction();
            info.iterations += 1;
        };
        self.cycles = info.iterations;
        self.solution.finish(p);
        result.map(|()| info)
    }

    /// `x += levels[0].x`.
    fn add_correction(&mut self) {
        let finest = &self.solution.multigrid.levels[0];
        for colour in 0..2 {
            finest.op.add_to(&mut self.solution.x[colour], &finest.x[colour]);
        }
    }
}

impl PressureSolver for FullCycles {
    fn name(&self) -> &'static str {
        "multigrid"
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        let info = self.solution.prepare(problem);
        self.solution.multigrid.size_residuals(&mut self.residuals);
        info
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let cells = self.solution.cells();
        assert_eq!((p.len(), rhs.len()), (cells, cells), "one value per cell");
        parallel::on_worker(|| self.iterate(p, rhs, params))
    }

    fn solution_f64(&self, out: &mut [f64]) {
        self.solution.store(out, |v| v);
    }

    fn bytes(&self) -> usize {
        let residuals = self.residuals.iter().flatten().map(|v| 4 * v.capacity()).sum::<usize>();
        self.solution.bytes() + residuals
    }
    fn traffic_bytes(&self) -> Option<usize> {
        Some(self.cycles * self.solution.multigrid.full_cycle_bytes())
    }
}
