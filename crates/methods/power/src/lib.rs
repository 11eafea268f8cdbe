//! Numerics on power diagrams of graded octrees, in paged pyramids, after \`power`.
//!
//! A leaf's power cell follows from the leaves around it ([`neighbourhood`]), is cut out exactly
//! ([`polyhedron`]) and kept in a table ([`stencil`]). [`diagram`] does so for all leaves of a pyramid,
//! [`mesh`] lists the result. [`rows`] are the coefficients of operators, with what free surface and solids
//! change ([`pairs`]); [`laplacian`] and [`velocity`] stream through the pages with them.

pub mod air;
pub mod band;
pub mod centers;
pub mod channels;
pub mod coarse;
pub mod content;
pub mod diagram;
pub mod faces;
pub mod flow;
pub mod flux;
pub mod hybrid;
pub mod kernels;
pub mod laplacian;
pub mod matrix;
pub mod mesh;
pub mod neighbourhood;
pub mod nodes;
pub mod pairs;
pub mod polyhedron;
pub mod rows;
pub mod settle;
pub mod stencil;
pub mod stream;
pub mod velocity;
pub mod view;
