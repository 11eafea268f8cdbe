//! Power diagrams and their operators on whole trees.

mod diagram;
mod operators;
mod poisson;
mod trees;
