//! Tests of the cut-cell kernels.

mod common;
mod solid_cutting;
mod watertight;
