//! One program for all tests of this crate: every program more is linked anew.

mod account;
mod bodies;
mod conformance;
mod drawn_volume;
mod enright;
mod enright_deformation;
mod moving;
mod parting;
mod rest;
mod sampling;
mod sources;
