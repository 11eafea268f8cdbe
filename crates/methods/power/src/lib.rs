//! Numerics on power diagrams of graded octrees, in paged pyramids [power].
//!
//! A leaf's power cell follows from the leaves around it ([`neighbourhood`]), is cut out exactly ([`polyhedron`]) and kept in a table
//! ([`stencil`]). [`diagram`] does so for all leaves of a pyramid, [`mesh`] lists the result.

pub mod channels;
pub mod diagram;
pub mod mesh;
pub mod neighbourhood;
pub mod polyhedron;
pub mod stencil;
