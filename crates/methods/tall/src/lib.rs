//! Numerics on restricted tall-cell grids `tall`: every kernel of the paper's Algorithm 1.
//!
//! Each kernel is a plain function over slices here and a WGSL entry point in the file beside it. Both do the
//! same operations in the same order in f32, so that the GPU can be checked against the CPU. Nothing uses
//! atomics; a kernel reads old values and writes new ones, so that results depend neither on threads nor on
//! workgroups.
//!
//! Fields have one value a sample of the [`TallGrid`](fluvial_grids::TallGrid). Velocities lie with
//! everything else at the samples (the grid is collocated) and have four components: u, v, w, and 1 where the
//! value is known.
//!
//! The README maps sections and equations of the paper to functions and lists what differs.

pub mod advect;
pub mod bodies;
pub mod exchange;
pub mod extrapolate;
pub mod field;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hierarchy;
pub mod maps;
pub mod pressure;
pub mod redistance;
pub mod remesh;
pub mod solids;
pub mod spray;
pub mod volume;
pub mod walls;
