//! A term of low rank beside the operator: rigid bodies that the pressure moves [batty-2007 §4.2].
//!
//! `(A + sum G K G^T) p = rhs` stays symmetric and positive definite, and multigrid for A its preconditioner: the term
//! adds six eigenvalues a body, which conjugate gradients find one by one. Verified by `tests/coupling.rs`.

use crate::components::Components;
use crate::layout::Split;
use crate::operator::Operator;
use fluvial_foundation::parallel;
use fluvial_linear::{LowRank, RANK, weigh};

/// A row of G: colour and address of its cell, and its values.
#[derive(Clone, Copy)]
struct Entry {
    colour: usize,
    at: usize,
    values: [f64; RANK],
}

/// The rows of a block, and its weight.
#[derive(Default)]
struct Placed {
    entries: Vec<Entry>,
    weight: [[f64; RANK]; RANK],
}

/// The term on the finest level.
#[derive(Default)]
pub(crate) struct Coupling {
    blocks: Vec<Placed>,
}

impl Coupling {
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Takes the rows that belong to unknowns. In a sealed component, where pressure is known up to a constant, the
    /// constant must not act: its part is taken out of G, where a body that touches a wall leaves one.
    pub fn place(&mut self, term: &LowRank, op: &Operator, components: &Components) {
        let [nx, ny, _] = op.layout.cells;
        self.blocks.clear();
        for block in &term.blocks {
            let (mut entries, mut sealed) = (vec![], vec![]);
            for (&row, values) in block.rows.iter().zip(&block.values) {
                let cell = [row as usize % nx, row as usize / nx % ny, row as usize / (nx * ny)];
                let colour = (cell[0] + cell[1] + cell[2]) & 1;
                let found = op.storage.find(op.layout.row(cell[1], cell[2]), cell[0] / 2);
                if let Some(at) = found.filter(|&at| op.diag[colour][at] != 0.0) {
                    entries.push(Entry { colour, at, values: values.map(f64::from) });
                    sealed.push(components.sealed_component(cell));
                }
            }
            let mut touched: Vec<u32> = sealed.iter().flatten().copied().collect();
            touched.sort_unstable();
            touched.dedup();
            for component in touched {
                let of_component = || (0..entries.len()).filter(|&n| sealed[n] == Some(component));
                let count = of_component().count() as f64;
                let mean: [f64; RANK] = std::array::from_fn(|c| {
                    of_component().map(|n| entries[n].values[c]).sum::<f64>() / count
                });
                for n in of_component().collect::<Vec<_>>() {
                    (0..RANK).for_each(|c| entries[n].values[c] -= mean[c]);
                }
            }
            self.blocks.push(Placed { entries, weight: block.weight });
        }
    }

    /// `G^T x` and `K G^T x` of every block.
    pub fn gather<T: Copy + Into<f64> + Send + Sync>(&self, x: &Split<T>) -> Vec<[[f64; RANK]; 2]> {
        parallel::map_indices(self.blocks.len(), |n| {
            let mut sum = [0.0; RANK];
            for Entry { colour, at, values } in &self.blocks[n].entries {
                let x: f64 = x[*colour][*at].into();
                (0..RANK).for_each(|c| sum[c] += values[c] * x);
            }
            [sum, weigh(&self.blocks[n].weight, &sum)]
        })
    }

    /// `x . H x` from what [`Self::gather`] gave for x.
    pub fn energy(gathered: &[[[f64; RANK]; 2]]) -> f64 {
        gathered.iter().map(|[g, kg]| (0..RANK).map(|c| g[c] * kg[c]).sum::<f64>()).sum()
    }

    /// `out += scale H x` from what [`Self::gather`] gave for x; returns by how much that changes `out . out`.
    pub fn add(&self, out: &mut Split, gathered: &[[[f64; RANK]; 2]], scale: f64) -> f64 {
        let mut change = 0.0;
        for (block, [_, kg]) in self.blocks.iter().zip(gathered) {
            for Entry { colour, at, values } in &block.entries {
                let value = &mut out[*colour][*at];
                let before = f64::from(*value);
                *value = (before + scale * (0..RANK).map(|c| values[c] * kg[c]).sum::<f64>()) as f32;
                change += f64::from(*value).powi(2) - before * before;
            }
        }
        change
    }
}
