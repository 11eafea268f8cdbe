//! The shape of one level: cells split by the colour of a checkerboard, in rows along x.
//!
//! Cell (i, j, k) has colour `(i + j + k) & 1` and is place `m = i / 2` of its colour in row (j, k). The six
//! neighbours of a cell all have the other colour, so that a half sweep of Gauss-Seidel streams one array in
//! and the other out, without gaps and without waste. Along x the neighbours of the cell at `m` lie at `m -
//! 1 + t` and `m + t` with `t = i & 1`; along y and z they lie at the same `m` of the next rows. Rows are
//! numbered with a rim around the box: slabs share one rim row, and one more comes first. Which places have
//! memory, and where, is known to [`Storage`](crate::storage::Storage).

/// Places per block: memory is given to runs of `2 * BLOCK` cells of a row.
pub(crate) const BLOCK: usize = 8;

/// No unknown in the block.
pub(crate) const EMPTY: u8 = 0;
/// Every face between two unknowns that touches the block has coefficient 1.
pub(crate) const PLAIN: u8 = 1;
/// Coefficients must be read.
pub(crate) const GENERAL: u8 = 2;

/// Two arrays, one per colour.
pub(crate) type Split<T = f32> = [Vec<T>; 2];

/// Sizes of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub cells: [usize; 3],
    /// Rows of a slab, the shared rim row included.
    pub slab_rows: usize,
    /// Rows in all, rims included.
    pub rows: usize,
    /// Blocks of a row.
    pub blocks: usize,
}

impl Layout {
    pub fn new(cells: [usize; 3]) -> Self {
        let [nx, ny, nz] = cells;
        Layout { cells, slab_rows: ny + 1, rows: (ny + 1) * (nz + 2) + 1, blocks: nx.div_ceil(2 * BLOCK) }
    }

    pub fn row(&self, j: usize, k: usize) -> usize {
        (k + 1) * self.slab_rows + j + 1
    }

    /// The rim row before the first row of slab `k`; that of the slab beyond the box for `k` = slabs.
    pub fn slab_row(&self, k: usize) -> usize {
        (k + 1) * self.slab_rows
    }

    /// (j, k) of a row; None for a rim row.
    pub fn coordinates(&self, row: usize) -> Option<(usize, usize)> {
        if row == 0 {
            return None;
        }
        let (slab, j) = ((row - 1) / self.slab_rows, (row - 1) % self.slab_rows);
        (slab >= 1 && slab <= self.cells[2] && j < self.cells[1]).then(|| (j, slab - 1))
    }

    /// The rows beside a row: low y, high y, low z, high z.
    pub fn beside(&self, row: usize) -> [usize; 4] {
        [row - 1, row + 1, row - self.slab_rows, row + self.slab_rows]
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
