//! The coarsest level: a dense factorisation with partial pivoting, in f64.

use crate::sealed::{OPEN, Sealed};
use crate::sparse::FluxMatrix;

/// A column whose pivots are all below this part of the matrix' largest entry cannot be solved for: its
/// unknown is set to 0.
const NULL_PIVOT: f64 = 1e-13;

/// `P A = L U`.
pub(super) struct Direct {
    rows: usize,
    /// Row-major; the diagonal holds inverse pivots, 0 for a null one.
    factor: Vec<f64>,
    /// Row of the matrix that became each row of the factors.
    order: Vec<u32>,
    work: Vec<f64>,
}

impl Direct {
    /// Factors. In every sealed component the first unknown is held at zero.
    pub fn new(a: &FluxMatrix<f32>) -> Self {
        let rows = a.excess.len();
        let mut factor = vec![0.0; rows * rows];
        for row in 0..rows {
            let (column, value) = a.off.row(row);
            column.iter().zip(value).for_each(|(&c, &v)| factor[row * rows + c as usize] = v as f64);
            factor[row * rows + row] = a.diagonal(row);
        }
        let sealed = Sealed::find(&a.off, &a.excess);
        let mut held = 0;
        for (row, _) in sealed.label.iter().enumerate().filter(|(_, l)| **l != OPEN) {
            if sealed.label[row] == held {
                held += 1;
                for n in 0..rows {
                    factor[row * rows + n] = 0.0;
                    factor[n * rows + row] = 0.0;
                }
            }
        }
        let mut direct = Direct { rows, factor, order: (0..rows as u32).collect(), work: vec![0.0; rows] };
        direct.decompose();
        direct
    }

    fn decompose(&mut self) {
        let n = self.rows;
        let largest = self.factor.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for k in 0..n {
            let by_size = |&x: &usize, &y: &usize| {
                self.factor[x * n + k].abs().total_cmp(&self.factor[y * n + k].abs())
            };
            // The first of equal ones: no exchange unless there is a reason.
            let pivot_row = (k..n).rev().max_by(by_size).expect("a row");
            if pivot_row != k {
                (0..n).for_each(|c| self.factor.swap(k * n + c, pivot_row * n + c));
                self.order.swap(k, pivot_row);
            }
            let pivot = self.factor[k * n + k];
            let inverse = if pivot.abs() > NULL_PIVOT * largest { 1.0 / pivot } else { 0.0 };
            self.factor[k * n + k] = inverse;
            let (above, below) = self.factor.split_at_mut((k + 1) * n);
            let pivot_row = &above[k * n + k + 1..];
            for row in below.chunks_exact_mut(n) {
                let factor = row[k] * inverse;
                row[k] = factor;
                if factor != 0.0 {
                    row[k + 1..].iter_mut().zip(pivot_row).for_each(|(v, p)| *v -= factor * p);
                }
            }
        }
    }

    /// `x = A^-1 b`.
    pub fn solve(&mut self, x: &mut [f32], b: &[f32]) {
        let n = self.rows;
        let y = &mut self.work;
        for (row, factor) in self.factor.chunks_exact(n.max(1)).enumerate() {
            let sum: f64 = factor[..row].iter().zip(&*y).map(|(f, y)| f * y).sum();
            y[row] = b[self.order[row] as usize] as f64 - sum;
        }
        for row in (0..n).rev() {
            let factor = &self.factor[row * n..(row + 1) * n];
            let sum: f64 = factor[row + 1..].iter().zip(&y[row + 1..]).map(|(f, y)| f * y).sum();
            y[row] = (y[row] - sum) * factor[row];
        }
        x.iter_mut().zip(&*y).for_each(|(x, &y)| *x = y as f32);
    }

    pub fn bytes(&self) -> usize {
        8 * (self.factor.capacity() + self.work.capacity()) + 4 * self.order.capacity()
    }
}
