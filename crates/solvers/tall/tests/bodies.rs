//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_tall::{Params, TallSolver};

fn with_cubic(setup: Setup, cubic_cells: u32) -> Box<dyn Solver> {
    let params = Params { cubic_cells, cells_below: 4.0, cells_above: 4.0, ..Params::default() };
    Box::new(TallSolver::new(setup, params).unwrap())
}

fn build(setup: Setup) -> Box<dyn Solver> {
    with_cubic(setup, 14)
}

#[test]
fn a_floating_cube_is_half_under() {
    suite::a_floating_cube_is_half_under(build, 1.0, 0.05);
}

#[test]
fn a_neutral_body_stays_where_it_is() {
    suite::a_neutral_body_stays_where_it_is(build, 2e-3);
}

#[test]
fn a_light_ball_rises_without_shaking() {
    // The ball begins deeper than fourteen cells reach.
    suite::a_light_ball_rises_without_shaking(|setup| with_cubic(setup, 22));
}

#[test]
fn a_heavy_cube_lies_still_on_the_floor() {
    suite::a_heavy_cube_lies_still_on_the_floor(build);
}

#[test]
fn restored_bodies_go_on_to_the_bit() {
    suite::restored_bodies_go_on_to_the_bit(build);
}
