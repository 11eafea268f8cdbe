//! Transfer between levels: trilinear, cut at closed faces.
//!
//! Along each axis a fine cell takes its parent's value plus `w` times the difference to the parent's
//! neighbour on the fine cell's side: `w = 1/4` where the coarse face is open (air beyond it holds the value
//! zero), 0 where it is closed, so that nothing leaks through walls and constants survive beside them.
//! The three axes are applied in the order z, y, x. The restriction is the exact transpose.
//!
//! Smoothing ends (before) and begins (after) on colour 1, so that its residual is zero and its values are
//! about to be replaced: only colour 0 is ever transferred.

use crate::layout::{EMPTY, Layout, Split, window, window_mut};
use crate::operator::Operator;

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
    zeros: Vec<f32>,
}

/// Places worked on at once, in buffers on the stack.
const PIECE: usize = 64;

impl Transfer {
    pub fn new(fine: [usize; 3], coarse: Layout) -> Self {
        let len = coarse.rows * (coarse.cells[0] + 1);
        Transfer {
            coarse,
            halved: fine.map(|n| n > 1),
            weight: std::array::from_fn(|_| vec![0.0; len]),
            values: vec![0.0; len],
            zeros: vec![0.0; coarse.cells[0] + 1],
        }
    }

    pub fn stride(&self) -> usize {
        self.coarse.cells[0] + 1
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

    /// Copies the level's two colours into grid order.
    pub fn gather(&mut self, x: &Split, op: &Operator) {
        let (l, stride) = (self.coarse, self.stride());
        let nx = l.cells[0];
        for row in 0..l.rows {
            if l.class_row(&op.class, row).iter().all(|&c| c == EMPTY) {
                continue;
            }
            let s = l.parity(row);
            let out = window_mut(&mut self.values, row * stride, nx);
            let even = window(&x[s], row * l.stride, l.half);
            let odd = window(&x[1 - s], row * l.stride, l.half);
            for (n, pair) in out.chunks_mut(2).enumerate() {
                pair[0] = even[n];
                if pair.len() == 2 {
                    pair[1] = odd[n];
                }
            }
        }
    }

    /// `x_fine += P values` on colour 0.
    pub fn prolong(&self, x_fine: &mut [f32], fine: &Operator) {
        let l = fine.layout;
        l.for_rows(&fine.class, x_fine, |row, class, out| {
            let (j, k) = l.coordinates(row).expect("rim rows are empty");
            let stencil = self.stencil(j, k);
            let wx = window(&self.weight[0], stencil.rows[0] * self.stride(), self.stride());
            l.for_runs(class, |m0, len, _| {
                for start in (m0..m0 + len).step_by(PIECE) {
                    let len = PIECE.min(m0 + len - start);
                    let diag = window(&fine.diag[0], row * l.stride + start, len);
                    self.prolong_piece(window_mut(out, start, len), diag, &stencil, wx, start, l.parity(row));
                }
            });
        });
    }

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
        let v = s.rows.map(|row| window(&self.values, row * self.stride() + first, last - first));
        let w = [s.wy, s.wz, s.wz_across].map(|w| window(w, first, last - first));
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

    /// `b_coarse = P^T r / scale`, `r` the fine residual on colour 0 (zero on colour 1).
    pub fn restrict(&mut self, b_coarse: &mut Split, r: &[f32], fine: &Layout, op: &Operator) {
        let (l, stride) = (self.coarse, self.stride());
        let mut values = std::mem::take(&mut self.values);
        let width = Layout { stride, ..l };
        width.for_rows(&op.class, &mut values, |row, _, out| {
            out.fill(0.0);
            let (jc, kc) = l.coordinates(row).expect("rim rows are empty");
            for k in self.children(2, kc, fine.cells[2]) {
                for j in self.children(1, jc, fine.cells[1]) {
                    self.restrict_row(
                        out,
                        window(r, fine.row(j, k) * fine.stride, fine.half),
                        (j, k),
                        (jc, kc),
                    );
                }
            }
            out[l.cells[0]] = 0.0;
        });
        let scale = 1.0 / self.scale();
        for colour in 0..2 {
            l.for_rows(&op.class, &mut b_coarse[colour], |row, _, out| {
                let from = window(&values, row * stride, stride);
                let t = l.parity(row) ^ colour;
                let diag = window(&op.diag[colour], row * l.stride, l.half);
                for m in 0..l.half {
                    let i = (2 * m + t).min(l.cells[0]);
                    out[m] = if diag[m] != 0.0 { scale * from[i] } else { 0.0 };
                }
            });
        }
        self.values = values;
    }

    /// Fine rows that reach coarse row `c` along an axis.
    fn children(&self, axis: usize, c: usize, fine_cells: usize) -> std::ops::Range<usize> {
        if self.halved[axis] { (2 * c).saturating_sub(1)..(2 * c + 3).min(fine_cells) } else { c..c + 1 }
    }

    /// Adds what the fine row (j, k) gives to the coarse row (jc, kc).
    fn restrict_row(&self, out: &mut [f32], r: &[f32], (j, k): (usize, usize), (jc, kc): (usize, usize)) {
        let s = self.stencil(j, k);
        let target = self.coarse.row(jc, kc);
        let which = s.rows.iter().position(|&row| row == target).expect("a child reaches the target");
        let wx = window(&self.weight[0], s.rows[0] * self.stride(), self.stride());
        let parity = (j + k) & 1;
        let nx = self.coarse.cells[0];
        let (wy, wz, wz_across) = (window(s.wy, 0, nx), window(s.wz, 0, nx), window(s.wz_across, 0, nx));
        let r = window(r, 0, nx);
        let out = window_mut(out, 0, nx);
        let factor = |n: usize| match which {
            0 => (1.0 - wy[n]) * (1.0 - wz[n]),
            1 => wy[n] * (1.0 - wz_across[n]),
            2 => (1.0 - wy[n]) * wz[n],
            _ => wy[n] * wz_across[n],
        };
        if !self.halved[0] {
            out[0] += factor(0) * r[0];
            return;
        }
        for n in 0..nx {
            let own = r[n] * (1.0 - wx[n + parity]);
            let side = if parity == 0 {
                if n + 1 < nx { wx[n + 1] * r[n + 1] } else { 0.0 }
            } else if n > 0 {
                wx[n] * r[n - 1]
            } else {
                0.0
            };
            out[n] += factor(n) * (own + side);
        }
    }
}

/// What one fine row interpolates from.
struct Stencil<'a> {
    rows: [usize; 4],
    wy: &'a [f32],
    wz: &'a [f32],
    wz_across: &'a [f32],
}
