//! An operator on the pyramid as a sparse matrix over the leaves: what algebraic multigrid wants, and the
//! twin of the kernels.

use crate::pairs::neighbour_steps;
use crate::rows::{Rows, place};
use fluvial_foundation::parallel;
use fluvial_grids::pyramid::{Pyramid, bits};
use fluvial_linear::krylov::Real;
use fluvial_linear::sparse::{Csr, FluxMatrix};
use std::ops::Range;

/// Blocks per task.
const BLOCKS: usize = 64;

/// What the blocks of a task add to rows: row, column and value, and what leads to the free surface.
#[derive(Default)]
struct Part {
    entries: Vec<(u32, u32, f64)>,
    excess: Vec<(u32, f64)>,
}

/// The rows of all levels, gathered by leaf: those of ghosts are added to the leaf around them. Leaves that
/// are no unknowns have empty rows.
pub fn assemble<V: Real>(pyramid: &Pyramid, rows: &Rows) -> FluxMatrix<V> {
    let count = pyramid.active_count();
    let mut parts = vec![];
    for l in 0..pyramid.levels().len() {
        let blocks = pyramid.levels()[l].grid.blocks().len();
        parts.extend(parallel::map_indices(parallel::chunk_count(blocks, BLOCKS), |task| {
            part(pyramid, rows, l, parallel::chunk_range(task, BLOCKS, blocks))
        }));
    }
    let mut excess = vec![0.0; count];
    parts.iter().flat_map(|part| &part.excess).for_each(|&(row, value)| excess[row as usize] += value);
    // Entries by row, in the order in which they were found.
    let all = || parts.iter().flat_map(|part| &part.entries);
    let mut place = vec![0u32; count + 1];
    all().for_each(|&(row, ..)| place[row as usize + 1] += 1);
    (0..count).for_each(|n| place[n + 1] += place[n]);
    let mut sorted = vec![(0u32, 0.0f64); place[count] as usize];
    for &(row, column, value) in all() {
        sorted[place[row as usize] as usize] = (column, value);
        place[row as usize] += 1;
    }
    let (mut start, mut column, mut value) = (Vec::with_capacity(count + 1), vec![], vec![]);
    start.push(0u32);
    let mut first = 0;
    // Every row now ends where the next one began.
    for &end in &place[..count] {
        let row = &mut sorted[first..end as usize];
        row.sort_by_key(|e| e.0);
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            column.push(same[0].0);
            value.push(V::from_f64(same.iter().map(|e| e.1).sum()));
        }
        start.push(column.len() as u32);
        first = end as usize;
    }
    FluxMatrix::new(Csr::new(count, start, column, value), excess)
}

fn part(pyramid: &Pyramid, rows: &Rows, l: usize, blocks: Range<usize>) -> Part {
    let (level, level_rows) = (&pyramid.levels()[l], &rows.levels[l]);
    let layout = level.grid.layout();
    let steps = neighbour_steps(layout);
    let scale = f64::from(level.dx);
    // A cell of this level stands for itself or, as a ghost, for the leaf around it.
    let leaf = |code: u64| {
        let above = || pyramid.levels().get(l + 1)?.number(layout.decode(code).map(|v| v / 2));
        level.number_at(code).or_else(above).expect("a leaf")
    };
    let mut out = Part::default();
    for n in blocks {
        let (page, block) = (level.grid.blocks().pages()[n], &level_rows.blocks[n]);
        for cell in bits(block.uniform) {
            let code = layout.first_of(page) | cell as u64;
            let own = leaf(code);
            out.entries.extend((0..6).map(|k| (own, leaf(layout.add(code, steps[k])), -scale)));
        }
        for (cell, i) in bits(block.special).zip(block.first as usize..) {
            let row = &rows.rows[level_rows.row_of[i] as usize];
            let code = layout.first_of(page) | cell as u64;
            let own = leaf(code);
            out.excess.push((own, scale * f64::from(row.excess)));
            for k in 0..18 {
                let (line, at) = place(k);
                let weight = row.weight[line][at];
                if weight != 0.0 {
                    out.entries.push((own, leaf(layout.add(code, steps[k])), -scale * f64::from(weight)));
                }
            }
        }
    }
    out
}
