//! The Laplacian on the pyramid, one level at a time [power §6.3].
//!
//! Memory decides the speed. Of every block the kernel reads one channel and writes one, 256 bytes each, as a copy does; the
//! neighbours' values come from caches, because blocks follow each other in Morton order. What a block's cells are is
//! known from 24 bytes, and only special cells read more: their row's number, and rows, of which a tree has so few that they
//! stay in cache. The next blocks are asked for ahead: pages of 4 KB hold one block each, and no hardware looks beyond a page.

use crate::rows::{BlockRows, LevelRows, Row, Rows};
use fluvial_grids::paged::{Layout, Reader};
use fluvial_grids::pyramid::{Level, Pyramid, bits};

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
    let steps = layout.page_steps();
    let scale = level.dx;
    let used = level.used().to_vec();
    level.grid.for_each_block(Some(&used), [out], |n, page, reader, [result]| {
        if let Some(&ahead) = reader.pages().get(n + AHEAD) {
            reader.prefetch(ahead, p);
            reader.prefetch(ahead, out);
        }
        let block = &rows.blocks[n];
        if block.uniform != 0 {
            uniform_block(result, reader, &layout, &steps, page, p, scale);
            // Other cells of the block got what no one asked for.
            bits(!block.uniform).for_each(|cell| result[cell] = 0.0);
        } else {
            result.fill(0.0);
        }
        if block.special != 0 {
            let ring = Ring::load(reader, &layout, &steps, page, p);
            special_cells(result, block, &rows.row_of, table, &ring, scale);
        }
    });
}

/// Numbers in [`Layout::page_steps`] of the blocks across sides.
const SIDES: [usize; 6] = [12, 14, 10, 16, 4, 22];

#[inline(always)]
fn four(field: &[f32; 64], start: usize) -> [f32; 4] {
    [field[start], field[start + 1], field[start + 2], field[start + 3]]
}

/// Seven-point stencil on all cells of a block, four at a time.
#[inline(always)]
fn uniform_block(
    out: &mut [f32; 64],
    reader: &Reader<64>,
    layout: &Layout,
    steps: &[u64; 27],
    page: u64,
    p: usize,
    scale: f32,
) {
    let own = reader.channel(page, p);
    let beside = |side: usize| reader.channel(layout.add_pages(page, steps[SIDES[side]]), p);
    let [xl, xh, yl, yh, zl, zh] = [beside(0), beside(1), beside(2), beside(3), beside(4), beside(5)];
    for z in 0..4 {
        for y in 0..4 {
            let i = 4 * (y + 4 * z);
            let c = four(own, i);
            let around = [
                [xl[i + 3], c[0], c[1], c[2]],
                [c[1], c[2], c[3], xh[i]],
                if y > 0 { four(own, i - 4) } else { four(yl, i + 12) },
                if y < 3 { four(own, i + 4) } else { four(yh, i - 12) },
                if z > 0 { four(own, i - 16) } else { four(zl, i + 48) },
                if z < 3 { four(own, i + 16) } else { four(zh, i - 48) },
            ];
            for n in 0..4 {
                // Differences, not six times the centre: constants then give zero to the last bit.
                let sum: f32 = (c[n] - around[0][n])
                    + (c[n] - around[1][n])
                    + (c[n] - around[2][n])
                    + (c[n] - around[3][n])
                    + (c[n] - around[4][n])
                    + (c[n] - around[5][n]);
                out[i + n] = scale * sum;
            }
        }
    }
}

/// A block's values and the ring of cells around it, without corners: 6x6 rows of 8 of which the first 6 are used.
struct Ring([f32; 6 * 6 * 8]);

impl Ring {
    #[inline]
    fn load(reader: &Reader<64>, layout: &Layout, steps: &[u64; 27], page: u64, channel: usize) -> Ring {
        let mut ring = [0.0; 6 * 6 * 8];
        for z in 0..6usize {
            let (block_z, cell_z) = ((z + 3) / 4, (z + 3) % 4);
            for y in 0..6usize {
                let (block_y, cell_y) = ((y + 3) / 4, (y + 3) % 4);
                let start = 4 * (cell_y + 4 * cell_z);
                let row = &mut ring[8 * (y + 6 * z)..][..8];
                let of = |x: usize| {
                    reader.channel(layout.add_pages(page, steps[x + 3 * block_y + 9 * block_z]), channel)
                };
                row[1..5].copy_from_slice(&of(1)[start..start + 4]);
                // Edges along y and z have one row each; corners belong to nobody's stencil.
                if block_y == 1 || block_z == 1 {
                    row[0] = of(0)[start + 3];
                    row[5] = of(2)[start];
                }
            }
        }
        Ring(ring)
    }
}

/// Cells with rows of their own: nine times four products, of which a corner and the fourth are zero.
#[inline]
fn special_cells(
    out: &mut [f32; 64],
    block: &BlockRows,
    row_of: &[u32],
    table: &[Row],
    ring: &Ring,
    scale: f32,
) {
    for (cell, i) in bits(block.special).zip(block.first as usize..) {
        let row = &table[row_of[i] as usize];
        let [x, y, z] = [cell & 3, cell >> 2 & 3, cell >> 4];
        let corner = x + 8 * (y + 6 * z);
        let own = ring.0[corner + 1 + 8 * (1 + 6)];
        let mut sum = [0.0f32; 4];
        for line in 0..9 {
            let start = corner + 8 * (line % 3 + 6 * (line / 3));
            let values: &[f32; 4] = ring.0[start..start + 4].try_into().expect("four of a row");
            for n in 0..4 {
                sum[n] += row.weight[line][n] * (own - values[n]);
            }
        }
        out[cell] = scale * ((sum[0] + sum[1]) + (sum[2] + sum[3]) + row.excess * own);
    }
}
