//! What comes out of sources.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Solver, Source};
use fluvial_solver_tall::{Params, TallSolver};

/// Water flows along a channel, and a source before its wall lets in as much at the same speed: no hump stands over it that drives it on. (It stood half as
/// high again as the channel.)
#[test]
fn a_source_under_water_drives_what_it_lets_in() {
    let mut setup = tank(20, 0.2);
    setup.domain.walls[1] = fluvial_solver_interface::Wall::Open;
    setup.fills[0].velocity = Vec3::X;
    let shape = Shape::Box { min: Vec3::new(-0.1, -1.0, -1.0), max: Vec3::new(0.06, 0.2, 2.0) };
    setup.sources.push(Source {
        shape,
        motion: Motion::Static,
        velocity: Vec3::X,
        active_s: [0.0, f64::INFINITY],
        measured: Default::default(),
    });
    let mut solver = TallSolver::new(setup, Params::default()).unwrap();
    let flowed = advance(&mut solver, 0.8).pop().unwrap();
    let [at_source, behind] = [0.03, 0.3].map(|x| solver.height_at(x, 0.5));
    println!("{at_source:.3} m over the source, {behind:.3} m behind it, {:.4} m3 let in", flowed.inflow_m3);
    assert!((flowed.inflow_m3 / 0.16 - 1.0).abs() < 0.01, "{}", flowed.inflow_m3);
    assert!(at_source < 0.23 && behind > 0.17, "{at_source} {behind}");
}
