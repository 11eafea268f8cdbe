//! Pressure on the surface itself, such as surface tension.

use fluvial_grids::{GHOST_DISTANCE_FLOOR, floored_distance, ghost_theta};

/// Where a pressure on the surface acts, and how strongly.
#[derive(Clone, Copy, Debug)]
pub struct SurfacePush<'a> {
    /// The liquid's level set.
    pub phi_cell: &'a [f32],
    /// What it is at a distance of one cell.
    pub unit: f32,
    /// Cells without any open face.
    pub closed_cell: &'a [bool],
    /// Cells whose pressure is unknown.
    pub unknown_cell: &'a [bool],
    /// dt / dx times what turns the values into pressure over density.
    pub strength: f32,
}

/// Pushes the face between two cells where the surface crosses it: with the pressure s over density on the
/// surface, the ghost value of the face becomes s instead of 0, which is the same as `u -= n dt s / (dx
/// theta)` before the projection, n from liquid to air [octree eq. 32]. `value(inside, outside)` is s where
/// the surface crosses the way between them.
///
/// It is one half of a projection and acts only where the other half follows: the ghost distances of a lone
/// cell are noise, down to their floor, and a push over them would throw it.
///
/// Test: `a_pressure_on_the_surface_is_the_pressure_inside`.
#[inline]
pub fn push_at_surface(
    u: &mut f32,
    [low, high]: [usize; 2],
    push: &SurfacePush,
    value: impl Fn(usize, usize) -> f32,
) {
    let SurfacePush { phi_cell: phi, closed_cell: closed, unknown_cell: unknown, strength, unit } = *push;
    if (phi[low] < 0.0) == (phi[high] < 0.0) || closed[low] || closed[high] {
        return;
    }
    let (inside, outside, n) = if phi[low] < 0.0 { (low, high, 1.0) } else { (high, low, -1.0) };
    if !unknown[inside] {
        return;
    }
    let liquid = floored_distance(phi[inside], unit, GHOST_DISTANCE_FLOOR);
    let (theta, _) = ghost_theta(liquid, phi[outside]);
    *u -= n * strength * value(inside, outside) / theta;
}
