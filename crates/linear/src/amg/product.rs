//! The Galerkin product `R A P` in flux form.

use super::accumulator::{Accumulator, Pool};
use super::prolongator::column_spans;
use crate::sealed::Sealed;
use crate::sparse::{Csr, FluxMatrix, Piece};
use fluvial_foundation::parallel;
use fluvial_foundation::parallel::map_chunks;
use std::ops::Range;

/// Rows of a task of `A P`.
const FINE_ROWS: usize = 4096;
/// Rows of a task of `R (A P)`.
const COARSE_ROWS: usize = 512;
/// Number of batches of coarse rows. More batches hold less of `A P` in memory at a time.
const BATCHES: usize = 16;
/// Entries of a row of `A P` for which memory is reserved.
const ENTRIES: usize = 12;

/// Some rows of `A P`.
#[derive(Default)]
struct Part {
    start: Vec<u32>,
    entry: Vec<(u32, f32)>,
    /// Sum of every row, from the sums of the prolongator's: exactly zero where constants are in the null
    /// space.
    sum: Vec<f32>,
}

impl Part {
    fn add_row(
        &mut self,
        work: &mut Accumulator,
        a: &FluxMatrix<f32>,
        (p, sums): (&Csr<f32>, &[f32]),
        row: usize,
    ) {
        work.begin();
        let (neighbours, coefficients) = a.off.row(row);
        let own_sum = sums[row] as f64;
        let (mut diagonal, mut sum) = (a.excess[row], a.excess[row] * own_sum);
        for (&j, &c) in neighbours.iter().zip(coefficients) {
            let c = c as f64;
            diagonal -= c;
            sum += c * (sums[j as usize] as f64 - own_sum);
            let (column, value) = p.row(j as usize);
            column.iter().zip(value).for_each(|(&column, &v)| work.add(column, c * v as f64));
        }
        let (column, value) = p.row(row);
        column.iter().zip(value).for_each(|(&column, &v)| work.add(column, diagonal * v as f64));
        self.entry.extend(work.columns.iter().map(|&c| (c, work.sum(c) as f32)));
        self.start.push(self.entry.len() as u32);
        self.sum.push(sum as f32);
    }
}

/// Calls `body(coarse rows, A P)` for all coarse rows in turn, in batches. Of `A P` only those parts are
/// there that the batch needs: as aggregates are numbered like their unknowns, that is a small part of what
/// would otherwise be the largest array of the set-up. Each part is computed once.
fn for_batches(a: &FluxMatrix<f32>, p: (&Csr<f32>, &[f32]), mut body: impl FnMut(Range<usize>, &[Part])) {
    let (rows, coarse_rows) = (a.excess.len(), p.0.columns());
    let spans = column_spans(p.0, FINE_ROWS);
    let mut parts: Vec<Part> = Vec::new();
    parts.resize_with(spans.len(), Part::default);
    let pool = Pool::new(coarse_rows);
    let part = |n: usize| {
        let range = parallel::chunk_range(n, FINE_ROWS, rows);
        let mut part = Part { start: vec![0], ..Part::default() };
        part.entry.reserve_exact(ENTRIES * range.len());
        pool.with(|work| range.for_each(|row| part.add_row(work, a, p, row)));
        part.entry.shrink_to_fit();
        part
    };
    let batch = coarse_rows.div_ceil(BATCHES).next_multiple_of(COARSE_ROWS);
    for n in 0..parallel::chunk_count(coarse_rows, batch) {
        let own = parallel::chunk_range(n, batch, coarse_rows);
        let reaches = |s: &(u32, u32)| (s.0 as usize) < own.end && s.1 as usize >= own.start;
        let missing: Vec<usize> =
            (0..spans.len()).filter(|&n| reaches(&spans[n]) && parts[n].start.is_empty()).collect();
        let found = parallel::map_indices(missing.len(), |m| part(missing[m]));
        missing.into_iter().zip(found).for_each(|(n, part)| parts[n] = part);
        body(own.clone(), &parts);
        let used = spans.iter().zip(&mut parts).filter(|(s, _)| (s.1 as usize) < own.end);
        used.for_each(|(_, part)| *part = Part::default());
    }
}

/// Sums up row `row` of `R (A P)`; returns the row's sum.
#[inline(always)]
fn second_product(work: &mut Accumulator, r: &Csr<f32>, parts: &[Part], row: usize) -> f64 {
    work.begin();
    let (fine, weight) = r.row(row);
    let mut sum = 0.0;
    for (&i, &w) in fine.iter().zip(weight) {
        let (part, n) = (&parts[i as usize / FINE_ROWS], i as usize % FINE_ROWS);
        let w = w as f64;
        for &(column, v) in &part.entry[part.start[n] as usize..part.start[n + 1] as usize] {
            work.add(column, w * v as f64);
        }
        sum += w * part.sum[n] as f64;
    }
    sum
}

/// `R A P`, columns ascending.
pub(super) fn build(a: &FluxMatrix<f32>, p: (&Csr<f32>, &[f32]), r: &Csr<f32>) -> FluxMatrix<f32> {
    let mut excess = vec![0.0f64; r.rows()];
    let mut pieces = Vec::new();
    let pool = Pool::new(r.rows());
    for_batches(a, p, |batch, parts| {
        pieces.extend(map_chunks(&mut excess[batch.clone()], COARSE_ROWS, |rows, excess| {
            let rows = batch.start + rows.start..batch.start + rows.end;
            pool.with(|work| coarse_rows(excess, work, r, parts, rows))
        }));
    });
    FluxMatrix { off: Csr::from_pieces(r.rows(), pieces), excess, sealed: Sealed::default() }
}

/// Some rows of `R (A P)` and their sums.
fn coarse_rows(
    excess: &mut [f64],
    work: &mut Accumulator,
    r: &Csr<f32>,
    parts: &[Part],
    rows: Range<usize>,
) -> Piece<f32> {
    let mut piece = Piece::default();
    for (excess, row) in excess.iter_mut().zip(rows) {
        *excess = second_product(work, r, parts, row);
        work.columns.sort_unstable();
        let before = piece.column.len();
        for &c in work.columns.iter().filter(|c| **c as usize != row) {
            piece.column.push(c);
            piece.value.push(work.sum(c) as f32);
        }
        piece.lengths.push((piece.column.len() - before) as u32);
    }
    piece.column.shrink_to_fit();
    piece.value.shrink_to_fit();
    piece
}

/// New values of `R A P`.
pub(super) fn refresh(out: &mut FluxMatrix<f32>, a: &FluxMatrix<f32>, p: (&Csr<f32>, &[f32]), r: &Csr<f32>) {
    let FluxMatrix { off, excess, .. } = out;
    let pool = Pool::new(r.rows());
    for_batches(a, p, |batch, parts| {
        let excess = &mut excess[batch.clone()];
        off.for_rows_mut(batch, (excess, COARSE_ROWS), |mut part, excess| {
            pool.with(|work| {
                for (excess, row) in excess.iter_mut().zip(part.rows.clone()) {
                    *excess = second_product(work, r, parts, row);
                    let (column, value) = part.row(row);
                    value.iter_mut().zip(column).for_each(|(v, &c)| *v = work.sum(c) as f32);
                }
            });
        });
    });
}
