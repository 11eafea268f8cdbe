//! Power diagrams and their operators on whole trees.

mod boundary;
mod diagram;
mod flow;
mod hybrid;
mod neighbourhood;
mod operators;
mod pairs;
mod poisson;
mod polyhedron;
mod stencil;
mod trees;
