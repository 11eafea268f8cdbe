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

/// Fraction of the way from a liquid sample to an air sample at which the surface lies,
/// `phi_liquid / (phi_liquid - phi_air)`, and whether [`GHOST_DISTANCE_FLOOR`] had to replace it. NaN stays
/// NaN.
#[inline]
pub fn ghost_theta(phi_liquid: f32, phi_air: f32) -> (f32, bool) {
    let theta = phi_liquid / (phi_liquid - phi_air);
    if theta < GHOST_DISTANCE_FLOOR { (GHOST_DISTANCE_FLOOR, true) } else { (theta, false) }
}
