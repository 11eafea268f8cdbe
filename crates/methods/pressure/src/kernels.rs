//! Loops over a run of cells of one colour; windows are at least as long as the output. Where a kernel is not
//! `GENERAL` its coefficients are all 1 and not read.
//!
//! Each is a function of its own that is not inlined: that the output overlaps nothing else is known to the compiler
//! from the signature, and without it no loop here would be vectorised.

/// Six windows: values of the neighbours of a run of cells, or coefficients of its faces.
#[derive(Clone, Copy)]
pub(crate) struct Six<'a, T = f32>(pub [&'a [T]; 6]);

impl<'a, T> Six<'a, T> {
    /// All windows cut to `len`, so that loops need no further check.
    #[inline(always)]
    fn cut(&self, len: usize) -> Six<'a, T> {
        let v = |n: usize| &self.0[n][..len];
        Six([v(0), v(1), v(2), v(3), v(4), v(5)])
    }
}

impl Six<'_> {
    #[inline(always)]
    fn sum(&self, n: usize) -> f32 {
        let v = &self.0;
        ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n])
    }

    #[inline(always)]
    fn weighted(&self, c: &Six, n: usize) -> f32 {
        let (v, c) = (&self.0, &c.0);
        ((c[0][n] * v[0][n] + c[1][n] * v[1][n]) + (c[2][n] * v[2][n] + c[3][n] * v[3][n]))
            + (c[4][n] * v[4][n] + c[5][n] * v[5][n])
    }
}

/// `body(n, sum of c_f x_j)`; all coefficients are 1 and not read unless `GENERAL`.
#[inline(always)]
fn for_sums<const GENERAL: bool>(len: usize, x: &Six, c: &Six, mut body: impl FnMut(usize, f32)) {
    let (x, c) = (x.cut(len), c.cut(len));
    for n in 0..len {
        body(n, if GENERAL { x.weighted(&c, n) } else { x.sum(n) });
    }
}

/// `value` where there is an unknown, else 0.
#[inline(always)]
fn masked(diag: f32, value: f32) -> f32 {
    if diag != 0.0 { value } else { 0.0 }
}

/// `out = (b + sum c x) / diag`.
#[inline(never)]
pub(crate) fn relax<const GENERAL: bool>(out: &mut [f32], b: &[f32], diag: &[f32], x: &Six, c: &Six) {
    let len = out.len();
    let (b, diag) = (&b[..len], &diag[..len]);
    for_sums::<GENERAL>(len, x, c, |n, s| out[n] = masked(diag[n], (b[n] + s) / diag[n]));
}

/// `out = b / diag`.
#[inline(never)]
pub(crate) fn relax_from_zero(out: &mut [f32], b: &[f32], diag: &[f32]) {
    let len = out.len();
    let (b, diag) = (&b[..len], &diag[..len]);
    (0..len).for_each(|n| out[n] = masked(diag[n], b[n] / diag[n]));
}

/// `out = b - (diag own - sum c x)`.
#[inline(never)]
pub(crate) fn residual<const GENERAL: bool>(
    out: &mut [f32],
    own: &[f32],
    b: &[f32],
    diag: &[f32],
    x: &Six,
    c: &Six,
) {
    let len = out.len();
    let (own, b, diag) = (&own[..len], &b[..len], &diag[..len]);
    for_sums::<GENERAL>(len, x, c, |n, s| out[n] = masked(diag[n], (b[n] + s) - diag[n] * own[n]));
}

/// `out = diag own - sum c x`.
#[inline(never)]
pub(crate) fn apply<const GENERAL: bool>(out: &mut [f32], own: &[f32], diag: &[f32], x: &Six, c: &Six) {
    let len = out.len();
    let (own, diag) = (&own[..len], &diag[..len]);
    for_sums::<GENERAL>(len, x, c, |n, s| out[n] = masked(diag[n], diag[n] * own[n] - s));
}

