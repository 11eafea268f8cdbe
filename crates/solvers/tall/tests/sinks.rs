//! What a sink takes, against Torricelli's law.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Sink, Solver};
use fluvial_solver_tall::{Params, TallSolver};

/// The part of Torricelli's flow that a hole in the floor takes with `n` cells a metre, and what is not accounted for of the
/// volume.
fn taken(n: usize) -> [f64; 2] {
    let height = 0.1f64;
    let mut setup = tank(n, 0.4);
    let shape = Shape::Box { min: Vec3::new(0.4, -1.0, 0.4), max: Vec3::new(0.6, height as f32, 0.6) };
    setup.sinks.push(Sink { shape, active_s: [0.0, f64::INFINITY] });
    let mut solver = TallSolver::new(setup, Params { cubic_cells: 14, ..Params::default() }).unwrap();
    let start_m3 = solver.initial_report().liquid_volume_m3;
    let last = advance(&mut solver, 0.3).pop().unwrap();
    let speed = |head: f64| (2.0 * 9.81 * head).sqrt();
    let flow = 0.04 * speed(0.4 - height) + 0.8 * height * speed(0.4 - 0.5 * height);
    let lost = (last.liquid_volume_m3 - start_m3 + last.outflow_m3) / start_m3;
    [(last.outflow_m3 - 0.04 * height) / (0.3 * flow), lost]
}

#[test]
fn a_sink_takes_what_falls_into_it_and_books_it() {
    let (coarse, fine) = (taken(20), taken(30));
    println!("{coarse:?} {fine:?}");
    // The flow sets in from rest and takes 0.39 to 0.41 of the whole in this time.
    for [flow, lost] in [coarse, fine] {
        assert!((0.37..1.0).contains(&flow) && lost.abs() < 1e-4, "{coarse:?} {fine:?}");
    }
}
