//! Velocity at the centres of faces, from its means over faces.
//!
//! What the projection makes free of divergence are means over faces: times their area they are the fluxes of volume. phi is a value at
//! a point, and moves with the velocity of that point, `u_point = u - dx^2 / 24 lap_t u` to fourth order, lap_t over the two directions in the
//! face. A surface carried by the means lags behind the volume by `(k dx)^2 / 24` of a wave of number k. Settled with a delay of tau, that
//! difference feeds the wave by `tau omega^2 (k dx)^2 / 48` a second: a ripple of two cells of still water grew by 0.2 to 0.9 a second, the faster
//! the shorter the steps. Verified by `point_velocities_are_of_fourth_order` and `short_waves_do_not_grow` of the solver.

use fluvial_foundation::{AXES, parallel};
use fluvial_grids::Octree;

/// Values at face centres of a velocity whose means over faces are `u_face`. Walls of the domain mirror it; where a neighbour in the face's plane is
/// of another size or closed, the mean stands for that direction.
pub fn point_velocities(u_point: &mut Vec<f32>, tree: &Octree, u_face: &[f32], open_area: &[f32]) {
    assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
    u_point.resize(tree.face_count(), 0.0);
    parallel::for_each_indexed_mut(u_point, |face, out| {
        let (axis, place, here) = (tree.face_axis(face), tree.face_places()[face], u_face[face]);
        let (level, at) = (place.level as usize, place.at.map(u32::from));
        let size = tree.shape().cells(level);
        let beside = |across: usize, up: bool| {
            let mut next = at;
            next[across] = if up { at[across] + 1 } else { at[across].wrapping_sub(1) };
            if next[across] as usize >= size[across] {
                return Some(here);
            }
            let other = tree.face_at(level, axis, next)? as usize;
            (open_area[other] > 0.0).then(|| u_face[other])
        };
        let mut bend = 0.0;
        for across in AXES.into_iter().filter(|&across| across != axis) {
            if let (Some(low), Some(high)) = (beside(across, false), beside(across, true)) {
                bend += (low + high) - 2.0 * here;
            }
        }
        *out = if open_area[face] > 0.0 { here - bend / 24.0 } else { here };
    });
}
