//! The operator of the next coarser level, from sums over fine faces.
//!
//! A coarse cell is an unknown when one of its children is. The coefficient of a coarse face is the mean of
//! its four fine coefficients (area times four, distance times two, divided by the level's scale of two):
//! half the Galerkin product for piecewise constant transfer, so that area fractions reach every level, the
//! matrix stays symmetric and positive, and what is not connected stays so. The Dirichlet part of the
//! diagonal keeps the surface where it is, as the ghost fluid on all levels of [tall §3.7.1] does, but cell
//! by cell instead of by averages of phi: no drop or bubble is lost. Measured on the cases of
//! [`crate::cases`], N = 64 to 256, to 1e-6: 6 to 8 iterations; with the sum of the fine Dirichlet parts
//! instead, 6 to 11.

use crate::PoissonProblem;
use crate::fill::Filling;
use crate::layout::{BLOCK, EMPTY, GENERAL, Layout, PLAIN, Split, window};
use crate::operator::Operator;
use crate::storage::{ActiveRow, Run, Storage, bit_runs, set_bit};
use crate::transfer::Transfer;
use fluvial_foundation::parallel;

/// Fills `coarse` and its `excess` from the finer level.
pub(crate) fn coarsen(
    coarse: &mut Operator,
    excess: &mut Split,
    halved: [bool; 3],
    fine: &Operator,
    fine_excess: &Split<impl Copy + Into<f64> + Sync>,
) {
    let layout = coarse.layout;
    let source = Source { fine, excess: fine_excess, halved, factor: factor(halved) };
    let active = &mut coarse.storage.active;
    active.clear(&layout);
    active.fill_rows(|row, words| {
        if let Some((j, k)) = layout.coordinates(row) {
            source.mark_active(words, (j, k));
        }
    });
    coarse.fill(excess, &mut Vec::new(), || (), |filling, row, ()| fill_row(filling, row, &source));
}

/// Half over the level's scale: 1/4 when all three axes are halved.
fn factor(halved: [bool; 3]) -> f32 {
    2.0 / (1 << halved.iter().filter(|&&h| h).count()) as f32
}

struct Source<'a, E> {
    fine: &'a Operator,
    excess: &'a Split<E>,
    halved: [bool; 3],
    factor: f32,
}

/// Sums for a block of coarse cells in grid order, one more cell at the end.
#[derive(Default)]
struct Sums {
    unknown: [f32; WIDTH],
    excess: [f32; WIDTH],
    /// Low x, low y, high y, low z, high z.
    coef: [[f32; WIDTH]; 5],
}
const WIDTH: usize = 2 * BLOCK + 1;

fn fill_row(filling: &mut Filling<f32>, row: ActiveRow, source: &Source<impl Copy + Into<f64>>) {
    let (l, storage) = (filling.layout, filling.storage);
    let [nx, ny, nz] = l.cells;
    let (row, j, k) = (row.row as usize, row.j as usize, row.k as usize);
    for (first_block, end) in bit_runs(storage.active.row(row)) {
        let mut at = storage.at(row, first_block * BLOCK);
        for block in first_block..end {
            let first = 2 * BLOCK * block;
            let sums = source.sums(first, (j, k));
            let mut class = EMPTY;
            for colour in 0..2 {
                let t = (j + k + colour) & 1;
                let out = filling.numbers(colour, at, BLOCK);
                for m in (0..BLOCK).filter(|m| first + 2 * m + t < nx) {
                    let n = 2 * m + t;
                    let [xl, yl, yh, zl, zh] = sums.coef.each_ref().map(|c| c[n]);
                    let xh = sums.coef[0][n + 1];
                    let diag = ((xl + xh) + (yl + yh)) + (zl + zh) + sums.excess[n];
                    if sums.unknown[n] == 0.0 || diag == 0.0 {
                        continue;
                    }
                    (out.diag[m], out.excess[m]) = (diag, sums.excess[n]);
                    (out.coef[0][m], out.coef[1][m], out.coef[2][m]) = (xl, yl, zl);
                    let i = first + n;
                    let rim = [i == 0, i + 1 == nx, j == 0, j + 1 == ny, k == 0, k + 1 == nz];
                    let plain = [xl, xh, yl, yh, zl, zh].iter().zip(rim).all(|(&c, rim)| c == 1.0 || rim);
                    class = if plain && class != GENERAL { PLAIN } else { GENERAL };
                }
            }
            filling.set_class(row, block, class);
            at += BLOCK;
        }
    }
}

