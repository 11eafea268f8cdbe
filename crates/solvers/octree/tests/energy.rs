//! The energy that a step reports.

use fluvial_solver_octree::{OctreeSolver, Params};

#[test]
fn energy_is_that_of_what_cells_hold() {
    fluvial_conformance::energy_is_that_of_what_cells_hold(|setup| {
        Box::new(OctreeSolver::new(setup, Params::default()).unwrap())
    });
}
