//! Transfer between levels: trilinear, cut at closed faces.
//!
//! Along each axis a fine cell takes its parent's value plus `w` times the difference to the parent's
//! neighbour on the fine cell's side: `w = 1/4` where the coarse face is open (air beyond it holds the value
//! zero), 0 where it is closed, so that nothing leaks through walls and constants survive beside them.
//! The three axes are applied in the order z, y, x. The restriction is the exact transpose.
//!
//! Smoothing ends (before) and begins (after) on colour 1, so that its residual is zero and its values are
//! about to be replaced: only colour 0 is ever transferred.

use crate::kernels::PIECE;
use crate::layout::{BLOCK, Layout, Split, window, window_mut};
use crate::operator::{Operator, Row};
use crate::spans::{Span, stretches};
use crate::storage::{Run, Storage, set_zeros};

/// Coarse values in grid order and the weights of the coarse cells' low faces.
pub(crate) struct Transfer {
    pub coarse: Layout,
    /// Which axes are halved; an axis of one cell is not.
    pub halved: [bool; 3],
    /// Per axis, rows of the whole box in grid order: 1/4 where the low face of the coarse cell is open,
    /// else 0.
    pub weight: [Vec<f32>; 3],
    /// Rows whose weights along y and z are all 1/4.
    pub uniform: Vec<bool>,
    /// Coarse values in grid order, two for each place of the coarse level's storage.
    values: Vec<f32>,
    /// For each span of the fine level where its first coarse cell and the beginnings of the rows beside it
    /// lie in `values`: parent, its y neighbour, its z neighbour and the one across.
    parents: Vec<[u32; 4]>,
    zeros: Vec<f32>,
}

impl Transfer {
    pub fn new(fine: [usize; 3], coarse: Layout) -> Self {
        let stride = stride(&coarse);
        Transfer {
            coarse,
            halved: fine.map(|n| n > 1),
            weight: std::array::from_fn(|_| vec![0.0; coarse.rows * stride]),
            uniform: vec![false; coarse.rows],
            values: Vec::new(),
            parents: Vec::new(),
            zeros: vec![0.0; stride],
        }
    }

    pub fn stride(&self) -> usize {
        stride(&self.coarse)
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let values = self.weight.iter().map(Vec::capacity).sum::<usize>() + self.values.capacity();
        4 * (values + self.zeros.capacity()) + self.uniform.capacity() + 16 * self.parents.capacity()
    }

    /// What the restriction is divided by so that the coarse operator keeps unit coefficients.
    pub fn scale(&self) -> f32 {
        0.25 * (1 << self.halved.iter().filter(|&&h| h).count()) as f32
    }

    /// Takes the two levels' new storage.
    pub fn connect(&mut self, fine: &Operator, coarse: &Operator) {
        set_zeros(&mut self.values, 2 * coarse.storage.len());
        self.parents.clear();
        for n in 0..fine.storage.rows.len() {
            let row = fine.row(n);
            let rows = self.rows(row.j, row.k);
            // A span begins with a block, so that its first coarse cell is an even one.
            let address = |s: &Span| rows.map(|row| 2 * coarse.storage.at(row, s.m0() / 2) as u32);
            self.parents.extend(row.spans.iter().map(address));
        }
    }

    /// Coarse rows of the parent, its y neighbour, its z neighbour and the one across, for the fine row (j,
    /// k).
    #[inline(always)]
    fn rows(&self, j: usize, k: usize) -> [usize; 4] {
        let c = &self.coarse;
        let (jp, kp) = (if self.halved[1] { j / 2 } else { j }, if self.halved[2] { k / 2 } else { k });
        let parent = c.row(jp, kp);
        let y_row = parent + 2 * (j & 1) - 1;
        if k & 1 == 1 {
            [parent, y_row, parent + c.slab_rows, y_row + c.slab_rows]
        } else {
            [parent, y_row, parent - c.slab_rows, y_row - c.slab_rows]
        }
    }

