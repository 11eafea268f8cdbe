//! Tests of the cut-cell solver.

mod conformance;
mod splash;
mod state;
mod sub_grid;
mod tension;
