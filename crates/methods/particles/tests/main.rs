//! One program for all tests of this crate: every program more is linked anew.

mod common;
mod motion;
mod population;
mod surface;
mod tracking;
mod transfer;
