//! A field at cell centres continued into cells where it means nothing, e.g. phi into solids, so that the interface meets them
//! as if they were not there.

use fluvial_foundation::{AXES, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// Continues a field into the `closed` cells, `rings` rings deep: linearly, `2 q_1 - q_2`, the mean over all sides
/// on which two known cells of the same size follow each other; the mean of the known neighbours where there is no such side.
/// Every ring reads only earlier ones. Verified by `extend.rs`.
pub fn extend_cells(q_cell: &mut [f32], tree: &Octree, closed: &[bool], rings: usize) {
    assert_eq!(q_cell.len(), tree.cell_count(), "one value per cell");
    assert_eq!(closed.len(), tree.cell_count(), "one mark per cell");
    let mut missing: Vec<u32> = (0..closed.len() as u32).filter(|&cell| closed[cell as usize]).collect();
    let mut unknown = closed.to_vec();
    for _ in 0..rings {
        let (q, known) = (&*q_cell, |cell: u32| !unknown[cell as usize]);
        let values = parallel::map_indices(missing.len(), |n| continued(q, tree, &known, missing[n]));
        if values.iter().all(Option::is_none) {
            return;
        }
        for (&cell, value) in missing.iter().zip(values) {
            if let Some(value) = value {
                (q_cell[cell as usize], unknown[cell as usize]) = (value, false);
            }
        }
        missing.retain(|&cell| unknown[cell as usize]);
    }
}

fn continued(q: &[f32], tree: &Octree, known: &impl Fn(u32) -> bool, cell: u32) -> Option<f32> {
    let level = tree.cells()[cell as usize].level;
    // The one cell across a side, if it has the same size.
    let across = |cell: u32, side: usize| match tree.sides(tree.cell_faces()[cell as usize][side] as usize)
        [side % 2]
    {
        Side::Cell(other) if tree.cells()[other as usize].level == level => Some(other),
        _ => None,
    };
    let (mut lines, mut line_count) = (0.0f64, 0);
    let (mut sum, mut count) = (0.0f64, 0);
    for side in AXES.into_iter().flat_map(|axis| [2 * axis, 2 * axis + 1]) {
        if let Some(first) = across(cell, side).filter(|&c| known(c))
            && let Some(second) = across(first, side).filter(|&c| known(c))
        {
            lines += 2.0 * q[first as usize] as f64 - q[second as usize] as f64;
            line_count += 1;
        }
        let mut see = |other: u32| {
            if known(other) {
                sum += q[other as usize] as f64;
                count += 1;
            }
        };
        match tree.sides(tree.cell_faces()[cell as usize][side] as usize)[side % 2] {
            Side::Outside => {}
            Side::Cell(other) => see(other),
            Side::Quad(others) => others.into_iter().for_each(see),
        }
    }
    match (line_count, count) {
        (0, 0) => None,
        (0, _) => Some((sum / count as f64) as f32),
        _ => Some((lines / line_count as f64) as f32),
    }
}
