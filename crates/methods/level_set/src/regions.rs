//! Connected regions of liquid.

use fluvial_foundation::{AXES, parallel};
use fluvial_grids::UniformGrid;

/// No region.
const NONE: u32 = u32::MAX;

/// Labels the connected regions of liquid (phi < 0, joined through faces with open area): `label_cell` gets
/// the region's number, `u32::MAX` outside the liquid. Returns the number of regions; they are numbered in
/// order of their first cell.
pub fn label_regions(
    label_cell: &mut Vec<u32>,
    phi: &[f32],
    open_area: [&[f32]; 3],
    grid: &UniformGrid,
) -> usize {
    assert_eq!(phi.len(), grid.cell_count());
    let slab = grid.cell_centers().slab();
    crate::fit(label_cell, phi.len());
    // Each slab on its own first: a cell gets the flat index of the first cell of its region in the slab.
    parallel::for_each_chunk_mut(label_cell, slab, |k, labels| label_slab(labels, phi, open_area, grid, k));
    let labels: &[u32] = label_cell;
    let roots = parallel::map_indices(grid.cells[2], |k| {
        let cells = (k * slab) as u32..;
        let roots = cells.zip(&labels[k * slab..(k + 1) * slab]).filter(|(cell, label)| cell == *label);
        roots.map(|(cell, _)| cell).collect::<Vec<u32>>()
    });
    // Then the regions of neighbouring slabs that touch, each pair once or a few times.
    let pairs = parallel::map_indices(grid.cells[2] - 1, |k| {
        let (low, high) = labels[k * slab..(k + 2) * slab].split_at(slab);
        let open = &open_area[2][(k + 1) * slab..(k + 2) * slab];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for n in 0..slab {
            let pair = (low[n], high[n]);
            let touch = pair.0 != NONE && pair.1 != NONE && open[n] > 0.0;
            if touch && pairs.last() != Some(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    });
    // Regions of all slabs in order of their first cells; those that belong together take the number of the
    // first.
    let first_of_slab: Vec<usize> = (roots.iter())
        .scan(0, |sum, roots| {
            *sum += roots.len();
            Some(*sum - roots.len())
        })
        .collect();
    let place = |cell: u32| {
        let k = cell as usize / slab;
        first_of_slab[k] + roots[k].binary_search(&cell).expect("a region of its slab")
    };
    let mut parents: Vec<u32> = (0..roots.iter().map(Vec::len).sum::<usize>() as u32).collect();
    for &(a, b) in pairs.iter().flatten() {
        unite(&mut parents, place(a), place(b));
    }
    let mut regions = 0;
    for n in 0..parents.len() {
        let parent = parents[n] as usize;
        if parent == n {
            parents[n] = regions;
            regions += 1;
        } else {
            parents[n] = parents[parent]; // a lower one: numbered already
        }
    }
    parallel::for_each_chunk_mut(label_cell, slab, |_, labels| {
        let mut last = (NONE, NONE);
        for label in labels.iter_mut().filter(|label| **label != NONE) {
            if last.0 != *label {
                last = (*label, parents[place(*label)]);
            }
            *label = last.1;
        }
    });
    regions as usize
}

/// Gives cells without a label the lowest one among the cells that they are joined to through open faces: a layer of cells around all
/// regions. `label_cell` is made from `inner_cell`, the labels without that layer.
///
/// Test: `labels_spread_by_a_layer_and_not_through_walls`.
pub fn spread_labels(
    label_cell: &mut Vec<u32>,
    inner_cell: &[u32],
    open_area: [&[f32]; 3],
    grid: &UniformGrid,
) {
    crate::fit(label_cell, inner_cell.len());
    let cells = grid.cell_centers();
    let faces = AXES.map(|axis| grid.faces(axis));
    cells.for_each_mut(label_cell, |cell, at, label| {
        *label = inner_cell[cell];
        if *label != NONE {
            return;
        }
        for axis in AXES {
            let (face, stride) = (faces[axis].index(at[0], at[1], at[2]), cells.stride(axis));
            if at[axis] > 0 && open_area[axis][face] > 0.0 {
                *label = (*label).min(inner_cell[cell - stride]);
            }
            if at[axis] + 1 < cells.size[axis] && open_area[axis][face + faces[axis].stride(axis)] > 0.0 {
                *label = (*label).min(inner_cell[cell + stride]);
            }
        }
    });
}

/// Labels the regions of slab k by the flat index of their first cell.
fn label_slab(labels: &mut [u32], phi: &[f32], open_area: [&[f32]; 3], grid: &UniformGrid, k: usize) {
    let [nx, ny, _] = grid.cells;
    let start = nx * ny * k;
    let phi = &phi[start..start + nx * ny];
    // Each liquid cell points to one of its region with a lower index (union-find in place).
    for j in 0..ny {
        let face_x = (nx + 1) * (j + ny * k);
        let face_y = nx * (j + (ny + 1) * k);
        for i in 0..nx {
            let cell = nx * j + i;
            if phi[cell] >= 0.0 || phi[cell].is_nan() {
                labels[cell] = NONE;
                continue;
            }
            labels[cell] = cell as u32;
            if i > 0 && phi[cell - 1] < 0.0 && open_area[0][face_x + i] > 0.0 {
                labels[cell] = root(labels, cell - 1) as u32;
            }
            if j > 0 && phi[cell - nx] < 0.0 && open_area[1][face_y + i] > 0.0 {
                unite(labels, cell, cell - nx);
            }
        }
    }
    for cell in 0..labels.len() {
        if labels[cell] != NONE {
            // Lower cells hold flat indices already.
            let parent = labels[cell] as usize;
            labels[cell] = if parent == cell { (start + cell) as u32 } else { labels[parent] };
        }
    }
}

fn root(parent: &mut [u32], mut cell: usize) -> usize {
    while parent[cell] != cell as u32 {
        parent[cell] = parent[parent[cell] as usize];
        cell = parent[cell] as usize;
    }
    cell
}

fn unite(parent: &mut [u32], a: usize, b: usize) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b)] = a.min(b) as u32;
}
