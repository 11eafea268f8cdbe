//! Memory for the part of a level where there is liquid: its size and the cost of every pass follow the
//! unknowns, not the box.
//!
//! Blocks with unknowns are gone through by kernels, and short gaps between them too, because a call costs as
//! much as some blocks: the *active* blocks. Memory is given to them and to the same blocks of the eight rows
//! around, so that whatever a stencil reaches has an address and holds zero where there is no unknown; an
//! active run of blocks lies in one piece in each of those rows. Rows come in the order of their numbers,
//! runs of a row one after the other with [`PAD`] places of zeros around them: one for the stencil of each
//! neighbour.

use crate::layout::{BLOCK, Layout, Split};
use fluvial_foundation::parallel;

/// Gaps of up to so many blocks are gone through.
const GAP: usize = 4;
/// Places of zeros between runs.
pub(crate) const PAD: usize = 2;
/// Places a parallel task should hold.
const TASK_PLACES: usize = 4096;
/// Below this many places a level is faster on one thread.
const SERIAL_PLACES: usize = 10_000;

/// Blocks as bits, so many words a row.
#[derive(Default)]
pub(crate) struct Mask {
    words: usize,
    bits: Vec<u64>,
}

impl Mask {
    /// Empty, for all rows of a level.
    pub fn clear(&mut self, l: &Layout) {
        self.words = l.blocks.div_ceil(64);
        self.bits.clear();
        self.bits.resize(l.rows * self.words, 0);
    }

    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    #[cfg(test)]
    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..(row + 1) * self.words]
    }

    /// `body(row, its words)` for every row, in parallel.
    pub fn fill_rows(&mut self, body: impl Fn(usize, &mut [u64]) + Sync + Send) {
        let words = self.words;
        const ROWS: usize = 64;
        parallel::for_each_chunk_mut(&mut self.bits, ROWS * words, |chunk, bits| {
            for (n, bits) in bits.chunks_exact_mut(words).enumerate() {
                body(chunk * ROWS + n, bits);
            }
        });
    }

    /// Sets what is set in `from` in the same row, or in the rows `step` before and after it.
    fn spread(&mut self, from: &Mask, step: usize, l: &Layout) {
        self.clear(l);
        self.fill_rows(|row, out| {
            for near in [row.checked_sub(step), Some(row), Some(row + step)].into_iter().flatten() {
                if near < l.rows {
                    out.iter_mut().zip(from.row(near)).for_each(|(out, near)| *out |= near);
                }
            }
        });
    }

    fn bytes(&self) -> usize {
        8 * self.bits.capacity()
    }
}

/// First bit from `from` on that is `value`; the number of bits if there is none.
fn next_bit(words: &[u64], from: usize, value: bool) -> usize {
    let mut word = from / 64;
    let mut skip = from % 64;
    while word < words.len() {
        let bits = if value { words[word] } else { !words[word] } >> skip << skip;
        if bits != 0 {
            return 64 * word + bits.trailing_zeros() as usize;
        }
        (word, skip) = (word + 1, 0);
    }
    64 * words.len()
}

/// Runs of set bits: first and end.
pub(crate) fn bit_runs(words: &[u64]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = next_bit(words, at, true);
        at = next_bit(words, start, false);
        (start < 64 * words.len()).then_some((start, at))
    })
}

pub(crate) fn set_bit(words: &mut [u64], bit: usize) {
    words[bit / 64] |= 1 << (bit % 64);
}

/// Sets the bits of short gaps between set ones.
fn close_gaps(words: &mut [u64]) {
    let mut end = next_bit(words, next_bit(words, 0, true), false);
    loop {
        let start = next_bit(words, end, true);
        if start >= 64 * words.len() {
            return;
        }
        if start - end <= GAP {
            (end..start).for_each(|bit| set_bit(words, bit));
        }
        end = next_bit(words, start, false);
    }
}

/// Places `m0..m0 + len` of a row, the first at address `start`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    pub m0: usize,
    pub len: usize,
    pub start: usize,
}

#[derive(Clone, Copy)]
struct StoredRun {
    m0: u32,
    len: u32,
    start: u32,
}

/// A row with something active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveRow {
    pub row: u32,
    pub j: u32,
    pub k: u32,
    /// First address of the row.
    pub start: u32,
}

