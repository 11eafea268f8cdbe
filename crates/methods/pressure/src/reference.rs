//! Plain and incomplete-Cholesky conjugate gradients on the assembled matrix, in f64. Kept to compare with
//! and to check against. The factorisation and its solves run on one thread.

use crate::assemble::Assembled;
use crate::{Info, Params, PoissonProblem, PrepareInfo, PressureSolver, SolveError};
use fluvial_grids::GHOST_DISTANCE_FLOOR;
use fluvial_linear::krylov::{self, CgScratch, Identity, conjugate_gradients};
use fluvial_linear::sparse::FluxMatrix;

/// What multiplies the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preconditioner {
    /// Nothing.
    None,
    /// Incomplete Cholesky factorisation without fill: the tall-cell paper's reference.
    IncompleteCholesky,
    /// The same with 97 % of the dropped fill kept on the diagonal [bridson-2015 §5.4].
    ModifiedIncompleteCholesky,
}

/// Share of the dropped fill that the modified factorisation keeps.
const MODIFIED: f64 = 0.97;
/// A pivot below this part of the diagonal is replaced by the diagonal.
const SMALL_PIVOT: f64 = 0.25;

/// An incomplete Cholesky factorisation `A ~ (E + L) E^-2 (E + L^T)` with `L` the lower triangle of `A` as it
/// is: the one without fill where no two neighbours of an unknown are neighbours, as on grids.
#[derive(Default)]
struct IncompleteCholesky {
    /// Inverse square roots of the pivots.
    pivot: Vec<f64>,
}

impl IncompleteCholesky {
    /// `e_i = a_ii - sum_k a_ik (a_ik + modified sum_j a_kj) / e_k` over neighbours `k < i` and theirs `j >
    /// k`, `j != i`.
    fn factor(&mut self, a: &FluxMatrix<f32>, modified: f64) {
        self.pivot.clear();
        let floor = if modified > 0.0 { SMALL_PIVOT } else { 1e-8 };
        for row in 0..a.excess().len() {
            let diagonal = a.diagonal(row);
            let mut e = diagonal;
            let (column, value) = a.off_diagonal().row(row);
            for (&k, &a_ik) in column.iter().zip(value).take_while(|(k, _)| (**k as usize) < row) {
                let (beyond, values) = a.off_diagonal().row(k as usize);
                let others = beyond.iter().zip(values).filter(|(j, _)| **j > k && **j as usize != row);
                let others: f64 = others.map(|(_, &v)| v as f64).sum();
                let (a_ik, pivot) = (a_ik as f64, self.pivot[k as usize]);
                e -= a_ik * (a_ik + modified * others) * pivot * pivot;
            }
            // Without a floor a sealed pocket's last pivot would be zero.
            self.pivot.push(1.0 / if e < floor * diagonal { diagonal } else { e }.sqrt());
        }
    }
}

/// The factorisation beside its matrix.
struct Factored<'a> {
    matrix: &'a FluxMatrix<f32>,
    pivot: &'a [f64],
}

impl krylov::Preconditioner<f64> for Factored<'_> {
    fn apply(&mut self, z: &mut [f64], r: &[f64]) -> f64 {
        let e = self.pivot;
        for row in 0..r.len() {
            let (column, value) = self.matrix.off_diagonal().row(row);
            let mut sum = r[row];
            for (&k, &a) in column.iter().zip(value).take_while(|(k, _)| (**k as usize) < row) {
                sum -= a as f64 * e[k as usize] * z[k as usize];
            }
            z[row] = sum * e[row];
        }
        for row in (0..r.len()).rev() {
            let (column, value) = self.matrix.off_diagonal().row(row);
            let mut sum = z[row];
            for (&k, &a) in column.iter().zip(value).rev().take_while(|(k, _)| (**k as usize) > row) {
                sum -= a as f64 * e[row] * z[k as usize];
            }
            z[row] = sum * e[row];
        }
        krylov::dot(z, r)
    }
}

/// Conjugate gradients over a matrix, in f64.
pub struct ReferenceCg {
    preconditioner: Preconditioner,
    assembled: Assembled,
    factor: IncompleteCholesky,
    x: Vec<f64>,
    b: Vec<f64>,
    scratch: CgScratch<f64>,
}

impl ReferenceCg {
    /// A solver without a problem yet.
    pub fn new(preconditioner: Preconditioner) -> Self {
        ReferenceCg {
            preconditioner,
            assembled: Assembled::default(),
            factor: IncompleteCholesky::default(),
            x: Vec::new(),
            b: Vec::new(),
            scratch: CgScratch::default(),
        }
    }
}

impl PressureSolver for ReferenceCg {
    fn name(&self) -> &'static str {
        match self.preconditioner {
            Preconditioner::None => "cg",
            Preconditioner::IncompleteCholesky => "ic",
            Preconditioner::ModifiedIncompleteCholesky => "mic",
        }
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        self.assembled = Assembled::default();
        self.assembled = Assembled::new(problem, GHOST_DISTANCE_FLOOR);
        match self.preconditioner {
            Preconditioner::None => {}
            Preconditioner::IncompleteCholesky => self.factor.factor(&self.assembled.matrix, 0.0),
            Preconditioner::ModifiedIncompleteCholesky => {
                self.factor.factor(&self.assembled.matrix, MODIFIED);
            }
        }
        self.assembled.info()
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        self.assembled.gather(&mut self.x, p);
        self.assembled.gather(&mut self.b, rhs);
        let (matrix, scratch) = (&self.assembled.matrix, &mut self.scratch);
        let result = match self.preconditioner {
            Preconditioner::None => {
                conjugate_gradients(&mut self.x, matrix, &mut Identity, &self.b, params, scratch)
            }
            _ => {
                let m = &mut Factored { matrix, pivot: &self.factor.pivot };
                conjugate_gradients(&mut self.x, matrix, m, &self.b, params, scratch)
            }
        };
        self.assembled.scatter(p, &self.x);
        result
    }

    fn solution_f64(&self, out: &mut [f64]) {
        self.assembled.scatter(out, &self.x);
    }

    fn bytes(&self) -> usize {
        let vectors = self.factor.pivot.capacity() + self.x.capacity() + self.b.capacity();
        self.assembled.bytes() + 8 * vectors + self.scratch.bytes()
    }
}
