//! Tests of the cut-cell solver.

mod conformance;
mod state;
mod sub_grid;
