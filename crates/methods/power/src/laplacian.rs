//! The Laplacian on the pyramid, one level at a time [power §6.3].
//!
//! Memory decides the speed. Of every block the kernel reads one channel and writes one, 256 bytes each, as a copy does; the
//! neighbours' values come from caches, because blocks follow each other in Morton order. What a block's cells are is
//! known from 24 bytes, and only special cells read more: their row's number, and rows, of which a tree has so few that they
//! stay in cache. The next blocks are asked for ahead: pages of 4 KB hold one block each, and no hardware looks beyond a page.

use crate::rows::{BlockRows, LevelRows, Row, Rows};
use fluvial_grids::paged::{Around, Reader};
use fluvial_grids::pyramid::{Level, Pyramid, bits};
use wide::f32x4;

/// How many blocks ahead data is asked for.
const AHEAD: usize = 8;

/// `(L p)_i = sum_j w_ij (p_i - p_j) + e_i p_i` for every unknown leaf: minus the integral of the Laplacian over its power
/// cell, in metres times the unit of p [power eq. 3]. Zero in other leaves. `p` is
/// written too, in ghosts. Verified by `operators.rs` against the explicit mesh and by `poisson.rs` for its order.
pub fn apply(pyramid: &mut Pyramid, rows: &Rows, out: usize, p: usize) {
    pyramid.propagate(p);
    for (level, level_rows) in pyramid.levels_mut().iter_mut().zip(&rows.levels) {
        apply_level(level, level_rows, &rows.rows, out, p);
    }
    pyramid.accumulate(out);
}

/// `L_ii` for every unknown leaf, zero in others.
pub fn diagonal(pyramid: &mut Pyramid, rows: &Rows, out: usize) {
    for (level, level_rows) in pyramid.levels_mut().iter_mut().zip(&rows.levels) {
        let (used, scale) = (level.used().to_vec(), level.dx);
        level.grid.for_each_block(Some(&used), [out], |n, _, _, [out]| {
            let block = &level_rows.blocks[n];
            out.fill(0.0);
            bits(block.uniform).for_each(|cell| out[cell] = 6.0 * scale);
            for (cell, i) in bits(block.special).zip(block.first as usize..) {
                out[cell] = scale * rows.rows[level_rows.row_of[i] as usize].diagonal;
            }
        });
    }
    pyramid.accumulate(out);
}

fn apply_level(level: &mut Level, rows: &LevelRows, table: &[Row], out: usize, p: usize) {
    let layout = *level.grid.layout();
    let scale = level.dx;
    let used = level.used().to_vec();
    level.grid.for_each_block(Some(&used), [out], |n, page, reader, [result]| {
        if let Some(&ahead) = reader.pages().get(n + AHEAD) {
            reader.prefetch(ahead, out);
            ask_for_ring(reader, &layout.around(ahead), p, rows.blocks[n + AHEAD].special != 0);
        }
        let block = &rows.blocks[n];
        let around = layout.around(page);
        if block.uniform != 0 {
            uniform_block(result, reader, &around, p, scale);
            // Other cells of the block got what no one asked for.
            bits(!block.uniform).for_each(|cell| result[cell] = 0.0);
        } else {
            result.fill(0.0);
        }
        if block.special != 0 {
            let ring = Ring::load(reader, &around, p);
            special_cells(result, block, &rows.row_of, table, &ring, scale);
        }
    });
}

/// Asks for a block's values and for those around it that may not have been read yet: on the high side along some axis. A plane of
/// a block along z is one line of the cache.
#[inline(always)]
fn ask_for_ring(reader: &Reader<64>, around: &Around, channel: usize, edges: bool) {
    for [x, y] in [[1, 1], [2, 1], [1, 2]] {
        reader.prefetch(around.page(x, y, 1), channel);
    }
    reader.prefetch_line(around.page(1, 1, 2), channel, 0);
    if edges {
        for [x, y] in [[2, 0], [0, 2], [2, 2]] {
            reader.prefetch(around.page(x, y, 1), channel);
        }
        for [x, y] in [[2, 1], [1, 2]] {
            reader.prefetch_line(around.page(x, y, 0), channel, 3);
        }
        for [x, y] in [[0, 1], [2, 1], [1, 0], [1, 2]] {
            reader.prefetch_line(around.page(x, y, 2), channel, 0);
        }
    }
}

/// Eight values in a row: two rows of cells.
type Eight = [f32; 8];

#[inline(always)]
fn eight(field: &[f32; 64], start: usize) -> Eight {
    std::array::from_fn(|n| field[start + n])
}

/// The last row of one block and the first of another, or the like.
#[inline(always)]
fn two_rows(a: &[f32; 64], start_a: usize, b: &[f32; 64], start_b: usize) -> Eight {
    std::array::from_fn(|n| if n < 4 { a[start_a + n] } else { b[start_b + n - 4] })
}

