//! Particles where much happens, and nowhere else.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Fill, LevelSet, Setup, Solid, Solver, Tracker, Wanted};
use fluvial_solver_octree::{OctreeSolver, Params};

fn with(tracker: Tracker) -> Params {
    Params { tracker, ..Params::default() }
}

/// A ball of water that hits a pool at 4 m/s.
fn splash() -> Setup {
    let mut setup = tank(32, 0.3);
    let shape = Shape::Sphere { center: Vec3::new(0.5, 0.5, 0.5), radius: 0.15 };
    setup.fills.push(Fill { shape, velocity: Vec3::new(0.0, -4.0, 0.0) });
    setup
}

/// Still water asks for no particles, and is the level set's to the bit.
#[test]
fn a_calm_pool_has_none() {
    let run = |tracker| {
        let mut solver = OctreeSolver::new(tank(32, 0.4), with(tracker)).unwrap();
        let reports = advance(&mut solver, 0.2);
        assert!(reports.iter().all(|r| r.particles == 0));
        solver.surface(&Default::default()).positions
    };
    assert_eq!(run(Tracker::Flip), run(Tracker::Levelset));
}

/// Drops are torn off, fly and come back: what is in the air and what is in the pool is all the water there
/// was. No particle is in the pillar or beyond the
/// walls.
#[test]
fn a_splash_keeps_its_water_and_stays_out_of_solids() {
    let mut setup = splash();
    let pillar = Shape::Box { min: Vec3::new(0.7, -1.0, 0.4), max: Vec3::new(0.85, 2.0, 0.6) };
    setup.solids.push(Solid::new("pillar", pillar.clone(), Motion::default()));
    let mut solver = OctreeSolver::new(setup, with(Tracker::Flip)).unwrap();
    let mut most_in_air = 0;
    while solver.time_s() < 0.5 {
        let last = solver.step(solver.suggest_dt().dt_s.min(0.02)).unwrap();
        assert!(last.volume_error.abs() < 1e-6, "t = {}: {}", solver.time_s(), last.volume_error);
        let view = solver.snapshot(Wanted::PARTICLES).particles.unwrap();
        assert_eq!(last.particles, view.x.len());
        let bounds = solver.tree().shape().bounds();
        most_in_air = most_in_air.max(view.x.iter().filter(|x| x.y > 0.45).count());
        assert!(view.x.iter().all(|&x| bounds.contains(x) && pillar.distance(x) > 0.0));
    }
    assert!(most_in_air > 50, "{most_in_air}");
}

/// The mesh holds bodies and drops: all of the water.
#[test]
fn spray_is_closed_and_counted_in_the_mesh() {
    let mut solver = OctreeSolver::new(splash(), with(Tracker::Flip)).unwrap();
    advance(&mut solver, 0.12);
    let mesh = solver.surface(&Default::default());
    assert!(mesh.defects().is_clean(), "{:?}", mesh.defects());
    assert_eq!(mesh.velocities.len(), mesh.positions.len());
    let report = solver.initial_report();
    assert!((mesh.volume() - report.liquid_volume_m3).abs() < 0.02 * report.liquid_volume_m3);
}

/// Two balls meet head-on and are drawn out to a film thinner than a cell: nothing of it is lost.
#[test]
fn a_film_thinner_than_a_cell_keeps_its_volume() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let (mut setup, dx) = (tank(32, 0.5), 1.0 / 32.0);
        setup.liquid.gravity = Vec3::ZERO;
        setup.fills.clear();
        for side in [-1.0f32, 1.0] {
            let shape =
                Shape::Sphere { center: Vec3::new(0.5, 0.5 + side * 4.0 * dx, 0.5), radius: 3.5 * dx };
            setup.fills.push(Fill { shape, velocity: Vec3::new(0.0, -3.0 * side, 0.0) });
        }
        let mut solver = OctreeSolver::new(setup, with(tracker)).unwrap();
        let last = advance(&mut solver, 0.15).pop().unwrap();
        assert!(last.raw_volume_error.abs() < 1e-6, "{tracker:?}: {}", last.raw_volume_error);
        assert!(last.max_speed_m_s < 6.5, "{tracker:?}: {}", last.max_speed_m_s);
    }
}

/// A drop in the air keeps to its parabola; when it has fallen in, its volume is the pool's again and its
/// momentum too.
#[test]
fn a_drop_flies_and_falls_in() {
    let setup = tank(32, 0.25);
    let g = setup.liquid.gravity;
    let mut solver = OctreeSolver::new(setup, Params::default()).unwrap();
    let (x, v) = (Vec3::new(0.3, 0.5, 0.5), Vec3::new(0.5, 1.0, 0.0));
    // As large as a particle: an eighth of a cell.
    let (volume_m3, dt_s) = (1.0 / 64f64.powi(3), 2e-3f32);
    solver.add_drop(x, v, volume_m3);
    loop {
        let report = solver.step(dt_s as f64).unwrap();
        assert!(report.volume_error.abs() < 1e-6, "{}", report.volume_error);
        let t = solver.time_s() as f32;
        assert!(t < 0.5, "it falls in");
        let drops = solver.snapshot(Wanted::PARTICLES).particles.unwrap();
        assert!(t > 0.1 || drops.x.len() == 1, "it flies");
        match drops.x[..] {
            [] => break,
            // Velocity stands half a step ahead: x = x0 + v t + g t (t - dt) / 2.
            [now] => {
                let exact = x + t * v + 0.5 * t * (t - dt_s) * g;
                assert!((now - exact).length() < 1e-5, "t = {t}");
            }
            _ => panic!("{} drops", drops.x.len()),
        }
    }
    let snapshot = solver.snapshot(Wanted::LEVEL_SET);
    let liquid = snapshot.level_set.and_then(LevelSet::sparse).unwrap();
    let (cells, dx) = (liquid.grid().cell_centers(), liquid.grid().dx);
    let momentum: f64 = (0..cells.len())
        .map(|cell| cells.coordinates(cell))
        .filter(|&at| liquid.phi(at) < 0.0)
        .map(|[i, j, k]| 0.5 * (liquid.velocity(0, [i, j, k]) + liquid.velocity(0, [i + 1, j, k])))
        .map(|u| u as f64 * (dx as f64).powi(3))
        .sum();
    // What walls do not take at once.
    assert!(momentum > 0.0 && momentum < 1.2 * volume_m3 * v.x as f64, "{momentum}");
}
