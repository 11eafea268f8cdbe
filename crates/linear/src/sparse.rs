//! Sparse matrices in compressed rows.

use crate::krylov::{LinearOperator, Real};
use crate::sealed::{OPEN, Sealed};
use crate::{LowRank, RANK};
use fluvial_foundation::parallel;
use std::ops::Range;

/// A sparse matrix in compressed rows, with columns of 32 bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr<V> {
    pub(crate) columns: usize,
    /// First entry of each row, and one more.
    pub(crate) start: Vec<u32>,
    pub(crate) column: Vec<u32>,
    pub(crate) value: Vec<V>,
}

/// Rows of a matrix, built apart from the others.
#[derive(Default)]
pub(crate) struct Piece<V> {
    /// Entries of each row.
    pub lengths: Vec<u32>,
    pub column: Vec<u32>,
    pub value: Vec<V>,
}

impl<V: Real> Csr<V> {
    /// A matrix with the given number of columns; row `i` has the entries `start[i]..start[i + 1]`. Panics on
    /// arrays that do not describe a matrix.
    pub fn new(columns: usize, start: Vec<u32>, column: Vec<u32>, value: Vec<V>) -> Self {
        assert!(start.first() == Some(&0), "the first row starts at 0");
        assert!(start.windows(2).all(|w| w[0] <= w[1]), "rows follow each other");
        assert_eq!(*start.last().expect("a start") as usize, column.len());
        assert_eq!(column.len(), value.len(), "one value per column");
        assert!(column.iter().all(|&c| (c as usize) < columns), "columns lie in the matrix");
        Csr { columns, start, column, value }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.column.len()
    }

    /// Columns and values of a row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> (&[u32], &[V]) {
        let range = self.range(row);
        (&self.column[range.clone()], &self.value[range])
    }

    #[inline(always)]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.start[row] as usize..self.start[row + 1] as usize
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * (self.start.capacity() + self.column.capacity()) + size_of::<V>() * self.value.capacity()
    }

    /// Puts pieces of consecutive rows together, each freed once it is copied.
    pub(crate) fn from_pieces(columns: usize, pieces: Vec<Piece<V>>) -> Self {
        let rows: usize = pieces.iter().map(|p| p.lengths.len()).sum();
        let entries: usize = pieces.iter().map(|p| p.column.len()).sum();
        let mut start = Vec::with_capacity(rows + 1);
        let mut end = 0u32;
        start.push(0);
        for length in pieces.iter().flat_map(|p| &p.lengths) {
            end = end.checked_add(*length).expect("entries are counted in 32 bits");
            start.push(end);
        }
        let (mut column, mut value) = (vec![0; entries], vec![V::default(); entries]);
        let (mut columns_left, mut values_left) = (&mut column[..], &mut value[..]);
        let mut tasks = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (column, after) = columns_left.split_at_mut(piece.column.len());
            let (value, values_after) = values_left.split_at_mut(piece.column.len());
            (columns_left, values_left) = (after, values_after);
            tasks.push((piece, column, value));
        }
        parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| {
            let (piece, column, value) = &mut task[0];
            let Piece { column: from, value: values, .. } = std::mem::take(piece);
            column.copy_from_slice(&from);
            value.copy_from_slice(&values);
        });
        Csr { columns, start, column, value }
    }

    /// Builds a matrix from the number of entries in every row. `body(rows, their starts, columns and values to
    /// be written, extra)` fills a range of rows; it is called in parallel for the ranges that end at `parts`,
    /// each with its own extra value.
    pub fn from_lengths<E: Send>(
        columns: usize,
        lengths: impl Iterator<Item = u32>,
        parts: &mut [(usize, E)],
        body: impl Fn(Range<usize>, &[u32], (&mut [u32], &mut [V]), &mut E) + Sync + Send,
    ) -> Self {
        let mut start = vec![0u32];
        let mut end = 0u32;
        start.extend(lengths.map(|length| {
            end = end.checked_add(length).expect("entries are counted in 32 bits");
            end
        }));
        let (mut column, mut value) = (vec![0; end as usize], vec![V::default(); end as usize]);
        let (mut columns_left, mut values_left) = (&mut column[..], &mut value[..]);
        let (mut tasks, mut first) = (Vec::with_capacity(parts.len()), 0);
        for (end, extra) in parts {
            let end = *end;
            let entries = (start[end] - start[first]) as usize;
            let (column, after) = columns_left.split_at_mut(entries);
            let (value, values_after) = values_left.split_at_mut(entries);
            (columns_left, values_left) = (after, values_after);
            tasks.push((first..end, column, value, extra));
            first = end;
        }
        parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| {
            let (rows, column, value, extra) = &mut task[0];
            body(rows.clone(), &start[rows.start..=rows.end], (column, value), extra);
        });
        Csr { columns, start, column, value }
    }

    /// `body(rows whose values may be changed, their part of another array)` in parallel over chunks of a
    /// range of rows; `other` has one value for each row of the range.
    pub(crate) fn for_rows_mut<B: Send>(
        &mut self,
        range: Range<usize>,
        (other, chunk): (&mut [B], usize),
        body: impl Fn(Rows<V>, &mut [B]) + Sync + Send,
    ) {
        assert_eq!(other.len(), range.len());
        let first = self.start[range.start] as usize;
        let mut left = &mut self.value[first..];
        let mut tasks = Vec::new();
        for (n, other) in other.chunks_mut(chunk).enumerate() {
            let rows = range.start + n * chunk..range.start + n * chunk + other.len();
            let entries = self.start[rows.start] as usize..self.start[rows.end] as usize;
            let (value, after) = left.split_at_mut(entries.len());
            left = after;
            let start = &self.start[rows.start..=rows.end];
            tasks.push((Rows { rows, start, column: &self.column[entries], value }, other));
        }
        parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| {
            let (Rows { rows, start, column, value }, other) = &mut task[0];
            body(Rows { rows: rows.clone(), start, column, value }, other);
        });
    }
}