    /// Weights along an axis from the low face of coarse cell `cell - 1` of a row on.
    #[inline(always)]
    pub fn weights_before(&self, axis: usize, row: usize, cell: usize) -> &[f32] {
        &self.weight[axis][row * self.stride() + cell..]
    }

    /// Weights along all axes of the parent, and along z of its y neighbour, for the fine row (j, k).
    #[inline(always)]
    fn weights(&self, j: usize, k: usize) -> Weights<'_> {
        let [parent, y_row, ..] = self.rows(j, k);
        let weight = |axis: usize, row: usize| {
            if self.halved[axis] { self.weights_before(axis, row, 0) } else { &self.zeros[..] }
        };
        let up_z = (k & 1) * self.coarse.slab_rows;
        Weights {
            x: weight(0, parent),
            y: weight(1, parent + (j & 1)),
            z: weight(2, parent + up_z),
            z_across: weight(2, y_row + up_z),
        }
    }

    /// Copies the coarse level's two colours into grid order.
    pub fn gather(&mut self, x: &Split, op: &Operator) {
        let body = |row: Row, [out]: [&mut [f32]; 1]| {
            let t = row.t(0);
            for s in row.spans {
                let (even, odd) = (window(&x[t], s.at(), s.len()), window(&x[1 - t], s.at(), s.len()));
                let out = window_mut(out, 2 * (s.at() - row.start), 2 * s.len());
                for (n, pair) in out.chunks_exact_mut(2).enumerate() {
                    (pair[0], pair[1]) = (even[n], odd[n]);
                }
            }
            0.0
        };
        op.reduce_rows(2, [&mut self.values[..]], body, |a, _| a);
    }

    /// `out += P values` for one colour of a fine row; `out` begins at address `offset`.
    pub fn prolong_row(&self, out: &mut [f32], offset: usize, fine: &Operator, row: Row, colour: usize) {
        let weights = self.weights(row.j, row.k);
        for (n, span) in row.spans.iter().enumerate() {
            let parents = self.parents[row.first_span + n];
            for s in span.pieces() {
                let diag = window(&fine.diag[colour], s.at(), s.len());
                let starts = parents.map(|at| (at + s.m0 - span.m0) as usize);
                let out = window_mut(out, s.at() - offset, s.len());
                self.prolong_piece(out, diag, starts, &weights, s.m0(), row.t(colour));
            }
        }
    }

    /// `out += P values` for a run of at most [`PIECE`] places. Not inlined, as the kernels.
    #[inline(never)]
    fn prolong_piece(
        &self,
        out: &mut [f32],
        diag: &[f32],
        starts: [usize; 4],
        weights: &Weights,
        m0: usize,
        t: usize,
    ) {
        let len = out.len();
        // Along z and y first, one place further on either side.
        let mut line = [0.0f32; PIECE + 2];
        let line = &mut line[..len + 2];
        let v = starts.map(|start| window(&self.values, start - 1, len + 2));
        let w = [weights.y, weights.z, weights.z_across].map(|w| window(w, m0, len + 2));
        for n in 0..len + 2 {
            let here = v[0][n] + w[1][n] * (v[2][n] - v[0][n]);
            let across = v[1][n] + w[2][n] * (v[3][n] - v[1][n]);
            line[n] = here + w[0][n] * (across - here);
        }
        if !self.halved[0] {
            return (0..len).for_each(|n| out[n] += if diag[n] != 0.0 { line[n + 1] } else { 0.0 });
        }
        let wx = window(weights.x, m0 + 1 + t, len);
        let (own, side) = (window(line, 1, len), window(line, 2 * t, len));
        for n in 0..len {
            let value = own[n] + wx[n] * (side[n] - own[n]);
            out[n] += if diag[n] != 0.0 { value } else { 0.0 };
        }
    }

    /// Transpose of the interpolation along x, in place on colour 0 of a fine row; it reaches one place
    /// beyond the row's spans. `r` begins at address `offset`.
    pub fn restrict_along_x(&self, r: &mut [f32], offset: usize, row: Row) {
        if !self.halved[0] {
            return;
        }
        let parent = self.rows(row.j, row.k)[0];
        for (m0, len, at) in stretches(row.spans) {
            let r = window_mut(r, at - offset - 1, len + 2);
            (r[0], r[len + 1]) = (0.0, 0.0);
            let weight = window(self.weights_before(0, parent, m0), 0, len + 3);
            if row.t(0) == 0 { give_down(r, weight) } else { give_up(r, weight) }
        }
    }

    /// Transpose of the interpolation along x: `out` from both colours of `r` in a fine row, which it begins
    /// with.
    pub fn restrict_both_along_x(&self, out: &mut [f32], r: &Split, fine: &Operator, row: Row) {
        let parent = self.rows(row.j, row.k)[0];
        out.fill(0.0);
        for (m0, len, at) in stretches(row.spans) {
            let out = window_mut(out, at - row.start - 1, len + 2);
            let weight = window(self.weights_before(0, parent, m0), 0, len + 3);
            for colour in 0..2 {
                let (r, diag) = (window(&r[colour], at, len), window(&fine.diag[colour], at, len));
                for n in (0..len).filter(|&n| diag[n] != 0.0) {
                    let (w, beyond) = match (self.halved[0], row.t(colour)) {
                        (false, _) => (0.0, n),
                        (true, 0) => (weight[n + 1], n),
                        (true, _) => (weight[n + 2], n + 2),
                    };
                    out[n + 1] += (1.0 - w) * r[n];
                    out[beyond] += w * r[n];
                }
            }
        }
    }

    /// `b_coarse = P^T r / scale` from the fine residual, restricted along x.
    pub fn restrict(&self, b_coarse: &mut Split, restricted: &[f32], fine: &Operator, coarse: &Operator) {
        let [b0, b1] = b_coarse;
        let scale = 1.0 / self.scale();
        coarse.sum_rows([b0, b1], |row, [b0, b1]| {
            let t = row.t(0);
            let (even, odd) = if t == 0 { (b0, b1) } else { (b1, b0) };
            for span in row.spans {
                for from in (0..span.len()).step_by(PIECE / 2) {
                    let (m0, len) = (span.m0() + from, (span.len() - from).min(PIECE / 2));
                    let mut line = [0.0f32; PIECE];
                    self.restrict_piece(&mut line[..2 * len], restricted, fine, (row.j, row.k), 2 * m0);
                    let diag = |colour: usize| window(&coarse.diag[colour], span.at() + from, len);
                    let (d_even, d_odd) = (diag(t), diag(1 - t));
                    let start = span.at() + from - row.start;
                    let (even, odd) = (window_mut(even, start, len), window_mut(odd, start, len));
                    for n in 0..len {
                        even[n] = if d_even[n] != 0.0 { scale * line[2 * n] } else { 0.0 };
                        odd[n] = if d_odd[n] != 0.0 { scale * line[2 * n + 1] } else { 0.0 };
                    }
                }
            }
            0.0
        });
    }

    /// Adds to `line` what all fine rows give to the coarse cells of row `(jc, kc)` from the `first`.
    fn restrict_piece(
        &self,
        line: &mut [f32],
        restricted: &[f32],
        fine: &Operator,
        (jc, kc): (usize, usize),
        first: usize,
    ) {
        let row = self.coarse.row(jc, kc);
        let uniform = self.is_uniform_around(row);
        for k in self.children(2, kc, fine.layout.cells[2]) {
            for j in self.children(1, jc, fine.layout.cells[1]) {
                for (at, cells) in reached(&fine.storage, fine.layout.row(j, k), first, line.len()) {
                    let r = window(restricted, at, cells.len());
                    let out = &mut line[cells.start - first..cells.end - first];
                    if uniform {
                        let weight = |near: bool| if near { 0.75 } else { 0.25 };
                        let w: f32 = weight(j / 2 == jc) * weight(k / 2 == kc);
                        add_scaled(out, w, r);
                        continue;
                    }
                    let w = self.weights(j, k);
                    let [wy, wz, wz_across] = [w.y, w.z, w.z_across].map(|w| &w[cells.start + 1..]);
                    match self.rows(j, k).iter().position(|&source| source == row) {
                        Some(0) => add(out, r, wy, wz, |wy, wz| (1.0 - wy) * (1.0 - wz)),
                        Some(1) => add(out, r, wy, wz_across, |wy, wz| wy * (1.0 - wz)),
                        Some(2) => add(out, r, wy, wz, |wy, wz| (1.0 - wy) * wz),
                        _ => add(out, r, wy, wz_across, |wy, wz| wy * wz),
                    }
                }
            }
        }
    }

    /// Are all weights along y and z of this row and those around it 1/4?
    fn is_uniform_around(&self, row: usize) -> bool {
        let step = self.coarse.slab_rows;
        [row - step, row, row + step]
            .iter()
            .all(|&r| self.uniform[r - 1] && self.uniform[r] && self.uniform[r + 1])
    }

    /// Fine rows that reach coarse row `c` along an axis.
    fn children(&self, axis: usize, c: usize, fine_cells: usize) -> std::ops::Range<usize> {
        if self.halved[axis] { (2 * c).saturating_sub(1)..(2 * c + 3).min(fine_cells) } else { c..c + 1 }
    }
}

