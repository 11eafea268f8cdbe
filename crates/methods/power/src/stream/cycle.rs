//! The multigrid cycle on streams [power §4.3].
//!
//! A level smooths its own cells alone: leaves of its size and parents, in which the cells of finer levels are gathered. What
//! its ghosts are left with goes to the leaves around them, and the residual of its cells to their parents; so every
//! leaf is smoothed once, on the level of its size. Leaves have the rows of the operator that is to be inverted, of the second
//! or of the first order, parents those of the first (`stream/faces.rs`).
//!
//! Transfer is linear: a cell takes its parent's value and a quarter of the differences to the parent's three neighbours
//! on its side, where faces are open; the restriction is the exact transpose. The smoother is a polynomial in `D^-1 A`,
//! the same before and after, so that the cycle is symmetric; it is positive because the polynomial stays below 1 for all
//! eigenvalues in (0, 2], and rows are diagonally dominant. The coarsest level, of a few hundred cells, is solved by algebraic
//! multigrid, which is a dense factorisation there.

use super::cells::{Streams, TASK};
use super::faces::{LevelFaces, across, children, inverse_diagonal, level_faces};
use super::operator::AHEAD;
use crate::kernels::{Block, Ring, first_of, keep, seven_point};
use crate::rows::{Row, Rows, place};
use fluvial_foundation::parallel;
use fluvial_grids::pyramid::{Pyramid, bits, parent_cell};
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{Preconditioner, dot};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use std::collections::HashMap;

/// Damping of the two sweeps of the smoother: the inverse zeros of Chebyshev's polynomial on [0.8, 2], which leaves a tenth of
/// these eigenvalues of `D^-1 A`. Waves of two cells begin at 1/3; but what linear transfer mixes up is short. Iterations on
/// the ball of liquid in `stream.rs`, 48 roots: 17 with [1/3, 2], 12 with [0.5, 2], 9 with [0.7, 2] to [0.9, 2], 12 with [1.2, 2].
/// Four sweeps take 6 iterations, and 54 applications of the operator instead of 45.
const DAMPING: [f32; 2] = [1.0249, 0.5482];

/// `z = M r`.
pub struct Cycle<'a> {
    streams: &'a Streams,
    rows: &'a [Row],
    faces: Vec<LevelFaces>,
    /// By block, where its inverse diagonal is, or none.
    inverse_of: Vec<u32>,
    inverse: Vec<Block<f32>>,
    right: Vec<Block<f32>>,
    work: Vec<Block<f32>>,
    /// What the cells of a level hand to their six neighbours in a restriction.
    sides: Vec<[Block<f32>; 6]>,
    /// Cells of the coarsest level, its matrix and what solves it.
    coarsest: Vec<(u32, u8)>,
    matrix: FluxMatrix<f32>,
    solver: Amg,
    small: [Vec<f32>; 2],
}

/// No place.
const PLAIN: u32 = u32::MAX;

impl<'a> Cycle<'a> {
    /// For the operator with these rows; `first` are the rows of the first-order one, or the same.
    pub fn new(streams: &'a Streams, pyramid: &Pyramid, rows: &'a Rows, first: &Rows) -> Self {
        let faces = level_faces(streams, pyramid, first);
        let (mut inverse_of, mut inverse) = (vec![], vec![]);
        for (level, faces) in streams.levels.iter().zip(&faces) {
            let found =
                parallel::map_indices(level.cells.len(), |n| inverse_diagonal(level, faces, n, &rows.rows));
            for block in found {
                inverse_of.push(if block.is_some() { inverse.len() as u32 } else { PLAIN });
                inverse.extend(block);
            }
        }
        let widest = streams.levels[1..].iter().map(|level| level.cells.len()).max().unwrap_or(0);
        let mut cycle = Cycle {
            streams,
            rows: &rows.rows,
            faces,
            inverse_of,
            inverse,
            right: streams.field(),
            work: streams.field(),
            sides: vec![[[0.0; 64]; 6]; widest + 1],
            coarsest: vec![],
            matrix: FluxMatrix::default(),
            solver: Amg::new(&FluxMatrix::default(), AmgParams::default()),
            small: Default::default(),
        };
        cycle.assemble_coarsest();
        cycle
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let faces = |f: &LevelFaces| f.plain.len() * (8 + 8 + 4 + 48) + 28 * f.rows.len();
        let blocks = self.inverse.len() + self.right.len() + self.work.len() + 6 * self.sides.len();
        256 * blocks + 4 * self.inverse_of.len() + self.faces.iter().map(faces).sum::<usize>()
    }

