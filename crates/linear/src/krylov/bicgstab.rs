//! Stabilised bi-conjugate gradients, preconditioned from the right [van-der-vorst-1992; saad-2003 Alg. 7.7].

use super::progress::Progress;
use super::vector::{Size, apply_dot, apply_dots, dot, project_rhs, size, step, true_residual};
use super::{LinearOperator, Preconditioner, ROWS, Real};
use crate::{Info, Params, SolveError};
use fluvial_foundation::parallel::{self, map_chunks};

/// Memory of [`bicgstab`], to be kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct BicgstabScratch<T> {
    /// The right side, where the operator is singular.
    projected: Vec<f64>,
    r: Vec<T>,
    shadow: Vec<T>,
    p: Vec<T>,
    v: Vec<T>,
    z: Vec<T>,
    t: Vec<T>,
}

impl<T: Real> BicgstabScratch<T> {
    /// Makes room for so many unknowns.
    pub fn resize(&mut self, rows: usize) {
        for v in [&mut self.r, &mut self.shadow, &mut self.p, &mut self.v, &mut self.z, &mut self.t] {
            v.resize(rows, T::default());
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let values = [&self.r, &self.shadow, &self.p, &self.v, &self.z, &self.t].map(Vec::capacity);
        values.iter().sum::<usize>() * size_of::<T>() + 8 * self.projected.capacity()
    }
}

/// Solves `A x = b` for a regular `A` that need not be symmetric; `x` as in
/// [`conjugate_gradients`](super::conjugate_gradients). An iteration costs two of the operator and two of the
/// preconditioner.
pub fn bicgstab<T: Real, A: LinearOperator, M: Preconditioner<T> + Send>(
    x: &mut [f64],
    a: &A,
    m: &mut M,
    b: &[f64],
    params: &Params,
    scratch: &mut BicgstabScratch<T>,
) -> Result<Info, SolveError> {
    assert_eq!((x.len(), b.len()), (a.rows(), a.rows()), "one value per unknown");
    scratch.resize(a.rows());
    parallel::on_worker(|| {
        let result = iterate(x, a, m, b, params, scratch);
        a.project(x);
        result
    })
}

fn iterate<T: Real, A: LinearOperator, M: Preconditioner<T>>(
    x: &mut [f64],
    a: &A,
    m: &mut M,
    b: &[f64],
    params: &Params,
    BicgstabScratch { projected, r, shadow, p, v, z, t }: &mut BicgstabScratch<T>,
) -> Result<Info, SolveError> {
    let b = project_rhs::<T>(projected, a, b);
    let rhs = size(b);
    if rhs.square == 0.0 {
        x.fill(0.0);
        return Ok(Info { history: vec![0.0], ..Info::default() });
    }
    let mut residual = true_residual(r, a, b, x);
    let mut progress = Progress::new(params, rhs, residual);
    let (mut rho, mut alpha, mut omega, mut restart) = (1.0, 1.0, 1.0, true);
    while progress.goes_on()? {
        let mut rho_new = if restart { residual.square } else { dot(shadow, r) };
        if rho_new.abs() <= T::ROUNDING * (residual.square * dot(shadow, shadow)).sqrt() && !restart {
            // The residual has become orthogonal to its shadow: take a new one.
            (restart, rho_new) = (true, residual.square);
        }
        if restart {
            shadow.copy_from_slice(r);
            p.copy_from_slice(r);
        } else {
            directions(p, r, v, (rho_new / rho) * (alpha / omega), omega);
        }
        rho = rho_new;
        m.apply(z, p);
        a.project(z);
        let shadow_v = apply_dot(v, a, z, shadow);
        if !(shadow_v.is_finite() && rho.is_finite()) {
            return Err(SolveError::NotFinite { history: progress.take() });
        }
        if shadow_v.abs() <= T::ROUNDING * T::ROUNDING * (dot(shadow, shadow) * dot(v, v)).sqrt() {
            return Err(SolveError::Breakdown { history: progress.take() });
        }
        alpha = rho / shadow_v;
        residual = step(x, r, (z, v), alpha);
        restart = false;
        if !progress.is_small(residual) {
            m.apply(z, r);
            a.project(z);
            let [tr, tt] = apply_dots(t, a, z, r);
            if !(tr.is_finite() && tt.is_finite()) {
                return Err(SolveError::NotFinite { history: progress.take() });
            }
            if tr.abs() <= T::ROUNDING * (tt * residual.square).sqrt() {
                return Err(SolveError::Breakdown { history: progress.take() });
            }
            omega = tr / tt;
            residual = step(x, r, (z, t), omega);
        }
        if progress.wants_true_residual::<T>(residual) {
            a.project(x);
            let recurrence: Size = std::mem::replace(&mut residual, true_residual(r, a, b, x));
            restart = progress.replaced(recurrence, residual) || progress.is_small(recurrence);
        }
        progress.iterated(residual);
    }
    Ok(progress.info)
}

/// `p = r + beta (p - omega v)`.
fn directions<T: Real>(p: &mut [T], r: &[T], v: &[T], beta: f64, omega: f64) {
    let (beta, omega) = (T::from_f64(beta), T::from_f64(omega));
    map_chunks(p, ROWS, |rows, p| {
        let (r, v) = (&r[rows.clone()], &v[rows]);
        p.iter_mut().zip(r).zip(v).for_each(|((p, &r), &v)| *p = r + beta * (*p - omega * v));
    });
}
