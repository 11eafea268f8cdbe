//! One program for all tests of this crate: every program more is linked anew.

mod aloft;
mod bodies;
mod conformance;
#[cfg(feature = "gpu")]
mod gpu;
mod sinks;
mod sources;
mod waves;
