//! Liquid cells without liquid neighbours.

use crate::gradient::Geometry;
use fluvial_foundation::parallel;

/// phi as the pressure sees it: as it is, but positive in liquid cells whose sides are all open and lead to
/// air.
///
/// A drop of one cell is smaller than the tree can turn or squeeze: the ghost distances at its faces are
/// noise, and the shortest of them would take all the flux. With a positive phi no pressure acts on it.
/// Verified by `only_a_cell_with_air_all_around_is_lone`.
pub fn hide_lone_cells(out_cell: &mut Vec<f32>, geometry: &Geometry) {
    let Geometry { tree, phi_cell: phi, open_area } = *geometry;
    out_cell.resize(phi.len(), 0.0);
    parallel::for_each_indexed_mut(out_cell, |cell, out| {
        let dry = |other: usize| other == cell || phi[other] >= 0.0;
        let is_lone = phi[cell] < 0.0
            && tree.cell_faces()[cell].iter().all(|&face| {
                let face = face as usize;
                open_area[face] == 1.0 && tree.cells_beside(face).all(dry)
            });
        *out = if is_lone { -phi[cell] } else { phi[cell] };
    });
}
