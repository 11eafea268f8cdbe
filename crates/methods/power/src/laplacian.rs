//! The Laplacian on the pyramid, one level at a time [power §6.3].
//!
//! Memory decides the speed. Of every block the kernel reads one channel and writes one, 256 bytes each, as a
//! copy does; the neighbours' values come from caches, because blocks follow each other in Morton order. What
//! a block's cells are is known from 24 bytes, and only special cells read more: their row's number, and
//! rows, of which a tree has so few that they stay in cache. The next blocks are asked for ahead: pages of 4
//! KB hold one block each, and no hardware looks beyond a page.

use crate::kernels::{Ring, keep, seven_point};
use crate::rows::{LevelRows, Row, Rows};
use fluvial_grids::paged::{Around, Reader};
use fluvial_grids::pyramid::{Level, Pyramid, bits};

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
    level.for_each_used_block_with([out], |ring: &mut Ring<f32>, n, page, reader, [result]| {
        if let Some(&ahead) = reader.pages().get(n + AHEAD) {
            reader.prefetch(ahead, out);
            ask_for_ring(reader, &layout.around(ahead), p, rows.blocks[n + AHEAD].special != 0);
        }
        let block = &rows.blocks[n];
        let around = layout.around(page);
        let at = |x: usize, y: usize, z: usize| reader.channel(around.page(x, y, z), p);
        if block.uniform != 0 {
            let sides = [at(0, 1, 1), at(2, 1, 1), at(1, 0, 1), at(1, 2, 1), at(1, 1, 0), at(1, 1, 2)];
            seven_point(result, at(1, 1, 1), sides, scale);
            if block.uniform != !0 {
                keep(block.uniform, result);
            }
        } else {
            result.fill(0.0);
        }
        if block.special != 0 {
            ring.load(at);
            let numbers = &rows.row_of[block.first as usize..];
            ring.for_each(block.special, numbers, |cell, number, ring| {
                result[cell] = scale * ring.apply(&table[number as usize], cell);
            });
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
