//! Exact and manufactured solutions for every kernel of the crate, with the order asserted.

mod advection;
mod cell_sets;
mod common;
mod curvature;
mod extrapolation;
mod flux;
mod interface_motion;
mod invariants;
mod redistance;
mod regions;
mod settle;
mod sides;
mod traces;
mod volume;
