//! Terms of low rank beside a sparse operator.

use crate::krylov::{LinearOperator, Real};
use fluvial_foundation::parallel;
use std::ops::Range;

/// Numbers of a block: a rigid body's velocity has six components.
pub const RANK: usize = 6;

/// `G K G^T` with a few rows of `G` that are not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The rows of G that are not zero, ascending.
    pub rows: Vec<u32>,
    /// Their values.
    pub values: Vec<[f32; RANK]>,
    /// K, symmetric and positive semidefinite.
    pub weight: [[f64; RANK]; RANK],
}

impl Block {
    /// Drops all rows and keeps their memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }

    /// Adds to a row.
    pub fn add_row(&mut self, row: u32, values: &[f32; RANK]) {
        let at = self.rows.partition_point(|other| *other < row);
        if self.rows.get(at) != Some(&row) {
            self.rows.insert(at, row);
            self.values.insert(at, [0.0; RANK]);
        }
        (0..RANK).for_each(|c| self.values[at][c] += values[c]);
    }

    /// `G^T x`.
    pub fn gather<T: Real>(&self, x: &[T]) -> [f64; RANK] {
        let mut sum = [0.0; RANK];
        for (&row, values) in self.rows.iter().zip(&self.values) {
            let x: f64 = x[row as usize].into();
            (0..RANK).for_each(|c| sum[c] += f64::from(values[c]) * x);
        }
        sum
    }

    /// `out += G y`.
    pub fn scatter<T: Real>(&self, out: &mut [T], y: &[f64; RANK]) {
        self.scatter_rows(out, 0..out.len(), y);
    }

    /// The same on a range of rows, which `out` holds.
    pub fn scatter_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, y: &[f64; RANK]) {
        let place = |row: usize| self.rows.partition_point(|&r| (r as usize) < row);
        let own = place(rows.start)..place(rows.end);
        for (&row, values) in self.rows[own.clone()].iter().zip(&self.values[own]) {
            let out = &mut out[row as usize - rows.start];
            let before: f64 = (*out).into();
            *out = T::from_f64(before + (0..RANK).map(|c| f64::from(values[c]) * y[c]).sum::<f64>());
        }
    }
}

/// `K x` for a square matrix.
pub fn weigh(weight: &[[f64; RANK]; RANK], x: &[f64; RANK]) -> [f64; RANK] {
    std::array::from_fn(|r| (0..RANK).map(|c| weight[r][c] * x[c]).sum())
}

/// A sum of [`Block`]s: what `A + sum G K G^T` has beside `A`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// Each with its own columns.
    pub blocks: Vec<Block>,
}

/// `A + sum G K G^T` as one operator; rows of the blocks are rows of A.
///
/// Test: `a_term_of_low_rank_is_part_of_the_operator`.
#[derive(Clone, Copy, Debug)]
pub struct Coupled<'a, A> {
    /// A.
    pub operator: &'a A,
    /// What it has beside.
    pub term: &'a LowRank,
}

impl<A: LinearOperator> LinearOperator for Coupled<'_, A> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn apply_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, x: &[T]) {
        self.operator.apply_rows(out, rows, x);
    }

    fn weigh_blocks<T: Real>(&self, x: &[T]) -> Vec<[f64; RANK]> {
        let blocks = &self.term.blocks;
        parallel::map_indices(blocks.len(), |n| weigh(&blocks[n].weight, &blocks[n].gather(x)))
    }

    fn add_blocks<T: Real>(&self, out: &mut [T], rows: Range<usize>, y: &[[f64; RANK]]) {
        for (block, y) in self.term.blocks.iter().zip(y) {
            block.scatter_rows(out, rows.clone(), y);
        }
    }

    fn is_singular(&self) -> bool {
        self.operator.is_singular()
    }

    fn project<T: Real>(&self, v: &mut [T]) {
        self.operator.project(v);
    }
}
