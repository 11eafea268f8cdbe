//! One program for all tests of this crate: every program more is linked anew.

mod bodies;
mod conformance;
mod drain;
mod energy;
mod flight;
mod moving;
mod options;
mod particles;
mod parting;
mod rest;
mod tension;
mod tree;
