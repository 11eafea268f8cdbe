//! The air beside the surface: the velocity that carries the surface must not create or destroy volume there.

use crate::divergence::signed_area;
use crate::gradient::Geometry;
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_grids::Octree;

/// An air cell lies beside the surface when its centre is nearer to it than this, in its own edges.
const NEAR_CELLS: f32 = 1.1;

/// Memory of [`balance_surface_air`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct AirScratch {
    /// Air cells beside the surface.
    is_surface_air: Vec<bool>,
}

/// Makes a velocity divergence-free in the air cells beside the surface.
///
/// The surface runs through those cells, so their net outflow is volume created or destroyed. Extrapolated
/// velocities, averages of their neighbours, diverge there wherever the flow does, e.g. all along a spreading
/// front. Each cell's excess is spread evenly over its faces that lead to air farther away; those values
/// carry nothing else. T-junctions keep their values. Verified by `air_beside_a_surface_keeps_its_volume`.
pub fn balance_surface_air(
    u_face: &mut [f32],
    geometry: &Geometry,
    closed_cell: &[bool],
    scratch: &mut AirScratch,
) {
    let Geometry { tree, phi_cell: phi, open_area: area } = *geometry;
    let is_air = &mut scratch.is_surface_air;
    is_air.resize(tree.cell_count(), false);
    parallel::for_each_indexed_mut(is_air, |cell, is_air| {
        *is_air = phi[cell] >= 0.0 && phi[cell] < NEAR_CELLS * tree.cell_dx(cell) && !closed_cell[cell] && {
            let mut wet = false;
            tree.for_neighbours(cell, |other| wet |= phi[other] < 0.0);
            wet
        };
    });
    for (cell, excess_m3_s) in excesses(tree, u_face, area, is_air).into_iter().flatten() {
        let dx = tree.cell_dx(cell) as f64;
        let leads_away = |face: usize| {
            let others = || tree.cells_beside(face).filter(|&other| other != cell);
            area[face] > 0.0
                && !tree.is_junction(face)
                && others().count() == 1
                && others().all(|other| phi[other] >= 0.0 && !is_air[other])
        };
        let faces = tree.cell_faces()[cell].map(|face| face as usize);
        let open: f64 = faces.iter().filter(|&&f| leads_away(f)).map(|&f| area[f] as f64).sum();
        if open > 0.0 {
            let change = (excess_m3_s / (open * dx * dx)) as f32;
            for (side, &face) in faces.iter().enumerate() {
                if leads_away(face) {
                    u_face[face] -= if side % 2 == 1 { change } else { -change };
                }
            }
        }
    }
}

/// Net outflow of every marked cell, m3/s, in the order of the cells, by chunk.
fn excesses(tree: &Octree, u_face: &[f32], area: &[f32], marks: &[bool]) -> Vec<Vec<(usize, f64)>> {
    map_indices(chunk_count(marks.len(), CHUNK), |n| {
        let marked = chunk_range(n, CHUNK, marks.len()).filter(|&cell| marks[cell]);
        let excess = |cell: usize| {
            let dx = tree.cell_dx(cell) as f64;
            let out = |(side, &face): (usize, &u32)| {
                -signed_area(dx, side) * (area[face as usize] * u_face[face as usize]) as f64
            };
            (cell, tree.cell_faces()[cell].iter().enumerate().map(out).sum::<f64>())
        };
        marked.map(excess).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::Vec3;
    use fluvial_grids::octree::Shape;

    /// A front that spreads, `u = (x, 0, 0)`, diverges at the rate 1 everywhere. Over a flat pool on equal
    /// cells, the air cells beside it come out free of divergence, and no face of the liquid has changed.
    #[test]
    fn air_beside_a_surface_keeps_its_volume() {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
        let tree = Octree::build(shape, 0, |_| false);
        let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - 0.51).collect();
        let area = vec![1.0; tree.face_count()];
        let along = |face: usize| if tree.face_axis(face) == 0 { tree.face_center(face, 0).x } else { 0.0 };
        let before: Vec<f32> = (0..tree.face_count()).map(along).collect();
        let mut u = before.clone();
        let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: &area };
        let closed = vec![false; tree.cell_count()];
        balance_surface_air(&mut u, &geometry, &closed, &mut AirScratch::default());
        let mut balanced = 0;
        for cell in 0..tree.cell_count() {
            let faces = tree.cell_faces()[cell].map(|f| f as usize);
            let divergence: f32 = (0..3).map(|a| (u[faces[2 * a + 1]] - u[faces[2 * a]]) * 16.0).sum();
            if phi[cell] >= 0.0 && phi[cell] < 1.0 / 16.0 {
                assert!(divergence.abs() < 1e-5, "{divergence}");
                balanced += 1;
            }
            if phi[cell] < 0.0 {
                assert!(faces.iter().all(|&f| u[f] == before[f]));
            }
        }
        assert_eq!(balanced, 16 * 16);
    }
}
