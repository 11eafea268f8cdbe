//! Power diagrams and their operators on whole trees.

mod band;
mod boundary;
mod coarse;
mod diagram;
mod flow;
mod hybrid;
mod neighbourhood;
mod operators;
mod pairs;
mod poisson;
mod polyhedron;
mod stencil;
mod stream;
mod trees;
mod volume;
