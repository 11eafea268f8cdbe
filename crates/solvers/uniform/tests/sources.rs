//! What a source brings in is its section times its speed times the time, in air and under water.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, Source, Tracker, VolumeCorrection};
use fluvial_solver_uniform::{Params, UniformSolver};
use std::f64::consts::PI;

const RADIUS: f32 = 0.08;
const SPEED: f32 = 1.5;
const FLOW_M3_S: f64 = PI * (RADIUS * RADIUS * SPEED) as f64;

fn tank_with(resolution: usize, shape: Shape, direction: Vec3) -> Setup {
    let mut setup = tank(resolution, 0.0);
    setup.fills.clear();
    setup.liquid.gravity = Vec3::ZERO;
    let (motion, velocity) = (Motion::Static, SPEED * direction);
    setup.sources.push(Source {
        shape,
        motion,
        velocity,
        active_s: [0.0, 9.0],
        measured: Default::default(),
    });
    setup
}

/// Volume and inflow, m3, after 0.24 s without volume correction.
fn run(setup: Setup, tracker: Tracker) -> (f64, f64) {
    let params = Params { tracker, volume_correction: VolumeCorrection::Off, ..Params::default() };
    let mut solver = UniformSolver::new(setup, params).unwrap();
    let mut last = solver.initial_report();
    for _ in 0..12 {
        last = solver.step(0.02).unwrap();
    }
    (last.liquid_volume_m3, last.inflow_m3)
}

/// The inflow jumped between 39 and 104 % of this with the resolution when whole cells made the section.
#[test]
fn jets_bring_in_section_times_speed_at_any_resolution() {
    let direction = Vec3::new(1.0, 1.0, 0.3).normalize();
    let from = Vec3::new(0.2, 0.2, 0.4);
    for resolution in [16, 20, 25, 32] {
        let shape = Shape::Cylinder { from, to: from + 0.2 * direction, radius: RADIUS };
        let (grown, inflow) = run(tank_with(resolution, shape, direction), Tracker::Levelset);
        assert!((inflow / (0.24 * FLOW_M3_S) - 1.0).abs() < 0.005, "{resolution}: inflow {inflow}");
        // What is drawn follows, without any correction: three to six cells across.
        assert!((grown / inflow - 1.0).abs() < 0.1, "{resolution}: grown by {grown}, inflow {inflow}");
    }
}

/// A shape that begins beyond a wall flows from the wall on.
#[test]
fn a_jet_through_a_wall_grows_by_its_inflow() {
    let from = Vec3::new(-0.1, 0.75, 0.5);
    let shape = Shape::Cylinder { from, to: from + 0.2 * Vec3::X, radius: RADIUS };
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let (grown, inflow) = run(tank_with(32, shape.clone(), Vec3::X), tracker);
        assert!((inflow / (0.24 * FLOW_M3_S) - 1.0).abs() < 0.005, "inflow {inflow}");
        assert!((grown / inflow - 1.0).abs() < 0.05, "{tracker:?}: grown by {grown}, inflow {inflow}");
    }
}

/// Under water, the surface rises by what the source lets in.
#[test]
fn a_source_under_water_raises_the_surface_by_its_flow() {
    let shape = Shape::Sphere { center: Vec3::new(0.52, 0.3, 0.47), radius: RADIUS };
    for resolution in [16, 24] {
        let mut setup = tank_with(resolution, shape.clone(), Vec3::new(0.2, -1.0, 0.1).normalize());
        let fill = tank(resolution, 0.5);
        (setup.fills, setup.liquid.gravity) = (fill.fills, fill.liquid.gravity);
        let (volume, inflow) = run(setup, Tracker::Levelset);
        assert!((inflow / (0.24 * FLOW_M3_S) - 1.0).abs() < 0.005, "inflow {inflow}");
        let grown = volume - 0.5;
        assert!((grown / inflow - 1.0).abs() < 0.1, "{resolution}: grown by {grown}, inflow {inflow}");
    }
}

/// A source begins quietly: while its shape fills from behind, the cells that it will flow into are none of its own.
/// They were owed the error of the fluxes, and a jet of 2 m/s began with 21.
#[test]
fn a_source_begins_no_faster_than_it_flows() {
    let mut setup = tank(32, 0.5);
    setup.fills.clear();
    let shape = Shape::Sphere { center: Vec3::new(0.52, 0.85, 0.47), radius: 0.1 };
    let velocity = Vec3::new(0.0, -2.0, 0.0);
    setup.sources.push(Source {
        shape,
        motion: Motion::Static,
        velocity,
        active_s: [0.0, 1.0],
        measured: Default::default(),
    });
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    for step in 0..4 {
        let report = solver.step(1.0 / 48.0).unwrap();
        assert!(report.max_speed_m_s < 3.0, "step {step}: {} m/s", report.max_speed_m_s);
    }
}

/// A solid that moves far from a source changes nothing of what is measured on it; one that comes near does.
#[test]
fn a_source_rests_while_nothing_moves_near_it() {
    let ball = |center: Vec3| Shape::Sphere { center, radius: RADIUS };
    let mut setup = tank_with(20, ball(Vec3::splat(0.5)), Vec3::X);
    let motion = Motion::Constant { linear: Vec3::Y, angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids.push(Solid::new("ball", ball(Vec3::new(0.5, -2.0, 0.5)), motion));
    assert_eq!(setup.resting_sources(0.0, 0.02), Some(vec![0]));
    assert_eq!(setup.resting_sources(2.4, 0.02), None);
    assert_eq!(setup.resting_sources(5.0, 0.02), Some(vec![0]));
}
