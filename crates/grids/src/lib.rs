//! Geometry and connectivity only: where samples lie and what is next to what. No physics.

mod ball;
pub mod curvature;
pub mod cut;
pub mod lattice;
pub mod octree;
pub mod paged;
pub mod patch;
pub mod pyramid;
pub mod sides;
pub mod tall;
pub mod triangles;
pub mod uniform;

pub use ball::{add_ball, add_lens};
pub use lattice::Lattice;
pub use octree::Octree;
pub use sides::Sides;
pub use tall::TallGrid;
pub use triangles::TriangleMesh;
pub use uniform::{FaceField, UniformGrid};

/// Smallest distance, in cells, from a liquid sample to the surface that pressure operators work with; shorter
/// ones are raised to it. That moves the surface by up to the floor, an error of first order: with 1e-2 it
/// dominates the error of a free surface from 128 cells on, with 1e-3 it does not.
pub const GHOST_DISTANCE_FLOOR: f32 = 1e-3;

/// The level set of a sample as pressure operators with a floor see it, `phi` and the edge `dx` of the cell in the same unit: liquid is no
/// nearer to the surface than the floor.
///
/// At rest one pressure answers the gravity on all faces of a cell that the surface crosses, `p / theta = g n`, with
/// distances along the axes of `theta = d / n`. Were each theta floored alone, those of a cell with the surface at its centre would be
/// equal, no pressure could hold all of its faces, and still water there moved by half of `g dt` in every step. With the cell's distance
/// floored their ratios stay, and what is left is the floor's part of `g dt`.
/// Test: `a_surface_through_the_centre_of_a_cell_rests` of the solvers.
#[inline]
pub fn floored_distance(phi: f32, dx: f32, floor: f32) -> f32 {
    // At this distance theta towards air a cell beyond is the floor.
    let least = floor / (1.0 - floor) * dx;
    if phi < 0.0 { phi.min(-least) } else { phi }
}

/// Fraction of the way from a liquid sample to an air sample at which the surface lies,
/// `phi_liquid / (phi_liquid - phi_air)`, and whether [`GHOST_DISTANCE_FLOOR`] had to replace it. NaN stays
/// NaN.
#[inline]
pub fn ghost_theta(phi_liquid: f32, phi_air: f32) -> (f32, bool) {
    let theta = phi_liquid / (phi_liquid - phi_air);
    if theta < GHOST_DISTANCE_FLOOR { (GHOST_DISTANCE_FLOOR, true) } else { (theta, false) }
}
