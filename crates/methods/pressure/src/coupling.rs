//! A term of low rank beside the operator: rigid bodies that the pressure moves [batty-2007 §4.2].
//!
//! `(A + sum G K G^T) p = rhs` stays symmetric and positive definite. Multigrid for A knows nothing of the term, which adds
//! six eigenvalues a body; the lighter a body and the thinner the water between it and others, the larger they are.
//! [`crate::body_modes`] takes them out of the preconditioned operator. Verified by `tests/coupling.rs`.

use crate::body_modes::{BodyModes, Stencil};
use crate::components::Components;
use crate::layout::Split;
use crate::operator::Operator;
use fluvial_foundation::parallel;
use fluvial_linear::{LowRank, RANK, weigh};

/// Numbers of a body's motion.
pub(crate) type Six = [f64; RANK];

/// A row of G: colour and address of its cell, its values, and the row of A there.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub colour: usize,
    pub at: usize,
    pub values: Six,
    pub stencil: Stencil,
}

/// The rows of a block, and its weight.
#[derive(Default)]
pub(crate) struct Placed {
    pub entries: Vec<Entry>,
    pub weight: [Six; RANK],
}

/// What a vector does to a body: `G^T x` and `K G^T x`.
pub(crate) type Gathered = [Six; 2];

/// The term on the finest level.
#[derive(Default)]
pub(crate) struct Coupling {
    blocks: Vec<Placed>,
    pub modes: BodyModes,
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
        self.blocks.resize_with(term.blocks.len(), Placed::default);
        parallel::for_each_chunk_mut(&mut self.blocks, 1, |n, placed| {
            let (block, placed) = (&term.blocks[n], &mut placed[0]);
            let [nx, ny, _] = op.layout.cells;
            let (entries, mut sealed) = (&mut placed.entries, vec![]);
            entries.clear();
            placed.weight = block.weight;
            for (&row, values) in block.rows.iter().zip(&block.values) {
                let cell = [row as usize % nx, row as usize / nx % ny, row as usize / (nx * ny)];
                if let Some((colour, at)) = op.unknown_at(cell) {
                    let stencil = Stencil::new(op, cell, colour, at);
                    entries.push(Entry { colour, at, values: values.map(f64::from), stencil });
                    sealed.push(components.sealed_component(cell));
                }
            }
            without_constants(entries, &sealed);
        });
        self.modes.fit(&self.blocks, op);
    }

    /// `G^T x` and `K G^T x` of every block.
    pub fn gather<T: Copy + Into<f64> + Send + Sync>(&self, x: &Split<T>) -> Vec<Gathered> {
        parallel::map_indices(self.blocks.len(), |n| {
            let mut sum = [0.0; RANK];
            for Entry { colour, at, values, .. } in &self.blocks[n].entries {
                let x: f64 = x[*colour][*at].into();
                (0..RANK).for_each(|c| sum[c] += values[c] * x);
            }
            [sum, weigh(&self.blocks[n].weight, &sum)]
        })
    }

    /// `out += scale H x` from what [`Self::gather`] gave for x; returns by how much that changes `out . out`.
    pub fn add(&self, out: &mut Split, gathered: &[Gathered], scale: f64) -> f64 {
        let mut change = 0.0;
        for (block, [_, kg]) in self.blocks.iter().zip(gathered) {
            for Entry { colour, at, values, .. } in &block.entries {
                let value = &mut out[*colour][*at];
                let before = f64::from(*value);
                *value = (before + scale * (0..RANK).map(|c| values[c] * kg[c]).sum::<f64>()) as f32;
                change += f64::from(*value).powi(2) - before * before;
            }
        }
        change
    }

    /// Before a cycle with the right side r; see [`BodyModes::before`].
    pub fn before_cycle(&mut self, r: &mut Split) {
        if !self.is_empty() {
            self.modes.before(r, &self.blocks);
        }
    }

    /// After a cycle, which gave z with the energies `z . A z` and `z . r`; returns both with the term, and what z does
    /// to the bodies. See [`BodyModes::after`].
    pub fn after_cycle(
        &mut self,
        z: &mut Split,
        r: &mut Split,
        energies: [f64; 2],
    ) -> ([f64; 2], Vec<Gathered>) {
        if self.is_empty() {
            return (energies, vec![]);
        }
        let mut gathered = self.gather(z);
        let energies = self.modes.after((z, r), &mut gathered, &self.blocks, energies);
        (energies, gathered)
    }
}

/// Takes the mean out of the entries of each sealed component.
fn without_constants(entries: &mut [Entry], sealed: &[Option<u32>]) {
    let mut touched: Vec<u32> = sealed.iter().flatten().copied().collect();
    touched.sort_unstable();
    touched.dedup();
    for component in touched {
        let of_component = || (0..entries.len()).filter(|&n| sealed[n] == Some(component));
        let count = of_component().count() as f64;
        let mean: Six =
            std::array::from_fn(|c| of_component().map(|n| entries[n].values[c]).sum::<f64>() / count);
        for n in of_component().collect::<Vec<_>>() {
            (0..RANK).for_each(|c| entries[n].values[c] -= mean[c]);
        }
    }
}