    /// The matrix of the coarsest level.
    fn assemble_coarsest(&mut self) {
        let l = self.streams.levels.len() - 1;
        let (level, faces) = (&self.streams.levels[l], &self.faces[l]);
        for (n, cells) in level.cells.iter().enumerate() {
            let own = cells.unknown() | faces.plain[n] | faces.extra[n];
            self.coarsest.extend(bits(own).map(|cell| ((level.first + n) as u32, cell as u8)));
        }
        let numbers: HashMap<(u32, u8), u32> = self.coarsest.iter().copied().zip(0..).collect();
        let (mut start, mut column, mut value, mut excess) = (vec![0], vec![], vec![], vec![]);
        for &(block, cell) in &self.coarsest {
            let (n, cell) = (block as usize - level.first, cell as usize);
            let (cells, bit) = (&level.cells[n], 1u64 << cell);
            let mut row = [0.0f32; 18];
            let mut sum = 0.0;
            if (cells.uniform | faces.plain[n]) & bit != 0 {
                row[..6].fill(1.0);
            }
            if cells.special & bit != 0 {
                let at = cells.first_row + (cells.special & (bit - 1)).count_ones();
                let own = &self.rows[level.row_of[at as usize] as usize];
                (0..18).for_each(|k| row[k] += own.weight[place(k).0][place(k).1]);
                sum += own.excess;
            }
            if let Some(own) = faces.row(n, cell) {
                (0..6).for_each(|k| row[k] += own.weight[k]);
                sum += own.excess;
            }
            let mut entries: Vec<(u32, f32)> = vec![];
            for k in (0..18).filter(|&k| row[k] != 0.0) {
                let (block, cell) = across(level, n, cell, k);
                if let Some(&other) = numbers.get(&(block as u32, cell as u8)) {
                    entries.push((other, -level.dx * row[k]));
                }
            }
            entries.sort_by_key(|e| e.0);
            column.extend(entries.iter().map(|e| e.0));
            value.extend(entries.iter().map(|e| e.1));
            start.push(column.len() as u32);
            excess.push(f64::from(level.dx * sum));
        }
        let count = self.coarsest.len();
        self.matrix = FluxMatrix::new(Csr::new(count, start, column, value), excess);
        self.solver = Amg::new(&self.matrix, AmgParams::default());
        self.small = [vec![0.0; count], vec![0.0; count]];
    }

    /// `z = M r`.
    fn run(&mut self, z: &mut [Block<f32>], r: &[Block<f32>]) {
        self.right.copy_from_slice(r);
        let last = self.streams.levels.len() - 1;
        for l in 0..last {
            self.start(l);
            sweep(self, l, DAMPING[1], z, Buffer::Work);
            self.residual(l, z);
            self.restrict(l);
        }
        let [x, b] = &mut self.small;
        for (b, &(block, cell)) in b.iter_mut().zip(&self.coarsest) {
            *b = self.right[block as usize][cell as usize];
        }
        self.solver.on(&self.matrix).apply(x, b);
        z[self.streams.levels[last].range()].as_flattened_mut().fill(0.0);
        for (x, &(block, cell)) in x.iter().zip(&self.coarsest) {
            z[block as usize][cell as usize] = *x;
        }
        for l in (0..last).rev() {
            self.prolong(l, z);
            sweep(self, l, DAMPING[1], z, Buffer::Field);
            sweep(self, l, DAMPING[0], z, Buffer::Work);
        }
    }

    /// The first sweep, from zero, into the work field.
    fn start(&mut self, l: usize) {
        let level = &self.streams.levels[l];
        let (right, inverse_of, inverse) = (&self.right, &self.inverse_of, &self.inverse);
        let plain = DAMPING[0] / (6.0 * level.dx);
        parallel::for_each_chunk_mut(&mut self.work[level.range()], TASK, |task, blocks| {
            for (i, out) in blocks.iter_mut().enumerate() {
                let number = level.first + task * TASK + i;
                let right = &right[number];
                match inverse_of[number] {
                    PLAIN => (0..64).for_each(|c| out[c] = plain * right[c]),
                    at => {
                        let inverse = &inverse[at as usize];
                        (0..64).for_each(|c| out[c] = DAMPING[0] * inverse[c] * right[c]);
                    }
                }
            }
        });
    }

