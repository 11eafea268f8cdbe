//! Chunked loops over vectors with ordered reductions.

use super::{LinearOperator, Real, SymmetricOperator};
use fluvial_foundation::parallel::{self, map_chunks, map_chunks2};

/// Rows of a chunk: its part of a few vectors stays in the first cache between the loops that are fused over
/// it.
pub(crate) const ROWS: usize = 2048;

/// Sum of squares and largest absolute value; both NaN if a value is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// Sum of squares.
    pub square: f64,
    /// Largest absolute value.
    pub max: f64,
}

impl Size {
    fn of<T: Real>(v: &[T]) -> Size {
        let mut max = 0.0f64;
        for &value in v {
            let value: f64 = value.into();
            max = max.max(value.abs());
        }
        let square = dot_chunk(v, v);
        Size { square, max: if square.is_nan() { f64::NAN } else { max } }
    }

    fn add(parts: Vec<Size>) -> Size {
        parts.into_iter().fold(Size::default(), |a, b| Size {
            square: a.square + b.square,
            max: if a.max.is_nan() || a.max > b.max { a.max } else { b.max },
        })
    }
}

/// Dot product of a chunk: eight lanes, so that it vectorises.
pub(super) fn dot_chunk<T: Real>(a: &[T], b: &[T]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = chunks_a.remainder().iter().zip(chunks_b.remainder());
    let tail: f64 = rest.map(|(&x, &y)| x.into() * y.into()).sum();
    for (x, y) in chunks_a.zip(chunks_b) {
        for lane in 0..8 {
            lanes[lane] += x[lane].into() * y[lane].into();
        }
    }
    lanes.iter().sum::<f64>() + tail
}

/// `a . b`.
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    parallel::ordered_sum(parallel::chunk_count(a.len(), ROWS), |n| {
        let range = parallel::chunk_range(n, ROWS, a.len());
        dot_chunk(&a[range.clone()], &b[range])
    })
}

/// Norms of `v`.
pub fn size<T: Real>(v: &[T]) -> Size {
    let parts = parallel::chunk_count(v.len(), ROWS);
    Size::add(parallel::map_indices(parts, |n| Size::of(&v[parallel::chunk_range(n, ROWS, v.len())])))
}

/// `out = A x`; returns `w . out`.
pub(super) fn apply_dot<T: Real>(out: &mut [T], a: &impl LinearOperator, x: &[T], w: &[T]) -> f64 {
    let blocks = a.weigh_blocks(x);
    let parts = map_chunks(out, ROWS, |rows, out| {
        a.apply_rows(out, rows.clone(), x);
        a.add_blocks(out, rows.clone(), &blocks);
        dot_chunk(out, &w[rows])
    });
    parts.into_iter().sum()
}

/// `out = A x`; returns `w . out` and `out . out`.
pub(super) fn apply_dots<T: Real>(out: &mut [T], a: &impl LinearOperator, x: &[T], w: &[T]) -> [f64; 2] {
    let blocks = a.weigh_blocks(x);
    let parts = map_chunks(out, ROWS, |rows, out| {
        a.apply_rows(out, rows.clone(), x);
        a.add_blocks(out, rows.clone(), &blocks);
        [dot_chunk(out, &w[rows]), dot_chunk(out, out)]
    });
    parts.into_iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}

/// `r = b - A x` in f64, then rounded and projected; returns its norms.
pub(super) fn true_residual<T: Real>(r: &mut [T], a: &impl LinearOperator, b: &[f64], x: &[f64]) -> Size {
    let blocks = a.weigh_blocks(x);
    map_chunks(r, ROWS, |rows, r| {
        let mut ax = [0.0f64; ROWS];
        let ax = &mut ax[..r.len()];
        a.apply_rows(ax, rows.clone(), x);
        a.add_blocks(ax, rows.clone(), &blocks);
        r.iter_mut().zip(&*ax).zip(&b[rows]).for_each(|((r, ax), b)| *r = T::from_f64(b - ax));
    });
    a.project(r);
    size(r)
}

/// The right side without what no solution can give: a copy in `projected` where the operator is singular.
/// Done in f64: the means that go may be far larger than what remains.
pub(super) fn project_rhs<'a, T: Real>(
    projected: &'a mut Vec<f64>,
    a: &impl SymmetricOperator<T>,
    b: &'a [f64],
) -> &'a [f64] {
    if !a.is_singular() {
        return b;
    }
    projected.clear();
    projected.extend_from_slice(b);
    a.project(projected);
    projected
}

/// `p = z + beta p`.
pub(super) fn combine<T: Real>(p: &mut [T], z: &[T], beta: f64) {
    let beta = T::from_f64(beta);
    parallel::for_each_chunk_mut(p, ROWS, |n, p| {
        p.iter_mut().zip(&z[n * ROWS..]).for_each(|(p, &z)| *p = z + beta * *p);
    });
}

/// `x += alpha p`, `r -= alpha q`; returns the norms of `r`.
pub(super) fn step<T: Real>(x: &mut [f64], r: &mut [T], (p, q): (&[T], &[T]), alpha: f64) -> Size {
    Size::add(map_chunks2(x, r, ROWS, |rows, x, r| {
        x.iter_mut().zip(&p[rows.clone()]).for_each(|(x, &p)| *x += alpha * p.into());
        let alpha = T::from_f64(alpha);
        r.iter_mut().zip(&q[rows]).for_each(|(r, &q)| *r = *r - alpha * q);
        Size::of(r)
    }))
}
