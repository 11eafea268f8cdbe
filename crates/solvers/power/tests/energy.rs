//! Nothing in a closed box gives the liquid energy.

use fluvial_conformance::{advance, dam_break};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Solver};
use fluvial_solver_power::{Params, PowerSolver};

/// A column of water that stands in a pool falls; steps become shorter while the liquid speeds up. Forces that act as long as the step gave
/// it 1.6 % of its energy, and 0.5 % are left.
#[test]
fn shorter_steps_give_no_energy() {
    let mut setup = dam_break(32, 1.0);
    setup.domain.grid = UniformGrid { min: Vec3::ZERO, cells: [32, 16, 16], dx: 0.05 };
    let fill = |min, max| Fill { shape: Shape::Box { min, max }, velocity: Vec3::ZERO };
    setup.fills = vec![
        fill(Vec3::splat(-1.0), Vec3::new(2.0, 0.08, 2.0)),
        fill(Vec3::new(-1.0, -1.0, 0.38), Vec3::new(0.46, 0.46, 2.0)),
    ];
    setup.cfl = 0.5;
    let mut solver = PowerSolver::new(setup, Params { band_factor: 2, ..Params::default() }).unwrap();
    let start = solver.initial_report();
    let energy_j = start.kinetic_energy_j + start.potential_energy_j;
    let gains = advance(&mut solver, 0.2)
        .into_iter()
        .map(|r| (r.kinetic_energy_j + r.potential_energy_j) / energy_j - 1.0);
    let gain = gains.fold(0.0, f64::max);
    assert!(gain < 8e-3, "{gain}");
}

/// What is reported of a ball that falls does not jump where steps become shorter. With the plain mean of two velocities' logarithms
/// it did, by the power of gravity times a quarter of what the step changes by.
#[test]
fn the_reported_energy_does_not_jump_when_steps_change() {
    let mut setup = dam_break(16, 1.0);
    setup.domain.grid = UniformGrid { min: Vec3::ZERO, cells: [16, 32, 16], dx: 0.0625 };
    let shape = Shape::Sphere { center: Vec3::new(0.5, 1.4, 0.5), radius: 0.25 };
    setup.fills = vec![Fill { shape, velocity: Vec3::ZERO }];
    let mut solver = PowerSolver::new(setup, Params { band_factor: 2, ..Params::default() }).unwrap();
    let mut energies_j = vec![];
    let mut kinetic_j = 0.0;
    for dt_s in [[0.02; 8], [0.012; 8]].concat() {
        let report = solver.step(dt_s).unwrap();
        energies_j.push(report.kinetic_energy_j + report.potential_energy_j);
        kinetic_j = report.kinetic_energy_j;
    }
    let jump = (energies_j[8] - energies_j[7]).abs();
    assert!(jump < 1e-3 * kinetic_j, "{jump} of {kinetic_j}");
}
