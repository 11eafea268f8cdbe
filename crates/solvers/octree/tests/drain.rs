//! Water that leaves a tank.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Solid, Solver, Tracker, Wall};
use fluvial_solver_octree::{OctreeSolver, Params};

/// Through a round hole in the floor, of five cells, water leaves about as fast as its head allows, 3.1 m/s, although the hole's edge
/// leaves slivers of faces and the jet lets go of it. What bounds the flow there is tested by `narrow_openings_have_inertia`.
#[test]
fn a_drain_is_no_faster_than_its_head() {
    let mut setup = tank(20, 0.45);
    setup.domain.grid.dx = 0.025;
    setup.domain.walls[2] = Wall::Open;
    let floor = Shape::Box { min: Vec3::new(-1.0, 0.15, -1.0), max: Vec3::new(2.0, 0.2, 2.0) };
    let hole =
        Shape::Cylinder { from: Vec3::new(0.25, 0.0, 0.25), to: Vec3::new(0.25, 0.5, 0.25), radius: 0.06 };
    let pierced = Shape::Difference(Box::new(floor), Box::new(hole));
    setup.solids.push(Solid::new("floor", pierced, Motion::Static));
    setup.fills[0].shape = Shape::Box { min: Vec3::new(-1.0, 0.2, -1.0), max: Vec3::new(2.0, 0.45, 2.0) };
    let params = Params { tracker: Tracker::Flip, ..Params::default() };
    let mut solver = OctreeSolver::new(setup, params).unwrap();
    let (mut fastest, mut left_m3) = (0.0f64, 0.0);
    for frame in 1..=8 {
        // Equal steps, as a run takes them.
        while f64::from(frame) / 24.0 - solver.time_s() > 1e-9 {
            let rest_s = f64::from(frame) / 24.0 - solver.time_s();
            let report = solver.step(rest_s / (rest_s / solver.suggest_dt().dt_s).ceil()).unwrap();
            (fastest, left_m3) = (fastest.max(report.max_speed_m_s), report.outflow_m3);
        }
    }
    assert!(fastest < 1.3 * 3.1, "{fastest} m/s");
    // The flow through the hole, by what a short tube lets pass of Torricelli's, 0.6 to 1, while the jet is on its way.
    let ideal_m3 = 2.2 * std::f64::consts::PI * 0.06 * 0.06 * 8.0 / 24.0;
    assert!(left_m3 > 0.3 * ideal_m3 && left_m3 < ideal_m3, "{left_m3} of {ideal_m3} m3");
}