/// A range of a matrix' rows, values to be written.
pub(crate) struct Rows<'a, V> {
    pub rows: Range<usize>,
    start: &'a [u32],
    column: &'a [u32],
    value: &'a mut [V],
}

impl<V> Rows<'_, V> {
    /// Columns and values of a row.
    pub fn row(&mut self, row: usize) -> (&[u32], &mut [V]) {
        let n = row - self.rows.start;
        let range = (self.start[n] - self.start[0]) as usize..(self.start[n + 1] - self.start[0]) as usize;
        (&self.column[range.clone()], &mut self.value[range])
    }
}

/// Any square matrix is an operator.
impl<V: Real> LinearOperator for Csr<V> {
    fn rows(&self) -> usize {
        assert_eq!(Csr::rows(self), self.columns, "a square matrix");
        self.columns
    }

    fn apply_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, x: &[T]) {
        for (out, row) in out.iter_mut().zip(rows) {
            let (column, value) = self.row(row);
            let mut sum = T::default();
            for (&c, &v) in column.iter().zip(value) {
                sum = sum + T::from_f64(v.into()) * x[c as usize];
            }
            *out = sum;
        }
    }
}

/// A square matrix in flux form: off-diagonal entries `a_ij` and the sum `e_i` of each row, its excess, so
/// that
///
/// `(A x)_i = e_i x_i + sum_j a_ij (x_j - x_i)`.
///
/// Every matrix can be written so; for a discrete Laplacian `-a_ij` are the faces' coefficients and `e_i` is
/// what leads to Dirichlet boundaries. In this form rounding to f32 changes all coefficients by 6e-8 of
/// themselves and the solution by as little ([alfa-2002], for diagonally dominant M-matrices), while a
/// rounded diagonal would drown weak outlets and could make a sealed part of the unknowns leak. Row sums are
/// f64: ghost coefficients 1/theta would be felt below 1e-7, coefficients of the grid's own faces are exact
/// in f32.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FluxMatrix<V> {
    pub(crate) off: Csr<V>,
    pub(crate) excess: Vec<f64>,
    pub(crate) sealed: Sealed,
}

impl<V: Real> FluxMatrix<V> {
    /// From off-diagonal entries (columns ascending in every row) and row sums. A part of the unknowns that
    /// is connected through entries and has only zero sums is sealed: constants on it are in the null
    /// space. Panics on arrays of other sizes, on diagonal entries and on columns that do not ascend.
    pub fn new(off: Csr<V>, excess: Vec<f64>) -> Self {
        assert_eq!(off.rows(), off.columns(), "a square matrix");
        assert_eq!(off.rows(), excess.len(), "one sum a row");
        let good = |row: usize| {
            let column = off.row(row).0;
            column.windows(2).all(|w| w[0] < w[1]) && !column.contains(&(row as u32))
        };
        assert!((0..off.rows()).all(good), "columns ascend and leave out the diagonal");
        Self::from_sorted(off, excess)
    }

    /// [`Self::new`] without its checks.
    pub fn from_sorted(off: Csr<V>, excess: Vec<f64>) -> Self {
        let sealed = Sealed::find(&off, &excess);
        FluxMatrix { off, excess, sealed }
    }

