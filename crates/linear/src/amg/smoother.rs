//! Smoothers: the sweeps of a cycle.

use crate::krylov::{LinearOperator, ROWS};
use crate::sparse::FluxMatrix;
use fluvial_foundation::parallel;
use fluvial_foundation::parallel::map_chunks;
use std::ops::Range;

/// What removes the short waves of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Smoother {
    /// Forward before the coarse correction and backward after it, within blocks of rows.
    #[default]
    GaussSeidel,
    /// The diagonal `m` that minimises the Frobenius norm of `I - M A`: `m_i = a_ii / sum_j a_ij^2`. Has no
    /// order, and vectorises better than it smooths.
    Spai0,
}

/// Blocks of Gauss-Seidel that a level is cut into, and how small they may be.
const BLOCKS: usize = 64;
const BLOCK_ROWS: usize = 1024;
/// `2 D' - D` of a row is at least so many times what it has in other blocks; any number above 1 will do.
const BEYOND_OTHERS: f64 = 4.0 / 3.0;

/// A level's smoother.
#[derive(Default)]
pub(super) struct Relaxation {
    smoother: Smoother,
    /// Rows of a block of Gauss-Seidel.
    block: usize,
    /// What multiplies a residual.
    scale: Vec<f32>,
    /// `1 - a_ii scale_i`, where that is not zero for all rows.
    keep: Vec<f32>,
    /// Entries of the matrix.
    pub entries: usize,
}

impl Relaxation {
    /// Gauss-Seidel within blocks has `M = D' + L_block`. The cycle is positive definite where `M + M^T - A` is [baker-2011
    /// §3, §5]; that is `2 D' - D` less the entries of other blocks, whose absolute values add up to s in a row. `D' = D` is
    /// enough for rows with `D >= 4/3 s`; the others take `2 D' - D >= 4/3 s`. With `D = s`, as two unknowns without any outlet
    /// have on the two sides of a block's end, `M + M^T - A` would be singular: a sweep down and one up give zero.
    /// Test: `two_sealed_unknowns_on_both_sides_of_a_block_s_end`.
    pub fn new(a: &FluxMatrix<f32>, smoother: Smoother) -> Self {
        let rows = a.excess.len();
        let block = rows.div_ceil(BLOCKS).max(BLOCK_ROWS);
        let mut scale = vec![0.0f32; rows];
        let diagonal_of = |row: usize| {
            let diagonal = a.diagonal(row);
            let (column, value) = a.off.row(row);
            let own = row - row % block..(row - row % block + block).min(rows);
            let others = column.iter().zip(value).filter(|(c, _)| !own.contains(&(**c as usize)));
            let others: f64 = others.map(|(_, v)| v.abs() as f64).sum();
            (diagonal, diagonal.max(others).max(0.5 * (diagonal + BEYOND_OTHERS * others)))
        };
        let held = map_chunks(&mut scale, ROWS, |rows, scale| {
            let mut any = false;
            for (scale, row) in scale.iter_mut().zip(rows) {
                let (diagonal, held) = diagonal_of(row);
                any |= diagonal > 0.0 && held > diagonal;
                // A diagonal of zero is a sealed part shrunk to one unknown: nothing to do there.
                *scale = match smoother {
                    Smoother::GaussSeidel if diagonal > 0.0 => (1.0 / held) as f32,
                    Smoother::Spai0 if diagonal != 0.0 => {
                        let squares = a.off.row(row).1.iter().map(|&v| v as f64 * v as f64).sum::<f64>();
                        (diagonal / (diagonal * diagonal + squares)) as f32
                    }
                    _ => 0.0,
                };
            }
            any
        });
        let mut keep = Vec::new();
        if smoother == Smoother::GaussSeidel && held.contains(&true) {
            keep = parallel::map_indices(rows, |row| {
                let (diagonal, held) = diagonal_of(row);
                if held > 0.0 { (1.0 - diagonal / held) as f32 } else { 0.0 }
            });
        }
        Relaxation { smoother, block, scale, keep, entries: a.off.entries() + rows }
    }

    pub fn bytes(&self) -> usize {
        4 * (self.scale.capacity() + self.keep.capacity())
    }

    /// `x = M^-1 b`: a sweep from zero.
    pub fn start(&self, x: &mut [f32], a: &FluxMatrix<f32>, b: &[f32]) {
        match self.smoother {
            Smoother::GaussSeidel => parallel::for_each_chunk_mut(x, self.block, |n, x| {
                let rows = n * self.block..n * self.block + x.len();
                forward_from_zero(x, rows, a, &self.scale, b);
            }),
            Smoother::Spai0 => parallel::for_each_chunk_mut(x, ROWS, |n, x| {
                let (scale, b) = (&self.scale[n * ROWS..], &b[n * ROWS..]);
                x.iter_mut().zip(scale).zip(b).for_each(|((x, m), b)| *x = m * b);
            }),
        }
    }

