//! The net force of surface tension on free bodies, which there should be none of.

use crate::gradient::{Geometry, gradient_row};
use crate::regions::{NO_REGION, label_regions};
use fluvial_foundation::{AXES, parallel};

/// Memory of [`subtract_net_force`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct NetForceScratch {
    /// Body of every cell.
    label_cell: Vec<u32>,
}

/// Takes from every body the uniform velocity that a pressure `p_face` on the surface (times dt / rho, m2/s)
/// has given it as a whole; bodies that touch a wall or a solid keep theirs, since what they touch may push
/// back.
///
/// Tension does not move a closed surface: the integral of kappa n vanishes. Curvatures with errors do, and a
/// body in free fall would slowly start to move. A uniform velocity is exactly what the same pressure would
/// add besides if its net force were left in. Verified by `a_free_ball_is_not_moved_and_one_at_a_wall_is`.
pub fn subtract_net_force(
    u_face: &mut [f32],
    geometry: &Geometry,
    p_face: &[f32],
    scratch: &mut NetForceScratch,
) {
    let tree = geometry.tree;
    let label_cell = &mut scratch.label_cell;
    let count = label_regions(label_cell, tree, geometry.phi_cell, geometry.open_area);
    let velocities = body_velocities(geometry, label_cell, count, p_face);
    parallel::for_each_indexed_mut(u_face, |face, u| {
        let label = tree.cells_beside(face).map(|cell| label_cell[cell]).find(|&l| l != NO_REGION);
        if let Some(label) = label {
            *u -= velocities[label as usize][tree.face_axis(face)];
        }
    });
}

/// The velocity that a pressure on the surface gives each body as a whole, m/s; none to bodies that are not
/// free.
///
/// Pressures inside cancel in the sum of `V_f [grad p]` over all faces of an axis, because the divergence is
/// the gradient's transpose. What is left is the surface's part, `sum_f A_f s_f p_f` over the faces that it
/// crosses, where s is the share that liquid cells have in the face's gradient.
fn body_velocities(geometry: &Geometry, label_cell: &[u32], count: usize, p_face: &[f32]) -> Vec<[f32; 3]> {
    let tree = geometry.tree;
    let mut impulse = vec![[0.0f64; 3]; count];
    let mut volume_m3 = vec![0.0f64; count];
    let mut free = vec![true; count];
    for (cell, &label) in label_cell.iter().enumerate().filter(|(_, label)| **label != NO_REGION) {
        volume_m3[label as usize] += (tree.cell_dx(cell) as f64).powi(3);
        let open = tree.cell_faces()[cell].iter().all(|&face| geometry.open_area[face as usize] == 1.0);
        free[label as usize] &= open;
    }
    for axis in AXES {
        for face in tree.faces(axis).filter(|&face| p_face[face] != 0.0) {
            let (label, share) = body_and_share(geometry, label_cell, face);
            let area_m2 = (tree.face_dx(face) as f64).powi(2);
            impulse[label as usize][axis] += area_m2 * share * p_face[face] as f64;
        }
    }
    let velocity = |n: usize| if free[n] { impulse[n].map(|i| (i / volume_m3[n]) as f32) } else { [0.0; 3] };
    (0..count).map(velocity).collect()
}

/// The body at a face that the surface crosses, and the share that its cells have in the face's gradient,
/// positive when they lie on the high side.
fn body_and_share(geometry: &Geometry, label_cell: &[u32], face: usize) -> (u32, f64) {
    let (mut label, mut wet, mut all) = (0, 0.0, 0.0);
    for (cell, c) in gradient_row(geometry.tree, face).entries() {
        all += 0.5 * c.abs();
        if geometry.phi_cell[cell] < 0.0 {
            (label, wet) = (label_cell[cell], wet + c);
        }
    }
    (label, wet / all)
}