    /// What is left of the right side, in the work field; in ghosts what their leaves are left with.
    fn residual(&mut self, l: usize, z: &[Block<f32>]) {
        let (streams, rows, faces, right) = (self.streams, self.rows, &self.faces[l], &self.right);
        let level = &streams.levels[l];
        parallel::for_each_chunk_mut(&mut self.work[level.range()], TASK, |task, blocks| {
            let mut ring = Ring::default();
            for (i, out) in blocks.iter_mut().enumerate() {
                let n = task * TASK + i;
                level.ask_for(n + AHEAD, z);
                level.apply_stage(n, (rows, faces), out, z, &mut ring);
                let right = &right[level.first + n];
                (0..64).for_each(|c| out[c] = right[c] - out[c]);
            }
        });
    }

    /// Adds a level's residual to the right side of the next coarser one.
    fn restrict(&mut self, l: usize) {
        let streams = self.streams;
        let (fine, level, faces) = (&streams.levels[l], &streams.levels[l + 1], &self.faces[l + 1]);
        let none = streams.blocks;
        let (work, right) = (&self.work, &mut self.right[level.range()]);
        let count = level.cells.len();
        let sides = &mut self.sides[..count];
        parallel::for_each_chunk_mut2((right, TASK), (sides, TASK), |task, right, sides| {
            for (i, (right, sides)) in right.iter_mut().zip(sides).enumerate() {
                let n = task * TASK + i;
                let cells = &level.cells[n];
                // Ghosts leave what they have to their leaves.
                if cells.joined != 0 {
                    level.add_ghosts(n, fine, right, work);
                }
                sides.as_flattened_mut().fill(0.0);
                for cell in bits(cells.parent) {
                    let (octant, children) = children(cell);
                    let from = &work[level.below[n][octant] as usize];
                    let v = children.map(|c| from[c]);
                    let x = [v[0] + v[2] + (v[4] + v[6]), v[1] + v[3] + (v[5] + v[7])];
                    let y = [v[0] + v[1] + (v[4] + v[5]), v[2] + v[3] + (v[6] + v[7])];
                    let z = [v[0] + v[1] + (v[2] + v[3]), v[4] + v[5] + (v[6] + v[7])];
                    let mut own = x[0] + x[1];
                    for (k, sum) in [x, y, z].into_iter().flatten().enumerate() {
                        if faces.open[n][k] >> cell & 1 == 1 {
                            sides[k][cell] = 0.25 * sum;
                            own -= 0.25 * sum;
                        }
                    }
                    right[cell] += own;
                }
            }
        });
        let (sides, right) = (&self.sides, &mut self.right[level.range()]);
        parallel::for_each_chunk_mut(right, TASK, |task, blocks| {
            for (i, right) in blocks.iter_mut().enumerate() {
                let n = task * TASK + i;
                let own = level.cells[n].unknown() | faces.plain[n] | faces.extra[n];
                for k in 0..6 {
                    // What the cell beyond side k hands over through its opposite side.
                    let other = level.faces[n][k] as usize;
                    let beyond = if other == none { None } else { Some(&sides[other - level.first][k ^ 1]) };
                    let inside = &sides[n][k ^ 1];
                    for cell in 0..64 {
                        let (outside, at) = super::faces::BESIDE[cell][k];
                        let from = if outside {
                            beyond.map_or(0.0, |b| b[at as usize])
                        } else {
                            inside[at as usize]
                        };
                        right[cell] += from;
                    }
                }
                if own != !0 {
                    keep(own, right);
                }
            }
        });
    }

