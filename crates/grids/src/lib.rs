//! Geometry and connectivity only: where samples lie and what is next to what. No physics.

pub mod cut;
pub mod lattice;
pub mod octree;
pub mod triangles;
pub mod uniform;

pub use lattice::Lattice;
pub use octree::Octree;
pub use triangles::TriangleMesh;
pub use uniform::{FaceField, UniformGrid};

/// Smallest distance, in cells, from a liquid sample to the surface that pressure operators believe. The floor moves the surface
/// by up to itself, an error of first order: 1e-2 rules the error of a free surface from 128 cells on, 1e-3 does not.
pub const GHOST_DISTANCE_FLOOR: f32 = 1e-3;
