//! When to stop, how it went, and why it failed: shared by all solvers.

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Wanted norm of the residual over the norm of the right side.
    pub relative_tolerance: f64,
    /// A residual norm that is good enough by itself.
    pub absolute_tolerance: f64,
    /// Iterations allowed.
    pub max_iterations: usize,
    /// How the residual and the right side are measured.
    pub norm: Norm,
}

impl Params {
    /// 1e-5 of the right side in at most 100 iterations.
    pub const DEFAULT: Params = Params {
        relative_tolerance: 1e-5,
        absolute_tolerance: 0.0,
        max_iterations: 100,
        norm: Norm::Euclidean,
    };
}

impl Default for Params {
    fn default() -> Self {
        Params::DEFAULT
    }
}

/// A measure of residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// Root of the sum of squares.
    #[default]
    Euclidean,
    /// Largest absolute value: with a right side in 1/s, the largest divergence that is left.
    Maximum,
}

/// How a solve went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Iterations, of conjugate gradients or of cycles.
    pub iterations: usize,
    /// Norm of `rhs - A p` over that of `rhs`, recomputed in f64 from the f64 solution.
    pub relative_residual: f64,
    /// Relative residual norm before the first and after every iteration.
    pub history: Vec<f64>,
}

/// Why a solve gave no solution. Each carries the relative residual norm of every iteration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The right side, the start, phi or an area is NaN or infinite.
    #[error("the pressure problem holds a value that is not finite")]
    NotFinite {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// A search direction has no positive energy: the operator or the preconditioner is not positive
    /// definite.
    #[error("the pressure operator is not positive definite (iteration {})", .history.len())]
    Indefinite {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// A quotient of the recurrences has no denominator left.
    #[error("the recurrences of the pressure solve broke down (iteration {})", .history.len())]
    Breakdown {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// The residual stopped falling.
    #[error("the pressure solve stagnated at a relative residual of {:.2e}", .history.last().copied().unwrap_or(f64::NAN))]
    Stagnation {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// The residual grew far beyond where it began.
    #[error("the pressure solve diverged to a relative residual of {:.2e}", .history.last().copied().unwrap_or(f64::NAN))]
    Divergence {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// Not converged within the allowed iterations.
    #[error("the pressure solve reached a relative residual of {:.2e} in {} iterations, which is not enough",
        .history.last().copied().unwrap_or(f64::NAN), .history.len() - 1)]
    MaxIterations {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
}

impl Norm {
    /// The norm of a vector; NaN when a value is.
    pub fn of(self, v: &[f64]) -> f64 {
        match self {
            Norm::Euclidean => v.iter().map(|x| x * x).sum::<f64>().sqrt(),
            Norm::Maximum => {
                v.iter().fold(0.0, |m: f64, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() })
            }
        }
    }
}

impl SolveError {
    /// Relative residual norm before the first and after every iteration.
    pub fn history(&self) -> &[f64] {
        match self {
            SolveError::NotFinite { history }
            | SolveError::Indefinite { history }
            | SolveError::Stagnation { history }
            | SolveError::Divergence { history }
            | SolveError::Breakdown { history }
            | SolveError::MaxIterations { history } => history,
        }
    }
}
