//! Preconditioned conjugate gradients [hestenes-1952; saad-2003 Alg. 9.1].

use super::progress::Progress;
use super::vector::{combine, dot, project_rhs, size, step};
use super::{Preconditioner, Real, SymmetricOperator};
use crate::{Info, Params, SolveError};
use fluvial_foundation::parallel;

/// Memory of [`conjugate_gradients`], to be kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct CgScratch<T> {
    /// The right side, where the operator is singular.
    projected: Vec<f64>,
    r: Vec<T>,
    z: Vec<T>,
    p: Vec<T>,
    q: Vec<T>,
}

impl<T: Real> CgScratch<T> {
    /// Makes room for so many unknowns.
    pub fn resize(&mut self, rows: usize) {
        for v in [&mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            v.resize(rows, T::default());
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let values = [&self.r, &self.z, &self.p, &self.q].map(Vec::capacity);
        values.iter().sum::<usize>() * size_of::<T>() + 8 * self.projected.capacity()
    }
}

/// Solves `A x = b` for a symmetric positive definite `A` and preconditioner `M`. `x` holds the start and
/// receives the solution; after an error it holds the last iterate. Where constants are in the null space
/// ([`SymmetricOperator::project`]) `b` is taken without its mean, and `x` has none.
pub fn conjugate_gradients<T: Real, A: SymmetricOperator<T>, M: Preconditioner<T> + Send>(
    x: &mut [f64],
    a: &A,
    m: &mut M,
    b: &[f64],
    params: &Params,
    scratch: &mut CgScratch<T>,
) -> Result<Info, SolveError> {
    assert_eq!((x.len(), b.len()), (a.len(), a.len()), "one value per unknown");
    scratch.resize(a.len());
    parallel::on_worker(|| {
        let result = iterate(x, a, m, b, params, scratch);
        a.project(x);
        result
    })
}

fn iterate<T: Real, A: SymmetricOperator<T>, M: Preconditioner<T>>(
    x: &mut [f64],
    a: &A,
    m: &mut M,
    b: &[f64],
    params: &Params,
    CgScratch { projected, r, z, p, q }: &mut CgScratch<T>,
) -> Result<Info, SolveError> {
    let b = project_rhs::<T>(projected, a, b);
    let rhs = size(b);
    if rhs.square == 0.0 {
        x.fill(0.0);
        return Ok(Info { history: vec![0.0], ..Info::default() });
    }
    let mut progress = Progress::new(params, rhs, a.residual(r, b, x));
    let (mut rho, mut restart) = (0.0, true);
    while progress.goes_on()? {
        let rho_new = m.apply(z, r);
        a.project(z);
        if !rho_new.is_finite() {
            return Err(SolveError::NotFinite { history: progress.take() });
        }
        if rho_new <= 0.0 {
            return Err(SolveError::Indefinite { history: progress.take() });
        }
        combine(p, z, if restart { 0.0 } else { rho_new / rho });
        let mut energy = a.energy(q, p);
        if energy <= 0.0 && !restart && -energy <= T::ROUNDING * (dot(p, p) * dot(q, q)).sqrt() {
            // The direction has been rounded away; start again from the steepest one.
            p.copy_from_slice(z);
            energy = a.energy(q, p);
        }
        if energy <= 0.0 {
            return Err(SolveError::Indefinite { history: progress.take() });
        }
        rho = rho_new;
        let mut residual = step(x, r, (p, q), rho / energy);
        restart = false;
        if progress.wants_true_residual::<T>(residual) {
            a.project(x);
            let recurrence = std::mem::replace(&mut residual, a.residual(r, b, x));
            restart = progress.replaced(recurrence, residual);
        }
        progress.iterated(residual);
    }
    Ok(progress.info)
}
