//! Water lets go of walls and solids.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, StepReport, Tracker, Wall};
use fluvial_solver_octree::{OctreeSolver, Params};

/// Water under the lid of a closed box, from a height up.
fn under_the_ceiling(cells: usize, from_m: f32, sticky: bool) -> Setup {
    let mut setup = tank(cells, 0.5);
    setup.fills[0].shape = Shape::Box { min: Vec3::new(-1.0, from_m, -1.0), max: Vec3::splat(2.0) };
    if sticky {
        setup.domain.walls = [Wall::Sticky; 6];
    }
    setup
}

fn run(setup: Setup, tracker: Tracker, end_s: f64) -> (OctreeSolver, StepReport) {
    let params = Params { tracker, ..Params::default() };
    let mut solver = OctreeSolver::new(setup, params).unwrap();
    let last = advance(&mut solver, end_s).pop().unwrap();
    (solver, last)
}

/// Water under a ceiling falls as a whole at g t, on cells of several sizes, and keeps its volume; on a sticky one
/// it hangs. Thrown at the ceiling it is stopped.
#[test]
fn water_falls_off_a_ceiling_and_presses_against_it() {
    for (tracker, cells) in [(Tracker::Levelset, 16), (Tracker::Levelset, 32), (Tracker::Flip, 32)] {
        let (solver, last) = run(under_the_ceiling(cells, 0.61, false), tracker, 0.2);
        // It has fallen by 0.196 m.
        let high = Shape::Box { min: Vec3::new(-1.0, 0.875, -1.0), max: Vec3::splat(2.0) };
        let above = solver.volume_in(&high);
        assert!(above < 0.02 * 0.125, "{tracker:?} {cells}: {above} m3 still hang from the ceiling");
        // Velocity stands half a step ahead of the surface, and the last step is the shorter one.
        assert!((last.max_speed_m_s / (9.81 * 0.2) - 1.0).abs() < 0.04, "{tracker:?} {cells}: {last:?}");
        assert!(last.raw_volume_error.abs() < 1e-6, "{tracker:?} {cells}: {last:?}");
        let (_, last) = run(under_the_ceiling(cells, 0.61, true), tracker, 0.2);
        assert!(last.max_speed_m_s < 0.2, "{tracker:?} {cells}: {last:?}");
    }
    let mut thrown = under_the_ceiling(16, 0.61, false);
    thrown.fills[0].velocity = Vec3::new(0.0, 2.0, 0.0);
    let (_, last) = run(thrown, Tracker::Levelset, 0.02);
    assert!(last.max_speed_m_s < 0.4, "{last:?}");
}

/// A plate that rises out of water is left behind by it as soon as its edges are out, unless it is sticky. What the plate
/// uncovers in a step was taken for liquid whose volume is still to come, and drawn up again: nearly as much hung from the
/// plate as from a sticky one.
#[test]
fn a_rising_plate_leaves_the_water_behind() {
    let key =
        |time_s: f64, y: f32| Key { time_s, translate: Vec3::new(0.0, y, 0.0), rotation: Quat::IDENTITY };
    let hanging_part = |sticky: bool| {
        let mut setup = tank(32, 0.5);
        // At rest first: a plate that rises from the first moment on has water that rises with it.
        let motion =
            Motion::Keys { about: Vec3::ZERO, keys: vec![key(0.0, 0.0), key(0.02, 0.0), key(1.0, 0.98)] };
        let shape = Shape::Box { min: Vec3::new(0.2, 0.45, 0.2), max: Vec3::new(0.8, 0.6, 0.8) };
        setup.solids.push(Solid { sticky, ..Solid::new("plate", shape, motion) });
        let mut solver = OctreeSolver::new(setup, Params::default()).unwrap();
        advance(&mut solver, 0.02);
        advance(&mut solver, 0.23);
        // A layer of one cell below the plate.
        let (low, high) = (Vec3::new(0.2, 0.63, 0.2), Vec3::new(0.8, 0.66, 0.8));
        solver.volume_in(&Shape::Box { min: low, max: high }) / (0.36 * 0.03)
    };
    let [free, held] = [false, true].map(hanging_part);
    assert!(free < 0.01 && held > 10.0 * free, "{free} {held}");
}

/// Still water touches floor and walls and stays still.
#[test]
fn still_water_does_not_let_go() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let (_, last) = run(tank(32, 0.47), tracker, 0.5);
        assert!(last.max_speed_m_s < 1e-4, "{tracker:?}: {last:?}");
    }
}
