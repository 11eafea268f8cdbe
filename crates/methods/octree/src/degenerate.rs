//! Degenerate T-junctions move as the liquid beside them is about to.
//!
//! Where `W < 0` the symmetric form lets no pressure act [octree eq. 25]: the face falls freely, its flux enters the
//! divergence of its cells, and still water moves. The pressure's gradient at such a face is not known from its own
//! cells, but it is from the faces of the same axis beside it that have liquid on both sides. With the last pressure
//! `q`, over those faces f,
//!
//! `u = mean_f (u_f - [grad]_f q) + [F grad] q`
//!
//! before the projection: after it `u = mean_f (u_f - [grad]_f q)` but for `[F grad](p - q)`, which is nothing away
//! from solids. Liquid at rest stays there (`u_f = [grad]_f q`, q linear), a body in free fall falls (`q = 0`), and the
//! matrix stays symmetric. The feedback from one pressure to the next is weak: an error of q is 5e-3 of itself a
//! projection later. Verified by `degenerate_junctions_rest_with_the_last_pressure`.

use crate::extrapolate::for_neighbours;
use crate::gradient::{Geometry, PressureGradient};
use fluvial_grids::Octree;

/// Gives degenerate junctions the velocity of the faces beside them, from velocities before the projection and the last
/// pressure, m2/s. Returns the largest change, m/s. Junctions with no full face beside them stay as they are.
pub fn follow_neighbours(
    u_face: &mut [f32],
    geometry: &Geometry,
    gradient: &PressureGradient,
    q_cell: &[f64],
) -> f32 {
    let tree: &Octree = geometry.tree;
    let u = &*u_face;
    let followed = |face: usize| {
        let (mut sum, mut count) = (0.0, 0);
        for_neighbours(tree, face, tree.face_axis(face), |other| {
            let other = other as usize;
            if gradient.is_full(other) {
                sum += f64::from(u[other]) - gradient.row(geometry, other).apply(q_cell);
                count += 1;
            }
        });
        let own = gradient.row(geometry, face).apply(q_cell);
        (count > 0).then(|| (face, (sum / f64::from(count) + own) as f32))
    };
    let degenerate = (0..tree.face_count()).filter(|&face| gradient.is_degenerate(face));
    let found: Vec<(usize, f32)> = degenerate.filter_map(followed).collect();
    let mut largest = 0.0f32;
    for (face, new) in found {
        largest = largest.max((new - u_face[face]).abs());
        u_face[face] = new;
    }
    largest
}