/// Seven-point stencil on all cells of a block, two rows at a time.
#[inline(always)]
fn uniform_block(out: &mut [f32; 64], reader: &Reader<64>, around: &Around, p: usize, scale: f32) {
    let at = |x: usize, y: usize, z: usize| reader.channel(around.page(x, y, z), p);
    let own = at(1, 1, 1);
    let ([xl, xh], [yl, yh], [zl, zh]) =
        ([at(0, 1, 1), at(2, 1, 1)], [at(1, 0, 1), at(1, 2, 1)], [at(1, 1, 0), at(1, 1, 2)]);
    for z in 0..4 {
        let below = if z > 0 { own } else { zl };
        let above = if z < 3 { own } else { zh };
        for half in 0..2 {
            let i = 8 * half + 16 * z;
            let c = eight(own, i);
            let around = [
                [xl[i + 3], c[0], c[1], c[2], xl[i + 7], c[4], c[5], c[6]],
                [c[1], c[2], c[3], xh[i], c[5], c[6], c[7], xh[i + 4]],
                if half == 0 { two_rows(yl, i + 12, own, i) } else { eight(own, i - 4) },
                if half == 0 { eight(own, i + 4) } else { two_rows(own, i + 4, yh, i - 8) },
                eight(below, (i + 48) % 64),
                eight(above, (i + 16) % 64),
            ];
            for n in 0..8 {
                // Differences, not six times the centre: constants then give zero to the last bit.
                let x = (c[n] - around[0][n]) + (c[n] - around[1][n]);
                let y = (c[n] - around[2][n]) + (c[n] - around[3][n]);
                let z = (c[n] - around[4][n]) + (c[n] - around[5][n]);
                out[i + n] = scale * ((x + y) + z);
            }
        }
    }
}

/// A block's values and the ring of cells around it, without corners: 6x6 rows of 8 of which the first 6 are used.
struct Ring([f32; 6 * 6 * 8]);

impl Ring {
    #[inline(always)]
    fn load(reader: &Reader<64>, around: &Around, channel: usize) -> Ring {
        let mut ring = Ring([0.0; 6 * 6 * 8]);
        let at = |x: usize, y: usize, z: usize| reader.channel(around.page(x, y, z), channel);
        ring.copy_slab(at(0, 1, 1), at(1, 1, 1), at(2, 1, 1), [1, 1]);
        // Blocks across sides and edges along x: one plane or one row of cells each.
        for side in [0, 2] {
            ring.copy_slab(at(0, side, 1), at(1, side, 1), at(2, side, 1), [side, 1]);
            ring.copy_slab(at(0, 1, side), at(1, 1, side), at(2, 1, side), [1, side]);
            for other in [0, 2] {
                ring.copy_row(at(1, side, other), [side, other]);
            }
        }
        ring
    }

    /// Rows of three blocks beside each other along x: all of them, or those at the near end along y or z.
    #[inline(always)]
    fn copy_slab(&mut self, low: &[f32; 64], middle: &[f32; 64], high: &[f32; 64], [y, z]: [usize; 2]) {
        for cell_z in near(z) {
            for cell_y in near(y) {
                let from = 4 * (cell_y + 4 * cell_z);
                let row = &mut self.0[start_of(y, cell_y, z, cell_z)..][..8];
                row[0] = low[from + 3];
                row[1..5].copy_from_slice(&middle[from..from + 4]);
                row[5] = high[from];
            }
        }
    }

    #[inline(always)]
    fn copy_row(&mut self, block: &[f32; 64], [y, z]: [usize; 2]) {
        let (cell_y, cell_z) = (near(y).start, near(z).start);
        let from = 4 * (cell_y + 4 * cell_z);
        let start = start_of(y, cell_y, z, cell_z);
        self.0[start + 1..start + 5].copy_from_slice(&block[from..from + 4]);
    }
}

/// The cells along an axis of a block before (0), at (1) or behind (2) ours that the ring holds.
#[inline(always)]
fn near(block: usize) -> std::ops::Range<usize> {
    [3..4, 0..4, 0..1][block].clone()
}

#[inline(always)]
fn start_of(block_y: usize, cell_y: usize, block_z: usize, cell_z: usize) -> usize {
    8 * (4 * block_y + cell_y - 3 + 6 * (4 * block_z + cell_z - 3))
}

/// Cells with rows of their own: nine times four products, of which a corner and the fourth are zero. All products are made before
/// sums across lanes are taken.
#[inline]
fn special_cells(
    out: &mut [f32; 64],
    block: &BlockRows,
    row_of: &[u32],
    table: &[Row],
    ring: &Ring,
    scale: f32,
) {
    let numbers = &row_of[block.first as usize..][..block.special.count_ones() as usize];
    for (cell, &number) in bits(block.special).zip(numbers) {
        let row = &table[number as usize];
        let corner = (cell & 3) + 8 * (cell >> 2 & 3) + 48 * (cell >> 4);
        let values: &[f32; 116] = ring.0[corner..corner + 116].try_into().expect("the ring reaches that far");
        let own = values[57];
        let center = f32x4::splat(own);
        let mut sum = [f32x4::ZERO; 3];
        for (line, &weight) in row.weight.iter().enumerate() {
            let start = 8 * (line % 3) + 48 * (line / 3);
            let value = [values[start], values[start + 1], values[start + 2], values[start + 3]];
            sum[line % 3] += f32x4::from(weight) * (center - f32x4::from(value));
        }
        let sum = ((sum[0] + sum[1]) + sum[2]).reduce_add();
        out[cell] = scale * (sum + row.excess * own);
    }
}
