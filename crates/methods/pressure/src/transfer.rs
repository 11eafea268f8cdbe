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
use crate::layout::{Layout, Split, window, window_mut};
use crate::operator::{Operator, Row};

/// Coarse values in grid order (rows padded as in [`Layout`], `cells[0] + 1` apart) and the weights
/// of the coarse cells' low faces.
pub(crate) struct Transfer {
    pub coarse: Layout,
    /// Which axes are halved; an axis of one cell is not.
    pub halved: [bool; 3],
    /// Per axis, in grid order: 1/4 where the low face of the coarse cell is open, else 0.
    pub weight: [Vec<f32>; 3],
    /// Coarse values in grid order.
    pub values: Vec<f32>,
    /// Rows whose weights along y and z are all 1/4.
    uniform: Vec<bool>,
    zeros: Vec<f32>,
}

impl Transfer {
    pub fn new(fine: [usize; 3], coarse: Layout) -> Self {
        let len = coarse.rows * (coarse.cells[0] + 1);
        Transfer {
            coarse,
            halved: fine.map(|n| n > 1),
            weight: std::array::from_fn(|_| vec![0.0; len]),
            values: vec![0.0; len],
            uniform: vec![false; coarse.rows],
            zeros: vec![0.0; coarse.cells[0] + 1],
        }
    }

    pub fn stride(&self) -> usize {
        self.coarse.cells[0] + 1
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let values = self.weight.iter().map(Vec::capacity).sum::<usize>() + self.values.capacity();
        4 * (values + self.zeros.capacity()) + self.uniform.capacity()
    }

    /// What the restriction is divided by so that the coarse operator keeps unit coefficients.
    pub fn scale(&self) -> f32 {
        0.25 * (1 << self.halved.iter().filter(|&&h| h).count()) as f32
    }

