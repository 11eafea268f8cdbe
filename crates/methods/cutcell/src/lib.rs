//! Cut cells: liquid and solids below one grid cell, after Chen, Meier, Solenthaler and Azevedo 2020
//! (`[cutcell]` in documentation). The README of this crate maps the paper's sections and equations to
//! functions.
//!
//! [`cut`] makes cut cells ([`mesh`]) from a fine level set and triangles of [`solids`]. [`iso`] says where
//! pressures live, [`poisson`] solves for them, [`velocity`] and [`vertices`] make velocities free of
//! divergence, [`interpolation`] reads them inside a piece. [`curvature_flow`] and [`tension`] add surface
//! tension. [`places`] sorts particles into pieces, [`transfer`] brings their velocities to faces and vertices,
//! [`flow`] is the velocity that carries particles and, in [`tracker`], the level set; [`lag`] is what it lacks at the surface.
//! [`drops`] holds what is too small for the tracker.

pub mod air;
pub mod cases;
mod complex;
pub mod curvature_flow;
pub mod cut;
pub mod drops;
mod faces;
pub mod flow;
pub mod interpolation;
pub mod iso;
pub mod lag;
pub mod mesh;
pub mod nodes;
pub mod places;
pub mod poisson;
mod solid_cells;
mod solid_faces;
pub mod solids;
pub mod tension;
pub mod tidy;
pub mod tracker;
pub mod transfer;
pub mod velocity;
pub mod vertices;
pub mod walk;
