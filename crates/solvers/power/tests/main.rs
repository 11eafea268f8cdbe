//! One program for all tests of this crate: every program more is linked anew.

mod conformance;
mod energy;
mod falls;
mod jets;
mod rest;
