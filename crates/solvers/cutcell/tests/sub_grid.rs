//! Liquid below one cell.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Solid, Solver, Wanted};

/// A drop of a third of a cell's radius falls as a parabola, wherever it begins in its cell.
#[test]
fn a_drop_smaller_than_a_cell_falls_freely() {
    for n in 0..3 {
        let offset = Vec3::new(0.2 * n as f32, 0.31 * n as f32 % 1.0, 0.47 * n as f32 % 1.0);
        let mut setup = tank(16, 0.5);
        let dx = setup.domain.grid.dx;
        let center = Vec3::new(0.5, 0.8, 0.5) + dx * offset;
        setup.fills[0].shape = Shape::Sphere { center, radius: 0.3 * dx };
        let mut solver = CutCellSolver::new(setup, Params::default()).unwrap();
        let start = solver.initial_report();
        let (steps, dt_s) = (12, 0.02);
        let mut last = start.clone();
        for _ in 0..steps {
            last = solver.step(dt_s).unwrap();
        }
        let mass = 1000.0 * start.liquid_volume_m3;
        let fallen = (start.potential_energy_j - last.potential_energy_j) / (mass * 9.81);
        // Symplectic Euler.
        let exact = 0.5 * 9.81 * dt_s * dt_s * (steps * (steps + 1)) as f64;
        assert!((fallen / exact - 1.0).abs() < 0.01, "offset {offset}: fallen {fallen} m, exact {exact} m");
        assert!((last.liquid_volume_m3 / start.liquid_volume_m3 - 1.0).abs() < 1e-6);
    }
}

/// A drop of one of the tracker's cells' radius has the volume of its fill, and its surface keeps it: cut from the tracker alone
/// it had 37 %, and after a few steps none.
#[test]
fn a_drop_smaller_than_a_cell_keeps_its_volume() {
    for n in 0..3 {
        let offset = Vec3::new(0.2 * n as f32, 0.31 * n as f32 % 1.0, 0.47 * n as f32 % 1.0);
        let mut setup = tank(16, 0.5);
        let (dx, radius) = (setup.domain.grid.dx, 0.25 * setup.domain.grid.dx);
        setup.fills[0].shape = Shape::Sphere { center: Vec3::new(0.5, 0.8, 0.5) + dx * offset, radius };
        let mut solver = CutCellSolver::new(setup, Params::default()).unwrap();
        let exact = 4.0 / 3.0 * std::f64::consts::PI * f64::from(radius).powi(3);
        let filled = solver.initial_report().liquid_volume_m3 / exact;
        assert!((filled - 1.0).abs() < 0.02, "offset {offset}: {filled} of the fill");
        for _ in 0..12 {
            let raw = solver.step(0.02).unwrap().raw_volume_error;
            assert!(raw.abs() < 0.01, "offset {offset}: the surface is off by {raw}");
        }
    }
}

/// Water above a plate of a thousandth of a cell, at any height in a cell, stays above it.
#[test]
fn a_plate_of_a_thousandth_of_a_cell_holds_water() {
    for at in [0.5f32, 0.17] {
        let mut setup = tank(8, 0.5);
        let dx = setup.domain.grid.dx;
        let level = (4.0 + at) * dx;
        let half = Vec3::new(2.0, 0.0005 * dx, 2.0);
        let middle = Vec3::new(0.5, level, 0.5);
        setup.solids.push(Solid::new(
            "plate",
            Shape::Box { min: middle - half, max: middle + half },
            Motion::Static,
        ));
        setup.fills[0].shape = Shape::Box {
            min: Vec3::new(-1.0, level + 0.0005 * dx, -1.0),
            max: Vec3::new(2.0, level + 2.2 * dx, 2.0),
        };
        let params = Params { tracker_factor: 2, ..Params::default() };
        let mut solver = CutCellSolver::new(setup, params).unwrap();
        let start = solver.initial_report();
        let exact = f64::from(2.2 * dx - 0.0005 * dx);
        assert!(
            (start.liquid_volume_m3 / exact - 1.0).abs() < 0.01,
            "{} m3 of {exact}",
            start.liquid_volume_m3
        );
        let mut fastest = 0.0f64;
        for _ in 0..10 {
            fastest = fastest.max(solver.step(0.03).unwrap().max_speed_m_s);
        }
        let particles = solver.snapshot(Wanted::PARTICLES).particles.unwrap();
        let leaked = particles.x.iter().filter(|x| x.y < level).count();
        assert_eq!(leaked, 0, "plate at {at}: particles below it");
        assert!(fastest < 0.05, "plate at {at}: {fastest} m/s");
    }
}