/// Distance between rows of weights: one more comes first, and some last.
fn stride(coarse: &Layout) -> usize {
    2 * BLOCK * coarse.blocks + 4
}

/// Addresses and coarse cells of what a fine row holds of `len` coarse cells from `first`, one place around
/// its runs included.
#[inline(always)]
fn reached(
    storage: &Storage,
    row: usize,
    first: usize,
    len: usize,
) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
    storage.runs(row).filter_map(move |Run { m0, len: places, start }| {
        let cells = first.max(m0.saturating_sub(1))..(first + len).min(m0 + places + 1);
        (!cells.is_empty()).then(|| (start + cells.start - m0, cells))
    })
}

/// `r_n (1 - w_n) + r_(n + 1) w_(n + 1)`, in place: even cells give to the place below.
#[inline(never)]
fn give_down(r: &mut [f32], w: &[f32]) {
    let len = r.len();
    for start in (0..len).step_by(PIECE) {
        let n = PIECE.min(len - start);
        let mut line = [0.0f32; PIECE + 1];
        let some = (n + 1).min(len - start);
        line[..some].copy_from_slice(&r[start..start + some]);
        let (out, w) = (window_mut(r, start, n), window(w, start, n + 1));
        (0..n).for_each(|n| out[n] = line[n] * (1.0 - w[n]) + line[n + 1] * w[n + 1]);
    }
}

