//! Tests of the cut-cell kernels.

mod common;
mod watertight;
