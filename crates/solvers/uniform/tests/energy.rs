//! Nothing in a closed box gives the liquid energy.

use fluvial_conformance::{advance, dam_break};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Solver, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};

/// The largest energy over that at the start, less 1, while a column of water that stands in a pool falls.
fn largest_gain(tracker: Tracker, cells: usize, cfl: f32, until_s: f64) -> f64 {
    let mut setup = dam_break(cells, 1.0);
    setup.domain.grid =
        UniformGrid { min: Vec3::ZERO, cells: [cells, cells / 2, cells / 2], dx: 1.6 / cells as f32 };
    let fill = |min, max| Fill { shape: Shape::Box { min, max }, velocity: Vec3::ZERO };
    setup.fills = vec![
        fill(Vec3::splat(-1.0), Vec3::new(2.0, 0.08, 2.0)),
        fill(Vec3::new(-1.0, -1.0, 0.38), Vec3::new(0.46, 0.46, 2.0)),
    ];
    setup.cfl = cfl;
    let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
    let start = solver.initial_report();
    let energy_j = start.kinetic_energy_j + start.potential_energy_j;
    let reports = advance(&mut solver, until_s);
    reports.iter().map(|r| (r.kinetic_energy_j + r.potential_energy_j) / energy_j - 1.0).fold(0.0, f64::max)
}

/// Steps become shorter by three quarters while the liquid speeds up. Forces that act as long as the step gave it 1.9 % of
/// its energy.
#[test]
fn shorter_steps_give_no_energy() {
    let gain = largest_gain(Tracker::Levelset, 48, 0.5, 0.16);
    assert!(gain < 5e-3, "{gain}");
}

/// Liquid sinks through the lower edge of the band of particles. Counted before particles and deep cells have exchanged it, and
/// filled up where it had been filled already, it gained 1.6 %.
#[test]
fn a_falling_column_with_particles_gains_no_energy() {
    for tracker in [Tracker::Flip, Tracker::Apic] {
        let gain = largest_gain(tracker, 48, 2.0, 0.25);
        assert!(gain < 5e-3, "{tracker:?}: {gain}");
    }
}

#[test]
fn energy_is_that_of_what_cells_hold() {
    fluvial_conformance::energy_is_that_of_what_cells_hold(|setup| {
        Box::new(UniformSolver::new(setup, Params::default()).unwrap())
    });
}
