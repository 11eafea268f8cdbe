//! Shapes as signed distance, mesh import, motion, and what solids mean for a grid.

mod motion;
mod shape;

pub use motion::{Motion, Pose};
pub use shape::Shape;
