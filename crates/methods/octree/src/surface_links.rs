//! The cells beside the surface as rows of their own, and their neighbours along the axes.

use crate::sides::TreeSides;
use fluvial_grids::Octree;

/// Cells beside the surface, in the order of their numbers. A row is a place in `cells`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SurfaceLinks {
    pub cells: Vec<u32>,
    /// `u32::MAX` for all other cells.
    pub row_of_cell: Vec<u32>,
    /// The equal cells on both sides along each axis, where both are rows; the row itself twice elsewhere: second
    /// differences then vanish.
    pub pairs: Vec<[[u32; 2]; 3]>,
}

impl SurfaceLinks {
    /// Lists the cells that are `beside` the surface. Thin solids divide them.
    pub fn find(&mut self, tree: &Octree, sides: TreeSides, beside: impl Fn(usize) -> bool) {
        let SurfaceLinks { cells, row_of_cell, pairs } = self;
        row_of_cell.clear();
        row_of_cell.resize(tree.cell_count(), u32::MAX);
        cells.clear();
        for cell in (0..tree.cell_count()).filter(|&cell| beside(cell)) {
            row_of_cell[cell] = cells.len() as u32;
            cells.push(cell as u32);
        }
        pairs.clear();
        pairs.extend(cells.iter().zip(0u32..).map(|(&cell, own)| {
            let equal = tree.cells_of(tree.cells()[cell as usize].level as usize);
            let along = |side: usize| {
                let next = tree.leaf_across(cell as usize, side)? as usize;
                let is_equal = equal.contains(&next) && !sides.divides(tree, cell as usize, next);
                is_equal.then(|| row_of_cell[next]).filter(|&row| row != u32::MAX)
            };
            [0, 1, 2].map(|axis| match (along(2 * axis), along(2 * axis + 1)) {
                (Some(low), Some(high)) => [low, high],
                _ => [own; 2],
            })
        }));
    }
}
