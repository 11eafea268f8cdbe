//! The Laplacian on the pyramid, one level at a time [power §6.3].
//!
//! Memory decides the speed. Of every block the kernel reads one channel and writes one, 256 bytes each, as a
//! copy does; the neighbours' values come from caches, because blocks follow each other in Morton order. What
//! a block's cells are is known from 24 bytes, and only special cells read more: their row's number, and
//! rows, of which a tree has so few that they stay in cache. The next blocks are asked for ahead: pages of 4
//! KB hold one block each, and no hardware looks beyond a page.

use crate::rows::{BlockRows, LevelRows, Row, Rows};
use fluvial_grids::paged::{Around, Reader};
use fluvial_grids::pyramid::{Level, Pyramid, bits};
use wide::f32x4;

/// How many blocks ahead data is asked for.
const AHEAD: usize = 8;

/// `(L p)_i = sum_j w_ij (p_i - p_j) + e_i p_i` for every unknown leaf: minus the integral of the Laplacian
/// over its power cell, in metres times the unit of p [power eq. 3]. Zero in other leaves. `p` is
/// written too, in ghosts. Verified by `operators.rs` against the explicit mesh and by `poisson.rs` for its
/// order.
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
        let scale = level.dx;
        level.for_each_used_block([out], |n, _, _, [out]| {
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
    level.for_each_used_block([out], |n, page, reader, [result]| {
        if let Some(&ahead) = reader.pages().get(n + AHEAD) {
            reader.prefetch(ahead, out);
            ask_for_ring(reader, &layout.around(ahead), p, rows.blocks[n + AHEAD].special != 0);
        }
        let block = &rows.blocks[n];
        let around = layout.around(page);
        if block.uniform != 0 {
            uniform_block(result, reader, &around, p, scale);
            if block.uniform != !0 {
                keep(result, block.uniform);
            }
        } else {
            result.fill(0.0);
        }
        if block.special != 0 {
            let ring = Ring::load(reader, &around, p);
            special_cells(result, block, &rows.row_of, table, &ring, scale);
        }
    });
}

/// Asks for a block's values and for those around it that may not have been read yet: on the high side along
/// some axis. A plane of a block along z is one line of the cache.
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

/// By four bits, the lanes that they keep.
const LANES: [[u32; 4]; 16] = {
    let mut all = [[0; 4]; 16];
    let mut n = 0;
    while n < 64 {
        if (n / 4) >> (n % 4) & 1 == 1 {
            all[n / 4][n % 4] = !0;
        }
        n += 1;
    }
    all
};

/// Zero in all cells but those of the mask.
#[inline(always)]
fn keep(out: &mut [f32; 64], mask: u64) {
    for (row, values) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let lanes = &LANES[(mask >> (4 * row) & 15) as usize];
        *values = [0, 1, 2, 3].map(|n| f32::from_bits(values[n].to_bits() & lanes[n]));
    }
}

/// A block's values and the ring of cells around it, without corners: planes along z of rows along x, of
/// which 6 of 8 places are used.
struct Ring([[[f32; 8]; 6]; 6]);

/// Three blocks beside each other along x.
type Three<'a> = [&'a [f32; 64]; 3];

impl Ring {
    #[inline(always)]
    fn load(reader: &Reader<64>, around: &Around, channel: usize) -> Ring {
        let mut ring = [[[0.0; 8]; 6]; 6];
        let at = |x: usize, y: usize, z: usize| reader.channel(around.page(x, y, z), channel);
        let three = |y: usize, z: usize| -> Three { [at(0, y, z), at(1, y, z), at(2, y, z)] };
        let (own, sides_y, sides_z) = (three(1, 1), [three(0, 1), three(2, 1)], [three(1, 0), three(1, 2)]);
        for n in 0..4 {
            for y in 0..4 {
                fill(&mut ring[n + 1][y + 1], own, 16 * n + 4 * y);
            }
            fill(&mut ring[n + 1][0], sides_y[0], 16 * n + 12);
            fill(&mut ring[n + 1][5], sides_y[1], 16 * n);
            fill(&mut ring[0][n + 1], sides_z[0], 48 + 4 * n);
            fill(&mut ring[5][n + 1], sides_z[1], 4 * n);
        }
        // Edges along x: one row each, without the corners at its ends.
        for (z, y, block, from) in [
            (0, 0, at(1, 0, 0), 60),
            (0, 5, at(1, 2, 0), 48),
            (5, 0, at(1, 0, 2), 12),
            (5, 5, at(1, 2, 2), 0),
        ] {
            ring[z][y][1..5].copy_from_slice(&block[from..from + 4]);
        }
        Ring(ring)
    }
}

/// A row of four cells and the ones before and behind it.
#[inline(always)]
fn fill(row: &mut [f32; 8], [low, middle, high]: Three, from: usize) {
    row[0] = low[from + 3];
    row[1..5].copy_from_slice(&middle[from..from + 4]);
    row[5] = high[from];
}

/// Cells with rows of their own: nine times four products, of which a corner and the fourth are zero. All
/// products are made before sums across lanes are taken.
#[inline]
fn special_cells(
    out: &mut [f32; 64],
    block: &BlockRows,
    row_of: &[u32],
    table: &[Row],
    ring: &Ring,
    scale: f32,
) {
    let values = ring.0.as_flattened().as_flattened();
    let mut left = block.special;
    // A plain loop over ones: iterators over them do not come out as lean.
    for &number in &row_of[block.first as usize..][..block.special.count_ones() as usize] {
        let cell = left.trailing_zeros() as usize & 63;
        left &= left.wrapping_sub(1);
        let row = &table[number as usize];
        let corner = (cell & 3) + 8 * (cell >> 2 & 3) + 48 * (cell >> 4);
        let values: &[f32; 116] = values[corner..corner + 116].try_into().expect("the ring reaches that far");
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
