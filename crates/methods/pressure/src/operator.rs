//! The seven-point operator of one level and its kernels.
//!
//! `(A x)_i = diag_i x_i - sum_f c_f x_j`, zero where there is no unknown (`diag_i == 0`). A coefficient is
//! stored with the cell on the high side of its face; where a block is [`PLAIN`](crate::layout::PLAIN) all
//! its coefficients between unknowns are 1 and are not read: values at cells without an unknown are zero,
//! so that a coefficient towards them never matters.

use crate::components::Components;
use crate::kernels::{self, Around, PIECE, deinterleave, square_sum};
use crate::layout::{Layout, Split, window, window_mut};
use crate::spans::{Span, Spans};

/// Diagonal, coefficients and the activity map of a level.
pub(crate) struct Operator {
    pub layout: Layout,
    /// 0 where the cell is no unknown.
    pub diag: Split,
    /// Per axis: coefficient of the low face of each cell, 0 unless both sides are unknowns.
    pub coef: [Split; 3],
    /// Class of every block of every row.
    pub class: Vec<u8>,
    /// What kernels go through; follows from the classes.
    pub spans: Spans,
}

/// Calls a kernel with coefficients or without.
macro_rules! run {
    ($kernel:ident, $general:expr, $($argument:expr),*) => {
        if $general { kernels::$kernel::<true>($($argument),*) } else { kernels::$kernel::<false>($($argument),*) }
    };
}

/// A row of one colour.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub row: usize,
    pub colour: usize,
    /// `i & 1` of the row's cells of that colour.
    pub t: usize,
    pub spans: &'a [Span],
}

impl Operator {
    pub fn new(cells: [usize; 3]) -> Self {
        let layout = Layout::new(cells);
        let class = vec![0; layout.rows * layout.blocks];
        let mut spans = Spans::default();
        spans.find(&class, &layout);
        let coef = std::array::from_fn(|_| layout.zeros());
        Operator { layout, diag: layout.zeros(), coef, class, spans }
    }

    /// To be called when classes have changed.
    pub fn find_spans(&mut self) {
        self.spans.find(&self.class, &self.layout);
    }

