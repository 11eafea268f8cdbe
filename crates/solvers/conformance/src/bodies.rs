//! Bodies that the liquid moves.

use crate::{Build, advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Pose, Shape};
use fluvial_solver_interface::{
    BodyReport, FreeBody, Setup, Solid, Solver, Start, StateReader, StateWriter, Weight,
};

fn cube(edge: f32) -> Shape {
    Shape::Box { min: Vec3::splat(-0.5 * edge), max: Vec3::splat(0.5 * edge) }
}

fn body(density: f64, at: Vec3) -> FreeBody {
    let pose = Pose { translate: at, ..Pose::IDENTITY };
    let start = Start { weight: Weight::Density(density), pose, ..Start::default() };
    FreeBody { start, joints: vec![] }
}

/// A tank of 1 m filled to a height, with one body.
fn with_body(cells: usize, height: f32, shape: Shape, free: FreeBody) -> Setup {
    let mut setup = tank(cells, height);
    setup.solids.push(Solid::body("body", shape, free));
    setup
}

fn first(solver: &dyn Solver) -> BodyReport {
    solver.bodies().remove(0)
}

/// Half as dense as water it floats half under, and where it does so at the start it stays, for the given time; the water's
/// force on it is its weight, to the given part.
pub fn a_floating_cube_is_half_under(build: Build, for_s: f64, most_off_weight: f64) {
    let edge = 0.3;
    let mut solver = build(with_body(20, 0.5, cube(edge), body(500.0, Vec3::new(0.5, 0.5, 0.5))));
    let (mut sum, mut force) = (0.0, 0.0);
    const SAMPLES: u32 = 24;
    for n in 1..=SAMPLES {
        advance(&mut *solver, for_s * f64::from(n) / f64::from(SAMPLES));
        let report = first(&*solver);
        (sum, force) = (sum + report.pose.translate.y, force + report.force_n.y);
    }
    let off = sum / SAMPLES as f32 - 0.5;
    assert!(off.abs() < 0.02 * edge, "off by {off} m of {edge}");
    let weight = 500.0 * 9.81 * f64::from(edge).powi(3);
    let part = force / f64::from(SAMPLES) / weight;
    assert!((part - 1.0).abs() < most_off_weight, "the water carries {part} of the weight");
    let turned = first(&*solver).pose.rotation * Vec3::Y;
    assert!(turned.y > 0.99, "it has turned to {turned}");
}

/// A body of the water's density stays where it is for a second, to the given distance in metres.
pub fn a_neutral_body_stays_where_it_is(build: Build, most_m: f32) {
    let at = Vec3::new(0.5, 0.3, 0.5);
    let mut solver = build(with_body(20, 0.6, cube(0.2), body(1000.0, at)));
    advance(&mut *solver, 1.0);
    let report = first(&*solver);
    assert!(report.pose.translate.distance(at) < most_m, "{report:?}");
}

/// A cube of the water's density off the grid's symmetries does not begin to turn: the water at rest around it does not turn its
/// image on the grid either. `most_1_s` is the largest angular velocity after a second, rad/s.
pub fn a_neutral_body_does_not_turn(build: Build, most_1_s: f32) {
    let mut solver = build(with_body(16, 0.7, cube(0.25), body(1000.0, Vec3::new(0.52, 0.31, 0.49))));
    advance(&mut *solver, 1.0);
    let spin = first(&*solver).twist.angular;
    assert!(spin.length() < most_1_s, "it turns with {spin} rad/s");
}

