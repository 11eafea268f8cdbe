//! Walls push liquid, they do not pull it.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, StepReport, Tracker, VolumeCorrection, Wall};
use fluvial_solver_uniform::{Params, UniformSolver};

/// Water that fills the upper part of a box, wall to wall.
fn under_the_ceiling(from_m: f32, sticky: bool) -> Setup {
    let mut setup = tank(16, 0.0);
    setup.fills[0].shape = Shape::Box { min: Vec3::new(-1.0, from_m, -1.0), max: Vec3::splat(2.0) };
    if sticky {
        setup.domain.walls = [Wall::Sticky; 6];
    }
    setup
}

/// The liquid at a time, without volume correction.
fn run(setup: Setup, tracker: Tracker, until_s: f64) -> (Box<dyn Solver>, StepReport) {
    let params = Params { tracker, volume_correction: VolumeCorrection::Off, ..Params::default() };
    let mut solver = Box::new(UniformSolver::new(setup, params).unwrap());
    let last = advance(solver.as_mut(), until_s).pop().unwrap();
    (solver, last)
}

#[test]
fn water_falls_off_a_ceiling_and_presses_against_it() {
    for (tracker, from_m) in [(Tracker::Levelset, 0.61), (Tracker::Flip, 0.86)] {
        let (solver, last) = run(under_the_ceiling(from_m, false), tracker, 0.2);
        let fallen = 0.5 * 9.81 * 0.2f64.powi(2);
        let low =
            |y0: f32, y1: f32| Shape::Box { min: Vec3::new(-1.0, y0, -1.0), max: Vec3::new(2.0, y1, 2.0) };
        // Two of 16 cells, less than it has fallen.
        let above = solver.volume_in(&low(0.875, 2.0));
        assert!(
            0.125 < fallen && above < 0.02 * 0.125,
            "{tracker:?}: {above} m3 still hang from the ceiling"
        );
        assert!((last.max_speed_m_s / (9.81 * 0.2) - 1.0).abs() < 0.1, "{tracker:?}: {last:?}");
        if tracker == Tracker::Levelset {
            assert!(last.raw_volume_error.abs() < 0.01, "{last:?}");
        }
        // On a sticky ceiling it hangs, as it did before.
        let (_, last) = run(under_the_ceiling(from_m, true), tracker, 0.2);
        assert!(last.max_speed_m_s < 0.2, "{tracker:?}: {last:?}");
    }
    // Thrown at the ceiling it is stopped.
    let mut thrown = under_the_ceiling(0.61, false);
    thrown.fills[0].velocity = Vec3::new(0.0, 2.0, 0.0);
    let (_, last) = run(thrown, Tracker::Levelset, 0.02);
    assert!(last.max_speed_m_s < 0.4, "{last:?}");
}

/// A plate that rises out of water takes none along unless it is sticky.
#[test]
fn a_rising_plate_leaves_the_water_behind() {
    let key =
        |time_s: f64, y: f32| Key { time_s, translate: Vec3::new(0.0, y, 0.0), rotation: Quat::IDENTITY };
    let left = |sticky: bool| {
        let mut setup = tank(16, 0.5);
        let shape = Shape::Box { min: Vec3::new(0.2, 0.45, 0.2), max: Vec3::new(0.8, 0.6, 0.8) };
        // At rest first: a plate that rises from the first moment on has water that rises with it.
        let keys = vec![key(0.0, 0.0), key(0.02, 0.0), key(1.0, 0.98)];
        let motion = Motion::Keys { about: Vec3::ZERO, keys };
        setup.solids.push(Solid { sticky, ..Solid::new("plate", shape, motion) });
        let (_, last) = run(setup, Tracker::Levelset, 0.12);
        last.kinetic_energy_j
    };
    let (free, held) = (left(false), left(true));
    assert!(free < 0.7 * held, "{free} {held}");
}

/// Still water touches floor and walls and stays still.
#[test]
fn still_water_does_not_let_go() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let (_, last) = run(tank(16, 0.47), tracker, 0.5);
        assert!(last.max_speed_m_s < 1e-4, "{tracker:?}: {last:?}");
    }
}

/// A closed box full of water: no air can get in, so that no wall pulls. The pressure, of which no surface says how high it is, was negative in
/// the upper half, and the water let go of the ceiling at 0.85 m/s.
#[test]
fn a_full_box_rests() {
    let dx = 1.0 / 12.0;
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let mut setup = tank(12, 0.0);
        setup.fills[0].shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::splat(2.0) };
        let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        for _ in 0..10 {
            let report = solver.step(0.02).unwrap();
            assert!(report.max_speed_m_s < 1e-5, "{tracker:?}: {:.2e} m/s", report.max_speed_m_s);
        }
        let pressure_pa = solver.pressure_at(Vec3::splat(0.5 * dx));
        let below_top_pa = 1000.0 * 9.81 * (1.0 - f64::from(dx));
        assert!((pressure_pa / below_top_pa - 1.0).abs() < 1e-2, "{pressure_pa:.0} for {below_top_pa:.0} Pa");
    }
}
