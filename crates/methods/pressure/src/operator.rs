//! The seven-point operator of one level and its kernels.
//!
//! `(A x)_i = diag_i x_i - sum_f c_f x_j`, zero where there is no unknown (`diag_i == 0`). A coefficient is
//! stored with the cell on the high side of its face; where a block is [`PLAIN`](crate::layout::PLAIN) all
//! its coefficients between unknowns are 1 and are not read: values at cells without an unknown are zero,
//! so that a coefficient towards them never matters.

use crate::components::Components;
use crate::kernels::{self, Six, deinterleave, dot, square_sum};
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

/// Calls a kernel with coefficients or without.
macro_rules! run {
    ($kernel:ident, $c:expr, ($($argument:expr),*), $x:expr $(, $more:expr)?) => {
        match &$c {
            Some(c) => kernels::$kernel::<true>($($argument,)* &$x, c $(, $more)?),
            None => kernels::$kernel::<false>($($argument,)* &$x, &$x $(, $more)?),
        }
    };
}

/// First place, places, and whether coefficients must be read.
type Span = (usize, usize, bool);

/// Places of a buffer on the stack.
const PIECE: usize = 64;

/// A row of one colour.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub row: usize,
    pub colour: usize,
    /// `i & 1` of the row's cells of that colour.
    pub t: usize,
    pub class: &'a [u8],
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
        Row {
            row,
            colour,
            t: self.layout.parity(row) ^ colour,
            class: self.layout.class_row(&self.class, row),
        }
    }

    /// Starts of the neighbours' windows for the cells from place `m0` of a row.
    #[inline(always)]
    pub fn neighbour_starts(&self, Row { row, t, .. }: Row, m0: usize) -> [usize; 6] {
        let l = &self.layout;
        let base = row * l.stride + m0;
        let slab = l.slab_rows * l.stride;
        [base + t - 1, base + t, base - l.stride, base + l.stride, base - slab, base + slab]
    }

    /// Coefficients of the six faces, in the order of the neighbours; None where all are 1.
    #[inline(always)]
    fn coefficients(&self, at: Row, (m0, len, general): Span) -> Option<Six<'_>> {
        let s = self.neighbour_starts(at, m0);
        let base = at.row * self.layout.stride + m0;
        let own = |axis: usize| window(&self.coef[axis][at.colour], base, len);
        let next = |axis: usize| window(&self.coef[axis][1 - at.colour], s[2 * axis + 1], len);
        general.then(|| Six([own(0), next(0), own(1), next(1), own(2), next(2)]))
    }

    /// Values of the neighbours; `other` is the other colour's array without its first `offset` rows.
    #[inline(always)]
    fn neighbours<'a, T>(
        &self,
        (other, offset): (&'a [T], usize),
        at: Row,
        (m0, len, _): Span,
    ) -> Six<'a, T> {
        let s = self.neighbour_starts(at, m0);
        let v = |n: usize| window(other, s[n] - offset * self.layout.stride, len);
        Six([v(0), v(1), v(2), v(3), v(4), v(5)])
    }

    /// `body(span, start in the colour's array)` for the runs of a row.
    #[inline(always)]
    fn for_spans(&self, at: Row, mut body: impl FnMut(Span, usize)) {
        let l = &self.layout;
        l.for_runs(at.class, |m0, len, general| body((m0, len, general), at.row * l.stride + m0));
    }

    /// As [`Self::for_spans`], no more than [`PIECE`] places at once.
    #[inline(always)]
    fn for_pieces(&self, at: Row, mut body: impl FnMut(Span, usize)) {
        self.for_spans(at, |(m0, len, general), _| {
            for start in (m0..m0 + len).step_by(PIECE) {
                body((start, PIECE.min(m0 + len - start), general), at.row * self.layout.stride + start);
            }
        });
    }

    /// Gauss-Seidel on a row: `x_i = (b_i + sum c_f x_j) / diag_i`.
    pub fn relax_row(&self, out: &mut [f32], other: (&[f32], usize), b: &Split, at: Row) {
        self.for_spans(at, |span, base| {
            let (x, c) = (self.neighbours(other, at, span), self.coefficients(at, span));
            let (b, diag) = (&b[at.colour][base..], &self.diag[at.colour][base..]);
            run!(relax, c, (window_mut(out, span.0, span.1), b, diag), x);
        });
    }

    /// The same from `x = 0`.
    pub fn relax_row_from_zero(&self, out: &mut [f32], b: &Split, at: Row) {
        self.for_spans(at, |(m0, len, _), base| {
            let (b, diag) = (&b[at.colour][base..], &self.diag[at.colour][base..]);
            kernels::relax_from_zero(window_mut(out, m0, len), b, diag);
        });
    }

    /// `out = b - A x` on a row.
    pub fn residual_row(&self, out: &mut [f32], own: &[f32], other: (&[f32], usize), b: &Split, at: Row) {
        self.for_spans(at, |span, base| {
            let (x, c) = (self.neighbours(other, at, span), self.coefficients(at, span));
            let (b, diag) = (&b[at.colour][base..], &self.diag[at.colour][base..]);
            run!(residual, c, (window_mut(out, span.0, span.1), &own[span.0..], b, diag), x);
        });
    }

    /// `x . A x` and `x . b` over a row.
    pub fn energy_row(&self, own: &[f32], other: (&[f32], usize), b: &Split, at: Row) -> [f64; 2] {
        let mut sums = [0.0; 2];
        let mut ax = [0.0f32; PIECE];
        self.for_pieces(at, |span, base| {
            let (x, c) = (self.neighbours(other, at, span), self.coefficients(at, span));
            let (own, ax) = (window(own, span.0, span.1), &mut ax[..span.1]);
            run!(apply, c, (ax, own, &self.diag[at.colour][base..]), x);
            sums[0] += dot(own, ax);
            sums[1] += dot(own, window(&b[at.colour], base, span.1));
        });
        sums
    }

    /// The vector updates of an iteration on one colour: `p = z + beta p`, `q = A z + beta q`, `d += alpha p`,
    /// `r -= alpha q`; returns `r . r`.
    pub fn update(&self, arrays: [&mut [f32]; 4], z: &Split, colour: usize, alpha: f32, beta: f32) -> f64 {
        let l = &self.layout;
        l.sum_rows(&self.class, l.stride, arrays, |row, class, [p, q, d, r]| {
            let at = Row { row, colour, t: l.parity(row) ^ colour, class };
            let mut sum = 0.0;
            self.for_spans(at, |span, base| {
                let (x, c) = (self.neighbours((&z[1 - colour], 0), at, span), self.coefficients(at, span));
                let (m0, len, _) = span;
                let (own, diag) = (&z[colour][base..], &self.diag[colour][base..]);
                let r = window_mut(r, m0, len);
                let (p, q, d) = (window_mut(p, m0, len), &mut q[m0..], &mut d[m0..]);
                run!(update, c, (p, q, d, r, own, diag), x, (alpha, beta));
                sum += dot(r, r);
            });
            sum
        })
    }

    /// `r = b - A x` in f64 arithmetic, rounded; returns `r . r`. `rhs` is in grid order, `excess` the part of
    /// the diagonal that is not the sum of coefficients: weak outlets would drown in the diagonal's rounding.
    /// The right side's mean in sealed `components` goes before rounding: it may be far larger than what remains.
    pub fn true_residual(
        &self,
        r: &mut Split,
        excess: &Split<f64>,
        x: &Split<f64>,
        rhs: &[f32],
        components: &Components,
    ) -> f64 {
        let l = &self.layout;
        let nx = l.cells[0];
        let residual = |colour: usize, r: &mut [f32]| {
            l.sum_rows(&self.class, l.stride, [r], |row, class, [r]| {
                let (j, k) = l.coordinates(row).expect("rim rows are empty");
                let at = Row { row, colour, t: l.parity(row) ^ colour, class };
                deinterleave(r, window(rhs, nx * (j + l.cells[1] * k), nx), l.parity(row) ^ colour);
                let mut sum = 0.0;
                self.for_pieces(at, |span, base| {
                    let (start, len, _) = span;
                    let mut shift = [0.0; PIECE];
                    components.rhs_shift(l, row, colour, |m0, places, mean| {
                        let (from, to) = (m0.max(start), (m0 + places).min(start + len));
                        (from..to).for_each(|m| shift[m - start] = mean);
                    });
                    let (v, c) =
                        (self.neighbours((&x[1 - colour], 0), at, span), self.coefficients(at, span));
                    let (diag, excess) = (&self.diag[colour][base..], &excess[colour][base..]);
                    let r = window_mut(r, start, len);
                    kernels::true_residual(
                        r,
                        &shift[..len],
                        &x[colour][base..],
                        diag,
                        excess,
                        &v,
                        c.as_ref(),
                    );
                    sum += square_sum(r);
                });
                sum
            })
        };
        let [r0, r1] = r;
        residual(0, r0) + residual(1, r1)
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let split = |s: &Split| 4 * (s[0].capacity() + s[1].capacity());
        split(&self.diag) + self.coef.iter().map(split).sum::<usize>() + self.class.capacity()
    }
}
