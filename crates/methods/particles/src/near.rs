//! Which cells the liquid reaches: there the grid has its velocity and draws its volume.

use fluvial_foundation::parallel;
use fluvial_grids::UniformGrid;

/// Marks the cells whose 27 cells around hold one with phi < 0. The surface that is drawn runs through these
/// cells alone; a particle in any other flies by itself and is drawn by itself.
///
/// Test: `cells_around_the_liquid_are_near`.
pub fn mark_near(near_cell: &mut Vec<u8>, phi_cell: &[f32], grid: &UniformGrid) {
    mark_below(near_cell, phi_cell, 0.0, grid);
}

/// Marks the cells whose 27 cells around hold one with a value below `limit`.
pub fn mark_below(near_cell: &mut Vec<u8>, value_cell: &[f32], limit: f32, grid: &UniformGrid) {
    let [nx, ny, nz] = grid.cells;
    assert_eq!(value_cell.len(), nx * ny * nz);
    near_cell.resize(value_cell.len(), 0);
    // Below it along x and y within each slab; then along z.
    let slabs: Vec<Vec<u8>> = parallel::map_indices(nz, |k| {
        let values = &value_cell[nx * ny * k..nx * ny * (k + 1)];
        let mut wide = vec![0u8; nx * ny];
        for (values, wide) in values.chunks(nx).zip(wide.chunks_mut(nx)) {
            for (i, _) in values.iter().enumerate().filter(|(_, value)| **value < limit) {
                wide[i.saturating_sub(1)..(i + 2).min(nx)].fill(1);
            }
        }
        let mut marks = wide.clone();
        for j in 0..ny {
            let out = &mut marks[nx * j..nx * (j + 1)];
            for other in [j.wrapping_sub(1), j + 1] {
                if let Some(row) = wide.get(nx.wrapping_mul(other)..).filter(|_| other < ny) {
                    out.iter_mut().zip(row).for_each(|(out, near)| *out |= near);
                }
            }
        }
        marks
    });
    parallel::for_each_chunk_mut(near_cell, nx * ny, |k, out| {
        out.copy_from_slice(&slabs[k]);
        for other in [k.wrapping_sub(1), k + 1] {
            if let Some(slab) = slabs.get(other) {
                out.iter_mut().zip(slab).for_each(|(out, near)| *out |= near);
            }
        }
    });
}
