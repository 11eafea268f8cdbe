//! All solvers for [`PoissonProblem`](crate::PoissonProblem)s by name, for benchmarks and tests.

use crate::reference::{Preconditioner, ReferenceCg};
use crate::{AmgCg, FullCycles, MultigridCg, PressureSolver};

/// A solver that can be asked for by name.
pub struct NamedSolver {
    /// As [`PressureSolver::name`] gives it.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// Makes one for a grid of so many cells.
    pub build: fn([usize; 3]) -> Box<dyn PressureSolver>,
}

/// Every solver, the fastest first.
pub const SOLVERS: &[NamedSolver] = &[
    NamedSolver {
        name: "mg-cg",
        what: "conjugate gradients, one geometric multigrid V-cycle an iteration; f32 inside, f64 solution",
        build: |cells| Box::new(MultigridCg::new(cells)),
    },
    NamedSolver {
        name: "multigrid",
        what: "full multigrid cycles alone; f32 inside, f64 solution",
        build: |cells| Box::new(FullCycles::new(cells)),
    },
    NamedSolver {
        name: "amg-cg",
        what: "conjugate gradients, one algebraic multigrid V-cycle an iteration, on the assembled matrix; f32 inside, f64 solution",
        build: |_| Box::new(AmgCg::default()),
    },
    NamedSolver {
        name: "mic",
        what: "reference: conjugate gradients, modified incomplete Cholesky, f64, one thread",
        build: |_| Box::new(ReferenceCg::new(Preconditioner::ModifiedIncompleteCholesky)),
    },
    NamedSolver {
        name: "ic",
        what: "reference: conjugate gradients, incomplete Cholesky IC(0), f64, one thread",
        build: |_| Box::new(ReferenceCg::new(Preconditioner::IncompleteCholesky)),
    },
    NamedSolver {
        name: "cg",
        what: "reference: plain conjugate gradients, f64, one thread",
        build: |_| Box::new(ReferenceCg::new(Preconditioner::None)),
    },
];
