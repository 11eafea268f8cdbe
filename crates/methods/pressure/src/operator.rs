//! The seven-point operator of one level and its kernels.
//!
//! `(A x)_i = diag_i x_i - sum_f c_f x_j`, zero where there is no unknown (`diag_i == 0`). A coefficient is
//! stored with the cell on the high side of its face; where a block is [`PLAIN`](crate::layout::PLAIN) all
//! its coefficients between unknowns are 1 and are not read: values at cells without an unknown are zero,
//! so that a coefficient towards them never matters.

use crate::layout::{Layout, Split, window, window_mut};

/// Diagonal, coefficients and the activity map of a level.
pub(crate) struct Operator {
    pub layout: Layout,
    /// 0 where the cell is no unknown.
    pub diag: Split,
    /// Per axis: coefficient of the low face of each cell, 0 unless both sides are unknowns.
    pub coef: [Split; 3],
    /// Class of every block of every row.
    pub class: Vec<u8>,
}

/// A row of one colour.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub row: usize,
    pub colour: usize,
    pub class: &'a [u8],
}

/// Six windows of one length: values of the neighbours of a run of cells, or coefficients of its faces.
struct Six<'a, T>([&'a [T]; 6]);

impl Six<'_, f32> {
    #[inline(always)]
    fn sum(&self, n: usize) -> f32 {
        let v = &self.0;
        ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n])
    }

    #[inline(always)]
    fn weighted(&self, c: &Six<f32>, n: usize) -> f32 {
        let (v, c) = (&self.0, &c.0);
        ((c[0][n] * v[0][n] + c[1][n] * v[1][n]) + (c[2][n] * v[2][n] + c[3][n] * v[3][n]))
            + (c[4][n] * v[4][n] + c[5][n] * v[5][n])
    }
}

impl Operator {
    pub fn new(cells: [usize; 3]) -> Self {
        let layout = Layout::new(cells);
        Operator {
            layout,
            diag: layout.zeros(),
            coef: std::array::from_fn(|_| layout.zeros()),
            class: vec![0; layout.rows * layout.blocks],
        }
    }