/// A floating box is let go tilted: after how many seconds it is level for the first time, a quarter of its period of roll.
pub fn time_of_a_box_to_roll_level(build: Build) -> f64 {
    let shape = Shape::Box { min: Vec3::new(-0.25, -0.15, -0.25), max: Vec3::new(0.25, 0.15, 0.25) };
    let mut free = body(500.0, Vec3::new(0.5, 0.5, 0.5));
    free.start.pose.rotation = fluvial_foundation::Quat::from_rotation_z(0.08);
    (free.start.locked_translation, free.start.locked_rotation) = ([true, false, true], [true, true, false]);
    let mut solver = build(with_body(16, 0.5, shape, free));
    let angle = |solver: &dyn Solver| {
        let up = first(solver).pose.rotation * Vec3::Y;
        f64::from((-up.x).atan2(up.y))
    };
    let (mut time_s, mut before) = (0.0, 0.08);
    while time_s < 2.0 {
        solver.step(0.01).unwrap();
        let now = angle(&*solver);
        if now < 0.0 {
            return time_s + 0.01 * before / (before - now);
        }
        (time_s, before) = (time_s + 0.01, now);
    }
    panic!("it has not come level in {time_s} s");
}

/// A ball of a hundredth of the water's density rises at once and steadily: nothing shakes it.
pub fn a_light_ball_rises_without_shaking(build: Build) {
    let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.12 };
    let mut solver = build(with_body(24, 0.8, ball, body(10.0, Vec3::new(0.5, 0.3, 0.5))));
    let (mut speed, mut time_s) = (0.0f32, 0.0);
    for _ in 0..12 {
        let dt_s = solver.suggest_dt().dt_s.min(0.01);
        solver.step(dt_s).unwrap();
        time_s += dt_s;
        let now = first(&*solver).twist.linear;
        assert!(now.y > speed, "at {time_s} s it slows down from {speed} to {} m/s", now.y);
        assert!(now.with_y(0.0).length() < 0.05 * now.y, "{now}");
        speed = now.y;
    }
    let steady = f64::from(speed) / time_s;
    assert!((11.0..20.0).contains(&steady), "it rises with {steady} m/s2");
}

/// A heavy cube lies on the floor; the water around it stays calm, and carries its part of the weight.
pub fn a_heavy_cube_lies_still_on_the_floor(build: Build) {
    let edge = 0.3f32;
    let mut free = body(3000.0, Vec3::new(0.5, 0.5 * edge, 0.5));
    free.start.restitution = 0.0;
    let mut solver = build(with_body(20, 0.6, cube(edge), free));
    let mut fastest = 0.0f64;
    // Steps of different lengths: what holds the cube is to fit each.
    for n in 0..60 {
        let step = solver.step(if n % 3 == 0 { 0.012 } else { 0.02 }).unwrap();
        fastest = fastest.max(step.max_speed_m_s);
    }
    let report = first(&*solver);
    assert!(report.pose.translate.distance(Vec3::new(0.5, 0.5 * edge, 0.5)) < 5e-3, "{report:?}");
    assert!(fastest < 0.05, "the water moves at {fastest} m/s");
}

/// A crate falls into the pool and hits its wall: the state in the middle of it goes on to the bit.
pub fn restored_bodies_go_on_to_the_bit(build: Build) {
    let mut free = body(400.0, Vec3::new(0.6, 0.62, 0.5));
    free.start.velocity = Vec3::new(1.5, -1.0, 0.0);
    free.start.angular_velocity = Vec3::new(0.0, 0.0, 2.0);
    let build = || build(with_body(16, 0.4, cube(0.2), free.clone()));
    let mut going = build();
    advance(&mut *going, 0.2);
    let state = |solver: &dyn Solver| {
        let mut bytes = vec![];
        solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
        bytes
    };
    let bytes = state(&*going);
    let mut restored = build();
    let mut source = bytes.as_slice();
    restored.restore(&mut StateReader::new(&mut source, bytes.len() as u64)).unwrap();
    assert_eq!(going.bodies(), restored.bodies());
    for _ in 0..8 {
        let dt_s = going.suggest_dt().dt_s.min(0.02);
        assert_eq!(restored.suggest_dt().dt_s.min(0.02).to_bits(), dt_s.to_bits());
        going.step(dt_s).unwrap();
        restored.step(dt_s).unwrap();
        assert_eq!(going.bodies(), restored.bodies());
    }
    assert!(state(&*going) == state(&*restored), "the states differ");
}
