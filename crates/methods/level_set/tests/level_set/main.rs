//! Exact and manufactured solutions for every kernel of the crate, with the order asserted.

mod common;
mod redistance;
