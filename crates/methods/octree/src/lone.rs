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

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::Vec3;
    use fluvial_grids::Octree;
    use fluvial_grids::octree::Shape;

    #[test]
    fn only_a_cell_with_air_all_around_is_lone() {
        let shape = Shape { min: Vec3::ZERO, dx: 0.125, levels: 1, roots: [8; 3] };
        let tree = Octree::build(shape, 0, |_| false);
        let at = |x: f32, y: f32, z: f32| tree.locate(Vec3::new(x, y, z)).cell as usize;
        let (lone, pair) = (at(0.3, 0.3, 0.3), [at(0.7, 0.7, 0.7), at(0.7, 0.7, 0.8)]);
        let mut phi = vec![0.1; tree.cell_count()];
        [lone, pair[0], pair[1]].into_iter().for_each(|cell| phi[cell] = -0.02);
        let mut area = vec![1.0; tree.face_count()];
        let hidden = |area: &[f32]| {
            let mut out = vec![];
            hide_lone_cells(&mut out, &Geometry { tree: &tree, phi_cell: &phi, open_area: area });
            (0..out.len()).filter(|&cell| out[cell] != phi[cell]).collect::<Vec<_>>()
        };
        assert_eq!(hidden(&area), [lone]);
        // Beside a solid it is not free to fly.
        area[tree.cell_faces()[lone][3] as usize] = 0.5;
        assert!(hidden(&area).is_empty());
    }
}