/// Rows of a parallel task: all from `rows.start`, of them `active` are active, and their addresses end at
/// `end`.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub rows: std::ops::Range<usize>,
    pub active: std::ops::Range<usize>,
    pub start: usize,
    pub end: usize,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Storage {
    /// The active blocks.
    pub active: Mask,
    /// The blocks with memory, and room to find them.
    stored: [Mask; 2],
    runs: Vec<StoredRun>,
    /// First run of each row, and one more.
    first_run: Vec<u32>,
    /// First address of each row, and one more.
    row_start: Vec<u32>,
    pub rows: Vec<ActiveRow>,
    /// First active row of each slab, and one more.
    pub slab_start: Vec<u32>,
    pub tasks: Vec<Task>,
}

impl Storage {
    /// Gives memory to the blocks set in `self.active` and what is around them.
    pub fn build(&mut self, l: &Layout) {
        self.active.fill_rows(|_, words| {
            if words.iter().any(|&w| w != 0) {
                close_gaps(words);
            }
        });
        let [beside, stored] = &mut self.stored;
        beside.spread(&self.active, 1, l);
        stored.spread(beside, l.slab_rows, l);
        self.place_runs(l);
        self.list_rows(l);
    }

    fn place_runs(&mut self, l: &Layout) {
        self.runs.clear();
        self.first_run.clear();
        self.row_start.clear();
        let mut end = 0;
        for row in 0..l.rows {
            self.first_run.push(self.runs.len() as u32);
            self.row_start.push(end as u32);
            for (first, last) in bit_runs(self.stored[1].row(row)) {
                let (m0, len) = (first * BLOCK, (last - first) * BLOCK);
                self.runs.push(StoredRun { m0: m0 as u32, len: len as u32, start: (end + PAD / 2) as u32 });
                end += len + PAD;
            }
        }
        self.first_run.push(self.runs.len() as u32);
        self.row_start.push(end as u32);
        assert!(end <= u32::MAX as usize, "more places than addresses");
    }

    fn list_rows(&mut self, l: &Layout) {
        self.rows.clear();
        self.slab_start.clear();
        for k in 0..l.cells[2] {
            self.slab_start.push(self.rows.len() as u32);
            for j in 0..l.cells[1] {
                let row = l.row(j, k);
                if self.active.row(row).iter().any(|&w| w != 0) {
                    let start = self.row_start[row];
                    self.rows.push(ActiveRow { row: row as u32, j: j as u32, k: k as u32, start });
                }
            }
        }
        self.slab_start.push(self.rows.len() as u32);
        let places = if self.len() < SERIAL_PLACES { usize::MAX } else { TASK_PLACES };
        self.tasks.clear();
        let (mut row, mut active) = (0, 0);
        while row < l.rows {
            let (first, first_active, start) = (row, active, self.row_start[row] as usize);
            while row < l.rows && (row == first || self.row_start[row + 1] as usize - start <= places) {
                row += 1;
            }
            while active < self.rows.len() && (self.rows[active].row as usize) < row {
                active += 1;
            }
            let end = self.row_start[row] as usize;
            self.tasks.push(Task { rows: first..row, active: first_active..active, start, end });
        }
    }

    /// Values of one colour.
    pub fn len(&self) -> usize {
        self.row_start.last().map_or(0, |&end| end as usize)
    }

    /// Is the level too small to be worth several threads?
    pub fn is_serial(&self) -> bool {
        self.tasks.len() <= 1
    }

    /// First address of a row; of what follows the last for the number of rows.
    #[inline(always)]
    pub fn row_start(&self, row: usize) -> usize {
        self.row_start[row] as usize
    }

    /// Does any part of a row have memory?
    pub fn has_memory(&self, row: usize) -> bool {
        self.row_start[row] != self.row_start[row + 1]
    }

