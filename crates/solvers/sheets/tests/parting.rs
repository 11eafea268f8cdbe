//! Walls push liquid, they do not pull it.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Solver, Wall};
use fluvial_solver_sheets::{Params, SheetsSolver};

#[test]
fn water_falls_off_a_ceiling_that_is_not_sticky() {
    let above = |wall: Wall| {
        let mut setup = tank(16, 0.0);
        setup.fills[0].shape = Shape::Box { min: Vec3::new(-1.0, 0.61, -1.0), max: Vec3::splat(2.0) };
        setup.domain.walls = [wall; 6];
        let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
        advance(&mut solver, 0.2);
        // Two of 16 cells; it falls by 0.196 m.
        solver.volume_in(&Shape::Box { min: Vec3::new(-1.0, 0.875, -1.0), max: Vec3::splat(2.0) })
    };
    let (free, sticky) = (above(Wall::Solid), above(Wall::Sticky));
    assert!(free < 0.02 * 0.125 && sticky > 0.9 * 0.125, "{free} {sticky}");
}
