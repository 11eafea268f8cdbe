//! Tests of the cut-cell kernels.

mod common;
mod pressure_order;
mod solid_cutting;
mod tension;
mod velocities;
mod watertight;
