//! Loops over a run of cells of one colour; windows are at least as long as the output. Where a kernel is not
//! `GENERAL` its coefficients are all 1 and not read.
//!
//! Each is a function of its own that is not inlined: that the output overlaps nothing else is known to the
//! compiler from the signature, and without it no loop here would be vectorised. Rows are short, so that what
//! is handed over matters: whole arrays and where to begin, cut to windows inside.

use crate::layout::{Split, window};

/// Where the neighbours of a run of cells and the coefficients of its faces lie.
pub(crate) struct Around<'a> {
    /// Addresses of the neighbours in the other colour's array: low and high x, y, z.
    pub starts: [usize; 6],
    /// Values missing at the beginning of the other colour's array.
    pub offset: usize,
    /// Address of the run itself.
    pub at: usize,
    pub coef: &'a [Split; 3],
    pub colour: usize,
}

impl Around<'_> {
    /// The neighbours' values.
    #[inline(always)]
    fn values<'a, T>(&self, other: &'a [T], len: usize) -> Six<'a, T> {
        let v = |n: usize| window(other, self.starts[n] - self.offset, len);
        Six([v(0), v(1), v(2), v(3), v(4), v(5)])
    }

    /// The coefficients of the six faces, in the same order; without them nothing is cut.
    #[inline(always)]
    fn coefficients<const GENERAL: bool>(&self, len: usize) -> Six<'_> {
        if !GENERAL {
            return Six([&[]; 6]);
        }
        let own = |axis: usize| window(&self.coef[axis][self.colour], self.at, len);
        let next = |axis: usize| window(&self.coef[axis][1 - self.colour], self.starts[2 * axis + 1], len);
        Six([own(0), next(0), own(1), next(1), own(2), next(2)])
    }
}

/// Six windows: values of the neighbours of a run of cells, or coefficients of its faces.
#[derive(Clone, Copy)]
struct Six<'a, T = f32>([&'a [T]; 6]);

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

/// `body(n, sum of c_f x_j)` for a run of `len` cells.
#[inline(always)]
fn for_sums<const GENERAL: bool>(
    len: usize,
    other: &[f32],
    around: &Around,
    mut body: impl FnMut(usize, f32),
) {
    let (x, c) = (around.values(other, len), around.coefficients::<GENERAL>(len));
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
pub(crate) fn relax<const GENERAL: bool>(
    out: &mut [f32],
    b: &[f32],
    diag: &[f32],
    other: &[f32],
    around: &Around,
) {
    let len = out.len();
    let (b, diag) = (window(b, around.at, len), window(diag, around.at, len));
    for_sums::<GENERAL>(len, other, around, |n, s| out[n] = masked(diag[n], (b[n] + s) / diag[n]));
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
    other: &[f32],
    around: &Around,
) {
    let len = out.len();
    let own = &own[..len];
    let (b, diag) = (window(b, around.at, len), window(diag, around.at, len));
    for_sums::<GENERAL>(len, other, around, |n, s| {
        out[n] = masked(diag[n], (b[n] + s) - diag[n] * own[n]);
    });
}

/// `own . (diag own - sum c x)` and `own . b` over at most [`PIECE`] cells; `own` is zero where there is no
/// unknown.
#[inline(never)]
pub(crate) fn energy<const GENERAL: bool>(
    own: &[f32],
    b: &[f32],
    diag: &[f32],
    other: &[f32],
    around: &Around,
) -> [f64; 2] {
    let len = own.len();
    let (b, diag) = (window(b, around.at, len), window(diag, around.at, len));
    let mut ax = [0.0f32; PIECE];
    let ax = &mut ax[..len];
    for_sums::<GENERAL>(len, other, around, |n, s| ax[n] = diag[n] * own[n] - s);
    [dot(own, ax), dot(own, b)]
}

/// Places of a buffer on the stack.
pub(crate) const PIECE: usize = 64;

/// Values summed side by side.
const LANES: usize = 8;

/// `p = z + beta p`, `q = A z + beta q`, `d += alpha p`, `r -= alpha q`, with `A z = diag z - sum c x`;
/// returns `r . r`.
#[inline(never)]
#[allow(clippy::too_many_arguments)] // one pass over everything an iteration changes
pub(crate) fn update<const GENERAL: bool>(
    p: &mut [f32],
    q: &mut [f32],
    d: &mut [f32],
    r: &mut [f32],
    z: &Split,
    diag: &[f32],
    around: &Around,
    (alpha, beta): (f32, f32),
) -> f64 {
    let len = p.len();
    let (q, d, r) = (&mut q[..len], &mut d[..len], &mut r[..len]);
    let (own, diag) = (window(&z[around.colour], around.at, len), window(diag, around.at, len));
    for_sums::<GENERAL>(len, &z[1 - around.colour], around, |n, s| {
        p[n] = own[n] + beta * p[n];
        q[n] = masked(diag[n], diag[n] * own[n] - s) + beta * q[n];
        d[n] += alpha * p[n];
        r[n] -= alpha * q[n];
    });
    dot(r, r)
}

/// `r -= shift + A x` in f64, in flux form: the diagonal is the sum of the coefficients plus `excess`.
/// Without coefficients that sum is the number of neighbours that are unknowns, `diag - excess` up to
/// rounding.
#[inline(never)]
pub(crate) fn true_residual<const GENERAL: bool>(
    r: &mut [f32],
    shift: &[f64],
    diag: &[f32],
    excess: &[f64],
    x: &Split<f64>,
    around: &Around,
) {
    let len = r.len();
    let (shift, own) = (&shift[..len], window(&x[around.colour], around.at, len));
    let (diag, excess) = (window(diag, around.at, len), window(excess, around.at, len));
    let Six(v) = around.values(&x[1 - around.colour], len);
    let Six(c) = around.coefficients::<GENERAL>(len);
    for n in 0..len {
        let b = r[n] as f64 - shift[n];
        let value = if GENERAL {
            let flux = |f: usize| c[f][n] as f64 * (v[f][n] - own[n]);
            let sum = ((flux(0) + flux(1)) + (flux(2) + flux(3))) + (flux(4) + flux(5));
            b + sum - excess[n] * own[n]
        } else {
            let count = (diag[n] as f64 - excess[n]).round_ties_even();
            let sum = ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n]);
            b + sum - (count + excess[n]) * own[n]
        };
        r[n] = masked(diag[n], value as f32);
    }
}

/// Every other value of a row in grid order, from the `t`-th.
#[inline(never)]
pub(crate) fn deinterleave(out: &mut [f32], row: &[f32], t: usize) {
    let pairs = row.chunks_exact(2);
    if let (&[last], 0) = (pairs.remainder(), t)
        && let Some(out) = out.get_mut(row.len() / 2)
    {
        *out = last;
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
    let mut lanes = [0.0f32; LANES];
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = chunks_a.remainder().iter().zip(chunks_b.remainder()).map(|(x, y)| (x * y) as f64).sum();
    for (x, y) in chunks_a.zip(chunks_b) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().map(|&v| v as f64).sum::<f64>() + tail
}

/// Sum of squares in f64.
#[inline(always)]
pub(crate) fn square_sum(a: &[f32]) -> f64 {
    let mut lanes = [0.0f64; LANES];
    let chunks = a.chunks_exact(LANES);
    let tail: f64 = chunks.remainder().iter().map(|&x| x as f64 * x as f64).sum();
    for x in chunks {
        for lane in 0..LANES {
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