    /// From a matrix with its diagonal. Row sums are taken in f64; those below `closed` times the diagonal
    /// are rounding and count as zero. Columns need not ascend; entries of one column are added.
    pub fn from_csr<W: Real>(matrix: &Csr<W>, closed: f64) -> Self {
        assert_eq!(Csr::rows(matrix), matrix.columns(), "a square matrix");
        let mut excess = Vec::with_capacity(matrix.columns());
        let mut piece = Piece::default();
        let mut sorted: Vec<(u32, f64)> = Vec::new();
        for row in 0..matrix.columns() {
            let (column, value) = matrix.row(row);
            let sum: f64 = value.iter().map(|&v| v.into()).sum();
            sorted.clear();
            sorted.extend(column.iter().zip(value).map(|(&c, &v)| (c, v.into())));
            sorted.sort_by_key(|e| e.0);
            let before = piece.column.len();
            let mut diagonal = 0.0;
            for &(c, v) in &sorted {
                if c as usize == row {
                    diagonal += v;
                } else if piece.column.len() > before && piece.column.last() == Some(&c) {
                    let last: f64 = piece.value.pop().map_or(0.0, V::into);
                    piece.value.push(V::from_f64(last + v));
                } else {
                    piece.column.push(c);
                    piece.value.push(V::from_f64(v));
                }
            }
            piece.lengths.push((piece.column.len() - before) as u32);
            excess.push(if sum.abs() <= closed * diagonal.abs() { 0.0 } else { sum });
        }
        FluxMatrix::new(Csr::from_pieces(matrix.columns(), vec![piece]), excess)
    }

    /// Off-diagonal entries.
    pub fn off_diagonal(&self) -> &Csr<V> {
        &self.off
    }

    /// Row sums.
    pub fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// `a_ii`.
    #[inline(always)]
    pub fn diagonal(&self, row: usize) -> f64 {
        let off: f64 = self.off.row(row).1.iter().map(|&v| v.into()).sum();
        self.excess[row] - off
    }

    /// Connected parts of the unknowns.
    pub fn components(&self) -> usize {
        self.sealed.components
    }

    /// Parts of the unknowns on which constants are in the null space.
    pub fn sealed_components(&self) -> usize {
        self.sealed.count()
    }

    /// Adds to a solution, in every sealed part, the constant that makes its least value zero.
    pub fn raise_sealed(&self, x: &mut [f64]) {
        self.sealed.raise(x);
    }

    /// In a sealed part, where pressure is known up to a constant, the constant must not act: its share is taken out of
    /// a term's rows, where a body that touches a wall leaves one.
    pub fn take_constants_from(&self, term: &mut LowRank) {
        if self.sealed.count() == 0 {
            return;
        }
        for block in &mut term.blocks {
            let label = |row: u32| self.sealed.label[row as usize];
            let mut sums = vec![([0.0f64; RANK], 0usize); self.sealed.count()];
            let rows = || block.rows.iter().map(|&row| label(row));
            for (label, values) in rows().zip(&block.values).filter(|(label, _)| *label != OPEN) {
                let (sum, count) = &mut sums[label as usize];
                *count += 1;
                (0..RANK).for_each(|c| sum[c] += f64::from(values[c]));
            }
            for (&row, values) in block.rows.iter().zip(&mut block.values) {
                if let Some((sum, count)) = sums.get(label(row) as usize) {
                    (0..RANK).for_each(|c| values[c] -= (sum[c] / *count as f64) as f32);
                }
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.off.bytes() + size_of::<f64>() * self.excess.capacity() + self.sealed.bytes()
    }

    /// The same in ordinary form, with its diagonal.
    pub fn to_csr(&self) -> Csr<f64> {
        let mut piece = Piece::default();
        for row in 0..self.excess.len() {
            let (column, value) = self.off.row(row);
            let below = column.partition_point(|&c| (c as usize) < row);
            piece.column.extend_from_slice(&column[..below]);
            piece.column.push(row as u32);
            piece.column.extend_from_slice(&column[below..]);
            piece.value.extend(value[..below].iter().map(|&v| v.into()));
            piece.value.push(self.diagonal(row));
            piece.value.extend(value[below..].iter().map(|&v| v.into()));
            piece.lengths.push(column.len() as u32 + 1);
        }
        Csr::from_pieces(self.excess.len(), vec![piece])
    }
}

impl<V: Real> LinearOperator for FluxMatrix<V> {
    fn rows(&self) -> usize {
        self.excess.len()
    }

    fn apply_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, x: &[T]) {
        let start = &self.off.start[rows.start..=rows.end];
        let own = &x[rows.clone()];
        let excess = &self.excess[rows];
        for (n, out) in out.iter_mut().enumerate() {
            let range = start[n] as usize..start[n + 1] as usize;
            let mut sum = T::from_f64(excess[n]) * own[n];
            for (&c, &v) in self.off.column[range.clone()].iter().zip(&self.off.value[range]) {
                sum = sum + T::from_f64(v.into()) * (x[c as usize] - own[n]);
            }
            *out = sum;
        }
    }

    fn is_singular(&self) -> bool {
        self.sealed.count() > 0
    }

    fn project<T: Real>(&self, v: &mut [T]) {
        self.sealed.remove_means(v);
    }
}
