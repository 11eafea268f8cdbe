//! An operator on the pyramid as a sparse matrix over the leaves: what algebraic multigrid wants, and the
//! twin of the kernels.

use crate::pairs::neighbour_steps;
use crate::rows::{Rows, place};
use fluvial_grids::pyramid::{Pyramid, bits};
use fluvial_linear::krylov::Real;
use fluvial_linear::sparse::{Csr, FluxMatrix};

/// The rows of all levels, gathered by leaf: those of ghosts are added to the leaf around them. Leaves that
/// are no unknowns have empty rows.
pub fn assemble<V: Real>(pyramid: &Pyramid, rows: &Rows) -> FluxMatrix<V> {
    let count = pyramid.active_count();
    let mut entries: Vec<Vec<(u32, f64)>> = vec![vec![]; count];
    let mut excess = vec![0.0; count];
    for (l, (level, level_rows)) in pyramid.levels().iter().zip(&rows.levels).enumerate() {
        let layout = level.grid.layout();
        let steps = neighbour_steps(layout);
        let scale = f64::from(level.dx);
        // A cell of this level stands for itself or, as a ghost, for the leaf around it.
        let leaf = |code: u64| {
            let at = layout.decode(code);
            let own = level.number(at);
            own.or_else(|| pyramid.levels().get(l + 1)?.number(at.map(|v| v / 2)))
        };
        for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
            let block = &level_rows.blocks[n];
            for cell in bits(block.uniform) {
                let code = layout.first_of(page) | cell as u64;
                let own = leaf(code).expect("a leaf") as usize;
                entries[own]
                    .extend((0..6).map(|k| (leaf(layout.add(code, steps[k])).expect("a leaf"), -scale)));
            }
            for (cell, i) in bits(block.special).zip(block.first as usize..) {
                let row = &rows.rows[level_rows.row_of[i] as usize];
                let code = layout.first_of(page) | cell as u64;
                let own = leaf(code).expect("a leaf") as usize;
                excess[own] += scale * f64::from(row.excess);
                for k in 0..18 {
                    let (line, at) = place(k);
                    let weight = row.weight[line][at];
                    if weight != 0.0 {
                        let other = leaf(layout.add(code, steps[k])).expect("a leaf");
                        entries[own].push((other, -scale * f64::from(weight)));
                    }
                }
            }
        }
    }
    let (mut start, mut column, mut value) = (vec![0u32], vec![], vec![]);
    for row in &mut entries {
        row.sort_by_key(|e| e.0);
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            column.push(same[0].0);
            value.push(V::from_f64(same.iter().map(|e| e.1).sum()));
        }
        start.push(column.len() as u32);
    }
    FluxMatrix::new(Csr::new(count, start, column, value), excess)
}
