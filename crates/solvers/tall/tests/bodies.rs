//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_solids::{Motion, Pose, Shape};
use fluvial_solver_interface::{Action, FreeBody, Impulse, Setup, Solid, Solver, Source, Start, Weight};
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

/// A tank of 1 m with a body in its middle at a height.
fn with_body(cells: usize, level: f32, shape: Shape, density: f64, height: f32) -> Setup {
    let mut setup = suite::tank(cells, level);
    let pose = Pose { translate: Vec3::new(0.5, height, 0.5), ..Pose::IDENTITY };
    let start = Start { weight: Weight::Density(density), pose, ..Start::default() };
    setup.solids.push(Solid::body("body", shape, FreeBody { start, joints: vec![] }));
    setup
}

/// What the grid does not resolve sets out with the acceleration that theory gives, `g (1 - r) / (r + c)` for a density of r times the
/// water's: c is a half for a ball, here in a tall cell, and for the estimate of a cube, here smaller than a cell.
#[test]
fn deep_and_small_bodies_have_their_added_mass() {
    let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.12 };
    let cube = Shape::Box { min: Vec3::splat(-0.02), max: Vec3::splat(0.02) };
    for (cells, shape, r) in [(32, ball, 0.01), (20, cube, 0.05)] {
        let mut solver = build(with_body(cells, 0.8, shape, 1000.0 * r, 0.3));
        solver.step(0.01).unwrap();
        let (wanted, found) =
            (9.81 * (1.0 - r) / (r + 0.5), f64::from(solver.bodies()[0].twist.linear.y) / 0.01);
        assert!((found / wanted - 1.0).abs() < 0.05, "{found} instead of {wanted} m/s2");
    }
}

/// A flat block, dropped into the water, comes to float half under. (A cube of this density would tip over.)
#[test]
fn a_dropped_block_floats_half_under() {
    let height = 0.2f32;
    let half = 0.5 * Vec3::new(0.5, height, 0.5);
    let block = Shape::Box { min: -half, max: half };
    let mut solver = build(with_body(16, 0.5, block, 500.0, 0.6));
    let (mut under, mut samples) = (0.0, 0.0);
    while solver.time_s() < 4.0 {
        solver.step(1.0 / 30.0).unwrap();
        if solver.time_s() > 1.5 {
            let level = (0..16).map(|n| solver.height_at((n as f32 + 0.5) / 16.0, 0.03)).sum::<f64>() / 16.0;
            under += 0.5 + (level - f64::from(solver.bodies()[0].pose.translate.y)) / f64::from(height);
            samples += 1.0;
        }
    }
    let under: f64 = under / samples;
    println!("{under} of its height is under water");
    assert!((under - 0.5).abs() < 0.02, "{under} of its height is under water");
}

/// A push gives a body its momentum, and what is poured is in the account.
#[test]
fn who_watches_can_push_and_pour() {
    let cube = Shape::Box { min: Vec3::splat(-0.1), max: Vec3::splat(0.1) };
    let mut solver = build(with_body(16, 0.3, cube, 500.0, 0.7));
    let mass_kg = 500.0 * 0.008;
    let impulse = Impulse { linear: mass_kg * DVec3::X, angular: DVec3::ZERO };
    assert!(solver.act(&Action::Push { body: 0, impulse }));
    assert!(!solver.act(&Action::Push { body: 1, impulse }));
    let source = Source {
        shape: Shape::Sphere { center: Vec3::new(0.25, 0.8, 0.25), radius: 0.12 },
        motion: Motion::default(),
        velocity: Vec3::new(0.0, -1.0, 0.0),
        active_s: [0.0, 0.1],
        measured: Default::default(),
    };
    assert!(solver.act(&Action::Pour(source)));
    let mut report = solver.initial_report();
    let before_m3 = report.liquid_volume_m3;
    for _ in 0..12 {
        report = solver.step(0.01).unwrap();
    }
    assert!((solver.bodies()[0].twist.linear.x - 1.0).abs() < 1e-3, "{:?}", solver.bodies()[0]);
    let disc_m2 = std::f64::consts::PI * 0.12 * 0.12;
    let grown = (report.liquid_volume_m3 - before_m3) / (0.1 * disc_m2);
    assert!(
        (0.9..1.5).contains(&grown) && report.volume_error.abs() < 1e-6,
        "{grown} {}",
        report.volume_error
    );
}

#[test]
fn light_boxes_on_the_floor_rise() {
    suite::light_boxes_on_the_floor_rise(build);
}
