//! One test suite over all solvers.
