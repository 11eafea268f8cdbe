//! The seven-point operator of one level and its kernels.
//!
//! `(A x)_i = diag_i x_i - sum_f c_f x_j`, zero where there is no unknown (`diag_i == 0`). A coefficient is
//! stored with the cell on the high side of its face; where a block is [`PLAIN`](crate::layout::PLAIN) all
//! its coefficients between unknowns are 1 and are not read: values at cells without an unknown are zero,
//! so that a coefficient towards them never matters.

use crate::components::Components;
use crate::kernels::{self, Around, PIECE, square_sum};
use crate::layout::{EMPTY, Layout, Split, window, window_mut};
use crate::spans::{Span, Spans};
use crate::storage::{Storage, resize, split};
use fluvial_foundation::parallel;

/// Diagonal, coefficients and the activity map of a level.
pub(crate) struct Operator {
    pub layout: Layout,
    pub storage: Storage,
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

/// An active row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub j: usize,
    pub k: usize,
    /// First address of the row.
    pub start: usize,
    pub spans: &'a [Span],
    /// Number of its first span.
    pub first_span: usize,
}

impl Row<'_> {
    /// `i & 1` of the row's cells of a colour.
    #[inline(always)]
    pub fn t(&self, colour: usize) -> usize {
        (self.j + self.k + colour) & 1
    }

    /// Its number in grid order.
    pub fn in_grid(&self, l: &Layout) -> usize {
        self.j + l.cells[1] * self.k
    }
}

/// Values to be read, and the address of the first.
pub(crate) type Source<'a> = (&'a [f32], usize);
/// Values to be written, and the address of the first.
pub(crate) type Output<'a> = (&'a mut [f32], usize);

impl Operator {
    pub fn new(cells: [usize; 3]) -> Self {
        Operator {
            layout: Layout::new(cells),
            storage: Storage::default(),
            diag: Split::default(),
            coef: Default::default(),
            class: Vec::new(),
            spans: Spans::default(),
        }
    }

    /// Memory for the active blocks; classes and all numbers are to be filled in.
    pub fn build_storage(&mut self) {
        self.storage.build(&self.layout);
        for values in self.coef.iter_mut().chain([&mut self.diag]) {
            for v in values {
                resize(v, self.storage.len());
            }
        }
        self.class.clear();
        self.class.resize(self.layout.rows * self.layout.blocks, EMPTY);
    }

    /// Colour and address of a cell, which may lie beyond the box; None where it is no unknown.
    pub fn unknown_at(&self, [i, j, k]: [usize; 3]) -> Option<(usize, usize)> {
        if (0..3).any(|a| [i, j, k][a] >= self.layout.cells[a]) {
            return None;
        }
        let colour = (i + j + k) & 1;
        let at = self.storage.find(self.layout.row(j, k), i / 2)?;
        (self.diag[colour][at] != 0.0).then_some((colour, at))
    }

