//! The suite over all solvers.
//!
//! `thin_walls_hold_still_water` and `a_thin_plate_pushes_all_water_before_it` are left out: they ask for walls thinner than
//! a leaf, which this method does not have, as its notes say.

use fluvial_conformance::Subject;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_power::{Params, PowerSolver};

/// Two voxels a leaf, for speed. Surface tension is refused by this method: the scene that has some is run without.
fn build(mut setup: Setup) -> Box<dyn Solver> {
    setup.liquid.surface_tension = 0.0;
    Box::new(PowerSolver::new(setup, Params { band_factor: 2, ..Params::default() }).unwrap())
}

fluvial_conformance::conformance_suite!(@ Subject { build, symmetry_cells: 0.01 };
    liquid_at_rest_stays_at_rest
    energy_never_grows_and_volume_is_accounted_for
    a_source_adds_what_it_says
    a_sink_takes_what_falls_into_it
    overlapping_sources_flow_as_one
    an_open_wall_lets_liquid_out
    a_mirrored_scene_gives_the_mirrored_result
    a_rotated_scene_gives_the_rotated_result
    a_froude_scaled_scene_gives_the_scaled_result
    the_number_of_threads_does_not_matter
    a_step_given_up_or_failed_leaves_no_trace
    a_restored_state_goes_on_bit_for_bit
    a_failed_restore_leaves_no_trace
    a_drop_falls_freely
    a_moving_solid_pushes_liquid
    a_solid_under_water_leaves_no_hole
    the_surface_is_closed_and_encloses_the_volume
);
