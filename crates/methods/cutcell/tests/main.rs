//! Tests of the cut-cell kernels.

mod cases;
mod common;
mod complexes;
mod drops;
mod pressure_order;
mod solid_cells;
mod solid_cutting;
mod tension;
mod threads;
mod transport;
mod velocities;
mod watertight;
