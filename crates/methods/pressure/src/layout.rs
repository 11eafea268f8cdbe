//! The storage of one level: cells split by the colour of a checkerboard, padded by a rim of zeros.
//!
//! Cell (i, j, k) has colour `(i + j + k) & 1` and lies in its colour's array at place `m = i / 2` of
//! row (j, k). The six neighbours of a cell all have the other colour, so that a half sweep of
//! Gauss-Seidel streams one array in and the other out, without gaps and without waste.
//! Along x the neighbours of the cell at `m` lie at `m - 1 + t` and `m + t` with `t = i & 1`; along y and z
//! they lie at the same `m` of the next rows. Rows carry one zero at their end, which serves the next row
//! as its left rim; slabs likewise share one zero row, and one more comes first.

use fluvial_foundation::parallel;

/// Places per block: activity is recorded for runs of `2 * BLOCK` cells of a row.
pub(crate) const BLOCK: usize = 8;
/// Cells a parallel task should hold.
const TASK_CELLS: usize = 8192;
/// Below this many cells a level is faster on one thread.
const SERIAL_CELLS: usize = 20_000;

/// No unknown in the block.
pub(crate) const EMPTY: u8 = 0;
/// Every face between two unknowns that touches the block has coefficient 1.
pub(crate) const PLAIN: u8 = 1;
/// Coefficients must be read.
pub(crate) const GENERAL: u8 = 2;
/// Was active before and is empty now: old values are still to be cleared.
pub(crate) const LEFT: u8 = 3;

/// Two arrays, one per colour.
pub(crate) type Split<T = f32> = [Vec<T>; 2];

/// Sizes and strides of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub cells: [usize; 3],
    /// Places of one colour in a row.
    pub half: usize,
    /// Distance between rows in a colour's array.
    pub stride: usize,
    /// Rows of a slab, the shared zero row included.
    pub slab_rows: usize,
    /// Rows in all, rims included.
    pub rows: usize,
    /// Blocks of a row.
    pub blocks: usize,
    /// Rows of a parallel task.
    pub task_rows: usize,
    /// Too small to share out.
    pub serial: bool,
}

impl Layout {
    pub fn new(cells: [usize; 3]) -> Self {
        let [nx, ny, nz] = cells;
        let half = nx.div_ceil(2);
        Layout {
            cells,
            half,
            stride: half + 1,
            slab_rows: ny + 1,
            rows: (ny + 1) * (nz + 2) + 1,
            blocks: half.div_ceil(BLOCK),
            task_rows: (TASK_CELLS / nx.max(1)).max(1),
            serial: nx * ny * nz < SERIAL_CELLS,
        }
    }

    /// Values in one colour's array.
    pub fn len(&self) -> usize {
        self.rows * self.stride
    }

    /// Parallel tasks.
    pub fn tasks(&self) -> usize {
        self.rows.div_ceil(self.task_rows)
    }

    pub fn row(&self, j: usize, k: usize) -> usize {
        (k + 1) * self.slab_rows + j + 1
    }

    /// (j, k) of a row; None for a rim row.
    pub fn coordinates(&self, row: usize) -> Option<(usize, usize)> {
        if row == 0 {
            return None;
        }
        let (slab, j) = ((row - 1) / self.slab_rows, (row - 1) % self.slab_rows);
        (slab >= 1 && slab <= self.cells[2] && j < self.cells[1]).then(|| (j, slab - 1))
    }

    pub fn parity(&self, row: usize) -> usize {
        let row = row - 1;
        (row / self.slab_rows + 1 + row % self.slab_rows) & 1
    }

    pub fn zeros(&self) -> Split {
        [vec![0.0; self.len()], vec![0.0; self.len()]]
    }

