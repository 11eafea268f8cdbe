//! Drops under surface tension, without gravity.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Liquid, Setup, StepReport};

/// A ball of liquid of four cells' radius, nowhere special on the grid.
fn ball(velocity: Vec3, surface_tension: f32) -> Setup {
    let mut setup = tank(12, 0.5);
    let center = Vec3::splat(0.5) + setup.domain.grid.dx * Vec3::new(0.13, 0.29, -0.21);
    setup.liquid = Liquid { gravity: Vec3::ZERO, surface_tension, ..setup.liquid };
    setup.fills[0].shape = Shape::Sphere { center, radius: 4.0 * setup.domain.grid.dx };
    setup.fills[0].velocity = velocity;
    setup
}

fn build(setup: Setup) -> CutCellSolver {
    CutCellSolver::new(setup, Params { tracker_factor: 2, ..Params::default() }).unwrap()
}

/// A drop at rest stays at rest: what discrete curvature drives does not grow. With curvature read at points of the surface instead
/// of its means on pieces it grew by e in every five milliseconds of a drop of a centimetre, to 0.25 m/s.
#[test]
fn a_drop_at_rest_stays_at_rest() {
    let setup = ball(Vec3::ZERO, 70.0);
    let diameter_m = 8.0 * setup.domain.grid.dx;
    let unit_m_s = f64::from(70.0 / (setup.liquid.density * diameter_m)).sqrt();
    let speeds: Vec<f64> =
        advance(&mut build(setup), 2.0).iter().map(|report| report.max_speed_m_s / unit_m_s).collect();
    let most = speeds.iter().fold(0.0, |a: f64, b| a.max(*b));
    let last = speeds[speeds.len() - 1];
    assert!(most < 0.1 && last < 0.05, "{most} at most, {last} at the end");
}

/// A ball that flies without forces keeps its shape, and its particles hold what its surface encloses wherever they lie in
/// cells. Counted whole, a layer of them that passes from one cell to the next moved the surface by a tenth of a cell, in 953
/// neighbourhoods instead of 50.
#[test]
fn layers_of_particles_move_no_surface() {
    let setup = ball(Vec3::new(0.11, 0.07, 0.05), 0.0);
    let shifted = |report: &StepReport| -> usize {
        report.clamps.iter().filter(|c| c.0 == "local_shift").map(|c| c.1).sum()
    };
    let displaced: usize = advance(&mut build(setup), 0.5).iter().map(shifted).sum();
    assert!(displaced < 100, "{displaced} neighbourhoods were displaced");
}