    /// Weight rows (y of the parent, z of the parent, z of its y neighbour) and rows of the parent, its y
    /// neighbour, its z neighbour and the one across, for the fine row (j, k).
    fn stencil(&self, j: usize, k: usize) -> Stencil<'_> {
        let c = &self.coarse;
        let (jp, kp) = (if self.halved[1] { j / 2 } else { j }, if self.halved[2] { k / 2 } else { k });
        let parent = c.row(jp, kp);
        let (up_y, up_z) = (j & 1, k & 1);
        let y_row = parent + up_y + up_y - 1;
        let (z_row, yz_row) = if up_z == 1 {
            (parent + c.slab_rows, y_row + c.slab_rows)
        } else {
            (parent - c.slab_rows, y_row - c.slab_rows)
        };
        let weight = |axis: usize, row: usize| {
            let w =
                if self.halved[axis] { &self.weight[axis][row * self.stride()..] } else { &self.zeros[..] };
            &w[..self.stride()]
        };
        Stencil {
            rows: [parent, y_row, z_row, yz_row],
            wy: weight(1, parent + up_y),
            wz: weight(2, parent + up_z * c.slab_rows),
            wz_across: weight(2, y_row + up_z * c.slab_rows),
        }
    }

    /// Copies the coarse level's two colours into grid order.
    pub fn gather(&mut self, x: &Split, op: &Operator) {
        let l = self.coarse;
        l.for_rows(&op.class, l.cells[0] + 1, &mut self.values, |row, _, out| {
            let s = l.parity(row);
            let even = window(&x[s], row * l.stride, l.half);
            let odd = window(&x[1 - s], row * l.stride, l.half);
            for (n, pair) in out[..l.cells[0]].chunks_mut(2).enumerate() {
                pair[0] = even[n];
                if pair.len() == 2 {
                    pair[1] = odd[n];
                }
            }
        });
    }

    /// `out += P values` for one colour of the fine row (j, k).
    pub fn prolong_row(&self, out: &mut [f32], fine: &Operator, at: Row, (j, k): (usize, usize)) {
        let l = fine.layout;
        let stencil = self.stencil(j, k);
        let wx = window(&self.weight[0], stencil.rows[0] * self.stride(), self.stride());
        for s in at.spans {
            for (start, len) in s.pieces() {
                let diag = window(&fine.diag[at.colour], at.row * l.stride + start, len);
                self.prolong_piece(window_mut(out, start, len), diag, &stencil, wx, start, at.t);
            }
        }
    }

    /// `out += P values` for a run of at most [`PIECE`] places. Not inlined, as the kernels.
    #[inline(never)]
    fn prolong_piece(
        &self,
        out: &mut [f32],
        diag: &[f32],
        s: &Stencil,
        wx: &[f32],
        m0: usize,
        parity: usize,
    ) {
        let len = out.len();
        // Along z and y first, one place further on either side.
        let mut line = [0.0f32; PIECE + 2];
        let (first, last) = (m0.saturating_sub(1), (m0 + len + 1).min(self.coarse.cells[0]));
        let value = |n: usize| window(&self.values, s.rows[n] * self.stride() + first, last - first);
        let v = [value(0), value(1), value(2), value(3)];
        let weight = |w| window(w, first, last - first);
        let w = [weight(s.wy), weight(s.wz), weight(s.wz_across)];
        let target = window_mut(&mut line, first + 1 - m0, last - first);
        for n in 0..last - first {
            let here = v[0][n] + w[1][n] * (v[2][n] - v[0][n]);
            let across = v[1][n] + w[2][n] * (v[3][n] - v[1][n]);
            target[n] = here + w[0][n] * (across - here);
        }
        if !self.halved[0] {
            return (0..len).for_each(|n| out[n] += if diag[n] != 0.0 { line[n + 1] } else { 0.0 });
        }
        let wx = window(wx, m0 + parity, len);
        let (own, side) = (window(&line, 1, len), window(&line, 2 * parity, len));
        for n in 0..len {
            let value = own[n] + wx[n] * (side[n] - own[n]);
            out[n] += if diag[n] != 0.0 { value } else { 0.0 };
        }
    }

    /// Transpose of the interpolation along x, in place on colour 0 of the fine row (j, k).
    #[inline(never)]
    pub fn restrict_along_x(&self, r: &mut [f32], j: usize, k: usize) {
        if !self.halved[0] {
            return;
        }
        let nx = self.coarse.cells[0];
        let parent = self.stencil(j, k).rows[0];
        let wx = window(&self.weight[0], parent * self.stride(), self.stride());
        let odd = (j + k) & 1 == 1;
        let pieces = nx.div_ceil(PIECE);
        // Even cells give to the place below, odd ones to the place above: go so that what is read is still there.
        for piece in 0..pieces {
            let start = PIECE * if odd { pieces - 1 - piece } else { piece };
            let len = PIECE.min(nx - start);
            let mut line = [0.0f32; PIECE + 2];
            let (low, high) = (start.saturating_sub(1), (start + len + 1).min(nx));
            line[low + 1 - start..high + 1 - start].copy_from_slice(&r[low..high]);
            let out = window_mut(r, start, len);
            let (own, w) = (window(&line, 1, len), window(wx, start, len + 1));
            if odd {
                let below = window(&line, 0, len);
                (0..len).for_each(|n| out[n] = own[n] * (1.0 - w[n + 1]) + below[n] * w[n]);
            } else {
                let above = window(&line, 2, len);
                (0..len).for_each(|n| out[n] = own[n] * (1.0 - w[n]) + above[n] * w[n + 1]);
            }
        }
    }

    /// Transpose of the interpolation along x: `out` from both colours of `r` in the fine row (j, k).
    pub fn restrict_both_along_x(&self, out: &mut [f32], r: &Split, fine: &Operator, (j, k): (usize, usize)) {
        let l = fine.layout;
        let nx = self.coarse.cells[0];
        let (row, parent) = (l.row(j, k), self.stencil(j, k).rows[0]);
        let wx = window(&self.weight[0], parent * self.stride(), self.stride());
        out.fill(0.0);
        for colour in 0..2 {
            let odd = (j + k + colour) & 1 == 1;
            let (r, diag) =
                (window(&r[colour], row * l.stride, nx), window(&fine.diag[colour], row * l.stride, nx));
            for n in (0..nx).filter(|&n| diag[n] != 0.0) {
                let (w, beyond) = match (self.halved[0], odd) {
                    (false, _) => (0.0, n),
                    (true, false) => (wx[n], n.saturating_sub(1)),
                    (true, true) => (wx[n + 1], (n + 1).min(nx - 1)),
                };
                out[n] += (1.0 - w) * r[n];
                out[beyond] += w * r[n];
            }
        }
    }

    /// `b_coarse = P^T r / scale` from the fine residual on colour 0 (zero on colour 1), restricted along x.
    pub fn restrict(&self, b_coarse: &mut Split, restricted: &[f32], fine: &Layout, op: &Operator) {
        let l = self.coarse;
        let [b0, b1] = b_coarse;
        let scale = 1.0 / self.scale();
        l.sum_rows(&op.class, l.stride, [b0, b1], |row, _, [b0, b1]| {
            let (even, odd) = if l.parity(row) == 0 { (b0, b1) } else { (b1, b0) };
            for s in op.spans.of_row(row) {
                for start in (s.m0..s.m0 + s.len).step_by(PIECE / 2) {
                    let (start, len) = (start as usize, (PIECE / 2).min((s.m0 + s.len - start) as usize));
                    let mut line = [0.0f32; PIECE];
                    self.restrict_piece(&mut line, restricted, fine, row, 2 * start);
                    let diag = op.diag.each_ref().map(|d| window(d, row * l.stride + start, len));
                    let (d_even, d_odd) =
                        if l.parity(row) == 0 { (diag[0], diag[1]) } else { (diag[1], diag[0]) };
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

    /// Adds to `line` what all fine rows give to the coarse cells of `row` from the `first`.
    #[inline(never)]
    fn restrict_piece(
        &self,
        line: &mut [f32; PIECE],
        restricted: &[f32],
        fine: &Layout,
        row: usize,
        first: usize,
    ) {
        let (jc, kc) = self.coarse.coordinates(row).expect("rim rows are empty");
        let len = PIECE.min(self.coarse.cells[0] - first);
        let uniform = self.is_uniform_around(row);
        for k in self.children(2, kc, fine.cells[2]) {
            for j in self.children(1, jc, fine.cells[1]) {
                let r = window(restricted, fine.row(j, k) * fine.stride + first, len);
                let out = &mut line[..len];
                if uniform {
                    let weight = |near: bool| if near { 0.75 } else { 0.25 };
                    let w: f32 = weight(j / 2 == jc) * weight(k / 2 == kc);
                    (0..len).for_each(|n| out[n] += w * r[n]);
                    continue;
                }
                let s = self.stencil(j, k);
                let [wy, wz, wz_across] = [s.wy, s.wz, s.wz_across].map(|w| window(w, first, len));
                match s.rows.iter().position(|&source| source == row).expect("a child reaches the target") {
                    0 => (0..len).for_each(|n| out[n] += (1.0 - wy[n]) * (1.0 - wz[n]) * r[n]),
                    1 => (0..len).for_each(|n| out[n] += wy[n] * (1.0 - wz_across[n]) * r[n]),
                    2 => (0..len).for_each(|n| out[n] += (1.0 - wy[n]) * wz[n] * r[n]),
                    _ => (0..len).for_each(|n| out[n] += wy[n] * wz_across[n] * r[n]),
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

    /// Finds the rows whose weights along y and z are all 1/4; to be called when weights have changed.
    pub fn find_uniform_rows(&mut self) {
        let (l, stride) = (self.coarse, self.stride());
        let halved = self.halved[1] && self.halved[2];
        for row in 0..l.rows {
            let quarter = |axis: usize, row: usize| {
                window(&self.weight[axis], row * stride, l.cells[0]).iter().all(|&w| w == 0.25)
            };
            self.uniform[row] = halved
                && l.coordinates(row).is_some()
                && [(1, row), (1, row + 1), (2, row), (2, row + l.slab_rows)]
                    .iter()
                    .all(|&(a, r)| quarter(a, r));
        }
    }

    /// Fine rows that reach coarse row `c` along an axis.
    fn children(&self, axis: usize, c: usize, fine_cells: usize) -> std::ops::Range<usize> {
        if self.halved[axis] { (2 * c).saturating_sub(1)..(2 * c + 3).min(fine_cells) } else { c..c + 1 }
    }
}

/// What one fine row interpolates from.
struct Stencil<'a> {
    rows: [usize; 4],
    wy: &'a [f32],
    wz: &'a [f32],
    wz_across: &'a [f32],
}
