//! The suite over all solvers.

use fluvial_conformance::Subject;
use fluvial_solver_sheets::{Params, SheetsSolver};

fluvial_conformance::conformance_suite!(Subject {
    build: |setup| Box::new(SheetsSolver::new(setup, Params::default()).unwrap()),
    symmetry_cells: 0.25,
});
