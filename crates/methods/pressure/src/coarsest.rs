//! The coarsest level: a dense Cholesky factorisation.

use crate::layout::Split;
use crate::operator::Operator;

/// Pivots below this fraction of the diagonal belong to a constant that nothing fixes (a sealed pocket):
/// that unknown is held at zero.
const NULL_PIVOT: f64 = 1e-9;

/// `L L^T` of the coarsest operator.
#[derive(Default)]
pub(crate) struct Coarsest {
    /// (colour, place) of each unknown.
    places: Vec<(usize, usize)>,
    /// Row-major lower triangle; diagonal holds the inverse, 0 for a held unknown.
    factor: Vec<f64>,
    work: Vec<f64>,
}

impl Coarsest {
    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        8 * (self.factor.capacity() + self.work.capacity()) + 16 * self.places.capacity()
    }

    /// Factors the operator; `excess` is the Dirichlet part of its diagonal.
    pub fn factor(&mut self, op: &Operator, excess: &Split<impl Copy + Into<f64>>) {
        let storage = &op.storage;
        self.places.clear();
        let mut number = [vec![usize::MAX; storage.len()], vec![usize::MAX; storage.len()]];
        // The span and the place in it of each unknown, with its row.
        let mut found = Vec::new();
        for row in (0..storage.rows.len()).map(|n| op.row(n)) {
            for (span, colour) in row.spans.iter().flat_map(|s| [(s, 0), (s, 1)]) {
                for m in (0..span.len()).filter(|m| op.diag[colour][span.at() + m] != 0.0) {
                    number[colour][span.at() + m] = self.places.len();
                    self.places.push((colour, span.at() + m));
                    found.push((row, span, m));
                }
            }
        }
        let n = self.places.len();
        self.work.clear();
        self.work.resize(n, 0.0);
        self.factor.clear();
        self.factor.resize(n * n, 0.0);
        for row in 0..n {
            let (colour, place) = self.places[row];
            let (at, span, m) = &found[row];
            let low = [place + at.t(colour) - 1, span.beside[0] as usize + m, span.beside[2] as usize + m];
            self.factor[row * n + row] += excess[colour][place].into();
            for axis in 0..3 {
                let c = op.coef[axis][colour][place] as f64;
                if c != 0.0 {
                    let column = number[1 - colour][low[axis]];
                    self.factor[row * n + row] += c;
                    self.factor[column * n + column] += c;
                    self.factor[row.max(column) * n + row.min(column)] -= c;
                }
            }
        }
        self.decompose(n);
    }

    fn decompose(&mut self, n: usize) {
        let a = &mut self.factor;
        for i in 0..n {
            let whole = a[i * n + i];
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
                let value = a[i * n + j] - sum;
                a[i * n + j] = if i != j {
                    value * a[j * n + j]
                } else if value > NULL_PIVOT * whole {
                    1.0 / value.sqrt()
                } else {
                    0.0
                };
            }
        }
    }

    /// `x = A^-1 b`.
    pub fn solve(&mut self, x: &mut Split, b: &Split) {
        x.iter_mut().for_each(|v| v.fill(0.0));
        let n = self.places.len();
        let (a, y) = (&self.factor, &mut self.work);
        for i in 0..n {
            let (colour, place) = self.places[i];
            let sum: f64 = (0..i).map(|k| a[i * n + k] * y[k]).sum();
            y[i] = (b[colour][place] as f64 - sum) * a[i * n + i];
        }
        for i in (0..n).rev() {
            let value = y[i] * a[i * n + i];
            y[i] = value;
            for k in 0..i {
                y[k] -= a[i * n + k] * value;
            }
            let (colour, place) = self.places[i];
            x[colour][place] = value as f32;
        }
    }
}
