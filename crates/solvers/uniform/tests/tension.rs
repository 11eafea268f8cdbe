//! Surface tension at boundaries.

use fluvial_solver_interface::Solver;
use fluvial_solver_uniform::{Params, UniformSolver};

#[test]
fn a_drop_on_a_plate_takes_the_shape_of_its_cap() {
    let build =
        |setup| -> Box<dyn Solver> { Box::new(UniformSolver::new(setup, Params::default()).unwrap()) };
    fluvial_conformance::a_drop_on_a_plate_takes_the_shape_of_its_cap(build, &[60.0, 90.0, 120.0]);
}
