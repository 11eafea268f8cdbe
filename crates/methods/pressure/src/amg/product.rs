//! The Galerkin product `R A P` in flux form.

use super::accumulator::{Accumulator, Pool};
use crate::krylov::map_chunks;
use crate::sealed::Sealed;
use crate::sparse::{Csr, FluxMatrix, Piece};
use fluvial_foundation::parallel;

/// Rows of a task of `A P`.
const FINE_ROWS: usize = 4096;
/// Rows of a task of `R (A P)`.
const COARSE_ROWS: usize = 512;
/// Entries of a row of either product that are made room for.
const ENTRIES: usize = 12;

/// Some rows of `A P`.
#[derive(Default)]
struct Part {
    start: Vec<u32>,
    entry: Vec<(u32, f32)>,
    /// Sum of every row, from the sums of the prolongator's: exactly zero where constants are in the null space.
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
        let (mut diagonal, mut sum) = (a.excess[row] as f64, a.excess[row] as f64 * own_sum);
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

/// `A P`: kept in parts, for this moment only.
fn first_product(a: &FluxMatrix<f32>, p: (&Csr<f32>, &[f32])) -> Vec<Part> {
    let rows = a.excess.len();
    let pool = Pool::new(p.0.columns());
    parallel::map_indices(parallel::chunk_count(rows, FINE_ROWS), |n| {
        let range = parallel::chunk_range(n, FINE_ROWS, rows);
        let mut part = Part { start: vec![0], ..Part::default() };
        part.entry.reserve_exact(ENTRIES * range.len());
        pool.with(|work| range.for_each(|row| part.add_row(work, a, p, row)));
        part.entry.shrink_to_fit();
        part
    })
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
    let parts = first_product(a, p);
    let mut excess = vec![0.0f32; r.rows()];
    let pool = Pool::new(r.rows());
    let coarse_rows = |work: &mut Accumulator, rows: std::ops::Range<usize>, excess: &mut [f32]| {
        let mut piece = Piece::default();
        for (excess, row) in excess.iter_mut().zip(rows) {
            *excess = second_product(work, r, &parts, row) as f32;
            let mut columns = std::mem::take(&mut work.columns);
            columns.sort_unstable();
            let off = columns.iter().filter(|c| **c as usize != row);
            let before = piece.column.len();
            off.for_each(|&c| {
                piece.column.push(c);
                piece.value.push(work.sum(c) as f32);
            });
            piece.lengths.push((piece.column.len() - before) as u32);
            work.columns = columns;
        }
        piece.column.shrink_to_fit();
        piece.value.shrink_to_fit();
        piece
    };
    let pieces = map_chunks(&mut excess, COARSE_ROWS, |rows, excess| {
        pool.with(|work| coarse_rows(work, rows, excess))
    });
    drop(parts);
    FluxMatrix { off: Csr::from_pieces(r.rows(), pieces), excess, sealed: Sealed::default() }
}

/// New values of `R A P`.
pub(super) fn refresh(out: &mut FluxMatrix<f32>, a: &FluxMatrix<f32>, p: (&Csr<f32>, &[f32]), r: &Csr<f32>) {
    let parts = first_product(a, p);
    let FluxMatrix { off, excess, .. } = out;
    let pool = Pool::new(r.rows());
    off.for_rows_mut((excess, COARSE_ROWS), |mut part, excess| {
        pool.with(|work| {
            for (excess, row) in excess.iter_mut().zip(part.rows.clone()) {
                *excess = second_product(work, r, &parts, row) as f32;
                let (column, value) = part.row(row);
                value.iter_mut().zip(column).for_each(|(v, &c)| *v = work.sum(c) as f32);
            }
        });
    });
}
