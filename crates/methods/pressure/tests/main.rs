//! One program for all tests of this crate: every program more is linked anew.

mod amg;
mod amg_cg;
mod coupling;
mod dense;
mod full_cycles;
mod graded;
mod pockets;
mod solver;
