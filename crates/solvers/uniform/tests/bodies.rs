//! Bodies that the liquid moves.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Pose, Shape};
use fluvial_solver_interface::{
    BodyReport, FreeBody, Setup, Solid, Solver, StateReader, StateWriter, Tracker, Weight,
};
use fluvial_solver_uniform::{Params, UniformSolver};

const TRACKERS: [Tracker; 3] = [Tracker::Levelset, Tracker::Flip, Tracker::Apic];

fn cube(edge: f32) -> Shape {
    Shape::Box { min: Vec3::splat(-0.5 * edge), max: Vec3::splat(0.5 * edge) }
}

fn body(density: f64, at: Vec3) -> FreeBody {
    FreeBody {
        weight: Weight::Density(density),
        pose: Pose { translate: at, ..Pose::IDENTITY },
        ..FreeBody::default()
    }
}

/// A tank of 1 m filled to a height, with one body.
fn with_body(cells: usize, height: f32, shape: Shape, free: FreeBody) -> Setup {
    let mut setup = tank(cells, height);
    setup.solids.push(Solid::body("body", shape, free));
    setup
}

fn solver(setup: Setup, tracker: Tracker) -> UniformSolver {
    UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap()
}

fn first(solver: &UniformSolver) -> BodyReport {
    solver.bodies().remove(0)
}

/// Half as dense as water it floats half under, and where it does so at the start it stays; the water's force on it is
/// its weight.
#[test]
fn a_floating_cube_is_half_under() {
    for tracker in TRACKERS {
        let edge = 0.3;
        let setup = with_body(20, 0.5, cube(edge), body(500.0, Vec3::new(0.5, 0.5, 0.5)));
        let mut solver = solver(setup, tracker);
        let (mut sum, mut count, mut force) = (0.0, 0, 0.0);
        for n in 1..=48 {
            advance(&mut solver, f64::from(n) / 48.0);
            let report = first(&solver);
            (sum, count, force) = (sum + report.pose.translate.y, count + 1, force + report.force_n.y);
        }
        let off = sum / count as f32 - 0.5;
        assert!(off.abs() < 0.02 * edge, "{tracker:?}: off by {off} m of {edge}");
        let weight = 500.0 * 9.81 * f64::from(edge).powi(3);
        assert!((force / f64::from(count) / weight - 1.0).abs() < 0.05, "{tracker:?}: {force} {weight}");
        let turned = first(&solver).pose.rotation * Vec3::Y;
        assert!(turned.y > 0.99, "{tracker:?}: it has turned to {turned}");
    }
}

#[test]
fn a_neutral_body_stays_where_it_is() {
    for tracker in TRACKERS {
        let at = Vec3::new(0.5, 0.3, 0.5);
        let mut solver = solver(with_body(20, 0.6, cube(0.2), body(1000.0, at)), tracker);
        advance(&mut solver, 1.0);
        let report = first(&solver);
        assert!(report.pose.translate.distance(at) < 2e-3, "{tracker:?}: {report:?}");
    }
}

/// A ball of a hundredth of the water's density rises at once and steadily: nothing shakes it.
#[test]
fn a_light_ball_rises_without_shaking() {
    let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.12 };
    let mut solver =
        solver(with_body(24, 0.8, ball, body(10.0, Vec3::new(0.5, 0.3, 0.5))), Tracker::Levelset);
    let (mut speed, mut time_s) = (0.0f32, 0.0);
    for _ in 0..12 {
        let dt_s = solver.suggest_dt().dt_s.min(0.01);
        solver.step(dt_s).unwrap();
        time_s += dt_s;
        let now = first(&solver).twist.linear;
        assert!(now.y > speed, "at {time_s} s it slows down from {speed} to {} m/s", now.y);
        assert!(now.with_y(0.0).length() < 0.05 * now.y, "{now}");
        speed = now.y;
    }
    let steady = f64::from(speed) / time_s;
    assert!((11.0..20.0).contains(&steady), "it rises with {steady} m/s2");
}

/// A heavy cube lies on the floor; the water around it stays calm, and carries its part of the weight.
#[test]
fn a_heavy_cube_lies_still_on_the_floor() {
    let edge = 0.3f32;
    let free = FreeBody { restitution: 0.0, ..body(3000.0, Vec3::new(0.5, 0.5 * edge, 0.5)) };
    let mut solver = solver(with_body(20, 0.6, cube(edge), free), Tracker::Levelset);
    let mut fastest = 0.0f64;
    // Steps of different lengths: what holds the cube is to fit each.
    for n in 0..60 {
        let step = solver.step(if n % 3 == 0 { 0.012 } else { 0.02 }).unwrap();
        fastest = fastest.max(step.max_speed_m_s);
    }
    let report = first(&solver);
    assert!(report.pose.translate.distance(Vec3::new(0.5, 0.5 * edge, 0.5)) < 5e-3, "{report:?}");
    assert!(fastest < 0.05, "the water moves at {fastest} m/s");
}

/// A crate falls into the pool and hits its wall: the state in the middle of it goes on to the bit.
#[test]
fn a_restored_state_goes_on_to_the_bit() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let free = || FreeBody {
            velocity: Vec3::new(1.5, -1.0, 0.0),
            angular_velocity: Vec3::new(0.0, 0.0, 2.0),
            ..body(400.0, Vec3::new(0.6, 0.62, 0.5))
        };
        let build = || solver(with_body(16, 0.4, cube(0.2), free()), tracker);
        let mut going = build();
        advance(&mut going, 0.2);
        let mut bytes = vec![];
        going.save(&mut StateWriter::new(&mut bytes)).unwrap();
        let mut restored = build();
        let mut source = bytes.as_slice();
        restored.restore(&mut StateReader::new(&mut source, bytes.len() as u64)).unwrap();
        for _ in 0..8 {
            let dt_s = going.suggest_dt().dt_s.min(0.02);
            assert_eq!(restored.suggest_dt().dt_s.min(0.02).to_bits(), dt_s.to_bits());
            going.step(dt_s).unwrap();
            restored.step(dt_s).unwrap();
            assert_eq!(going.bodies(), restored.bodies());
        }
        let state = |solver: &UniformSolver| {
            let mut bytes = vec![];
            solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
            bytes
        };
        assert!(state(&going) == state(&restored), "{tracker:?}");
    }
}
