//! Tests of the cut-cell kernels.

mod common;
mod pressure_order;
mod solid_cutting;
mod tension;
mod threads;
mod velocities;
mod watertight;