/// `p = z + beta p`, `q = A z + beta q`, `d += alpha p`, `r -= alpha q`, with `A z = diag z - sum c x`.
#[inline(never)]
#[allow(clippy::too_many_arguments)] // one pass over everything an iteration changes
pub(crate) fn update<const GENERAL: bool>(
    p: &mut [f32],
    q: &mut [f32],
    d: &mut [f32],
    r: &mut [f32],
    z: &[f32],
    diag: &[f32],
    x: &Six,
    c: &Six,
    (alpha, beta): (f32, f32),
) {
    let len = p.len();
    let (q, d, r) = (&mut q[..len], &mut d[..len], &mut r[..len]);
    let (z, diag) = (&z[..len], &diag[..len]);
    for_sums::<GENERAL>(len, x, c, |n, s| {
        p[n] = z[n] + beta * p[n];
        q[n] = masked(diag[n], diag[n] * z[n] - s) + beta * q[n];
        d[n] += alpha * p[n];
        r[n] -= alpha * q[n];
    });
}

/// `r -= shift + A own` in f64, in flux form: the diagonal is the sum of the coefficients plus `excess`.
/// Without coefficients that sum is the number of neighbours that are unknowns, `diag - excess` up to rounding.
#[inline(never)]
pub(crate) fn true_residual(
    r: &mut [f32],
    shift: &[f64],
    own: &[f64],
    diag: &[f32],
    excess: &[f64],
    x: &Six<f64>,
    c: Option<&Six>,
) {
    let len = r.len();
    let shift = &shift[..len];
    let (own, diag, excess, x) = (&own[..len], &diag[..len], &excess[..len], x.cut(len));
    let v = &x.0;
    match c.map(|c| c.cut(len)) {
        Some(Six(c)) => {
            for n in 0..len {
                let flux = |f: usize| c[f][n] as f64 * (v[f][n] - own[n]);
                let sum = ((flux(0) + flux(1)) + (flux(2) + flux(3))) + (flux(4) + flux(5));
                r[n] = masked(diag[n], (r[n] as f64 - shift[n] + sum - excess[n] * own[n]) as f32);
            }
        }
        None => {
            for n in 0..len {
                let count = (diag[n] as f64 - excess[n]).round_ties_even();
                let sum = ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n]);
                let value = r[n] as f64 - shift[n] + sum - (count + excess[n]) * own[n];
                r[n] = masked(diag[n], value as f32);
            }
        }
    }
}

/// Every other value of a row in grid order, from the `t`-th.
#[inline(never)]
pub(crate) fn deinterleave(out: &mut [f32], row: &[f32], t: usize) {
    let pairs = row.chunks_exact(2);
    if let (&[last], 0) = (pairs.remainder(), t) {
        out[row.len() / 2] = last;
    }
    if t == 0 {
        out.iter_mut().zip(pairs).for_each(|(out, pair)| *out = pair[0]);
    } else {
        out.iter_mut().zip(pairs).for_each(|(out, pair)| *out = pair[1]);
    }
}

/// Dot product of two short runs: eight lanes in f32, their sum in f64.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0f32; 8];
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = chunks_a.remainder().iter().zip(chunks_b.remainder()).map(|(x, y)| (x * y) as f64).sum();
    for (x, y) in chunks_a.zip(chunks_b) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().map(|&v| v as f64).sum::<f64>() + tail
}

/// Sum of squares in f64.
#[inline(always)]
pub(crate) fn square_sum(a: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let chunks = a.chunks_exact(8);
    let tail: f64 = chunks.remainder().iter().map(|&x| x as f64 * x as f64).sum();
    for x in chunks {
        for lane in 0..8 {
            lanes[lane] += x[lane] as f64 * x[lane] as f64;
        }
    }
    lanes.iter().sum::<f64>() + tail
}

/// Largest absolute value; NaN when there is one.
#[inline(always)]
pub(crate) fn largest(a: &[f32]) -> f64 {
    let nan = a.iter().fold(false, |nan, v| nan | v.is_nan());
    if nan { f64::NAN } else { a.iter().fold(0.0f32, |m, &v| m.max(v.abs())) as f64 }
}