    /// `r = b - A x` after [`Self::start`]. There `(D + L_block) x = b`, so that only the rest of each row is
    /// left.
    pub fn residual_of_start(&self, r: &mut [f32], a: &FluxMatrix<f32>, b: &[f32], x: &[f32]) {
        if self.smoother != Smoother::GaussSeidel || !self.keep.is_empty() {
            return residual(r, a, b, x);
        }
        parallel::for_each_chunk_mut(r, self.block, |n, r| {
            let first = n * self.block;
            for (m, r) in r.iter_mut().enumerate() {
                let (column, value) = a.off.row(first + m);
                let below = |c: u32| (c as usize) < first + m;
                let mut sum = 0.0;
                let mut k = 0;
                while k < column.len() && below(column[k]) {
                    if (column[k] as usize) < first {
                        sum -= value[k] * x[column[k] as usize];
                    }
                    k += 1;
                }
                for (&c, &v) in column[k..].iter().zip(&value[k..]) {
                    sum -= v * x[c as usize];
                }
                *r = sum;
            }
        });
    }

    /// `x = old + M^-T (b - A old)`: a sweep in the opposite order.
    pub fn relax(&self, x: &mut [f32], a: &FluxMatrix<f32>, b: &[f32], old: &[f32]) {
        match self.smoother {
            Smoother::GaussSeidel => parallel::for_each_chunk_mut(x, self.block, |n, x| {
                let rows = n * self.block..n * self.block + x.len();
                if self.keep.is_empty() {
                    backward(x, rows, a, &self.scale, b, old, |_| 0.0);
                } else {
                    backward(x, rows, a, &self.scale, b, old, |row| self.keep[row] * old[row]);
                }
            }),
            Smoother::Spai0 => parallel::for_each_chunk_mut(x, ROWS, |n, x| {
                let rows = n * ROWS..n * ROWS + x.len();
                a.apply_rows(x, rows.clone(), old);
                for (x, row) in x.iter_mut().zip(rows) {
                    *x = old[row] + self.scale[row] * (b[row] - *x);
                }
            }),
        }
    }
}

/// `x_i = (b_i - sum_(j < i) a_ij x_j) / d_i` over the columns in the block.
fn forward_from_zero(x: &mut [f32], rows: Range<usize>, a: &FluxMatrix<f32>, scale: &[f32], b: &[f32]) {
    let first = rows.start;
    for row in rows {
        let (column, value) = a.off.row(row);
        let mut sum = b[row];
        for (&c, &v) in column.iter().zip(value) {
            let c = c as usize;
            if c >= row {
                break;
            }
            if c >= first {
                sum -= v * x[c - first];
            }
        }
        x[row - first] = sum * scale[row];
    }
}

/// `x_i = (b_i - sum_(j < i or outside) a_ij old_j - sum_(j > i) a_ij x_j) / d_i`, rows descending.
fn backward(
    x: &mut [f32],
    rows: Range<usize>,
    a: &FluxMatrix<f32>,
    scale: &[f32],
    b: &[f32],
    old: &[f32],
    keep: impl Fn(usize) -> f32,
) {
    let (first, end) = (rows.start, rows.end);
    for row in rows.rev() {
        let (column, value) = a.off.row(row);
        let mut sum = b[row];
        let mut n = 0;
        while n < column.len() && (column[n] as usize) < row {
            sum -= value[n] * old[column[n] as usize];
            n += 1;
        }
        // The next row's value, which was just computed, comes last.
        for (&c, &v) in column[n..].iter().zip(&value[n..]).rev() {
            let c = c as usize;
            sum -= v * if c < end { x[c - first] } else { old[c] };
        }
        x[row - first] = sum * scale[row] + keep(row);
    }
}

/// `r = b - A x`.
pub(super) fn residual(r: &mut [f32], a: &FluxMatrix<f32>, b: &[f32], x: &[f32]) {
    parallel::for_each_chunk_mut(r, ROWS, |n, r| {
        let rows = n * ROWS..n * ROWS + r.len();
        a.apply_rows(r, rows.clone(), x);
        r.iter_mut().zip(&b[rows]).for_each(|(r, b)| *r = b - *r);
    });
}
