//! One program for all tests of this crate: every program more is linked anew.

mod architecture;
mod budget;
mod command;
mod interop;
mod place;
mod recovery;
mod traceability;
