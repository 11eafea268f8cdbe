//! Gauges of volume against exact volumes.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup};
use fluvial_solver_registry::variants;

/// Columns and boxes of two cells and more, off the grid, in the middle of liquid and through its surface: every method
/// reads what is in them within a percent.
#[test]
fn volumes_in_boxes_off_the_grid_are_exact() {
    let n = 16;
    let dx = 1.0 / n as f32;
    let setup = || Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx }),
        liquid: Liquid::default(),
        fills: vec![Fill {
            shape: Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.5, 2.0) },
            velocity: Vec3::ZERO,
        }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    };
    for variant in variants() {
        let solver = variant.method.build(setup()).unwrap();
        for offset in [0.0f32, 0.25, 0.5, 0.8].map(|part| part * dx) {
            for [width, top] in [[2.0 * dx, 0.9], [2.0 * dx, 0.4], [3.3 * dx, 0.8]] {
                let low = Vec3::new(0.3, 0.1, 0.4) + offset;
                let high = Vec3::new(low.x + width, top, low.z + width);
                let exact = f64::from(width * width * (top.min(0.5) - low.y));
                let read = solver.volume_in(&Shape::Box { min: low, max: high });
                assert!(
                    (read / exact - 1.0).abs() < 0.01,
                    "{}, {width} m wide up to {top} m, {offset} m off: {read} m3 for {exact}",
                    variant.name
                );
            }
        }
    }
}

/// A probe over the whole domain reads what the account says, whatever jets, films and drops do.
#[test]
fn a_probe_over_everything_reads_the_account() {
    let n = 16;
    let setup = || Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }),
        liquid: Liquid::default(),
        fills: vec![Fill {
            shape: Shape::Sphere { center: Vec3::new(0.4, 0.6, 0.5), radius: 0.2 },
            velocity: Vec3::new(1.0, -3.0, 0.5),
        }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    };
    for variant in variants() {
        let mut solver = variant.method.build(setup()).unwrap();
        while solver.time_s() < 0.4 {
            let report = solver
                .step(solver.suggest_dt().dt_s.min(0.02))
                .unwrap_or_else(|e| panic!("{} at {:.2} s: {e}", variant.name, solver.time_s()));
            let read = solver.volume_in(&Shape::Box { min: Vec3::splat(-1.0), max: Vec3::splat(2.0) });
            let error = read / report.liquid_volume_m3 - 1.0;
            assert!(error.abs() < 0.01, "{} at {:.2} s: {error}", variant.name, solver.time_s());
        }
    }
}
