//! Connected regions of liquid.

use fluvial_grids::UniformGrid;

/// Labels the connected regions of liquid (phi < 0, joined through faces with open area): `label_cell` gets
/// the region's number, `u32::MAX` outside the liquid. Returns the number of regions; they are numbered in
/// order of their first cell.
pub fn label_regions(
    label_cell: &mut Vec<u32>,
    phi: &[f32],
    open_area: [&[f32]; 3],
    grid: &UniformGrid,
) -> usize {
    let [nx, ny, nz] = grid.cells;
    assert_eq!(phi.len(), grid.cell_count());
    label_cell.clear();
    label_cell.resize(phi.len(), u32::MAX);
    // First each liquid cell points to a cell of its region with a lower index (union-find in place).
    for k in 0..nz {
        for j in 0..ny {
            let start = nx * (j + ny * k);
            let face_x = (nx + 1) * (j + ny * k);
            let face_y = nx * (j + (ny + 1) * k);
            for i in 0..nx {
                let cell = start + i;
                if phi[cell] >= 0.0 || phi[cell].is_nan() {
                    continue;
                }
                label_cell[cell] = cell as u32;
                if i > 0 && phi[cell - 1] < 0.0 && open_area[0][face_x + i] > 0.0 {
                    unite(label_cell, cell, cell - 1);
                }
                if j > 0 && phi[cell - nx] < 0.0 && open_area[1][face_y + i] > 0.0 {
                    unite(label_cell, cell, cell - nx);
                }
                if k > 0 && phi[cell - nx * ny] < 0.0 && open_area[2][cell] > 0.0 {
                    unite(label_cell, cell, cell - nx * ny);
                }
            }
        }
    }
    // The root of a region is its first cell, so numbers go up in order of roots.
    let mut regions = 0;
    for cell in 0..phi.len() {
        let parent = label_cell[cell];
        if parent == cell as u32 {
            label_cell[cell] = regions;
            regions += 1;
        } else if parent != u32::MAX {
            label_cell[cell] = label_cell[parent as usize]; // lower index: numbered already
        }
    }
    regions as usize
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