    /// The row with its spans.
    #[inline(always)]
    pub fn row(&self, row: usize, colour: usize) -> Row<'_> {
        Row { row, colour, t: self.layout.parity(row) ^ colour, spans: self.spans.of_row(row) }
    }

    /// Starts of the neighbours' windows for the cells from place `m0` of a row.
    #[inline(always)]
    pub fn neighbour_starts(&self, Row { row, t, .. }: Row, m0: usize) -> [usize; 6] {
        let l = &self.layout;
        let base = row * l.stride + m0;
        let slab = l.slab_rows * l.stride;
        [base + t - 1, base + t, base - l.stride, base + l.stride, base - slab, base + slab]
    }

    /// What surrounds the cells from place `m0` of a row, in a vector without its first `offset` rows.
    #[inline(always)]
    fn around(&self, at: Row, m0: usize, offset: usize) -> Around<'_> {
        let l = &self.layout;
        Around {
            starts: self.neighbour_starts(at, m0),
            offset: offset * l.stride,
            base: at.row * l.stride + m0,
            coef: &self.coef,
            colour: at.colour,
        }
    }

    /// Gauss-Seidel on a row: `x_i = (b_i + sum c_f x_j) / diag_i`. `other` is the other colour's array without its
    /// first `offset` rows.
    pub fn relax_row(&self, out: &mut [f32], (other, offset): (&[f32], usize), b: &Split, at: Row) {
        let (b, diag) = (&b[at.colour][..], &self.diag[at.colour][..]);
        for s in at.spans {
            let around = self.around(at, s.m0 as usize, offset);
            let out = window_mut(out, s.m0 as usize, s.len as usize);
            run!(relax, s.general, out, b, diag, other, &around);
        }
    }

    /// The same from `x = 0`.
    pub fn relax_row_from_zero(&self, out: &mut [f32], b: &Split, at: Row) {
        for s in at.spans {
            let base = at.row * self.layout.stride + s.m0 as usize;
            let (b, diag) = (&b[at.colour][base..], &self.diag[at.colour][base..]);
            kernels::relax_from_zero(window_mut(out, s.m0 as usize, s.len as usize), b, diag);
        }
    }

    /// `out = b - A x` on a row.
    pub fn residual_row(
        &self,
        out: &mut [f32],
        own: &[f32],
        (other, offset): (&[f32], usize),
        b: &Split,
        at: Row,
    ) {
        let (b, diag) = (&b[at.colour][..], &self.diag[at.colour][..]);
        for s in at.spans {
            let m0 = s.m0 as usize;
            let around = self.around(at, m0, offset);
            let out = window_mut(out, m0, s.len as usize);
            run!(residual, s.general, out, &own[m0..], b, diag, other, &around);
        }
    }

    /// `x . A x` and `x . b` over a row.
    pub fn energy_row(&self, own: &[f32], (other, offset): (&[f32], usize), b: &Split, at: Row) -> [f64; 2] {
        let (b, diag) = (&b[at.colour][..], &self.diag[at.colour][..]);
        let mut sums = [0.0; 2];
        for s in at.spans {
            for (start, len) in s.pieces() {
                let around = self.around(at, start, offset);
                let own = window(own, start, len);
                let [xax, xb] = run!(energy, s.general, own, b, diag, other, &around);
                sums = [sums[0] + xax, sums[1] + xb];
            }
        }
        sums
    }

    /// `x . b` over a row.
    pub fn dot_row(&self, own: &[f32], b: &Split, at: Row) -> f64 {
        let dot = |s: &Span| {
            let (m0, len) = (s.m0 as usize, s.len as usize);
            kernels::dot(window(own, m0, len), window(&b[at.colour], at.row * self.layout.stride + m0, len))
        };
        at.spans.iter().map(dot).sum()
    }

    /// The vector updates of an iteration on one colour: `p = z + beta p`, `q = A z + beta q`, `d += alpha p`,
    /// `r -= alpha q`; returns `r . r`.
    pub fn update(&self, arrays: [&mut [f32]; 4], z: &Split, colour: usize, alpha: f32, beta: f32) -> f64 {
        let l = &self.layout;
        l.sum_rows(&self.class, l.stride, arrays, |row, _, [p, q, d, r]| {
            let at = self.row(row, colour);
            let mut sum = 0.0;
            for s in at.spans {
                let (m0, len) = (s.m0 as usize, s.len as usize);
                let around = self.around(at, m0, 0);
                let [p, q, d, r] = [&mut *p, &mut *q, &mut *d, &mut *r].map(|v| window_mut(v, m0, len));
                let scalars = (alpha, beta);
                sum += run!(update, s.general, p, q, d, r, z, &self.diag[colour], &around, scalars);
            }
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
            l.sum_rows(&self.class, l.stride, [r], |row, _, [r]| {
                let (j, k) = l.coordinates(row).expect("rim rows are empty");
                let at = self.row(row, colour);
                deinterleave(r, window(rhs, nx * (j + l.cells[1] * k), nx), at.t);
                let mut sum = 0.0;
                let (diag, excess) = (&self.diag[colour][..], &excess[colour][..]);
                for s in at.spans {
                    for (start, len) in s.pieces() {
                        let mut shift = [0.0; PIECE];
                        components.rhs_shift(l, row, colour, |m0, places, mean| {
                            let (from, to) = (m0.max(start), (m0 + places).min(start + len));
                            (from..to).for_each(|m| shift[m - start] = mean);
                        });
                        let around = self.around(at, start, 0);
                        let r = window_mut(r, start, len);
                        run!(true_residual, s.general, r, &shift, diag, excess, x, &around);
                        sum += square_sum(r);
                    }
                }
                sum
            })
        };
        let [r0, r1] = r;
        residual(0, r0) + residual(1, r1)
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let split = |s: &Split| 4 * (s[0].capacity() + s[1].capacity());
        split(&self.diag)
            + self.coef.iter().map(split).sum::<usize>()
            + self.class.capacity()
            + self.spans.bytes()
    }
}