    /// The parts of a row that have memory.
    #[inline(always)]
    pub fn runs(&self, row: usize) -> impl Iterator<Item = Run> + '_ {
        let runs = &self.runs[self.first_run[row] as usize..self.first_run[row + 1] as usize];
        runs.iter().map(|r| Run { m0: r.m0 as usize, len: r.len as usize, start: r.start as usize })
    }

    /// Address of a place that has memory.
    #[inline(always)]
    pub fn at(&self, row: usize, m: usize) -> usize {
        self.find(row, m).expect("a place with memory")
    }

    /// Address of a place, None where there is no memory.
    pub fn find(&self, row: usize, m: usize) -> Option<usize> {
        let run = self.runs(row).find(|run| m < run.m0 + run.len)?;
        (m >= run.m0).then(|| run.start + m - run.m0)
    }

    /// Values of one colour, all zero, in memory that is kept if it suffices.
    pub fn zeros<T: Copy + Default + Send + Sync>(&self, values: &mut Split<T>) {
        values.iter_mut().for_each(|v| set_zeros(v, self.len()));
    }

    pub fn bytes(&self) -> usize {
        let masks = self.active.bytes() + self.stored.iter().map(Mask::bytes).sum::<usize>();
        let lists = self.first_run.capacity() + self.row_start.capacity() + self.slab_start.capacity();
        masks
            + 4 * lists
            + size_of::<StoredRun>() * self.runs.capacity()
            + size_of::<ActiveRow>() * self.rows.capacity()
            + size_of::<Task>() * self.tasks.capacity()
    }
}

/// So many zeros, in memory that is kept if it suffices.
pub(crate) fn set_zeros<T: Copy + Default + Send + Sync>(values: &mut Vec<T>, len: usize) {
    if !resize(values, len) {
        parallel::for_each_chunk_mut(values, 1 << 15, |_, v| v.fill(T::default()));
    }
}

/// So many values, whatever they are, in memory that is kept if it suffices; true if it is new and holds
/// zeros.
pub(crate) fn resize<T: Copy + Default>(values: &mut Vec<T>, len: usize) -> bool {
    let is_new = values.capacity() < len;
    if is_new {
        // Nothing is worth copying, and what the system gives is zero without being touched; a little more,
        // because liquid that spreads will ask again.
        *values = Vec::new();
        *values = vec![T::default(); len + len / 32];
    }
    values.resize(len, T::default());
    is_new
}

/// Cuts the arrays into parts that end at `ends` (indices into each, ascending).
pub(crate) fn split<T, const N: usize>(
    arrays: [&mut [T]; N],
    ends: impl Iterator<Item = usize>,
) -> Vec<[&mut [T]; N]> {
    let mut rest = arrays;
    let mut start = 0;
    ends.map(|end| {
        let parts = rest.each_mut().map(|a| std::mem::take(a).split_at_mut(end - start));
        start = end;
        let mut parts = parts.into_iter();
        std::array::from_fn(|n| {
            let (part, after) = parts.next().expect("as many parts as arrays");
            rest[n] = after;
            part
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_are_closed_and_long_ones_are_not() {
        let mut words = [0u64; 3];
        for bit in [0, 1, 6, 12, 62, 63, 68, 74, 150] {
            set_bit(&mut words, bit);
        }
        close_gaps(&mut words);
        let runs: Vec<_> = bit_runs(&words).collect();
        assert_eq!(runs, [(0, 7), (12, 13), (62, 69), (74, 75), (150, 151)]);
    }

    #[test]
    fn what_a_stencil_reaches_has_memory_and_runs_do_not_touch() {
        let l = Layout::new([37 * BLOCK, 9, 7]);
        let mut storage = Storage::default();
        storage.active.clear(&l);
        for (j, k, block) in [(0, 0, 0), (3, 2, 1), (3, 2, 15), (8, 6, 18), (4, 3, 9), (3, 4, 16)] {
            set_bit(storage.active.row_mut(l.row(j, k)), block);
        }
        storage.build(&l);
        let mut used = vec![false; storage.len()];
        for row in 0..l.rows {
            for run in storage.runs(row) {
                for at in run.start..run.start + run.len {
                    assert!(!std::mem::replace(&mut used[at], true), "an address twice");
                }
                assert!(!used[run.start - 1] && (row == 0 || run.start > storage.row_start(row)));
                assert!(run.start + run.len < storage.row_start(row + 1));
            }
        }
        for active in &storage.rows {
            let row = active.row as usize;
            for (first, end) in bit_runs(storage.active.row(row)) {
                for near in [row, row - 1, row + 1].map(|r| [r, r - l.slab_rows, r + l.slab_rows]).concat() {
                    let start = storage.at(near, first * BLOCK);
                    assert_eq!(storage.at(near, end * BLOCK - 1), start + (end - first) * BLOCK - 1);
                }
            }
        }
        assert_eq!(storage.rows.len(), 5);
        assert!(storage.find(l.row(5, 0), 0).is_none());
    }
}
