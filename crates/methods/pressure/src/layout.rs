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

    /// `body(row, classes, rows)` for every row with anything active, `rows` the row's part of each array (all
    /// with rows `stride` apart); returns the sum of what it gives, in the order of the rows. Tasks run in parallel.
    pub fn sum_rows<T: Send, const N: usize>(
        &self,
        class: &[u8],
        stride: usize,
        arrays: [&mut [T]; N],
        body: impl Fn(usize, &[u8], [&mut [T]; N]) -> f64 + Sync + Send,
    ) -> f64 {
        self.reduce_rows(class, stride, arrays, body, |a, b| a + b)
    }

    /// As [`Self::sum_rows`] with another way than `+` to join values, in the same order, from zero.
    pub fn reduce_rows<T: Send, const N: usize>(
        &self,
        class: &[u8],
        stride: usize,
        arrays: [&mut [T]; N],
        body: impl Fn(usize, &[u8], [&mut [T]; N]) -> f64 + Sync + Send,
        join: impl Fn(f64, f64) -> f64 + Sync + Send,
    ) -> f64 {
        let task_rows = if self.serial { self.rows } else { self.task_rows };
        let ends = (1..=self.rows.div_ceil(task_rows)).map(|t| (t * task_rows).min(self.rows) * stride);
        let mut tasks: Vec<(f64, [&mut [T]; N])> =
            split(arrays, ends).into_iter().map(|a| (0.0, a)).collect();
        let run = |t: usize, task: &mut [(f64, [&mut [T]; N])]| {
            let (value, arrays) = &mut task[0];
            for row in t * task_rows..((t + 1) * task_rows).min(self.rows) {
                let class = self.class_row(class, row);
                if class.iter().any(|&c| c != EMPTY) {
                    let start = (row - t * task_rows) * stride;
                    let rows = arrays.each_mut().map(|a| window_mut(a, start, stride));
                    *value = join(*value, body(row, class, rows));
                }
            }
        };
        if self.serial {
            run(0, &mut tasks);
        } else {
            parallel::for_each_chunk_mut(&mut tasks, 1, run);
        }
        tasks.iter().fold(0.0, |value, t| join(value, t.0))
    }

    /// As [`Self::sum_rows`] over one array, without a sum.
    pub fn for_rows<T: Send>(
        &self,
        class: &[u8],
        stride: usize,
        out: &mut [T],
        body: impl Fn(usize, &[u8], &mut [T]) + Sync + Send,
    ) {
        self.sum_rows(class, stride, [out], |row, class, [out]| {
            body(row, class, out);
            0.0
        });
    }

    pub fn class_row<'a>(&self, class: &'a [u8], row: usize) -> &'a [u8] {
        &class[row * self.blocks..(row + 1) * self.blocks]
    }
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

/// Sets the rows in which a block became empty to zero (those that are still active are written anew).
pub(crate) fn clear_left<T: Copy + Default>(values: &mut [T], class: &[u8], l: &Layout, stride: usize) {
    for row in (0..l.rows).filter(|&row| l.class_row(class, row).contains(&LEFT)) {
        values[row * stride..(row + 1) * stride].fill(T::default());
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
