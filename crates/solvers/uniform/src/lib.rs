//! The uniform reference solver.