    /// The `n`-th active row.
    #[inline(always)]
    pub fn row(&self, n: usize) -> Row<'_> {
        let row = self.storage.rows[n];
        Row {
            j: row.j as usize,
            k: row.k as usize,
            start: row.start as usize,
            spans: self.spans.of_row(n),
            first_span: self.spans.range(n).start,
        }
    }

    /// The active rows of a slab.
    pub fn slab(&self, k: usize) -> impl Iterator<Item = Row<'_>> {
        let [start, end] = [k, k + 1].map(|k| self.storage.slab_start[k] as usize);
        (start..end).map(|n| self.row(n))
    }

    /// `body(row, parts)` for every active row, `parts` the row's part of each array; returns the sum of what
    /// it gives, in the order of the rows. Tasks run in parallel.
    pub fn sum_rows<T: Send, const N: usize>(
        &self,
        arrays: [&mut [T]; N],
        body: impl Fn(Row, [&mut [T]; N]) -> f64 + Sync + Send,
    ) -> f64 {
        self.reduce_rows(1, arrays, body, |a, b| a + b)
    }

    /// As [`Self::sum_rows`] for arrays with `scale` values a place and another way than `+` to join values,
    /// in the same order, from zero.
    pub fn reduce_rows<T: Send, const N: usize>(
        &self,
        scale: usize,
        arrays: [&mut [T]; N],
        body: impl Fn(Row, [&mut [T]; N]) -> f64 + Sync + Send,
        join: impl Fn(f64, f64) -> f64 + Sync + Send,
    ) -> f64 {
        let storage = &self.storage;
        let ends = storage.tasks.iter().map(|task| scale * task.end);
        let mut tasks: Vec<(f64, [&mut [T]; N])> =
            split(arrays, ends).into_iter().map(|a| (0.0, a)).collect();
        let run = |t: usize, part: &mut [(f64, [&mut [T]; N])]| {
            let (value, arrays) = &mut part[0];
            let task = &storage.tasks[t];
            for n in task.active.clone() {
                let row = self.row(n);
                let end = storage.row_start(storage.rows[n].row as usize + 1);
                let (start, len) = (scale * (row.start - task.start), scale * (end - row.start));
                let rows = arrays.each_mut().map(|a| window_mut(a, start, len));
                *value = join(*value, body(row, rows));
            }
        };
        if storage.is_serial() {
            tasks.chunks_mut(1).enumerate().for_each(|(t, part)| run(t, part));
        } else {
            parallel::for_each_chunk_mut(&mut tasks, 1, run);
        }
        tasks.iter().fold(0.0, |value, t| join(value, t.0))
    }

    /// As [`Self::sum_rows`] over one array, without a sum.
    pub fn for_rows<T: Send>(&self, out: &mut [T], body: impl Fn(Row, &mut [T]) + Sync + Send) {
        self.sum_rows([out], |row, [out]| {
            body(row, out);
            0.0
        });
    }

    /// What surrounds the cells of a span, in a vector without its first `offset` values.
    #[inline(always)]
    fn around(&self, span: &Span, t: usize, colour: usize, offset: usize) -> Around<'_> {
        let at = span.at();
        let [low_y, high_y, low_z, high_z] = span.beside.map(|at| at as usize);
        Around {
            starts: [at + t - 1, at + t, low_y, high_y, low_z, high_z],
            offset,
            at,
            coef: &self.coef,
            colour,
        }
    }

    /// Gauss-Seidel on a row: `x_i = (b_i + sum c_f x_j) / diag_i`, with `other` the other colour.
    pub fn relax_row(&self, out: Output, (other, offset): Source, b: &Split, row: Row, colour: usize) {
        let (b, diag, t) = (&b[colour][..], &self.diag[colour][..], row.t(colour));
        for s in row.spans {
            let around = self.around(s, t, colour, offset);
            let out = window_mut(out.0, s.at() - out.1, s.len());
            run!(relax, s.general, out, b, diag, other, &around);
        }
    }

    /// The same from `x = 0`.
    pub fn relax_row_from_zero(&self, (out, offset): Output, b: &Split, row: Row, colour: usize) {
        for s in row.spans {
            let (b, diag) = (&b[colour][s.at()..], &self.diag[colour][s.at()..]);
            kernels::relax_from_zero(window_mut(out, s.at() - offset, s.len()), b, diag);
        }
    }

    /// `out = b - A x` on a row; both colours of `x` begin at the same address.
    pub fn residual_row(
        &self,
        out: Output,
        own: &[f32],
        (other, offset): Source,
        b: &Split,
        row: Row,
        colour: usize,
    ) {
        let (b, diag, t) = (&b[colour][..], &self.diag[colour][..], row.t(colour));
        for s in row.spans {
            let around = self.around(s, t, colour, offset);
            let out = window_mut(out.0, s.at() - out.1, s.len());
            run!(residual, s.general, out, &own[s.at() - offset..], b, diag, other, &around);
        }
    }

    /// `x . A x` and `x . b` over a row.
    pub fn energy_row(
        &self,
        own: &[f32],
        (other, offset): Source,
        b: &Split,
        row: Row,
        colour: usize,
    ) -> [f64; 2] {
        let (b, diag, t) = (&b[colour][..], &self.diag[colour][..], row.t(colour));
        let mut sums = [0.0; 2];
        for s in row.spans.iter().flat_map(|s| s.pieces()) {
            let around = self.around(&s, t, colour, offset);
            let own = window(own, s.at() - offset, s.len());
            let [xax, xb] = run!(energy, s.general, own, b, diag, other, &around);
            sums = [sums[0] + xax, sums[1] + xb];
        }
        sums
    }

    /// `x . b` over a row.
    pub fn dot_row(&self, own: &[f32], offset: usize, b: &Split, row: Row, colour: usize) -> f64 {
        let dot = |s: &Span| {
            kernels::dot(window(own, s.at() - offset, s.len()), window(&b[colour], s.at(), s.len()))
        };
        row.spans.iter().map(dot).sum()
    }

    /// The vector updates of an iteration on one colour: `p = z + beta p`, `q = A z + beta q`, `d += alpha
    /// p`, `r -= alpha q`; returns `r . r`.
    pub fn update(&self, arrays: [&mut [f32]; 4], z: &Split, colour: usize, alpha: f32, beta: f32) -> f64 {
        self.sum_rows(arrays, |row, [p, q, d, r]| {
            let mut sum = 0.0;
            for s in row.spans {
                let (start, len) = (s.at() - row.start, s.len());
                let around = self.around(s, row.t(colour), colour, 0);
                let [p, q, d, r] = [&mut *p, &mut *q, &mut *d, &mut *r].map(|v| window_mut(v, start, len));
                let scalars = (alpha, beta);
                sum += run!(update, s.general, p, q, d, r, z, &self.diag[colour], &around, scalars);
            }
            sum
        })
    }

    /// `r = b - A x` in f64 arithmetic, rounded; returns `r . r`. `rhs` is in grid order, `excess` the part
    /// of the diagonal that is not the sum of coefficients: weak outlets would drown in the diagonal's
    /// rounding. The right side's mean in sealed `components` goes before rounding: it may be far larger
    /// than what remains.
    pub fn true_residual(
        &self,
        r: &mut Split,
        excess: &Split<f64>,
        x: &Split<f64>,
        rhs: &[f32],
        components: &Components,
    ) -> f64 {
        let l = &self.layout;
        let residual = |colour: usize, r: &mut [f32]| {
            self.sum_rows([r], |row, [r]| {
                let t = row.t(colour);
                let rhs = window(rhs, l.cells[0] * row.in_grid(l), l.cells[0]);
                let mut sum = 0.0;
                let (diag, excess) = (&self.diag[colour][..], &excess[colour][..]);
                for s in row.spans.iter().flat_map(|s| s.pieces()) {
                    let mut shift = [0.0; PIECE];
                    components.rhs_shift(row.in_grid(l), colour, |m0, places, mean| {
                        let (from, to) = (m0.max(s.m0()), (m0 + places).min(s.m0() + s.len()));
                        (from..to).for_each(|m| shift[m - s.m0()] = mean);
                    });
                    let around = self.around(&s, t, colour, 0);
                    let r = window_mut(r, s.at() - row.start, s.len());
                    kernels::deinterleave(r, &rhs[(2 * s.m0()).min(rhs.len())..], t);
                    run!(true_residual, s.general, r, &shift, diag, excess, x, &around);
                    sum += square_sum(r);
                }
                sum
            })
        };
        let [r0, r1] = r;
        residual(0, r0) + residual(1, r1)
    }

    /// `x += d` at all active places.
    pub fn add_to(&self, x: &mut [f64], d: &[f32]) {
        self.for_rows(x, |row, x| {
            for s in row.spans {
                let (x, d) = (window_mut(x, s.at() - row.start, s.len()), window(d, s.at(), s.len()));
                (0..x.len()).for_each(|n| x[n] += d[n] as f64);
            }
        });
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let split = |s: &Split| 4 * (s[0].capacity() + s[1].capacity());
        split(&self.diag)
            + self.coef.iter().map(split).sum::<usize>()
            + self.class.capacity()
            + self.spans.bytes()
            + self.storage.bytes()
    }
}