/// `r_n (1 - w_(n + 1)) + r_(n - 1) w_n`, in place: odd cells give to the place above.
#[inline(never)]
fn give_up(r: &mut [f32], w: &[f32]) {
    let len = r.len();
    // From the end, so that what is read is still there.
    for start in (0..len).step_by(PIECE).rev() {
        let n = PIECE.min(len - start);
        let mut line = [0.0f32; PIECE + 1];
        line[1..n + 1].copy_from_slice(&r[start..start + n]);
        line[0] = if start == 0 { 0.0 } else { r[start - 1] };
        let (out, w) = (window_mut(r, start, n), window(w, start, n + 1));
        (0..n).for_each(|n| out[n] = line[n + 1] * (1.0 - w[n + 1]) + line[n] * w[n]);
    }
}

#[inline(never)]
fn add_scaled(out: &mut [f32], factor: f32, r: &[f32]) {
    out.iter_mut().zip(r).for_each(|(out, r)| *out += factor * r);
}

/// `out += weight(wy, wz) r`.
#[inline(always)]
fn add(out: &mut [f32], r: &[f32], wy: &[f32], wz: &[f32], weight: impl Fn(f32, f32) -> f32) {
    let len = out.len();
    let (r, wy, wz) = (&r[..len], &wy[..len], &wz[..len]);
    (0..len).for_each(|n| out[n] += weight(wy[n], wz[n]) * r[n]);
}

/// Weights of the rows that one fine row interpolates from, beginning one coarse cell before the box.
struct Weights<'a> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a [f32],
    z_across: &'a [f32],
}
