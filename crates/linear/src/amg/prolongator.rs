//! The smoothed prolongator and its transpose.

use super::aggregate::{Aggregates, ISOLATED, Strength};
use crate::sparse::{Csr, FluxMatrix, Piece};
use fluvial_foundation::parallel;
use fluvial_foundation::parallel::map_chunks;
use std::ops::Range;

/// Rows of a task.
const TASK_ROWS: usize = 4096;
/// Parts of the transpose.
const PARTS: usize = 16;
/// Jacobi's damping. Theory takes 4/3 over the spectral radius of `D^-1 A`, which is at most 2; on all the
/// cases this needs one to three iterations fewer than 2/3 (0.75 and 0.85 are as good within one).
const DAMPING: f64 = 0.8;
/// The lumped diagonal must be this part of the diagonal, else the latter is taken.
const LUMPED: f64 = 0.1;

/// A row of the prolongator, unordered; few columns.
#[derive(Default)]
struct Row {
    column: Vec<u32>,
    value: Vec<f64>,
}

impl Row {
    #[inline(always)]
    fn add(&mut self, column: u32, value: f64) {
        match self.column.iter().position(|&c| c == column) {
            Some(n) => self.value[n] += value,
            None => {
                self.column.push(column);
                self.value.push(value);
            }
        }
    }

    /// The row `(I - 0.8 D^-1 A_F) T` of unknown `row`; returns its sum, which is 1 exactly where constants
    /// are kept.
    fn compute(&mut self, a: &FluxMatrix<f32>, strength: &Strength, of: &[u32], row: usize) -> f64 {
        self.column.clear();
        self.value.clear();
        if of[row] == ISOLATED {
            return 0.0;
        }
        let excess = a.excess[row];
        let mut lumped = excess;
        self.add(of[row], 0.0);
        strength.for_each(a, row, |j, value| {
            if of[j] != ISOLATED {
                lumped -= value as f64;
                self.add(of[j], value as f64);
            }
        });
        let diagonal = a.diagonal(row);
        let d = if lumped > LUMPED * diagonal { lumped } else { diagonal };
        self.value.iter_mut().for_each(|v| *v *= -DAMPING / d);
        self.value[0] += 1.0 - DAMPING * (lumped / d);
        1.0 - DAMPING * (excess / d)
    }
}

/// The prolongator and the sums of its rows.
pub(super) fn build(
    a: &FluxMatrix<f32>,
    strength: &Strength,
    aggregates: &Aggregates,
) -> (Csr<f32>, Vec<f32>) {
    let mut sums = vec![0.0f32; a.excess.len()];
    let pieces = map_chunks(&mut sums, TASK_ROWS, |rows, sums| {
        let mut piece = Piece::default();
        piece.column.reserve(4 * rows.len());
        piece.value.reserve(4 * rows.len());
        let mut work = Row::default();
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = work.compute(a, strength, &aggregates.of, row) as f32;
            piece.lengths.push(work.column.len() as u32);
            piece.column.extend_from_slice(&work.column);
            piece.value.extend(work.value.iter().map(|&v| v as f32));
        }
        piece
    });
    (Csr::from_pieces(aggregates.count, pieces), sums)
}

/// New values of a prolongator; returns its row sums.
pub(super) fn refresh(
    p: &mut Csr<f32>,
    a: &FluxMatrix<f32>,
    strength: &Strength,
    aggregates: &Aggregates,
) -> Vec<f32> {
    let mut sums = vec![0.0f32; a.excess.len()];
    p.for_rows_mut(0..a.excess.len(), (&mut sums, TASK_ROWS), |mut part, sums| {
        let mut work = Row::default();
        for (sum, row) in sums.iter_mut().zip(part.rows.clone()) {
            *sum = work.compute(a, strength, &aggregates.of, row) as f32;
            let (column, value) = part.row(row);
            debug_assert_eq!(column, work.column);
            value.iter_mut().zip(&work.value).for_each(|(v, &w)| *v = w as f32);
        }
    });
    sums
}

/// Smallest and largest column in each run of so many rows.
pub(super) fn column_spans(p: &Csr<f32>, rows: usize) -> Vec<(u32, u32)> {
    parallel::map_indices(parallel::chunk_count(p.rows(), rows), |n| {
        let range = parallel::chunk_range(n, rows, p.rows());
        let columns = p.column[p.start[range.start] as usize..p.start[range.end] as usize].iter();
        (columns.clone().copied().min().unwrap_or(u32::MAX), columns.copied().max().unwrap_or(0))
    })
}

/// The transpose, rows ascending in every column. Each task owns a range of the result's rows and goes
/// through the chunks of the matrix that reach into it.
pub(super) fn transpose(p: &Csr<f32>) -> Csr<f32> {
    let rows = p.rows();
    let spans = column_spans(p, TASK_ROWS);
    let width = p.columns().div_ceil(PARTS).max(1);
    let parts = parallel::chunk_count(p.columns(), width);
    // Rows of the chunks that reach into a range of columns.
    let reaching = |own: &Range<u32>| {
        let own = own.clone();
        let chunks = spans.iter().enumerate().filter(move |(_, s)| s.0 < own.end && s.1 >= own.start);
        chunks.flat_map(|(n, _)| parallel::chunk_range(n, TASK_ROWS, rows))
    };
    let lengths = parallel::map_indices(parts, |part| {
        let own = parallel::chunk_range(part, width, p.columns());
        let own = own.start as u32..own.end as u32;
        let mut lengths = vec![0u32; own.len()];
        for row in reaching(&own) {
            let inside = p.row(row).0.iter().filter(|c| own.contains(c));
            inside.for_each(|&c| lengths[(c - own.start) as usize] += 1);
        }
        lengths
    });
    let mut ends: Vec<_> = (1..=parts).map(|part| ((part * width).min(p.columns()), ())).collect();
    Csr::from_lengths(rows, lengths.into_iter().flatten(), &mut ends, |own, start, (column, value), _| {
        let mut next: Vec<u32> = start[..own.len()].iter().map(|s| s - start[0]).collect();
        let own = own.start as u32..own.end as u32;
        for row in reaching(&own) {
            let (columns, values) = p.row(row);
            for (&c, &v) in columns.iter().zip(values).filter(|(c, _)| own.contains(c)) {
                let place = &mut next[(c - own.start) as usize];
                column[*place as usize] = row as u32;
                value[*place as usize] = v;
                *place += 1;
            }
        }
    })
}

/// New values of a transpose.
pub(super) fn refresh_transpose(r: &mut Csr<f32>, p: &Csr<f32>) {
    let mut none: Vec<()> = vec![(); r.rows()];
    r.for_rows_mut(0..r.rows(), (&mut none, TASK_ROWS), |mut part, _| {
        for row in part.rows.clone() {
            let (column, value) = part.row(row);
            for (&i, v) in column.iter().zip(value) {
                let (aggregates, values) = p.row(i as usize);
                let place = aggregates.iter().position(|&c| c as usize == row);
                *v = values[place.expect("an entry of the transpose")];
            }
        }
    });
}
