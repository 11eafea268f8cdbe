//! Solids that move through liquid.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::Solid;
use fluvial_solver_sheets::{Params, SheetsSolver};

/// The flow moves along with a ball, and particles in it: in a flow that is frozen during a step they fall behind, the
/// hole in the wake counts as air, and water shoots into it, at 2.5 m/s for a ball of 1 m/s.
#[test]
fn water_follows_a_ball() {
    let mut setup = tank(24, 0.8);
    let shape = Shape::Sphere { center: Vec3::new(0.3, 0.3, 0.5), radius: 0.15 };
    let motion = Motion::Constant { linear: Vec3::X, angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids.push(Solid::new("ball", shape, motion));
    setup.cfl = 2.0;
    let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
    let reports = advance(&mut solver, 0.4);
    let fastest = reports.iter().fold(0.0f64, |most, report| most.max(report.max_speed_m_s));
    assert!(fastest < 1.6, "{fastest} m/s around a ball of 1 m/s");
}
