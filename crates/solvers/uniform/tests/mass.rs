//! The level set's liquid is kept by construction.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{
    Fill, Setup, Solid, Solver, Source, StateReader, StateWriter, VolumeCorrection, Wanted,
};
use fluvial_solver_uniform::{Params, UniformSolver};

/// A drop above a ball above a shallow pool.
fn splash_on_a_ball(n: usize) -> Setup {
    let mut setup = tank(n, 0.1);
    let drop = Shape::Sphere { center: Vec3::new(0.5, 0.8, 0.5), radius: 0.15 };
    setup.fills.push(Fill { shape: drop, velocity: Vec3::new(0.0, -2.0, 0.0) });
    let ball = Shape::Sphere { center: Vec3::new(0.5, 0.4, 0.45), radius: 0.15 };
    setup.solids.push(Solid::new("ball", ball, Motion::Static));
    setup
}

fn drops(solver: &UniformSolver) -> usize {
    solver.snapshot(Wanted::PARTICLES).particles.map_or(0, |set| set.x.len())
}

/// 200 steps of a splash that leaves films, edges and spray: not a millionth is lost, with no correction at
/// work; and nothing is faster than what falls from the height of the drop.
#[test]
fn a_splash_on_a_ball_keeps_its_volume() {
    let mut solver = UniformSolver::new(splash_on_a_ball(24), Params::default()).unwrap();
    let start_m3 = solver.initial_report().liquid_volume_m3;
    let bound_m_s = (2.0f64.powi(2) + 2.0 * 9.81 * 0.95).sqrt();
    let (mut most_drops, mut fastest_m_s) = (0, 0.0f64);
    for step in 0..200 {
        let report = solver.step(solver.suggest_dt().dt_s.min(0.01)).unwrap();
        let error = report.liquid_volume_m3 / start_m3 - 1.0;
        assert!(error.abs() < 1e-6, "step {step}: {error}");
        assert!((report.raw_volume_error - report.volume_error).abs() < 1e-12);
        most_drops = most_drops.max(drops(&solver));
        fastest_m_s = fastest_m_s.max(report.max_speed_m_s);
    }
    assert!(most_drops > 50, "{most_drops} drops: the scene has spray");
    assert!(fastest_m_s < 1.3 * bound_m_s, "{fastest_m_s} m/s, the fall gives {bound_m_s}");
}

/// Without its volume carried the same splash loses more than half a percent: what the test above is about.
#[test]
fn the_level_set_alone_loses_volume() {
    let params = Params { volume_correction: VolumeCorrection::Off, ..Params::default() };
    let mut solver = UniformSolver::new(splash_on_a_ball(24), params).unwrap();
    let mut worst = 0.0f64;
    for _ in 0..100 {
        worst = worst.max(solver.step(solver.suggest_dt().dt_s.min(0.01)).unwrap().volume_error.abs());
    }
    assert!(worst > 5e-3, "{worst}");
}

/// A source's inflow is its flux times time, and all of it is there.
#[test]
fn what_a_source_brings_in_is_there() {
    let mut setup = tank(16, 0.0);
    setup.fills.clear();
    let shape = Shape::Sphere { center: Vec3::new(0.5, 0.8, 0.5), radius: 0.12 };
    setup.sources.push(Source {
        shape,
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -1.5, 0.0),
        active_s: [0.0, 0.5],
        measured: Default::default(),
    });
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    for step in 0..60 {
        let report = solver.step(0.02).unwrap();
        assert!(report.volume_error.abs() < 1e-6, "step {step}: {}", report.volume_error);
    }
}

/// Drops are part of a checkpoint: a solver that takes it over goes on with the same bits.
#[test]
fn drops_survive_a_checkpoint() {
    let mut first = UniformSolver::new(splash_on_a_ball(16), Params::default()).unwrap();
    while drops(&first) < 10 {
        first.step(0.01).unwrap();
        assert!(first.time_s() < 1.0, "the splash sheds drops");
    }
    let saved = |solver: &UniformSolver| {
        let mut bytes = vec![];
        solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
        bytes
    };
    let bytes = saved(&first);
    let mut second = UniformSolver::new(splash_on_a_ball(16), Params::default()).unwrap();
    second.restore(&mut StateReader::new(&mut bytes.as_slice(), bytes.len() as u64)).unwrap();
    for _ in 0..5 {
        first.step(0.01).unwrap();
        second.step(0.01).unwrap();
        assert!(saved(&first) == saved(&second), "at {} s", first.time_s());
    }
}
