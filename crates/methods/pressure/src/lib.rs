//! Pressure solvers: the Poisson problem of a liquid with a free surface and solids on a uniform grid.
//!
//! [`MultigridCg`] solves `A p = rhs` by conjugate gradients, preconditioned by one symmetric
//! V-cycle of matrix-free geometric multigrid [tall §3.7.1; mcadams-2010]. Unknowns are the cells
//! with `phi < 0` that have an open face; over their six faces
//!
//! `(A p)_i = sum_f c_f (p_i - p_j)`: `c_f = area_f` towards an unknown, `c_f = area_f / theta` and `p_j = 0`
//! towards air, `theta = phi_i / (phi_i - phi_j)` floored ([`fluvial_grids::ghost_theta`]); an open wall of
//! the box is air with `theta = 1`. Cell size, time step and density are absorbed in the right side.
//!
//! Vectors inside are f32, scalars f64, the solution is gathered in f64, and the residual is recomputed
//! from it in f64 whenever f32 recurrences begin to lose it: tolerances down to 1e-10 are met by
//! [`MultigridCg::solution_f64`]; rounding to the f32 result costs about `6e-8 |A| |p| / |rhs|`.
//! Results do not depend on the number of threads.
//!
//! [`AmgCg`] puts the algebraic multigrid of `fluvial_linear` behind the same [`PressureSolver`], and
//! [`mod@reference`] methods are there to compare with.

mod amg_cg;
mod assemble;
mod body_modes;
pub mod cases;
mod cg;
mod coarsen;
mod coarsest;
mod components;
mod coupling;
mod discretise;
mod fill;
mod full_cycles;
mod kernels;
mod layout;
mod multigrid;
mod operator;
mod pockets;
pub mod reference;
mod solution;
mod solvers;
mod spans;
mod storage;
mod sweep;
mod traffic;
mod transfer;

pub use amg_cg::AmgCg;
pub use cg::MultigridCg;
pub use fluvial_linear::{Info, LowRank, Norm, Params, SolveError};
pub use full_cycles::FullCycles;
pub use solvers::{NamedSolver, SOLVERS};
pub use traffic::KernelTiming;

/// The problem's geometry, in the layout of `grids::UniformGrid` (x fastest).
#[derive(Clone, Copy, Debug)]
pub struct PoissonProblem<'a> {
    /// Cells along each axis.
    pub cells: [usize; 3],
    /// Liquid level set at cell centres, negative in liquid; only ratios of neighbours matter.
    pub phi_cell: &'a [f32],
    /// Open area fraction of each face, 0 (closed) to 1, in the layout of `UniformGrid::faces(axis)`.
    pub open_area: [&'a [f32]; 3],
}

/// What [`MultigridCg::prepare`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrepareInfo {
    /// Cells with a pressure.
    pub unknowns: usize,
    /// Faces whose theta was floored.
    pub theta_floors: usize,
    /// Connected components of the unknowns.
    pub components: usize,
    /// Components that neither air nor an open wall touches: their pressure has zero mean.
    pub sealed_components: usize,
}

/// A solver for [`PoissonProblem`]s, so that benchmarks and tests can go through all of them.
pub trait PressureSolver {
    /// Its name in tables.
    fn name(&self) -> &'static str;
    /// Takes a problem; must precede [`Self::solve`].
    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo;
    /// Solves `A p = rhs`; `p` holds the start and receives the solution.
    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError>;
    /// The last solution before it was rounded to f32.
    fn solution_f64(&self, out: &mut [f64]);
    /// Bytes that the solver holds, problem and result not counted.
    fn bytes(&self) -> usize;
    /// Memory traffic that the last solve could not avoid, bytes; None where it is not counted.
    fn traffic_bytes(&self) -> Option<usize> {
        None
    }
}

/// `1 / theta` of [`fluvial_grids::ghost_theta`] in f64, and whether theta had to be floored: what a face of
/// the whole area towards air adds to the diagonal. Residuals of a solution that meets a tolerance of 1e-8
/// notice f32 here.
#[inline]
pub fn ghost_coefficient(phi_liquid: f32, phi_air: f32, theta_min: f32) -> (f64, bool) {
    let (inside, theta_min) = (phi_liquid as f64, theta_min as f64);
    let theta = inside / (inside - phi_air as f64);
    if theta < theta_min { (1.0 / theta_min, true) } else { (1.0 / theta, false) }
}
