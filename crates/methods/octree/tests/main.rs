//! One program for all tests of this crate: every program more is linked anew.

mod capillary;
mod common;
mod contour;
mod curvature;
mod extend;
mod extrapolate;
mod flux;
mod fractions;
mod free_surface;
mod interpolation;
mod operators;
mod particles;
mod redistance;
mod sizing;
mod volume;
