//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_solver_interface::{Setup, Solver, Tracker};
use fluvial_solver_octree::{OctreeSolver, Params};

fn solver(setup: Setup, tracker: Tracker) -> Box<dyn Solver> {
    Box::new(OctreeSolver::new(setup, Params { tracker, ..Params::default() }).unwrap())
}

const TRACKERS: [suite::Build; 2] =
    [|setup| solver(setup, Tracker::Levelset), |setup| solver(setup, Tracker::Flip)];

#[test]
fn a_floating_cube_is_half_under() {
    TRACKERS.iter().for_each(|build| suite::a_floating_cube_is_half_under(*build, 1.0, 0.05));
}

#[test]
fn a_neutral_body_stays_where_it_is() {
    suite::a_neutral_body_stays_where_it_is(TRACKERS[0], 2e-3);
}

#[test]
fn a_neutral_body_does_not_turn() {
    suite::a_neutral_body_does_not_turn(TRACKERS[0], 1e-3);
}

#[test]
fn a_light_ball_rises_without_shaking() {
    suite::a_light_ball_rises_without_shaking(TRACKERS[0]);
}

#[test]
fn a_heavy_cube_lies_still_on_the_floor() {
    suite::a_heavy_cube_lies_still_on_the_floor(TRACKERS[0]);
}

#[test]
fn restored_bodies_go_on_to_the_bit() {
    TRACKERS.iter().for_each(|build| suite::restored_bodies_go_on_to_the_bit(*build));
}

#[test]
fn momentum_changes_by_what_acts_from_outside() {
    TRACKERS.into_iter().for_each(suite::momentum_changes_by_what_acts_from_outside);
}

#[test]
fn light_boxes_on_the_floor_rise() {
    suite::light_boxes_on_the_floor_rise(TRACKERS[0]);
}
