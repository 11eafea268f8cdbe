//! Incompressibility on tall cells [tall §3.7]: operator, right side, solution by multigrid,
//! correction.

pub mod multigrid;
pub mod projection;
pub mod stencil;
pub mod transfer;
