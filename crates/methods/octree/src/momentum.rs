//! Uniform velocities of the liquid: gravity's, and the mean that free liquid keeps.

use crate::divergence::{face_volume, signed_area};
use crate::gradient::{Geometry, PressureGradient};
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::Octree;

/// Adds one velocity to every face that touches liquid, m/s. Verified by
/// `liquid_takes_up_a_velocity_and_has_its_mean`.
pub fn add_to_liquid(u_face: &mut [f32], tree: &Octree, phi_cell: &[f32], velocity: Vec3) {
    assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
    parallel::for_each_indexed_mut(u_face, |face, u| {
        if tree.cells_beside(face).any(|cell| phi_cell[cell] < 0.0) {
            *u += velocity[tree.face_axis(face)];
        }
    });
}

/// Momentum of the liquid that the pressure moves over its density, m4/s: of the open and wet parts of faces.
pub fn liquid_momentum(u_face: &[f32], geometry: &Geometry, gradient: &PressureGradient) -> DVec3 {
    let mut sum = DVec3::ZERO;
    for (face, &u) in u_face.iter().enumerate() {
        let m3 = face_volume(geometry.tree, face)
            * f64::from(geometry.open_area[face])
            * gradient.moved_part(face);
        sum[geometry.tree.face_axis(face)] += m3 * f64::from(u);
    }
    sum
}

/// What the impulse `p dt / rho` of liquid cells gives the closed parts of faces over the density, m4/s, but for those faces that
/// bodies close, a sorted list.
pub fn push_on_boundaries(impulse_cell: &[f64], geometry: &Geometry, body_faces: &[(u32, u32)]) -> DVec3 {
    let (tree, mut sum) = (geometry.tree, DVec3::ZERO);
    for cell in (0..tree.cell_count()).filter(|&cell| geometry.phi_cell[cell] < 0.0) {
        for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
            let is_body = body_faces.binary_search_by_key(&face, |&(face, _)| face).is_ok();
            let closed = 1.0 - f64::from(geometry.open_area[face as usize]);
            if closed > 0.0 && !is_body {
                let area = signed_area(f64::from(tree.cell_dx(cell)), side);
                sum[side / 2] -= closed * area * impulse_cell[cell];
            }
        }
    }
    sum
}

/// Mean velocity of the liquid, m/s, and whether it is free: whether no cell that holds any of it touches a
/// wall, a solid or a source. Cells with their centre in the air do not count towards the mean, since some of
/// their faces have an extrapolated velocity. Verified by `liquid_takes_up_a_velocity_and_has_its_mean`.
pub fn mean_velocity(geometry: &Geometry, fraction_cell: &[f32], u_face: &[f32]) -> ([f64; 3], bool) {
    let Geometry { tree, phi_cell, open_area } = *geometry;
    let cells = tree.cell_count();
    let parts = map_indices(chunk_count(cells, CHUNK), |n| {
        let mut part = (0.0f64, [0.0f64; 3], true);
        for cell in chunk_range(n, CHUNK, cells).filter(|&cell| fraction_cell[cell] > 0.0) {
            let mass = fraction_cell[cell] as f64 * (tree.cell_dx(cell) as f64).powi(3);
            let faces = tree.cell_faces()[cell].map(|face| u_face[face as usize] as f64);
            part.2 &= tree.cell_faces()[cell].iter().all(|&face| open_area[face as usize] == 1.0);
            if phi_cell[cell] >= 0.0 {
                continue;
            }
            part.0 += mass;
            for (axis, sum) in part.1.iter_mut().enumerate() {
                *sum += 0.5 * mass * (faces[2 * axis] + faces[2 * axis + 1]);
            }
        }
        part
    });
    let mass: f64 = parts.iter().map(|p| p.0).sum();
    let mean = [0, 1, 2].map(|a| parts.iter().map(|p| p.1[a]).sum::<f64>() / mass.max(f64::MIN_POSITIVE));
    (mean, mass > 0.0 && parts.iter().all(|p| p.2))
}
