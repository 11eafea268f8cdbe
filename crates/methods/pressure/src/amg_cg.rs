//! Conjugate gradients with algebraic multigrid on the assembled matrix.

use crate::assemble::Assembled;
use crate::{Info, Params, PoissonProblem, PrepareInfo, PressureSolver, SolveError};
use fluvial_grids::GHOST_DISTANCE_FLOOR;
use fluvial_linear::amg::{Amg, AmgParams, PatternChanged};
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_linear::sparse::FluxMatrix;

/// [`conjugate_gradients`] in f32 with an f64 solution, preconditioned by [`Amg`]. For grids
/// [`MultigridCg`](crate::MultigridCg) is faster and leaner; this is the same machinery that irregular
/// stencils use.
#[derive(Default)]
pub struct AmgCg {
    params: AmgParams,
    assembled: Assembled,
    amg: Option<Amg>,
    x: Vec<f64>,
    b: Vec<f64>,
    scratch: CgScratch<f32>,
    /// Iterations of the last solve.
    iterations: Option<usize>,
    /// The floor of theta, where it is not the usual one.
    theta_min: Option<f32>,
}

impl AmgCg {
    /// A solver without a problem yet.
    pub fn new(params: AmgParams) -> Self {
        AmgCg { params, ..AmgCg::default() }
    }

    /// Floors theta at this instead of [`GHOST_DISTANCE_FLOOR`] from the next [`PressureSolver::prepare`] on.
    pub fn set_theta_min(&mut self, theta_min: f32) {
        assert!(theta_min > 0.0 && theta_min <= 1.0, "theta_min lies in (0, 1]");
        self.theta_min = Some(theta_min);
    }

    fn theta_min(&self) -> f32 {
        self.theta_min.unwrap_or(GHOST_DISTANCE_FLOOR)
    }

    /// As [`PressureSolver::prepare`] for a problem with the same unknowns and open faces: takes new
    /// coefficients and keeps what depends on the pattern. On an error nothing is prepared.
    pub fn refresh(&mut self, problem: &PoissonProblem) -> Result<PrepareInfo, PatternChanged> {
        self.assembled = Assembled::default();
        self.assembled = Assembled::new(problem, self.theta_min());
        let refreshed = self.amg.as_mut().ok_or(PatternChanged)?.refresh(&self.assembled.matrix);
        if refreshed.is_err() {
            self.amg = None;
        }
        refreshed.map(|()| self.assembled.info())
    }

    /// The matrix of the last problem and the cell of each of its rows.
    pub fn system(&self) -> (&FluxMatrix<f32>, &[u32]) {
        (&self.assembled.matrix, &self.assembled.cell)
    }

    /// The hierarchy of the last problem.
    pub fn amg(&self) -> Option<&Amg> {
        self.amg.as_ref()
    }
}

impl PressureSolver for AmgCg {
    fn name(&self) -> &'static str {
        "amg-cg"
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        // Free the old first: two hierarchies would double the peak.
        (self.amg, self.assembled) = (None, Assembled::default());
        self.assembled = Assembled::new(problem, self.theta_min());
        self.amg = Some(Amg::new(&self.assembled.matrix, self.params));
        self.assembled.info()
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        self.assembled.gather(&mut self.x, p);
        self.assembled.gather(&mut self.b, rhs);
        let matrix = &self.assembled.matrix;
        let amg = self.amg.as_mut().expect("a prepared problem");
        let (x, b) = (&mut self.x, &self.b);
        let result = conjugate_gradients(x, matrix, &mut amg.on(matrix), b, params, &mut self.scratch);
        self.assembled.scatter(p, &self.x);
        self.iterations = result.as_ref().ok().map(|info| info.iterations);
        result
    }

    fn solution_f64(&self, out: &mut [f64]) {
        self.assembled.scatter(out, &self.x);
    }

    fn traffic_bytes(&self) -> Option<usize> {
        let rows = self.x.len();
        let matrix = 8 * self.assembled.matrix.off_diagonal().entries() + 8 * rows;
        // Dot product, direction, A p with its product, step; the f64 solution counts twice.
        let iteration = self.amg.as_ref()?.cycle_bytes() + matrix + 4 * rows * (2 + 3 + 2 + 8);
        // Start, right side and result, and a true residual before and after.
        let once = 2 * (matrix + 20 * rows) + 40 * rows;
        self.iterations.map(|iterations| iterations * iteration + once)
    }

    fn bytes(&self) -> usize {
        let vectors = 8 * (self.x.capacity() + self.b.capacity()) + self.scratch.bytes();
        self.assembled.bytes() + self.amg.as_ref().map_or(0, Amg::bytes) + vectors
    }
}
