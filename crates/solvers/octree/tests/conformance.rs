//! The suite over all solvers.

use fluvial_conformance::Subject;
use fluvial_octree::{OctreeSolver, Params};

fluvial_conformance::conformance_suite!(Subject {
    build: |setup| Box::new(OctreeSolver::new(setup, Params::default()).unwrap()),
    symmetry_cells: 0.01,
});
