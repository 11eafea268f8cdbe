//! Geometry and connectivity only: where samples lie and what is next to what. No physics.

pub mod cut;
pub mod lattice;
pub mod octree;
pub mod paged;
pub mod pyramid;
pub mod triangles;
pub mod uniform;

pub use lattice::Lattice;
pub use octree::Octree;
pub use triangles::TriangleMesh;
pub use uniform::{FaceField, UniformGrid};