/// Water above a slope that cuts its cells rests: pieces beside the slope have the iso-distance of those in the open, vertices between
/// solid and surface move with the surface, pieces under water along the slope, and the level stays where it lies beside samples. With
/// its own distance for each piece it ran along the slope, sank into it, and was at 20 m/s after 0.4 s.
#[test]
fn still_water_rests_beside_what_cuts_its_cells() {
    let mut setup = tank(16, 0.47);
    setup.domain.grid.cells[2] = 3;
    let normal = Vec3::new(-0.4, 1.0, 0.0).normalize();
    let slope = Shape::Plane { point: Vec3::new(0.5, 0.33, 0.5), normal };
    setup.solids.push(Solid::new("slope", slope, Motion::Static));
    let params = Params { tracker_factor: 2, ..Params::default() };
    let mut solver = CutCellSolver::new(setup, params).unwrap();
    let start = solver.initial_report();
    for _ in 0..15 {
        let report = solver.step(0.02).unwrap();
        assert!(report.max_speed_m_s < 1e-4, "{} m/s", report.max_speed_m_s);
        let sunk = 1.0 - report.potential_energy_j / start.potential_energy_j;
        assert!(sunk.abs() < 1e-5, "it sinks by {sunk}");
    }
}

/// A round bowl of a tenth of a cell is there, and so is one of a thousandth: water stays in it, but for a hundredth where the wall is
/// thinner than its triangles are flat. It does not rest yet.
#[test]
fn thin_bowls_hold_water() {
    for (wall, most) in [(0.1f32, 0.0), (0.001, 0.02)] {
        let mut setup = tank(12, 0.5);
        let wall_m = wall * setup.domain.grid.dx;
        let center = Vec3::new(0.493, 0.507, 0.511);
        let ball = |radius: f32| Shape::Sphere { center, radius };
        let below = |y: f32| Shape::Plane { point: center + y * Vec3::Y, normal: Vec3::Y };
        let outer = Shape::Intersection(vec![ball(0.3), below(0.0)]);
        let bowl = Shape::Difference(Box::new(outer), Box::new(ball(0.3 - wall_m)));
        setup.solids.push(Solid::new("bowl", bowl, Motion::Static));
        setup.fills[0].shape = Shape::Intersection(vec![ball(0.3 - 0.5 * wall_m), below(-0.15)]);
        let params = Params { tracker_factor: 2, ..Params::default() };
        let mut solver = CutCellSolver::new(setup, params).unwrap();
        let inner = f64::from(0.3 - wall_m);
        let exact = std::f64::consts::PI * (inner - 0.15).powi(2) * (inner - (inner - 0.15) / 3.0);
        let filled = solver.initial_report().liquid_volume_m3 / exact;
        assert!((0.95..1.02).contains(&filled), "wall {wall}: {filled} of the fill");
        for _ in 0..8 {
            solver.step(0.025).unwrap();
        }
        let particles = solver.snapshot(Wanted::PARTICLES).particles.unwrap();
        let outside = particles.x.iter().filter(|x| x.distance(center) > 0.31).count();
        let part = outside as f64 / particles.x.len() as f64;
        assert!(part <= most, "wall {wall}: {part} is outside");
    }
}
