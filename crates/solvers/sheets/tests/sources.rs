//! What flows in is area times speed times time.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Solver, Source};
use fluvial_solver_sheets::{Params, SheetsSolver};
use std::f64::consts::PI;

/// A jet whose shape lies inside the domain, and one that comes through the wall: the latter used to flow for
/// one step only.
#[test]
fn a_jet_flows_as_asked_wherever_its_shape_begins() {
    let (radius, speed, seconds) = (0.1f32, 1.5f32, 0.4);
    for from in [0.1, -0.3] {
        let mut setup = tank(32, 0.2);
        setup.sources = vec![Source {
            shape: Shape::Cylinder { from: Vec3::new(from, 0.7, 0.5), to: Vec3::new(0.3, 0.7, 0.5), radius },
            motion: Motion::Static,
            velocity: speed * Vec3::X,
            active_s: [0.0, f64::INFINITY],
        }];
        let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
        advance(&mut solver, 0.05);
        let filled_m3 = solver.initial_report().inflow_m3;
        advance(&mut solver, 0.05 + seconds);
        let flowed_m3 = solver.initial_report().inflow_m3 - filled_m3;
        let asked_m3 = PI * f64::from(radius * radius * speed) * seconds;
        assert!((flowed_m3 / asked_m3 - 1.0).abs() < 0.03, "from {from}: {flowed_m3} of {asked_m3} m3");
    }
}
