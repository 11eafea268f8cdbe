//! Conjugate gradients around the multigrid V-cycle.

use crate::coupling::Gathered;
use crate::layout::Split;
use crate::multigrid::{Level, Multigrid};
use crate::solution::Solution;
use crate::{Info, Norm, Params, PoissonProblem, PrepareInfo, PressureSolver, SolveError};
use fluvial_foundation::parallel;
use fluvial_linear::LowRank;

/// The recurrences are replaced by a true residual whenever they have fallen by this much: f32 vectors
/// carry about 1e-7 of the largest value.
const REPLACE_AFTER: f64 = 1e-3;
/// Without halving the best residual for so many iterations the solve has stagnated.
const STAGNATION_WINDOW: usize = 30;

/// Conjugate gradients with a multigrid preconditioner; owns all memory, to be reused from step to step.
pub struct MultigridCg {
    pub(crate) solution: Solution,
    /// What the recurrences have added since the solution was last updated.
    d: Split,
    p: Split,
    pub(crate) q: Split,
    /// Residuals that the last solve took from the f64 solution, and its iterations.
    counts: [usize; 2],
}

impl MultigridCg {
    /// Memory for a grid of so many cells.
    pub fn new(cells: [usize; 3]) -> Self {
        let [d, p, q] = <[Split; 3]>::default();
        MultigridCg { solution: Solution::new(cells), d, p, q, counts: [0; 2] }
    }

    /// Floors theta at this instead of [`fluvial_grids::GHOST_DISTANCE_FLOOR`] from the next
    /// [`Self::prepare`] on.
    pub fn set_theta_min(&mut self, theta_min: f32) {
        assert!(theta_min > 0.0 && theta_min <= 1.0, "theta_min lies in (0, 1]");
        self.solution.theta_min = theta_min;
    }

