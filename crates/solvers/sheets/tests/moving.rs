//! Solids that move through liquid.

use crate::rest::{slab, tilted_bowl};
use fluvial_conformance::{advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Setup, Solid};
use fluvial_solver_sheets::{Params, SheetsSolver};

/// Fastest liquid up to a time, m/s.
fn fastest_until(setup: Setup, until_s: f64) -> f64 {
    let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
    let reports = advance(&mut solver, until_s);
    reports.iter().fold(0.0f64, |most, report| most.max(report.max_speed_m_s))
}

/// Motion along x through so many metres at these times.
fn along_x(keys: impl Iterator<Item = (f64, f32)>) -> Motion {
    let key = |(time_s, x)| Key { time_s, translate: x * Vec3::X, rotation: Quat::IDENTITY };
    Motion::Keys { about: Vec3::ZERO, keys: keys.map(key).collect() }
}

/// The flow moves along with a ball, and particles in it: in a flow that is frozen during a step they fall behind, the
/// hole in the wake counts as air, and water shoots into it, at 2.5 m/s for a ball of 1 m/s.
#[test]
fn water_follows_a_ball() {
    let mut setup = tank(24, 0.8);
    let shape = Shape::Sphere { center: Vec3::new(0.3, 0.3, 0.5), radius: 0.15 };
    let motion = Motion::Constant { linear: Vec3::X, angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids.push(Solid::new("ball", shape, motion));
    setup.cfl = 2.0;
    let fastest = fastest_until(setup, 0.4);
    assert!(fastest < 1.6, "{fastest} m/s around a ball of 1 m/s");
}

/// Cells that the walls of a shaken bowl cut had their surface at their centres, whatever the surface beside them: water
/// shot up along the walls at 1.6 to 4 m/s; the bowl moves at 0.13 m/s.
#[test]
fn water_in_a_shaken_bowl_does_not_shoot_up_its_walls() {
    let mut setup = tilted_bowl(1.0);
    let sway = |n: i32| (n as f64 / 16.0, 0.02 * (std::f32::consts::TAU * n as f32 / 16.0).sin());
    setup.solids[0].motion = along_x((0..16).map(sway));
    let fastest = fastest_until(setup, 0.5);
    assert!(fastest < 1.0, "{fastest} m/s in a bowl of 0.13 m/s");
}

/// Water that followed a plate's way back at 0.2 m/s shot up along it. Before the plate turns the water stands 0.53 m high, below
/// the ceiling at 0.58 m.
#[test]
fn water_follows_a_plate() {
    let mut setup = slab(24, 0.3);
    setup.fills[0].shape = Shape::Box { min: Vec3::ZERO, max: Vec3::new(0.607, 0.313, 1.0) };
    let shape = Shape::Box { min: Vec3::new(0.607, -1.0, -1.0), max: Vec3::new(0.649, 2.0, 2.0) };
    let motion = along_x([(0.0, 0.0), (1.25, -0.25), (2.5, 0.0)].into_iter());
    setup.solids.push(Solid::new("plate", shape, motion));
    let fastest = fastest_until(setup, 2.1);
    assert!(fastest < 1.5, "{fastest} m/s behind a plate of 0.2 m/s");
}