    /// Adds the correction of the next coarser level, and sets ghosts.
    fn prolong(&self, l: usize, z: &mut [Block<f32>]) {
        let streams = self.streams;
        let (fine, level, faces) = (&streams.levels[l], &streams.levels[l + 1], &self.faces[l + 1]);
        let (low, high) = z.split_at_mut(fine.range().end);
        let (own, high) = (&mut low[fine.first..], &*high);
        let shift = fine.range().end;
        parallel::for_each_chunk_mut(own, TASK, |task, blocks| {
            for (i, out) in blocks.iter_mut().enumerate() {
                let n = task * TASK + i;
                let (above, octant) = fine.above[n];
                let (above, octant) = (above as usize, octant as usize);
                let from = &high[above - shift];
                let cells = &fine.cells[n];
                bits(cells.ghost).for_each(|cell| out[cell] = from[parent_cell(cell, octant)]);
                let coarse = above - level.first;
                let known = cells.unknown() | self.faces[l].plain[n] | self.faces[l].extra[n];
                if known == 0 {
                    continue;
                }
                for eighth in 0..8 {
                    let cell = first_of(octant) + (eighth & 1) + 4 * (eighth >> 1 & 1) + 16 * (eighth >> 2);
                    if level.cells[coarse].parent >> cell & 1 == 0 {
                        continue;
                    }
                    let value = from[cell];
                    let mut change = [0.0; 6];
                    for (k, change) in change.iter_mut().enumerate() {
                        if faces.open[coarse][k] >> cell & 1 == 1 {
                            let (block, at) = level.beside(coarse, cell, k);
                            *change = 0.25 * (high[block - shift][at] - value);
                        }
                    }
                    let (_, children) = children(cell);
                    for (number, &child) in children.iter().enumerate() {
                        if known >> child & 1 == 1 {
                            let [x, y, z] = [number & 1, 2 + (number >> 1 & 1), 4 + (number >> 2)];
                            out[child] += value + ((change[x] + change[y]) + change[z]);
                        }
                    }
                }
            }
        });
    }
}

/// Where a sweep reads.
#[derive(Clone, Copy, PartialEq)]
enum Buffer {
    Field,
    Work,
}

/// `out = x + damping D^-1 (b - A x)` from the field to the work field or back.
fn sweep(cycle: &mut Cycle, l: usize, damping: f32, z: &mut [Block<f32>], from: Buffer) {
    let (streams, rows, faces) = (cycle.streams, cycle.rows, &cycle.faces[l]);
    let level = &streams.levels[l];
    let (x, out) = match from {
        Buffer::Field => (&*z, &mut cycle.work[level.range()]),
        Buffer::Work => (&*cycle.work, &mut z[level.range()]),
    };
    let (right, inverse_of, inverse) = (&cycle.right, &cycle.inverse_of, &cycle.inverse);
    let plain = damping / (6.0 * level.dx);
    parallel::for_each_chunk_mut(out, TASK, |task, blocks| {
        let mut ring = Ring::default();
        for (i, out) in blocks.iter_mut().enumerate() {
            let n = task * TASK + i;
            let number = level.first + n;
            level.ask_for(n + AHEAD, x);
            level.apply_stage(n, (rows, faces), out, x, &mut ring);
            let (x, right) = (&x[number], &right[number]);
            match inverse_of[number] {
                PLAIN => (0..64).for_each(|c| out[c] = x[c] + plain * (right[c] - out[c])),
                at => {
                    let inverse = &inverse[at as usize];
                    (0..64).for_each(|c| out[c] = x[c] + damping * inverse[c] * (right[c] - out[c]));
                }
            }
        }
    });
}

impl super::cells::StreamLevel {
    /// The operator of a stage on a block: leaves, ghosts and parents.
    #[inline(always)]
    fn apply_stage(
        &self,
        n: usize,
        (rows, faces): (&[Row], &LevelFaces),
        out: &mut Block<f32>,
        x: &[Block<f32>],
        ring: &mut Ring<f32>,
    ) {
        let plain = self.cells[n].uniform | faces.plain[n];
        if plain != 0 {
            seven_point(out, &x[self.first + n], self.sides(n, x), self.dx);
            if plain != !0 {
                keep(plain, out);
            }
        } else {
            *out = [0.0; 64];
        }
        self.add_special(n, rows, out, x, ring);
        for (cell, i) in bits(faces.extra[n]).zip(faces.first[n] as usize..) {
            let row = &faces.rows[i];
            let own = x[self.first + n][cell];
            let mut sum = row.excess * own;
            for k in 0..6 {
                let (block, at) = self.beside(n, cell, k);
                sum += row.weight[k] * (own - x[block][at]);
            }
            out[cell] += self.dx * sum;
        }
    }
}

impl Preconditioner<f32> for Cycle<'_> {
    fn apply(&mut self, z: &mut [f32], r: &[f32]) -> f64 {
        self.run(z.as_chunks_mut::<64>().0, r.as_chunks::<64>().0);
        dot(z, r)
    }
}
