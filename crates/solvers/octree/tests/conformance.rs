//! The suite over all solvers, for each tracker.

use fluvial_conformance::Subject;
use fluvial_solver_interface::{Setup, Solver, Tracker};
use fluvial_solver_octree::{OctreeSolver, Params};

fn build(setup: Setup, tracker: Tracker) -> Box<dyn Solver> {
    Box::new(OctreeSolver::new(setup, Params { tracker, ..Params::default() }).unwrap())
}

mod levelset {
    use super::*;
    fluvial_conformance::conformance_suite!(Subject {
        build: |setup| build(setup, Tracker::Levelset),
        symmetry_cells: 0.01,
    });
}

mod flip {
    use super::*;
    fluvial_conformance::conformance_suite!(Subject {
        build: |setup| build(setup, Tracker::Flip),
        symmetry_cells: 0.25,
    });
}
