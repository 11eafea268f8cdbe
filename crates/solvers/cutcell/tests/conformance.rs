//! The suite over all solvers.
//!
//! Left out are checks with solids that move, which this method refuses (`state.rs` has its own for saved states), and
//! `thin_walls_hold_still_water`, whose box is a difference of shapes with walls thinner than its triangles here
//! (`sub_grid.rs` has a plate). Those of energy and of sources are in `splash.rs` on
//! smaller grids: here they would take a dozen seconds. Of two checks alike the cheaper one is run.

use fluvial_conformance::Subject;
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Setup, Solver};

fn build(setup: Setup) -> Box<dyn Solver> {
    let params = Params { tracker_factor: 2, ..Params::default() };
    Box::new(CutCellSolver::new(setup, params).unwrap())
}

fluvial_conformance::conformance_suite!(@ Subject { build, symmetry_cells: 0.5 };
    liquid_at_rest_stays_at_rest
    a_sink_takes_what_falls_into_it
    an_open_wall_lets_liquid_out
    a_mirrored_scene_gives_the_mirrored_result
    the_number_of_threads_does_not_matter
    a_drop_falls_freely
    the_surface_is_closed_and_encloses_the_volume
);
