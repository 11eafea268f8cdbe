//! One program for all tests of this crate: every program more is linked anew.

mod accuracy;
mod case_table;
mod draw;
mod film;
mod fit;
mod manifold;
mod pieces;
mod shreds;
