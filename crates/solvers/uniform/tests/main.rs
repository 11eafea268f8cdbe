//! One program for all tests of this crate: every program more is linked anew.

mod bodies;
mod bowls;
mod conformance;
mod coupling;
mod energy;
mod mass;
mod moving;
mod particle_mass;
mod parting;
mod rest;
mod sources;
mod spray;
mod tension;
