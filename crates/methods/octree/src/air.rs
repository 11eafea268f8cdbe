//! The air beside the surface: the velocity that carries the surface must not create or destroy volume there.

use crate::divergence::signed_area;
use crate::gradient::Geometry;
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_grids::Octree;

/// An air cell lies beside the surface when its centre is nearer to it than this, in its own edges.
const NEAR_CELLS: f32 = 1.1;

/// Less of faces that lead away does not take up all of a cell's excess, in faces: out of the corner that a solid leaves it would be a jet, and
/// the back-traces of the surface read it.
const LEAST_OPEN: f64 = 0.2;

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
            let change = (excess_m3_s / (open.max(LEAST_OPEN) * dx * dx)) as f32;
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
