//! The liquid as the pressure sees it.

use crate::gradient::{Geometry, THETA_MIN};
use fluvial_foundation::parallel;
use fluvial_grids::floored_distance;

/// phi as the pressure sees it: as it is, but no liquid cell is nearer to the surface than the floor ([`floored_distance`] says
/// why), and positive in liquid cells whose sides are all open and lead to air.
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
        let least = floored_distance(phi[cell], tree.cell_dx(cell), THETA_MIN as f32);
        *out = if is_lone { -phi[cell] } else { least };
    });
}