impl<E: Copy + Into<f64>> Source<'_, E> {
    fn children(&self, axis: usize, c: usize) -> std::ops::Range<usize> {
        if self.halved[axis] { 2 * c..(2 * c + 2).min(self.fine.layout.cells[axis]) } else { c..c + 1 }
    }

    /// Marks the blocks of a coarse row that hold children of active blocks.
    fn mark_active(&self, words: &mut [u64], (j, k): (usize, usize)) {
        let l = &self.fine.layout;
        for k in self.children(2, k) {
            for j in self.children(1, j) {
                for (first, end) in bit_runs(self.fine.storage.active.row(l.row(j, k))) {
                    (first / 2..end.div_ceil(2)).for_each(|block| set_bit(words, block));
                }
            }
        }
    }

    /// What the fine row (j, k) holds of the children of `WIDTH` coarse cells from `first`: number of the
    /// first of these cells, how many, and where they lie. What is beyond a gap belongs to the next
    /// block.
    fn stored(&self, first: usize, (j, k): (usize, usize)) -> Option<Stored> {
        let mut runs = self.fine.storage.runs(self.fine.layout.row(j, k));
        let Run { m0, len, start } = runs.find(|run| first < run.m0 + run.len)?;
        let (from, to) = (m0.max(first), (m0 + len).min(first + WIDTH));
        (from < to).then(|| Stored { from: from - first, len: to - from, at: start + from - m0 })
    }

    fn sums(&self, first: usize, (j, k): (usize, usize)) -> Sums {
        let fine = self.fine;
        let mut sums = Sums::default();
        // Fine rows of the cell itself, then those just above it in y and z, whose low faces are its high
        // ones.
        let (js, ks) = (self.children(1, j), self.children(2, k));
        let add = |out: &mut [f32; WIDTH], s: &Stored, v: &Split| {
            let (a, b) = (window(&v[0], s.at, s.len), window(&v[1], s.at, s.len));
            let out = &mut out[s.from..s.from + s.len];
            (0..s.len).for_each(|n| out[n] += self.factor * (a[n] + b[n]));
        };
        for k in ks.clone() {
            for j in js.clone() {
                let Some(s) = self.stored(first, (j, k)) else { continue };
                self.add_excess(&mut sums.excess, (j, k), first, &s);
                add(&mut sums.unknown, &s, &fine.diag);
                let cx = window(&fine.coef[0][(j + k) & 1], s.at, s.len);
                (0..s.len).for_each(|n| sums.coef[0][s.from + n] += self.factor * cx[n]);
                if j == js.start && self.halved[1] {
                    add(&mut sums.coef[1], &s, &fine.coef[1]);
                }
                if k == ks.start && self.halved[2] {
                    add(&mut sums.coef[3], &s, &fine.coef[2]);
                }
            }
        }
        for (axis, index, out) in [(1, js.end, 2), (2, ks.end, 4)] {
            if !self.halved[axis] || index >= fine.layout.cells[axis] {
                continue;
            }
            for other in if axis == 1 { ks.clone() } else { js.clone() } {
                let at = if axis == 1 { (index, other) } else { (other, index) };
                if let Some(s) = self.stored(first, at) {
                    add(&mut sums.coef[out], &s, &fine.coef[axis]);
                }
            }
        }
        sums
    }

    /// Adds the Dirichlet part of the fine row (j, k). Seen from the centre of the coarse cell a surface at
    /// `theta` fine cells lies at `theta / 2 + 1/4` coarse cells beyond an outer child, at `theta / 2 -
    /// 1/4` beyond a child whose sibling is no unknown.
    fn add_excess(&self, out: &mut [f32; WIDTH], (j, k): (usize, usize), first: usize, s: &Stored) {
        let l = &self.fine.layout;
        // The last of `WIDTH` cells belongs to the next block.
        let len = s.len.min(WIDTH - 1 - s.from.min(WIDTH - 1));
        let excess = self.excess.each_ref().map(|e| window(e, s.at, len));
        let some = |e: &[E]| e.iter().fold(false, |some, &e| some | (e.into() != 0.0));
        if !excess.iter().any(|e| some(e)) {
            return;
        }
        // A cell with excess is an unknown, and the rows beside it have memory there, in one piece for both
        // blocks.
        let unknown = (0..len).find(|&n| excess.iter().any(|e| e[n].into() != 0.0)).expect("some excess");
        let sibling = |axis: usize, j: usize, k: usize| {
            let inside = j < l.cells[1] && k < l.cells[2] && self.halved[axis];
            inside.then(|| self.fine.storage.at(l.row(j, k), first + s.from + unknown))
        };
        let siblings = [sibling(1, j ^ 1, k), sibling(2, j, k ^ 1)];
        for colour in 0..2 {
            let other = &self.fine.diag[1 - colour];
            for n in (unknown..len).filter(|&n| excess[colour][n].into() != 0.0) {
                let i = 2 * (first + s.from + n) + ((j + k + colour) & 1);
                let missing = (self.halved[0] && (i ^ 1) < l.cells[0] && other[s.at + n] == 0.0)
                    || siblings.iter().flatten().any(|at| other[at + n - unknown] == 0.0);
                let theta = 0.5 / excess[colour][n].into() as f32 + if missing { -0.25 } else { 0.25 };
                out[s.from + n] += self.factor / theta.max(THETA_COARSE);
            }
        }
    }
}

/// Part of a fine row.
struct Stored {
    from: usize,
    len: usize,
    at: usize,
}

/// Smallest theta on coarse levels. Iterations hardly depend on it below 0.05.
const THETA_COARSE: f32 = 0.02;

