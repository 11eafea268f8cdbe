//! Bodies that the liquid moves.

use crate::{Build, advance, tank};
use fluvial_foundation::{DVec3, Quat, Vec3};
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
    free.start.pose.rotation = Quat::from_rotation_z(0.08);
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
    let lifts = 1000.0 * 9.81 * f64::from(edge).powi(3);
    assert!((report.force_n.y / lifts - 1.0).abs() < 0.05, "{} N instead of {lifts} N", report.force_n.y);
}

/// Light boxes that begin on the floor, one in the middle and one in a corner, rise: a film of water is below them.
pub fn light_boxes_on_the_floor_rise(build: Build) {
    let edge = 0.2f32;
    for at in [Vec3::new(0.47, 0.5 * edge, 0.52), Vec3::new(1.0 - 0.5 * edge, 0.5 * edge, 1.0 - 0.5 * edge)] {
        let mut solver = build(with_body(16, 0.7, cube(edge), body(500.0, at)));
        advance(&mut *solver, 0.5);
        let rise = first(&*solver).pose.translate.y - at.y;
        assert!(rise > 0.2 * edge, "from {at} it has risen by {rise} m");
    }
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

/// Where momentum comes from in the steps of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct MomentumMade {
    /// What the pressure of a step makes of nothing, as a part of what it gives the body: the largest of all steps.
    pub by_pressure: f64,
    /// What the body's motion adds to what weight and water gave it, as a part of its momentum: the largest of all steps.
    pub by_motion: f64,
    /// What transport has added to the liquid's momentum in all, as a part of what there is. Back-traces and deposits do not
    /// conserve it, so that there is no bar.
    pub by_transport: f64,
}

/// The momentum of body and water together changes by what acts from outside alone, a slanted box in water that moves and turns: in
/// a ball of water far from all walls and without gravity, and under the surface of a tank. Asks for a part of 1e-4 of what the
/// pressure exchanges, and of the body's momentum.
pub fn momentum_changes_by_what_acts_from_outside(build: Build) {
    for density in [300.0, 3000.0] {
        for is_tank in [false, true] {
            let made = momentum_made(build, box_in_water(24, density, is_tank), 6);
            println!("density {density}, in a tank {is_tank}: {made:?}");
            assert!(made.by_pressure < 1e-4, "density {density}, in a tank {is_tank}: {made:?}");
            assert!(made.by_motion < 1e-4, "density {density}, in a tank {is_tank}: {made:?}");
        }
    }
    // What the film below a box gives it the floor receives.
    let mut on_floor = box_in_water(24, 300.0, true);
    let start = &mut on_floor.solids[0].free.as_mut().expect("a body").start;
    start.pose = Pose { translate: Vec3::new(0.48, 0.1, 0.52), ..Pose::IDENTITY };
    (start.velocity, start.angular_velocity) = (Vec3::ZERO, Vec3::ZERO);
    let made = momentum_made(build, on_floor, 3);
    assert!(made.by_pressure < 1e-4, "on the floor: {made:?}");
}

fn momentum_made(build: Build, setup: Setup, steps: usize) -> MomentumMade {
    let gravity = setup.liquid.gravity.as_dvec3();
    let start = &setup.solids[0].free.as_ref().expect("a body").start;
    let Weight::Mass(mass_kg) = start.weight else { panic!("a body of known mass") };
    let mut solver = build(setup);
    let (mut made, mut transport) = (MomentumMade::default(), DVec3::ZERO);
    for step in 0..steps {
        let before = first(&*solver);
        let dt_s = solver.suggest_dt().dt_s.min(0.01);
        solver.step(dt_s).unwrap();
        let (after, balance) = (first(&*solver), solver.momentum_of_last_step().unwrap());
        let part = balance.made_by_pressure().length() / balance.bodies.length();
        made.by_pressure = made.by_pressure.max(part);
        let own = |body: &BodyReport| mass_kg * body.twist.linear.as_dvec3();
        let given = dt_s * (after.force_n + mass_kg * gravity);
        let size = own(&after).length();
        made.by_motion = made.by_motion.max((own(&after) - own(&before) - given).length() / size);
        // What the projection says of the body's velocity is what it then moves with.
        if step > 0 {
            let way = (after.twist.center - before.twist.center).as_dvec3();
            let off = mass_kg * way / dt_s - own(&before);
            made.by_motion = made.by_motion.max(off.length() / size);
        }
        let weight = dt_s * gravity * balance.liquid_kg;
        transport += balance.liquid_before - weight - balance.liquid_last;
        made.by_transport = transport.length() / (balance.liquid_after.length() + size);
    }
    made
}

/// A slanted box of the given density that moves and turns in water.
fn box_in_water(cells: usize, density: f64, is_tank: bool) -> Setup {
    let mut setup = tank(cells, 0.77);
    if !is_tank {
        setup.fills[0].shape = Shape::Sphere { center: Vec3::new(0.51, 0.49, 0.5), radius: 0.32 };
        setup.liquid.gravity = Vec3::ZERO;
    }
    let mut free = body(density, Vec3::new(0.48, 0.5, 0.52));
    let edges = Vec3::new(0.25, 0.2, 0.15);
    free.start.weight = Weight::Mass(density * f64::from(edges.element_product()));
    free.start.pose.rotation = Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.5).normalize(), 0.6);
    (free.start.velocity, free.start.angular_velocity) =
        (Vec3::new(0.8, -0.4, 0.3), Vec3::new(1.0, -2.0, 0.5));
    setup.solids.push(Solid::body("box", Shape::Box { min: -0.5 * edges, max: 0.5 * edges }, free));
    setup
}
