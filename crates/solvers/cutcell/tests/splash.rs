//! Energy and volume of a splash, and what a source lets in.

use fluvial_conformance::{advance, dam_break, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Setup, Solid, Solver, Source};

fn build(setup: Setup) -> CutCellSolver {
    CutCellSolver::new(setup, Params { tracker_factor: 2, ..Params::default() }).unwrap()
}

/// A column breaks against the far wall: energy never exceeds its start, particles keep their volume, and the surface that
/// is drawn encloses it.
#[test]
fn a_splash_gains_no_energy_and_keeps_its_volume() {
    let mut solver = build(dam_break(12, 1.0));
    let (start, mut raw) = (solver.initial_report(), 0.0f64);
    for report in advance(&mut solver, 0.5) {
        let energy = (report.kinetic_energy_j + report.potential_energy_j) / start.potential_energy_j;
        assert!(energy < 1.02, "energy is {energy} of the start's");
        assert!(report.volume_error.abs() < 1e-6, "volume error {}", report.volume_error);
        raw = raw.max(report.raw_volume_error.abs());
    }
    // A defect, kept from growing: without being displaced to its particles the level set would lose 4 %.
    assert!(raw < 0.06, "transport changes the level set by {raw}");
    let drawn = solver.surface(&Default::default()).volume() / start.liquid_volume_m3;
    assert!((drawn - 1.0).abs() < 0.03, "{drawn} of the volume is drawn");
}

/// A film of 0.6 cells runs out on a floor. Carried with what the grid's faces say, its surface had 18 % more volume after
/// 0.8 s and its particles 16 % more energy, at any step and on any tracker.
#[test]
fn a_film_runs_out_with_its_volume() {
    let mut setup = tank(16, 0.5);
    setup.domain.grid.cells = [16, 6, 3];
    let dx = setup.domain.grid.dx;
    setup.fills[0].shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(6.4 * dx, 0.6 * dx, 1.0) };
    let mut solver = build(setup);
    let start = solver.initial_report().potential_energy_j;
    for report in advance(&mut solver, 0.6) {
        let raw = report.raw_volume_error;
        assert!(raw.abs() < 0.02, "transport changes the level set by {raw}");
        let energy = (report.kinetic_energy_j + report.potential_energy_j) / start;
        assert!(energy < 1.05, "energy is {energy} of the start's");
    }
}

/// What flows in is section times speed times time.
#[test]
fn a_source_adds_what_it_says() {
    let mut setup = tank(8, 0.25);
    setup.sources.push(Source {
        shape: Shape::Box { min: Vec3::new(0.25, 0.75, 0.25), max: Vec3::new(0.5, 0.875, 0.5) },
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -1.0, 0.0),
        active_s: [0.0, 10.0],
        measured: Default::default(),
    });
    let reports = advance(&mut build(setup), 0.4);
    let last = reports.last().unwrap();
    assert!((last.inflow_m3 / (0.4 * 0.0625) - 1.0).abs() < 0.01, "booked inflow {}", last.inflow_m3);
    assert!(last.volume_error.abs() < 1e-5, "volume error {}", last.volume_error);
}

/// A jet of 1.5 m/s falls on a ball: nothing gets faster than twice what it can fall to. Beside thin gaps in the film on
/// the ball, interpolation inside pieces once made 1300 m/s of it, and 140,000 a few steps later.
#[test]
fn a_jet_over_a_ball_is_no_faster_than_it_falls() {
    let ball = |y: f32, radius: f32| Shape::Sphere { center: Vec3::new(0.5, y, 0.5), radius };
    let mut setup = tank(16, 0.25);
    setup.fills.clear();
    setup.sources = vec![Source {
        shape: ball(0.85, 0.08),
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -1.5, 0.0),
        active_s: [0.0, 10.0],
        measured: Default::default(),
    }];
    setup.solids = vec![Solid::new("ball", ball(0.4, 0.15), Motion::default())];
    let can_fall_m_s = (1.5f64.powi(2) + 2.0 * 9.81 * 0.85).sqrt();
    for report in advance(&mut build(setup), 0.3) {
        let fastest = report.max_speed_m_s / can_fall_m_s;
        assert!(fastest < 2.0, "{fastest} times as fast as it can fall");
    }
}

/// A column breaks against a box: the surface beside the box goes with the same velocity as in the open. A defect, kept from
/// growing: the bar for a scene is 1 %.
#[test]
fn a_splash_against_a_box_keeps_its_volume() {
    let mut setup = dam_break(12, 1.0);
    let block = Shape::Box { min: Vec3::new(0.61, -0.1, 0.3), max: Vec3::new(0.75, 0.25, 0.7) };
    setup.solids.push(Solid::new("block", block, Motion::Static));
    let start = build(setup.clone()).initial_report();
    for report in advance(&mut build(setup), 0.5) {
        let raw = report.raw_volume_error;
        assert!(raw.abs() < 0.1, "transport changes the level set by {raw}");
        let energy = (report.kinetic_energy_j + report.potential_energy_j) / start.potential_energy_j;
        assert!(energy < 1.02, "energy is {energy} of the start's");
    }
}

