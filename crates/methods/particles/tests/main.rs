//! One program for all tests of this crate: every program more is linked anew.

mod averages;
mod collisions;
mod common;
mod motion;
mod near;
mod population;
mod surface;
mod tracking;
mod transfer;
