//! Power diagrams and their operators on whole trees.

mod boundary;
mod diagram;
mod hybrid;
mod operators;
mod poisson;
mod trees;