/// A stream runs out of a wall onto the floor: its surface takes in what its source says, step by step. As long as the pressure
/// did not know the source, what was missing was sucked out of the stream, and its surface lost a seventh within 0.25 s.
#[test]
fn a_stream_has_the_volume_of_its_source() {
    let mut setup = tank(16, 0.25);
    setup.domain.grid.cells = [16, 8, 16];
    setup.fills.clear();
    setup.sources.push(Source {
        shape: Shape::Box { min: Vec3::new(-0.1, -0.1, 0.2), max: Vec3::new(0.1, 0.1, 0.8) },
        motion: Motion::Static,
        velocity: Vec3::X,
        active_s: [0.0, 10.0],
        measured: Default::default(),
    });
    let reports = advance(&mut build(setup), 0.25);
    let raw = reports.last().unwrap().raw_volume_error;
    assert!(raw.abs() < 0.03, "the surface differs by {raw}");
}

/// What flows in under water lifts the level at once, and the surface has the volume of the account.
#[test]
fn a_source_under_water_lifts_the_level() {
    let mut setup = tank(12, 0.5);
    setup.sources.push(Source {
        shape: Shape::Box { min: Vec3::new(0.34, 0.1, 0.34), max: Vec3::new(0.66, 0.3, 0.66) },
        motion: Motion::Static,
        velocity: Vec3::Y,
        active_s: [0.0, 10.0],
        measured: Default::default(),
    });
    let reports = advance(&mut build(setup), 0.2);
    let raw = reports.iter().map(|r| r.raw_volume_error.abs()).fold(0.0, f64::max);
    assert!(raw < 0.01, "the surface differs by {raw}");
}

/// Liquid leaves a source as fast as it comes in: with a step's gravity added, the surface of a jet had 27 % more volume than the
/// flow within 0.2 s; as long as the first of it counted as a drop, made from its particles, it had 20 % more.
#[test]
fn a_jet_has_the_volume_of_its_source() {
    let mut setup = tank(12, 0.25);
    setup.fills.clear();
    setup.sources.push(Source {
        shape: Shape::Box { min: Vec3::new(0.4, 0.8, 0.4), max: Vec3::new(0.6, 0.9, 0.6) },
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -1.5, 0.0),
        active_s: [0.0, 10.0],
        measured: Default::default(),
    });
    let reports = advance(&mut build(setup), 0.25);
    let late = &reports[reports.len() / 2..];
    let raw = late.iter().map(|report| report.raw_volume_error).sum::<f64>() / late.len() as f64;
    assert!(raw.abs() < 0.05, "the surface differs by {raw}");
}

/// A ball of water is thrown against the lid of a box: what the lid stops does not push on. Particles kept their velocity into
/// the lid, and the pressure against it drove them along the lid at 31 m/s.
#[test]
fn a_lid_stops_what_is_thrown_against_it() {
    let mut setup = tank(12, 0.25);
    setup.fills[0].shape = Shape::Sphere { center: Vec3::new(0.5, 0.78, 0.5), radius: 0.18 };
    setup.fills[0].velocity = Vec3::new(0.0, 4.0, 0.0);
    let can_reach_m_s = (4.0f64.powi(2) + 2.0 * 9.81).sqrt();
    for report in advance(&mut build(setup), 0.25) {
        let fastest = report.max_speed_m_s / can_reach_m_s;
        assert!(fastest < 1.5, "{fastest} times as fast as it can get");
    }
}

/// A jet of 2 m/s falls on a plate whose top lies in a plane of the grid, but for rounding: crumbs of no volume between the two
/// made 36 m/s of it.
#[test]
fn a_jet_on_a_plate_in_a_plane_of_the_grid_is_no_faster_than_it_falls() {
    let mut setup = tank(24, 0.25);
    setup.fills.clear();
    setup.sources = vec![Source {
        shape: Shape::Sphere { center: Vec3::new(0.52, 0.64, 0.47), radius: 0.1 },
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -2.0, 0.0),
        active_s: [0.0, 10.0],
        measured: Default::default(),
    }];
    let plate = Shape::Box { min: Vec3::new(0.2, 0.4, 0.2), max: Vec3::new(0.8, 0.5, 0.8) };
    setup.solids = vec![Solid::new("plate", plate, Motion::Static)];
    let can_fall_m_s = (2.0f64.powi(2) + 2.0 * 9.81 * 0.64).sqrt();
    for report in advance(&mut build(setup), 0.12) {
        let fastest = report.max_speed_m_s / can_fall_m_s;
        assert!(fastest < 1.5, "{fastest} times as fast as it can fall");
    }
}
