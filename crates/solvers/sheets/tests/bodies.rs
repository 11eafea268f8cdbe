//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_sheets::{Params, SheetsSolver};

fn build(setup: Setup) -> Box<dyn Solver> {
    Box::new(SheetsSolver::new(setup, Params::default()).unwrap())
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
    suite::a_light_ball_rises_without_shaking(build);
}

#[test]
fn a_heavy_cube_lies_still_on_the_floor() {
    suite::a_heavy_cube_lies_still_on_the_floor(build);
}

#[test]
fn restored_bodies_go_on_to_the_bit() {
    suite::restored_bodies_go_on_to_the_bit(build);
}

#[test]
fn momentum_changes_by_what_acts_from_outside() {
    suite::momentum_changes_by_what_acts_from_outside(build);
}

#[test]
fn light_boxes_on_the_floor_rise() {
    suite::light_boxes_on_the_floor_rise(build);
}
