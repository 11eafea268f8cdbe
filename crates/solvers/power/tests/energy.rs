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
