//! When a solve ends, and how.

use super::Real;
use super::vector::Size;
use crate::{Info, Norm, Params, SolveError};

/// Without halving the best residual for so many iterations the solve has stagnated. (Exact conjugate
/// gradients may keep their residual for as many iterations as there are unknowns; this is for those that
/// never end.)
const STAGNATION_WINDOW: usize = 500;
/// Nor may so many true residuals in a row fail to halve the best of them: rounding rules them.
const STAGNATION_STRIKES: usize = 3;

/// The state of a solve as seen by its stopping rules.
pub(super) struct Progress<'a> {
    params: &'a Params,
    pub info: Info,
    rhs_norm: f64,
    wanted: f64,
    /// Norm of the residual now, and when it was last a true one.
    pub norm: f64,
    norm_replaced: f64,
    best_replaced: f64,
    strikes: usize,
    best: f64,
    best_at: usize,
}

impl<'a> Progress<'a> {
    pub fn new(params: &'a Params, rhs: Size, residual: Size) -> Self {
        let rhs_norm = select(params.norm, rhs);
        let norm = select(params.norm, residual);
        let info = Info { history: vec![norm / rhs_norm], ..Info::default() };
        Progress {
            params,
            info,
            rhs_norm,
            wanted: (params.relative_tolerance * rhs_norm).max(params.absolute_tolerance),
            norm,
            norm_replaced: norm,
            best_replaced: norm,
            strikes: 0,
            best: norm,
            best_at: 0,
        }
    }

    /// Whether to go on, looked at once before every iteration. Ends well only on a true residual.
    pub fn goes_on(&mut self) -> Result<bool, SolveError> {
        if !self.norm.is_finite() {
            return Err(SolveError::NotFinite { history: self.take() });
        }
        if self.norm <= self.wanted && self.norm == self.norm_replaced {
            self.info.relative_residual = self.norm / self.rhs_norm;
            return Ok(false);
        }
        if self.info.iterations == self.params.max_iterations {
            return Err(SolveError::MaxIterations { history: self.take() });
        }
        if self.norm < 0.5 * self.best {
            (self.best, self.best_at) = (self.norm, self.info.iterations);
        }
        let waited = self.info.iterations - self.best_at;
        if waited > STAGNATION_WINDOW || self.strikes == STAGNATION_STRIKES {
            return Err(SolveError::Stagnation { history: self.take() });
        }
        Ok(true)
    }

    /// Is the recurrence's residual so small that a true one must take its place?
    pub fn wants_true_residual<T: Real>(&self, size: Size) -> bool {
        let norm = select(self.params.norm, size);
        norm <= self.wanted || norm < T::REPLACE_AFTER * self.norm_replaced
    }

    /// Is the residual good enough, if it is true?
    pub fn is_small(&self, size: Size) -> bool {
        select(self.params.norm, size) <= self.wanted
    }

    /// Takes a true residual; returns whether it is far from what the recurrence made of it, whose directions
    /// are then of no use.
    pub fn replaced(&mut self, recurrence: Size, replaced: Size) -> bool {
        self.norm_replaced = select(self.params.norm, replaced);
        if self.norm_replaced < 0.5 * self.best_replaced {
            (self.best_replaced, self.strikes) = (self.norm_replaced, 0);
        } else {
            self.strikes += 1;
        }
        self.norm_replaced > 2.0 * select(self.params.norm, recurrence)
    }

    /// Ends an iteration with this residual.
    pub fn iterated(&mut self, size: Size) {
        self.norm = select(self.params.norm, size);
        self.info.iterations += 1;
        self.info.history.push(self.norm / self.rhs_norm);
    }

    pub fn take(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.info.history)
    }
}

fn select(norm: Norm, size: Size) -> f64 {
    match norm {
        Norm::Euclidean => size.square.sqrt(),
        // A sum of squares may overflow to infinity where no value is infinite.
        Norm::Maximum => size.max,
    }
}