    /// The row with its classes.
    #[inline(always)]
    pub fn row(&self, row: usize, colour: usize) -> Row<'_> {
        Row { row, colour, class: self.layout.class_row(&self.class, row) }
    }

    /// Starts of the neighbours' windows for the cells of `colour` from place `m0` of `row`.
    #[inline(always)]
    pub fn neighbour_starts(&self, colour: usize, row: usize, m0: usize) -> [usize; 6] {
        let l = &self.layout;
        let t = l.parity(row) ^ colour;
        let base = row * l.stride + m0;
        let slab = l.slab_rows * l.stride;
        [base + t - 1, base + t, base - l.stride, base + l.stride, base - slab, base + slab]
    }

    #[inline(always)]
    fn coefficients(&self, colour: usize, row: usize, m0: usize, len: usize) -> Six<'_, f32> {
        let s = self.neighbour_starts(colour, row, m0);
        let base = row * self.layout.stride + m0;
        let own = |axis: usize| window(&self.coef[axis][colour], base, len);
        let next = |axis: usize| window(&self.coef[axis][1 - colour], s[2 * axis + 1], len);
        Six([own(0), next(0), own(1), next(1), own(2), next(2)])
    }

    /// `body(n, sum of c_f x_j)` over a run; `other` is the other colour's array without its first `offset` rows.
    #[inline(always)]
    fn for_run(
        &self,
        (other, offset): (&[f32], usize),
        at: Row,
        (m0, len, general): (usize, usize, bool),
        mut body: impl FnMut(usize, f32),
    ) {
        let starts = self.neighbour_starts(at.colour, at.row, m0);
        let x = Six(starts.map(|s| window(other, s - offset * self.layout.stride, len)));
        if general {
            let c = self.coefficients(at.colour, at.row, m0, len);
            (0..len).for_each(|n| body(n, x.weighted(&c, n)));
        } else {
            (0..len).for_each(|n| body(n, x.sum(n)));
        }
    }

    /// Gauss-Seidel on a row: `x_i = (b_i + sum c_f x_j) / diag_i`.
    #[inline(always)]
    pub fn relax_row(&self, out: &mut [f32], other: (&[f32], usize), b: &Split, at: Row) {
        let l = &self.layout;
        l.for_runs(at.class, |m0, len, general| {
            let base = at.row * l.stride + m0;
            let out = window_mut(out, m0, len);
            let (b, diag) = (window(&b[at.colour], base, len), window(&self.diag[at.colour], base, len));
            self.for_run(other, at, (m0, len, general), |n, s| {
                let value = (b[n] + s) / diag[n];
                out[n] = if diag[n] != 0.0 { value } else { 0.0 };
            });
        });
    }

    /// The same from `x = 0`.
    #[inline(always)]
    pub fn relax_row_from_zero(&self, out: &mut [f32], b: &Split, at: Row) {
        let l = &self.layout;
        l.for_runs(at.class, |m0, len, _| {
            let base = at.row * l.stride + m0;
            let out = window_mut(out, m0, len);
            let (b, diag) = (window(&b[at.colour], base, len), window(&self.diag[at.colour], base, len));
            for n in 0..len {
                let value = b[n] / diag[n];
                out[n] = if diag[n] != 0.0 { value } else { 0.0 };
            }
        });
    }

    /// `out = b - A x` on a row.
    #[inline(always)]
    pub fn residual_row(&self, out: &mut [f32], own: &[f32], other: (&[f32], usize), b: &Split, at: Row) {
        let l = &self.layout;
        l.for_runs(at.class, |m0, len, general| {
            let base = at.row * l.stride + m0;
            let (out, own) = (window_mut(out, m0, len), window(own, m0, len));
            let (b, diag) = (window(&b[at.colour], base, len), window(&self.diag[at.colour], base, len));
            self.for_run(other, at, (m0, len, general), |n, s| {
                let value = (b[n] + s) - diag[n] * own[n];
                out[n] = if diag[n] != 0.0 { value } else { 0.0 };
            });
        });
    }

    /// `x . A x` and `x . b` over a row.
    #[inline(always)]
    pub fn energy_row(&self, own: &[f32], other: (&[f32], usize), b: &Split, at: Row) -> [f64; 2] {
        let l = &self.layout;
        let mut sums = [0.0; 2];
        l.for_runs(at.class, |m0, len, general| {
            let base = at.row * l.stride + m0;
            let own = window(own, m0, len);
            let diag = window(&self.diag[at.colour], base, len);
            let mut lanes = [0.0f32; 8];
            // x is zero where there is no unknown: no mask is needed.
            self.for_run(other, at, (m0, len, general), |n, s| {
                lanes[n & 7] += own[n] * (diag[n] * own[n] - s)
            });
            sums[0] += lanes.iter().map(|&v| v as f64).sum::<f64>();
            sums[1] += dot(own, window(&b[at.colour], base, len));
        });
        sums
    }

    /// The vector updates of an iteration on one colour: `p = z + beta p`, `q = A z + beta q`, `d += alpha p`,
    /// `r -= alpha q`; returns `r . r`.
    pub fn update(
        &self,
        [p, q, d, r]: [&mut [f32]; 4],
        z: &Split,
        colour: usize,
        alpha: f32,
        beta: f32,
    ) -> f64 {
        let l = &self.layout;
        l.sum_rows(&self.class, l.stride, [p, q, d, r], |row, class, [p, q, d, r]| {
            let mut sum = 0.0;
            l.for_runs(class, |m0, len, general| {
                let base = row * l.stride + m0;
                let (p, q) = (window_mut(p, m0, len), window_mut(q, m0, len));
                let (d, r) = (window_mut(d, m0, len), window_mut(r, m0, len));
                let (own, diag) = (window(&z[colour], base, len), window(&self.diag[colour], base, len));
                let at = Row { row, colour, class };
                self.for_run((&z[1 - colour], 0), at, (m0, len, general), |n, s| {
                    let az = diag[n] * own[n] - s;
                    let az = if diag[n] != 0.0 { az } else { 0.0 };
                    p[n] = own[n] + beta * p[n];
                    q[n] = az + beta * q[n];
                    d[n] += alpha * p[n];
                    r[n] -= alpha * q[n];
                });
                sum += dot(r, r);
            });
            sum
        })
    }

    /// `r = b - A x` in f64 arithmetic, rounded; returns `r . r`. `rhs` is in grid order, `excess` the part of
    /// the diagonal that is not the sum of coefficients: weak outlets would drown in the diagonal's rounding.
    pub fn true_residual(&self, r: &mut Split, excess: &Split, x: &Split<f64>, rhs: &[f32]) -> f64 {
        let l = &self.layout;
        let nx = l.cells[0];
        let residual = |colour: usize, r: &mut [f32]| {
            l.sum_rows(&self.class, l.stride, [r], |row, class, [r]| {
                let (j, k) = l.coordinates(row).expect("rim rows are empty");
                let rhs = window(rhs, nx * (j + l.cells[1] * k), nx);
                deinterleave(r, rhs, l.parity(row) ^ colour);
                let mut sum = 0.0;
                l.for_runs(class, |m0, len, general| {
                    let base = row * l.stride + m0;
                    let (own, diag) = (window(&x[colour], base, len), window(&self.diag[colour], base, len));
                    let v = self.neighbour_starts(colour, row, m0).map(|s| window(&x[1 - colour], s, len));
                    let c = self.coefficients(colour, row, m0, len).0;
                    let excess = window(&excess[colour], base, len);
                    let r = window_mut(r, m0, len);
                    for n in 0..len {
                        let (whole, s) = if general {
                            let [w, s] = [|_: f64| 1.0, |v: f64| v].map(|g| {
                                let f = |f: usize| c[f][n] as f64 * g(v[f][n]);
                                ((f(0) + f(1)) + (f(2) + f(3))) + (f(4) + f(5))
                            });
                            (w, s)
                        } else {
                            let whole = (diag[n] - excess[n]).round_ties_even();
                            (whole as f64, ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n]))
                        };
                        let value = (r[n] as f64 + s - (whole + excess[n] as f64) * own[n]) as f32;
                        r[n] = if diag[n] != 0.0 { value } else { 0.0 };
                    }
                    sum += square_sum(r);
                });
                sum
            })
        };
        let [r0, r1] = r;
        residual(0, r0) + residual(1, r1)
    }

    /// `(A x)_i` in f64 at one place.
    pub fn apply_at(&self, excess: &Split, x: &Split<f64>, colour: usize, place: usize) -> f64 {
        let row = place / self.layout.stride;
        let starts = self.neighbour_starts(colour, row, place % self.layout.stride);
        let own = x[colour][place];
        let flux: f64 = (0..3)
            .map(|axis| {
                let (low, high) = (starts[2 * axis], starts[2 * axis + 1]);
                self.coef[axis][colour][place] as f64 * (own - x[1 - colour][low])
                    + self.coef[axis][1 - colour][high] as f64 * (own - x[1 - colour][high])
            })
            .sum();
        flux + excess[colour][place] as f64 * own
    }
}

/// Every other value of a row in grid order, from the `t`-th.
#[inline(always)]
pub(crate) fn deinterleave<T: Copy>(out: &mut [T], row: &[T], t: usize) {
    let pairs = row.chunks_exact(2);
    if let (&[last], 0) = (pairs.remainder(), t) {
        out[row.len() / 2] = last;
    }
    for (out, pair) in out.iter_mut().zip(pairs) {
        *out = pair[t];
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
pub(crate) fn square_sum(a: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 4];
    let chunks = a.chunks_exact(4);
    let tail: f64 = chunks.remainder().iter().map(|&x| x as f64 * x as f64).sum();
    for x in chunks {
        for lane in 0..4 {
            lanes[lane] += x[lane] as f64 * x[lane] as f64;
        }
    }
    lanes.iter().sum::<f64>() + tail
}
