//! Still water stays still where cells of several sizes meet surface and walls.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Refine, Solver};
use fluvial_solver_octree::{OctreeSolver, Params};

/// Refined regions that touch walls, with the surface through both: a degenerate junction beside a wall used
/// to be pushed with a hundredth of gravity. At 0.42 m the surface meets such junctions: 1.3e-3 m/s then.
#[test]
fn a_flat_surface_through_refined_regions_at_walls_rests() {
    for height in [0.36, 0.39, 0.42, 0.45, 0.48, 0.51] {
        let mut setup = tank(32, height);
        let region = |min: Vec3, max: Vec3, dx: f32| Refine { shape: Shape::Box { min, max }, dx };
        setup.refine = vec![
            region(Vec3::ZERO, Vec3::new(0.3, 1.0, 0.4), 1.0 / 32.0),
            region(Vec3::new(0.6, 0.0, 0.5), Vec3::ONE, 1.0 / 16.0),
        ];
        let params = Params { max_dx: Some(0.125), ..Params::default() };
        let mut solver = OctreeSolver::new(setup, params).unwrap();
        let sizes = (0..3).filter(|&level| !solver.tree().cells_of(level).is_empty()).count();
        assert_eq!(sizes, 3, "cells of three sizes");
        let mut fastest = 0.0f64;
        for _ in 0..25 {
            fastest = fastest.max(solver.step(0.01).unwrap().max_speed_m_s);
        }
        assert!(fastest < 1e-4, "{height} m: {fastest} m/s");
    }
}
