//! Surface tension at boundaries, and where particles carry the surface.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Solver, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};

#[test]
fn a_drop_on_a_plate_takes_the_shape_of_its_cap() {
    let build =
        |setup| -> Box<dyn Solver> { Box::new(UniformSolver::new(setup, Params::default()).unwrap()) };
    fluvial_conformance::a_drop_on_a_plate_takes_the_shape_of_its_cap(build, &[60.0, 90.0, 120.0]);
}

/// A drop of 1 cm falls into a shallow pool: what it stirs up dies down. Where the surface was drawn back to its mass at once, and
/// taken out to its particles again, kinetic energy was twenty times as large after half a second and stayed.
#[test]
fn tension_does_not_feed_on_the_noise_of_particles() {
    for tracker in [Tracker::Flip, Tracker::Apic] {
        let mut setup = tank(16, 0.0);
        setup.domain.grid = UniformGrid { min: Vec3::ZERO, cells: [16; 3], dx: 0.03 / 16.0 };
        setup.liquid.surface_tension = 0.0728;
        let pool = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(1.0, 0.003, 1.0) };
        let drop = Shape::Sphere { center: Vec3::splat(0.015), radius: 0.005 };
        setup.fills = [pool, drop].map(|shape| Fill { shape, velocity: Vec3::ZERO }).to_vec();
        setup.cfl = 2.0;
        let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        let start_j = solver.initial_report().potential_energy_j;
        advance(&mut solver, 0.5);
        let kinetic_j =
            advance(&mut solver, 0.6).iter().fold(0.0, |most: f64, r| most.max(r.kinetic_energy_j));
        assert!(
            kinetic_j < 0.03 * start_j,
            "{tracker:?}: {} of the energy at the start",
            kinetic_j / start_j
        );
    }
}
