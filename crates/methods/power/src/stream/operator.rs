//! The operator on the leaves of all levels.

use super::Streams;
use super::cells::{PLACES, StreamLevel, TASK};
use crate::kernels::{Block, Lanes, Ring, keep, seven_point};
use crate::rows::Row;
use fluvial_foundation::parallel;
use fluvial_foundation::prefetch::prefetch;
use fluvial_grids::pyramid::{bits, parent_cell};
use fluvial_linear::krylov::{Real, Size, SymmetricOperator, dot, size};

/// `(L p)_i = sum_j w_ij (p_i - p_j) + e_i p_i` on streams: [`crate::laplacian::apply`] without pages. Verified by
/// `stream.rs` against the assembled matrix.
#[derive(Clone, Copy)]
pub struct Composite<'a> {
    /// Where the unknowns are.
    pub streams: &'a Streams,
    /// The different rows.
    pub rows: &'a [Row],
}

/// How many blocks ahead data is asked for.
pub(super) const AHEAD: usize = 6;

impl StreamLevel {
    /// The blocks around a block as [`Ring::load`] asks for them.
    #[inline(always)]
    pub(super) fn around<'f, T: Real>(
        &'f self,
        n: usize,
        field: &'f [Block<T>],
    ) -> impl Fn(usize, usize, usize) -> &'f Block<T> {
        move |x: usize, y: usize, z: usize| &field[self.block_at(n, [x, y, z])]
    }

    /// Number of the block below (0), at (1) or above (2) a block along each axis.
    #[inline(always)]
    pub(super) fn block_at(&self, n: usize, [x, y, z]: [usize; 3]) -> usize {
        match PLACES[x + 3 * y + 9 * z] {
            usize::MAX => self.first + n,
            k if k < 6 => self.faces[n][k] as usize,
            k => self.edges[n][k - 6] as usize,
        }
    }

    /// The blocks beyond a block's faces.
    #[inline(always)]
    pub(super) fn sides<'f, T: Real>(&self, n: usize, field: &'f [Block<T>]) -> [&'f Block<T>; 6] {
        let faces = &self.faces[n];
        std::array::from_fn(|k| &field[faces[k] as usize])
    }

    /// Asks for what a block will need of those beyond its high sides, which have not been read yet. A plane along z is one line
    /// of the cache.
    #[inline(always)]
    pub(super) fn ask_for<T: Real>(&self, n: usize, field: &[Block<T>]) {
        let Some(faces) = self.faces.get(n) else { return };
        let flat = field.as_flattened();
        let line = 64 / size_of::<T>();
        let ask = |block: u32, from: usize, len: usize| {
            (0..len).step_by(line).for_each(|at| prefetch(flat, 64 * block as usize + from + at));
        };
        ask(faces[1], 0, 64);
        ask(faces[3], 0, 64);
        ask(faces[5], 0, 16);
        if self.cells[n].special != 0 {
            let edges = &self.edges[n];
            (9..12).for_each(|k| ask(edges[k], 0, 64));
            [1, 6].into_iter().for_each(|k| ask(edges[k], 48, 16));
            [2, 3, 5, 7].into_iter().for_each(|k| ask(edges[k], 0, 16));
        }
    }

    /// The operator on the cells of a block that have rows.
    #[inline(always)]
    fn apply_block<T: Lanes>(
        &self,
        n: usize,
        rows: &[Row],
        out: &mut Block<T>,
        field: &[Block<T>],
        ring: &mut Ring<T>,
    ) {
        let (cells, scale) = (&self.cells[n], T::from_f32(self.dx));
        if cells.uniform != 0 {
            seven_point(out, &field[self.first + n], self.sides(n, field), scale);
            if cells.uniform != !0 {
                keep(cells.uniform, out);
            }
        } else {
            *out = [T::default(); 64];
        }
        self.add_special(n, rows, out, field, ring);
    }

    /// Adds the operator on the special cells of a block.
    #[inline(always)]
    pub(super) fn add_special<T: Lanes>(
        &self,
        n: usize,
        rows: &[Row],
        out: &mut Block<T>,
        field: &[Block<T>],
        ring: &mut Ring<T>,
    ) {
        let (cells, scale) = (&self.cells[n], T::from_f32(self.dx));
        if cells.special == 0 {
            return;
        }
        ring.load(self.around(n, field));
        let numbers = &self.row_of[cells.first_row as usize..];
        ring.for_each(cells.special, numbers, |cell, number, ring| {
            out[cell] = out[cell] + scale * ring.apply(&rows[number as usize], cell);
        });
    }
}

