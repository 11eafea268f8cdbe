//! The hybrid preconditioner of the second-order problem [power §4.3].
//!
//! `k` damped Jacobi sweeps on `L_2 p = q` in a band around boundaries and transitions, where the two
//! discretisations differ; a correction of the residual by a multigrid cycle `M_1` of the first-order
//! problem; `k` more sweeps. A sweep is `p += w R D^-1 R (q - L_2 p)` with the band's projection `R`: a
//! symmetric update, so that the sweeps after the correction are the transpose of those before, and
//! `M` is symmetric with `M_1`. It is positive definite because `w < 1` makes the sweeps contract: `D^-1 L_2`
//! has no eigenvalue beyond 2, its rows being diagonally dominant. Verified with random vectors by
//! `hybrid.rs`.
//!
//! Differs from the paper: `M_1` is any preconditioner of `L_1` that the caller has, today the algebraic one
//! of `fluvial-linear` on the assembled matrix, not a V-cycle on the pages.

use fluvial_foundation::parallel;
use fluvial_linear::krylov::{LinearOperator, Preconditioner, dot};
use fluvial_linear::sparse::FluxMatrix;

/// Settings of the sweeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HybridParams {
    /// Rings of neighbours around leaves with other than plain stencils; the paper's band is about 3 leaves
    /// wide.
    pub rings: usize,
    /// Sweeps before and after the correction; the paper needs about 8.
    pub sweeps: usize,
    /// Damping, less than 1.
    pub damping: f32,
}

impl Default for HybridParams {
    fn default() -> Self {
        HybridParams { rings: 3, sweeps: 8, damping: 2.0 / 3.0 }
    }
}

/// `w = M q`.
pub struct Hybrid<'a, M> {
    second: &'a FluxMatrix<f32>,
    first: M,
    params: HybridParams,
    /// Leaves of the band, ascending, and the damping over their diagonals.
    band: Vec<u32>,
    step: Vec<f32>,
    change: Vec<f32>,
    residual: Vec<f32>,
    correction: Vec<f32>,
}

/// Leaves per task.
const CHUNK: usize = 2048;

impl<'a, M: Preconditioner<f32>> Hybrid<'a, M> {
    /// From `L_2`, a preconditioner of `L_1`, and the leaves whose stencils are not plain.
    pub fn new(second: &'a FluxMatrix<f32>, first: M, special: &[bool], params: HybridParams) -> Self {
        assert!(params.damping > 0.0 && params.damping < 1.0, "damped sweeps contract");
        let mut inside = special.to_vec();
        for _ in 0..params.rings {
            inside = parallel::map_indices(inside.len(), |n| {
                inside[n] || second.off_diagonal().row(n).0.iter().any(|&c| inside[c as usize])
            });
        }
        let unknown = |n: &usize| inside[*n] && second.diagonal(*n) > 0.0;
        let band: Vec<u32> = (0..inside.len()).filter(unknown).map(|n| n as u32).collect();
        let step = band.iter().map(|&n| params.damping / second.diagonal(n as usize) as f32).collect();
        let rows = second.rows();
        let (residual, correction) = (vec![0.0; rows], vec![0.0; rows]);
        Hybrid { second, first, params, change: vec![0.0; band.len()], band, step, residual, correction }
    }

    /// Number of leaves that are swept.
    pub fn band_len(&self) -> usize {
        self.band.len()
    }

    /// Sweeps of damped Jacobi on `L_2 p = q` in the band.
    fn sweep(&mut self, p: &mut [f32], q: &[f32]) {
        let (second, band, step) = (self.second, &self.band, &self.step);
        for _ in 0..self.params.sweeps {
            let before = &*p;
            parallel::for_each_chunk_mut(&mut self.change, CHUNK, |task, change| {
                for (i, change) in change.iter_mut().enumerate() {
                    let row = band[task * CHUNK + i] as usize;
                    let mut applied = [0.0f32];
                    second.apply_rows(&mut applied, row..row + 1, before);
                    *change = step[task * CHUNK + i] * (q[row] - applied[0]);
                }
            });
            for (&row, change) in band.iter().zip(&self.change) {
                p[row as usize] += change;
            }
        }
    }

    fn update_residual(&mut self, p: &[f32], q: &[f32]) {
        let second = self.second;
        parallel::for_each_chunk_mut(&mut self.residual, CHUNK, |task, out| {
            let rows = task * CHUNK..task * CHUNK + out.len();
            second.apply_rows(out, rows.clone(), p);
            out.iter_mut().zip(&q[rows]).for_each(|(r, &q)| *r = q - *r);
        });
    }
}

impl<M: Preconditioner<f32>> Preconditioner<f32> for Hybrid<'_, M> {
    fn apply(&mut self, z: &mut [f32], r: &[f32]) -> f64 {
        z.fill(0.0);
        self.sweep(z, r);
        self.update_residual(z, r);
        self.first.apply(&mut self.correction, &self.residual);
        z.iter_mut().zip(&self.correction).for_each(|(z, &c)| *z += c);
        self.sweep(z, r);
        dot(z, r)
    }
}