    /// Discretises the problem on all levels and labels its components. Must precede [`Self::solve`].
    pub fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        self.solution.prepare(problem)
    }

    /// Solves `A p = rhs` for the prepared problem. `p` holds the start and receives the solution, 0 where
    /// there is no unknown. In sealed components the right side is taken without its mean, and the solution
    /// has zero mean. After an error other than [`SolveError::NotFinite`] `p` holds the last iterate.
    pub fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let cells = self.solution.cells();
        assert_eq!((p.len(), rhs.len()), (cells, cells), "one value per cell");
        self.solution.coupling.clear();
        parallel::on_worker(|| self.iterate(p, rhs, params))
    }

    /// Adds to a solution, in every sealed component, the constant that makes its least value zero: what no air can get into is not pulled by
    /// what encloses it.
    pub fn raise_sealed(&self, p: &mut [f32]) {
        let Multigrid { components, levels, .. } = &self.solution.multigrid;
        components.raise(p, &levels[0].op.layout);
    }

    /// As [`Self::solve`] for `(A + term) p = rhs`; rows of the term that are no unknowns count for nothing.
    pub fn solve_coupled(
        &mut self,
        p: &mut [f32],
        rhs: &[f32],
        term: &LowRank,
        params: &Params,
    ) -> Result<Info, SolveError> {
        let cells = self.solution.cells();
        assert_eq!((p.len(), rhs.len()), (cells, cells), "one value per cell");
        let Solution { coupling, multigrid, .. } = &mut self.solution;
        coupling.place(term, &multigrid.levels[0].op, &multigrid.components);
        parallel::on_worker(|| self.iterate(p, rhs, params))
    }

    /// The last solution before it was rounded to f32, in grid order.
    pub fn solution_f64(&self, out: &mut [f64]) {
        self.solution.store(out, |v| v);
    }

    fn iterate(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let rhs_norm = self.solution.load(p, rhs, params.norm);
        self.clear_directions();
        self.counts = [0; 2];
        let mut info = Info::default();
        if rhs_norm == 0.0 {
            self.solution.set_zero(p);
            info.history.push(0.0);
            return Ok(info);
        }
        let wanted = (params.relative_tolerance * rhs_norm).max(params.absolute_tolerance);
        let mut norm = self.replace_residual(rhs, params.norm);
        let mut norm_replaced = norm;
        info.history.push(norm / rhs_norm);
        let (mut rho, mut alpha, mut restart) = (0.0, 1.0, true);
        let (mut best, mut best_at) = (norm, 0);
        let result = loop {
            if !norm.is_finite() {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if norm <= wanted && norm == norm_replaced {
                break Ok(());
            }
            if info.iterations == params.max_iterations {
                break Err(SolveError::MaxIterations { history: info.history.clone() });
            }
            if norm < 0.5 * best {
                (best, best_at) = (norm, info.iterations);
            } else if info.iterations > best_at + STAGNATION_WINDOW {
                break Err(SolveError::Stagnation { history: info.history.clone() });
            }
            // One pass for all vectors, with p . A p from the recurrence of Chronopoulos and Gear (1989).
            let Solution { multigrid, coupling, .. } = &mut self.solution;
            coupling.before_cycle(&mut multigrid.levels[0].b);
            let energies = multigrid.cycle();
            let Level { x, b, .. } = &mut multigrid.levels[0];
            let ([z_energy, rho_new], coupled) = coupling.after_cycle(x, b, energies);
            if !(rho_new.is_finite() && z_energy.is_finite()) {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if rho_new <= 0.0 || z_energy <= 0.0 {
                break Err(SolveError::Indefinite { history: info.history.clone() });
            }
            let mut beta = if restart { 0.0 } else { rho_new / rho };
            let mut energy = z_energy - beta * rho_new / alpha;
            if energy <= 0.0 {
                // The old direction has been rounded away; start again from the steepest one.
                (beta, energy) = (0.0, z_energy);
            }
            (rho, alpha) = (rho_new, rho_new / energy);
            if !coupled.is_empty() {
                beta = self.add_coupled(&coupled, beta);
            }
            let square = self.update(alpha, beta);
            norm = self.solution.norm(square, params.norm);
            restart = false;
            if norm <= wanted || norm < REPLACE_AFTER * norm_replaced {
                norm_replaced = self.replace_residual(rhs, params.norm);
                // Directions that were built on a residual far from the true one are of no use.
                restart = norm_replaced > 2.0 * norm || self.solution.shifted;
                norm = norm_replaced;
            }
            info.iterations += 1;
            self.counts[1] += 1;
            info.history.push(norm / rhs_norm);
        };
        if result.is_err() {
            norm = self.replace_residual(rhs, params.norm);
        }
        info.relative_residual = norm / rhs_norm;
        self.solution.finish(p);
        result.map(|()| info)
    }

    /// Adds to q what makes of the stencil's `A z + beta q` the whole operator's; returns the beta to go on with.
    fn add_coupled(&mut self, coupled: &[Gathered], beta: f64) -> f64 {
        let finest = &self.solution.multigrid.levels[0].op;
        if beta < f64::from(f32::MIN_POSITIVE) {
            [&mut self.p, &mut self.q].into_iter().for_each(|v| finest.storage.zeros(v));
            self.solution.coupling.add(&mut self.q, coupled, 1.0);
            return 1.0;
        }
        self.solution.coupling.add(&mut self.q, coupled, 1.0 / f64::from(beta as f32));
        beta
    }

    fn clear_directions(&mut self) {
        let storage = &self.solution.multigrid.levels[0].op.storage;
        [&mut self.d, &mut self.p, &mut self.q].into_iter().for_each(|v| storage.zeros(v));
    }

    /// `x += d`, `d = 0`, `r = rhs - A x`; returns the norm of r.
    fn replace_residual(&mut self, rhs: &[f32], norm: Norm) -> f64 {
        self.counts[0] += 1;
        let op = &self.solution.multigrid.levels[0].op;
        for colour in 0..2 {
            op.add_to(&mut self.solution.x[colour], &self.d[colour]);
        }
        op.storage.zeros(&mut self.d);
        self.solution.residual(rhs, norm)
    }

    /// `p = z + beta p`, `q = A z + beta q`, `d += alpha p`, `r -= alpha q`; returns `r . r`.
    pub(crate) fn update(&mut self, alpha: f64, beta: f64) -> f64 {
        let Level { op, x: z, b: r, .. } = &mut self.solution.multigrid.levels[0];
        let mut vectors = [&mut self.p, &mut self.q, &mut self.d, r].map(|v| v.each_mut());
        (0..2)
            .map(|colour| {
                let arrays = vectors.each_mut().map(|v| &mut v[colour][..]);
                op.update(arrays, z, colour, alpha as f32, beta as f32)
            })
            .sum()
    }
}

impl PressureSolver for MultigridCg {
    fn name(&self) -> &'static str {
        "mg-cg"
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        MultigridCg::prepare(self, problem)
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        MultigridCg::solve(self, p, rhs, params)
    }

    fn solution_f64(&self, out: &mut [f64]) {
        MultigridCg::solution_f64(self, out);
    }
    fn bytes(&self) -> usize {
        let split = |s: &Split| 4 * (s[0].capacity() + s[1].capacity());
        self.solution.bytes() + split(&self.d) + split(&self.p) + split(&self.q)
    }
    fn traffic_bytes(&self) -> Option<usize> {
        Some(self.solve_bytes(self.counts[1], self.counts[0]))
    }
}