impl Composite<'_> {
    /// `out = L p`. Ghosts of `p` are written too; in cells that are no unknown leaves `out` is zero.
    pub fn apply<T: Lanes>(&self, out: &mut [Block<T>], p: &mut [Block<T>]) {
        self.streams.propagate(p);
        let p = &*p;
        for (l, level) in self.streams.levels.iter().enumerate() {
            let (finer, own) = out.split_at_mut(level.first);
            let fine = l.checked_sub(1).map(|l| &self.streams.levels[l]);
            let below = &*finer;
            parallel::for_each_chunk_mut(&mut own[..level.cells.len()], TASK, |task, blocks| {
                let mut ring = Ring::default();
                for (i, block) in blocks.iter_mut().enumerate() {
                    let n = task * TASK + i;
                    level.ask_for(n + AHEAD, p);
                    level.apply_block(n, self.rows, block, p, &mut ring);
                    if let Some(fine) = fine.filter(|_| level.cells[n].joined != 0) {
                        level.add_ghosts(n, fine, block, below);
                    }
                }
            });
            // What ghosts had is their leaves' now.
            if let Some(fine) = fine {
                parallel::for_each_chunk_mut(&mut finer[fine.first..], TASK, |task, blocks| {
                    for (cells, block) in fine.cells[task * TASK..].iter().zip(blocks) {
                        bits(cells.ghost).for_each(|cell| block[cell] = T::default());
                    }
                });
            }
        }
    }
}

impl StreamLevel {
    /// Adds to a block's leaves what the ghosts of the next finer level inside them have.
    #[inline(always)]
    pub(super) fn add_ghosts<T: Real>(
        &self,
        n: usize,
        fine: &StreamLevel,
        out: &mut Block<T>,
        below: &[Block<T>],
    ) {
        for (octant, &number) in self.below[n].iter().enumerate() {
            // Elsewhere no block is: the number is that of the block of zeros.
            let Some(cells) = (number as usize).checked_sub(fine.first).and_then(|n| fine.cells.get(n))
            else {
                continue;
            };
            let from = &below[number as usize];
            for cell in bits(cells.ghost) {
                let leaf = parent_cell(cell, octant);
                out[leaf] = out[leaf] + from[cell];
            }
        }
    }
}

impl SymmetricOperator<f32> for Composite<'_> {
    fn len(&self) -> usize {
        64 * (self.streams.blocks + 1)
    }

    fn energy(&self, q: &mut [f32], p: &mut [f32]) -> f64 {
        let (q, p) = (q.as_chunks_mut::<64>().0, p.as_chunks_mut::<64>().0);
        self.apply(q, p);
        dot(q.as_flattened(), p.as_flattened())
    }

    fn residual(&self, r: &mut [f32], b: &[f64], x: &mut [f64]) -> Size {
        let mut applied = self.streams.field::<f64>();
        self.apply(&mut applied, x.as_chunks_mut::<64>().0);
        let applied = applied.as_flattened();
        parallel::for_each_chunk_mut(r, parallel::CHUNK, |n, r| {
            let range = n * parallel::CHUNK..n * parallel::CHUNK + r.len();
            r.iter_mut()
                .zip(&applied[range.clone()])
                .zip(&b[range])
                .for_each(|((r, a), b)| *r = (b - a) as f32);
        });
        self.streams.parts.remove_means(r);
        size(r)
    }

    fn is_singular(&self) -> bool {
        self.streams.parts.sealed() > 0
    }

    fn project<V: Real>(&self, v: &mut [V]) {
        self.streams.parts.remove_means(v);
    }
}
