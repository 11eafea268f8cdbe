//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_solver_interface::{Setup, Solver, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};

fn solver(setup: Setup, tracker: Tracker) -> Box<dyn Solver> {
    Box::new(UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap())
}

const TRACKERS: [suite::Build; 3] = [
    |setup| solver(setup, Tracker::Levelset),
    |setup| solver(setup, Tracker::Flip),
    |setup| solver(setup, Tracker::Apic),
];

#[test]
fn a_floating_cube_is_half_under() {
    TRACKERS.iter().for_each(|build| suite::a_floating_cube_is_half_under(*build, 1.0, 0.05));
}

#[test]
fn a_neutral_body_stays_where_it_is() {
    TRACKERS.iter().for_each(|build| suite::a_neutral_body_stays_where_it_is(*build, 2e-3));
}

#[test]
fn a_neutral_body_does_not_turn() {
    TRACKERS[..2].iter().for_each(|build| suite::a_neutral_body_does_not_turn(*build, 1e-3));
}

#[test]
fn particles_let_a_box_roll_as_a_level_set_does() {
    let [levelset_s, flip_s] = [0, 1].map(|n| suite::time_of_a_box_to_roll_level(TRACKERS[n]));
    let off = flip_s / levelset_s - 1.0;
    assert!(off.abs() < 0.03, "level after {flip_s} s with particles, {levelset_s} s without: {off}");
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
    TRACKERS[..2].iter().for_each(|build| suite::restored_bodies_go_on_to_the_bit(*build));
}

#[test]
fn momentum_changes_by_what_acts_from_outside() {
    TRACKERS.into_iter().for_each(suite::momentum_changes_by_what_acts_from_outside);
}

#[test]
fn light_boxes_on_the_floor_rise() {
    suite::light_boxes_on_the_floor_rise(TRACKERS[0]);
}
