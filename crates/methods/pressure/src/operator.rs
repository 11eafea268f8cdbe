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

/// The six neighbours of a run of cells: windows of one length.
struct Neighbours<'a>([&'a [f32]; 6]);

impl Neighbours<'_> {
    #[inline(always)]
    fn sum(&self, n: usize) -> f32 {
        let v = &self.0;
        ((v[0][n] + v[1][n]) + (v[2][n] + v[3][n])) + (v[4][n] + v[5][n])
    }

    #[inline(always)]
    fn weighted(&self, c: &Neighbours, n: usize) -> f32 {
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
    fn neighbours<'a>(
        &self,
        other: &'a [f32],
        colour: usize,
        row: usize,
        m0: usize,
        len: usize,
    ) -> Neighbours<'a> {
        Neighbours(self.neighbour_starts(colour, row, m0).map(|s| window(other, s, len)))
    }

    /// Coefficients of the six faces, in the order of the neighbours.
    #[inline(always)]
    fn coefficients(&self, colour: usize, row: usize, m0: usize, len: usize) -> Neighbours<'_> {
        let s = self.neighbour_starts(colour, row, m0);
        let base = row * self.layout.stride + m0;
        let own = |axis: usize| window(&self.coef[axis][colour], base, len);
        let next = |axis: usize| window(&self.coef[axis][1 - colour], s[2 * axis + 1], len);
        Neighbours([own(0), next(0), own(1), next(1), own(2), next(2)])
    }

    /// `body(n, sum of c_f x_j)` over a run.
    #[inline(always)]
    fn for_run(
        &self,
        other: &[f32],
        (colour, row): (usize, usize),
        (m0, len, general): (usize, usize, bool),
        mut body: impl FnMut(usize, f32),
    ) {
        let x = self.neighbours(other, colour, row, m0, len);
        if general {
            let c = self.coefficients(colour, row, m0, len);
            (0..len).for_each(|n| body(n, x.weighted(&c, n)));
        } else {
            (0..len).for_each(|n| body(n, x.sum(n)));
        }
    }

    /// Gauss-Seidel on one colour: `x_i = (b_i + sum c_f x_j) / diag_i`.
    pub fn relax(&self, x: &mut Split, b: &Split, colour: usize) {
        let l = &self.layout;
        let [x0, x1] = x;
        let (out, other) = if colour == 0 { (x0, &*x1) } else { (x1, &*x0) };
        l.for_rows(&self.class, out, |row, class, out| {
            l.for_runs(class, |m0, len, general| {
                let out = window_mut(out, m0, len);
                let b = window(&b[colour], row * l.stride + m0, len);
                let diag = window(&self.diag[colour], row * l.stride + m0, len);
                self.for_run(other, (colour, row), (m0, len, general), |n, s| {
                    out[n] = if diag[n] != 0.0 { (b[n] + s) / diag[n] } else { 0.0 };
                });
            });
        });
    }

    /// The same from `x = 0`.
    pub fn relax_from_zero(&self, x: &mut Split, b: &Split, colour: usize) {
        let l = &self.layout;
        l.for_rows(&self.class, &mut x[colour], |row, class, out| {
            l.for_runs(class, |m0, len, _| {
                let out = window_mut(out, m0, len);
                let b = window(&b[colour], row * l.stride + m0, len);
                let diag = window(&self.diag[colour], row * l.stride + m0, len);
                for n in 0..len {
                    out[n] = if diag[n] != 0.0 { b[n] / diag[n] } else { 0.0 };
                }
            });
        });
    }

    /// `out = b - A x` on one colour.
    pub fn residual(&self, out: &mut [f32], x: &Split, b: &Split, colour: usize) {
        let l = &self.layout;
        l.for_rows(&self.class, out, |row, class, out| {
            l.for_runs(class, |m0, len, general| {
                let base = row * l.stride + m0;
                let out = window_mut(out, m0, len);
                let (b, own) = (window(&b[colour], base, len), window(&x[colour], base, len));
                let diag = window(&self.diag[colour], base, len);
                self.for_run(&x[1 - colour], (colour, row), (m0, len, general), |n, s| {
                    out[n] = if diag[n] != 0.0 { (b[n] + s) - diag[n] * own[n] } else { 0.0 };
                });
            });
        });
    }

    /// `p = z + beta p`, `q = A z + beta q`, returns `p . q` (both colours).
    pub fn direction(&self, p: &mut Split, q: &mut Split, z: &Split, beta: f32, partial: &mut [f64]) -> f64 {
        let l = &self.layout;
        let mut total = 0.0;
        for colour in 0..2 {
            total += l.sum_rows2(&self.class, &mut p[colour], &mut q[colour], partial, |row, class, p, q| {
                let mut sum = 0.0;
                l.for_runs(class, |m0, len, general| {
                    let base = row * l.stride + m0;
                    let (p, q) = (window_mut(p, m0, len), window_mut(q, m0, len));
                    let own = window(&z[colour], base, len);
                    let diag = window(&self.diag[colour], base, len);
                    self.for_run(&z[1 - colour], (colour, row), (m0, len, general), |n, s| {
                        p[n] = own[n] + beta * p[n];
                        let az = if diag[n] != 0.0 { diag[n] * own[n] - s } else { 0.0 };
                        q[n] = az + beta * q[n];
                    });
                    sum += dot(p, q);
                });
                sum
            });
        }
        total
    }

    /// `r = b - A x` in f64 arithmetic, rounded; returns `r . r` before rounding. `rhs` is in grid order.
    pub fn true_residual(&self, r: &mut Split, x: &Split<f64>, rhs: &[f32], partial: &mut [f64]) -> f64 {
        let l = &self.layout;
        let nx = l.cells[0];
        let mut total = 0.0;
        let mut nothing = vec![(); l.len()];
        for colour in 0..2 {
            total += l.sum_rows2(&self.class, &mut r[colour], &mut nothing, partial, |row, class, r, _| {
                let (j, k) = l.coordinates(row).expect("rim rows are empty");
                let t = l.parity(row) ^ colour;
                let rhs = window(rhs, nx * (j + l.cells[1] * k), nx);
                let mut sum = 0.0;
                l.for_runs(class, |m0, len, general| {
                    let base = row * l.stride + m0;
                    let own = window(&x[colour], base, len);
                    let diag = window(&self.diag[colour], base, len);
                    let v = self.neighbour_starts(colour, row, m0).map(|s| window(&x[1 - colour], s, len));
                    let c = self.coefficients(colour, row, m0, len).0;
                    let r = window_mut(r, m0, len);
                    for n in 0..len {
                        if diag[n] == 0.0 {
                            r[n] = 0.0;
                            continue;
                        }
                        let s: f64 = if general {
                            (0..6).map(|f| c[f][n] as f64 * v[f][n]).sum()
                        } else {
                            (0..6).map(|f| v[f][n]).sum()
                        };
                        let value = rhs[2 * (m0 + n) + t] as f64 + s - diag[n] as f64 * own[n];
                        sum += value * value;
                        r[n] = value as f32;
                    }
                });
                sum
            });
        }
        total
    }
}

impl Operator {
    /// `(A x)_i` in f64 at one place.
    pub fn apply_at(&self, x: &Split<f64>, colour: usize, place: usize) -> f64 {
        let row = place / self.layout.stride;
        let starts = self.neighbour_starts(colour, row, place % self.layout.stride);
        let sum: f64 = (0..3)
            .map(|axis| {
                let low = self.coef[axis][colour][place] as f64 * x[1 - colour][starts[2 * axis]];
                let high = starts[2 * axis + 1];
                low + self.coef[axis][1 - colour][high] as f64 * x[1 - colour][high]
            })
            .sum();
        self.diag[colour][place] as f64 * x[colour][place] - sum
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