    /// `body(row, out_row)` for every row with anything active, tasks in parallel.
    pub fn for_rows<T: Send>(
        &self,
        class: &[u8],
        out: &mut [T],
        body: impl Fn(usize, &[u8], &mut [T]) + Sync + Send,
    ) {
        let chunk = self.task_rows * self.stride;
        let task = |t: usize, out: &mut [T]| {
            for (n, out_row) in out.chunks_exact_mut(self.stride).enumerate() {
                let row = t * self.task_rows + n;
                let class = self.class_row(class, row);
                if class.iter().any(|&c| c != EMPTY) {
                    body(row, class, out_row);
                }
            }
        };
        if self.serial {
            out.chunks_mut(chunk).enumerate().for_each(|(t, o)| task(t, o));
        } else {
            parallel::for_each_chunk_mut(out, chunk, task);
        }
    }

    /// As [`Self::for_rows`] over two arrays, adding up what `body` returns in the order of the tasks.
    pub fn sum_rows2<T: Send, U: Send>(
        &self,
        class: &[u8],
        a: &mut [T],
        b: &mut [U],
        partial: &mut [f64],
        body: impl Fn(usize, &[u8], &mut [T], &mut [U]) -> f64 + Sync + Send,
    ) -> f64 {
        let chunk = self.task_rows * self.stride;
        let task = |t: usize, a: &mut [T], b: &mut [U], sum: &mut [f64]| {
            sum[0] = 0.0;
            let rows = a.chunks_exact_mut(self.stride).zip(b.chunks_exact_mut(self.stride));
            for (n, (a, b)) in rows.enumerate() {
                let row = t * self.task_rows + n;
                let class = self.class_row(class, row);
                if class.iter().any(|&c| c != EMPTY) {
                    sum[0] += body(row, class, a, b);
                }
            }
        };
        let partial = &mut partial[..self.tasks()];
        if self.serial {
            let parts = a.chunks_mut(chunk).zip(b.chunks_mut(chunk)).zip(partial.chunks_mut(1));
            parts.enumerate().for_each(|(t, ((a, b), s))| task(t, a, b, s));
        } else {
            parallel::for_each_chunk_mut3((a, chunk), (b, chunk), (partial, 1), task);
        }
        partial.iter().sum()
    }

    pub fn class_row<'a>(&self, class: &'a [u8], row: usize) -> &'a [u8] {
        &class[row * self.blocks..(row + 1) * self.blocks]
    }

    /// `body(first place, places, coefficients needed)` for the runs of a row's blocks of one class.
    #[inline(always)]
    pub fn for_runs(&self, class_row: &[u8], mut body: impl FnMut(usize, usize, bool)) {
        let mut block = 0;
        while block < class_row.len() {
            let class = class_row[block];
            let start = block;
            while block < class_row.len() && class_row[block] == class {
                block += 1;
            }
            if class != EMPTY {
                let m0 = start * BLOCK;
                body(m0, (block * BLOCK).min(self.half) - m0, class == GENERAL);
            }
        }
    }
}

/// Sets the blocks that became empty to zero in `values` (rows `stride` apart, `per_place` values a place).
pub(crate) fn clear_left<T: Copy + Default>(
    values: &mut [T],
    class: &[u8],
    l: &Layout,
    stride: usize,
    per_place: usize,
) {
    for row in 0..l.rows {
        for (block, _) in l.class_row(class, row).iter().enumerate().filter(|&(_, &c)| c == LEFT) {
            let start = block * BLOCK * per_place;
            let end = ((block + 1) * BLOCK * per_place).min(stride - 1);
            values[row * stride + start..row * stride + end].fill(T::default());
        }
    }
}

/// `len` values from `start`.
#[inline(always)]
pub(crate) fn window<T>(values: &[T], start: usize, len: usize) -> &[T] {
    &values[start..][..len]
}

/// `len` values from `start`, to be written.
#[inline(always)]
pub(crate) fn window_mut<T>(values: &mut [T], start: usize, len: usize) -> &mut [T] {
    &mut values[start..][..len]
}