/// Weights of the first transfer, from the areas of the finest grid.
pub(crate) fn face_weights(transfer: &mut Transfer, problem: &PoissonProblem, coarse: &Storage) {
    for axis in 0..3 {
        let mut size = problem.cells;
        size[axis] += 1;
        let area = problem.open_area[axis];
        fill_weights(transfer, axis, size, 0.25, coarse, |row| window(area, row * size[0], size[0]));
    }
    find_uniform_rows(transfer, coarse);
}

/// Weights from those of the next finer transfer.
pub(crate) fn face_weights_from(transfer: &mut Transfer, finer: &Transfer, coarse: &Storage) {
    let l = finer.coarse;
    for axis in 0..3 {
        let mut size = l.cells;
        size[axis] += 1;
        fill_weights(transfer, axis, size, 1.0, coarse, |row| {
            window(finer.weights_before(axis, l.row(row % size[1], row / size[1]), 1), 0, size[0])
        });
    }
    find_uniform_rows(transfer, coarse);
}

/// Does the row, or the row before it along an axis, have memory? Elsewhere all values are zero and need no
/// weight.
fn is_needed(l: &Layout, coarse: &Storage, row: usize, axis: usize) -> bool {
    let before = [0, 1, l.slab_rows][axis];
    coarse.has_memory(row) || coarse.has_memory(row - before)
}

/// Sets the weight of each coarse face to `factor` times the mean over its fine faces. `fine_row` gives the
/// values of a row of the lattice of fine faces, whose size is `size`.
fn fill_weights<'a>(
    transfer: &mut Transfer,
    axis: usize,
    size: [usize; 3],
    factor: f32,
    coarse: &Storage,
    fine_row: impl Fn(usize) -> &'a [f32] + Sync + Send,
) {
    const TASK_ROWS: usize = 32;
    let (l, stride, halved) = (transfer.coarse, transfer.stride(), transfer.halved);
    let tangential = (0..3).filter(|&a| a != axis && halved[a]).count();
    let share = factor / (1 << tangential) as f32;
    let limit = |a: usize| l.cells[a] + (a == axis) as usize;
    // Fine faces of a coarse one: along its own axis the one in its plane, else both halves.
    let span = |a: usize, c: usize| match (halved[a], a == axis) {
        (false, _) => c..c + 1,
        (true, true) => (2 * c).min(size[a] - 1)..(2 * c).min(size[a] - 1) + 1,
        (true, false) => 2 * c..(2 * c + 2).min(size[a]),
    };
    parallel::for_each_chunk_mut(&mut transfer.weight[axis], TASK_ROWS * stride, |task, out| {
        for (n, out) in out.chunks_exact_mut(stride).enumerate() {
            let row = (task * TASK_ROWS + n).wrapping_sub(1); // the very first row is rim: its slab is huge
            let (slab, j) = (row / l.slab_rows, row % l.slab_rows);
            if slab == 0 || j >= limit(1) || slab > limit(2) {
                continue;
            }
            let out = &mut out[1..limit(0) + 1];
            out.fill(0.0);
            if !is_needed(&l, coarse, row + 1, axis) {
                continue;
            }
            for k in span(2, slab - 1) {
                for j in span(1, j) {
                    let fine = fine_row(j + size[1] * k);
                    match (halved[0], axis == 0) {
                        (false, _) => out.iter_mut().zip(fine).for_each(|(out, v)| *out += share * v),
                        (true, true) => {
                            let fine = fine.iter().step_by(2).chain(fine.last());
                            out.iter_mut().zip(fine).for_each(|(out, v)| *out += share * v);
                        }
                        (true, false) => {
                            let pairs = fine.chunks(2).map(|pair| pair.iter().sum::<f32>());
                            out.iter_mut().zip(pairs).for_each(|(out, v)| *out += share * v);
                        }
                    }
                }
            }
        }
    });
}

/// Finds the rows whose weights along y and z are all 1/4.
fn find_uniform_rows(transfer: &mut Transfer, coarse: &Storage) {
    let (l, halved) = (transfer.coarse, transfer.halved[1] && transfer.halved[2]);
    let mut uniform = std::mem::take(&mut transfer.uniform);
    let quarter = |axis: usize, row: usize| {
        let weights = window(transfer.weights_before(axis, row, 1), 0, l.cells[0]);
        weights.iter().fold(true, |all, &w| all & (w == 0.25))
    };
    const TASK_ROWS: usize = 64;
    parallel::for_each_chunk_mut(&mut uniform, TASK_ROWS, |task, uniform| {
        for (n, uniform) in uniform.iter_mut().enumerate() {
            let row = task * TASK_ROWS + n;
            let faces = [(1, row), (1, row + 1), (2, row), (2, row + l.slab_rows)];
            *uniform = halved
                && coarse.has_memory(row)
                && l.coordinates(row).is_some()
                && faces.iter().all(|&(axis, row)| quarter(axis, row));
        }
    });
    transfer.uniform = uniform;
}
