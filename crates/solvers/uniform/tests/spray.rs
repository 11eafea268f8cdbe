//! Drops of a splash fly; nothing throws them.

use fluvial_conformance::tank;
use fluvial_foundation::{AXES, Vec3};
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, LevelSet, Solver, Wanted};
use fluvial_solver_uniform::{Params, UniformSolver};

/// Two drops of one cell each that pass by each other. The pressure that drags short waves used to push such
/// cells over their ghost distances, with no projection to answer: particles of more than 400 m/s in a dam
/// break of 0.5 m.
#[test]
fn lone_cells_keep_their_speed() {
    let (dx, dt_s) = (1.0 / 16.0, 1e-4);
    let mut setup = tank(16, 0.2);
    let drop = |i: f32, velocity: Vec3| {
        // 0.01 cells around the cell's centre are liquid on one side.
        let center = dx * (Vec3::new(i, 8.0, 8.0) + 0.5 + Vec3::new(0.0, 0.29, 0.0));
        Fill { shape: Shape::Sphere { center, radius: 0.3 * dx }, velocity }
    };
    setup.fills.extend([drop(6.0, 2.0 * Vec3::X), drop(8.0, -2.0 * Vec3::X)]);
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    solver.step(dt_s).unwrap();
    let view = solver.snapshot(Wanted::LEVEL_SET).level_set.and_then(LevelSet::uniform).unwrap();
    let fastest = AXES.map(|axis| view.u_face[axis].iter().fold(0.0f32, |m, u| m.max(u.abs())));
    let allowed = [2.0, 9.9 * dt_s as f32, 0.0];
    assert!(AXES.iter().all(|&axis| fastest[axis] <= allowed[axis] + 1e-3), "{fastest:?} m/s");
}
