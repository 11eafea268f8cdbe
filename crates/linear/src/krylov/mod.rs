//! Krylov methods over any linear operator.
//!
//! [`conjugate_gradients`] for symmetric positive definite operators, [`bicgstab`] for others. Vectors of the
//! recurrences are f32 or f64 ([`Real`]), scalars f64. The solution is always gathered in f64, and the
//! residual is recomputed from it in f64 before a solve may end and whenever the recurrence has fallen so far
//! that rounding could rule it ("reliable updates" [sleijpen-1996 §4]): a tolerance that is reported as met
//! is met by the true residual, with f32 vectors as well. What cannot be solved is an error with its history.
//! Reductions add in a fixed order: the same bits with any number of threads.
//!
//! `MultigridCg` of `fluvial_pressure` has a loop of its own: its vectors are split by colour for the
//! smoother, which computes the iteration's scalars in its last sweep, so that all updates and `A z` share
//! one pass through memory.

mod bicgstab;
mod cg;
mod progress;
mod vector;

pub use bicgstab::{BicgstabScratch, bicgstab};
pub use cg::{CgScratch, conjugate_gradients};
pub(crate) use vector::ROWS;
pub use vector::{Size, size};

use crate::RANK;
use std::ops::{Add, Mul, Range, Sub};

/// A number of the recurrences' vectors: f32 or f64.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + 'static
{
    /// The recurrence's residual is replaced by a true one whenever it has fallen by this much.
    const REPLACE_AFTER: f64;
    /// Relative size of what rounding leaves of a dot product that should be zero.
    const ROUNDING: f64;
    /// Rounds.
    fn from_f64(value: f64) -> Self;
    /// Converts exactly or rounds.
    fn from_f32(value: f32) -> Self;
}

impl Real for f32 {
    const REPLACE_AFTER: f64 = 1e-3;
    const ROUNDING: f64 = 1e-6;
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Real for f64 {
    const REPLACE_AFTER: f64 = 1e-10;
    const ROUNDING: f64 = 1e-14;
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value as f64
    }
}

/// A square operator, given by its rows: matrix-free or a sparse matrix. Loops over rows, their parallel
/// order and the reductions fused with them belong to the caller.
pub trait LinearOperator: Sync {
    /// Number of unknowns.
    fn rows(&self) -> usize;

    /// `out = (A x)` on a range of rows. Called in f64 too when vectors are f32: true residuals need it.
    fn apply_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, x: &[T]);

    /// `K G^T x` of every block of a term `G K G^T` that the operator has beside its rows; nothing without one.
    fn weigh_blocks<T: Real>(&self, _x: &[T]) -> Vec<[f64; RANK]> {
        vec![]
    }

    /// `out += G y` on a range of rows, from what [`Self::weigh_blocks`] gave.
    fn add_blocks<T: Real>(&self, _out: &mut [T], _rows: Range<usize>, _y: &[[f64; RANK]]) {}

    /// Is there anything that [`Self::project`] takes away?
    fn is_singular(&self) -> bool {
        false
    }

    /// Takes from `v` what the operator cannot see and never gives: the mean over every part of the unknowns
    /// in which constants are in the null space. Nothing for regular operators.
    fn project<T: Real>(&self, _v: &mut [T]) {}
}

/// A symmetric operator as conjugate gradients see it: over whole vectors. Every [`LinearOperator`] is one. An
/// operator that keeps copies of unknowns among its values sets them in the vectors that it is applied to.
pub trait SymmetricOperator<T: Real>: Sync {
    /// Number of values of a vector.
    fn len(&self) -> usize;

    /// Has a vector no values?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `q = A p`; returns `p . q`.
    fn energy(&self, q: &mut [T], p: &mut [T]) -> f64;

    /// `r = b - A x` in f64, then rounded and projected; returns its norms.
    fn residual(&self, r: &mut [T], b: &[f64], x: &mut [f64]) -> Size;

    /// As [`LinearOperator::is_singular`].
    fn is_singular(&self) -> bool {
        false
    }

    /// As [`LinearOperator::project`].
    fn project<V: Real>(&self, _v: &mut [V]) {}
}

impl<T: Real, A: LinearOperator> SymmetricOperator<T> for A {
    fn len(&self) -> usize {
        self.rows()
    }

    fn energy(&self, q: &mut [T], p: &mut [T]) -> f64 {
        vector::apply_dot(q, self, p, p)
    }

    fn residual(&self, r: &mut [T], b: &[f64], x: &mut [f64]) -> Size {
        vector::true_residual(r, self, b, x)
    }

    fn is_singular(&self) -> bool {
        LinearOperator::is_singular(self)
    }

    fn project<V: Real>(&self, v: &mut [V]) {
        LinearOperator::project(self, v);
    }
}

/// `M`, an approximate inverse of the operator.
pub trait Preconditioner<T: Real> {
    /// `z = M r`; returns `z . r`.
    fn apply(&mut self, z: &mut [T], r: &[T]) -> f64;
}

/// No preconditioner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Real> Preconditioner<T> for Identity {
    fn apply(&mut self, z: &mut [T], r: &[T]) -> f64 {
        z.copy_from_slice(r);
        vector::dot(r, r)
    }
}

/// `z . r` in the order that all reductions here have: what a [`Preconditioner`] returns unless it has it
/// already.
pub fn dot<T: Real>(z: &[T], r: &[T]) -> f64 {
    vector::dot(z, r)
}
