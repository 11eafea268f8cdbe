//! Liquid that is not on the ground: under ceilings, and above air.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Setup, Solver, Wall};
use fluvial_solver_tall::{Params, TallSolver};

fn block(min: [f32; 3], max: [f32; 3]) -> Shape {
    Shape::Box { min: Vec3::from(min), max: Vec3::from(max) }
}

/// A block of liquid that hangs from the ceiling over a pool, and where its centre of mass should be.
fn hanging(setup: &mut Setup) {
    let shape = block([0.25, 0.625, 0.25], [0.75, 2.0, 0.75]);
    setup.fills.push(Fill { shape, velocity: Vec3::ZERO });
}

/// What is left of a block in the uppermost sixteenth of a box after a fifth of a second, part of it.
fn left_above(ceiling: Wall) -> f64 {
    let mut setup = tank(16, 0.125);
    setup.domain.walls[3] = ceiling;
    hanging(&mut setup);
    let mut solver = TallSolver::new(setup, Params::default()).unwrap();
    advance(&mut solver, 0.2);
    let above = block([-1.0, 0.9375, -1.0], [2.0, 2.0, 2.0]);
    solver.volume_in(&above) / (0.5 * 0.5 * 0.0625)
}

/// 0.2 m of free fall: nothing of it can be there. A sticky ceiling keeps some.
#[test]
fn liquid_lets_go_of_ceilings() {
    let [free, sticky] = [Wall::Solid, Wall::Sticky].map(left_above);
    println!("left under the ceiling: {free:.4}, sticky {sticky:.4}");
    assert!(free < 0.01 && sticky > 0.2, "{free} {sticky}");
}

/// A block falls freely beside and above a pool, and both keep their volume: nothing is taken from the one for the other.
#[test]
fn what_is_aloft_and_what_stands_keep_their_volumes() {
    let mut setup = tank(16, 0.25);
    let shape = block([0.3, 0.6, 0.3], [0.72, 0.91, 0.72]);
    setup.fills.push(Fill { shape, velocity: Vec3::ZERO });
    let mut solver = TallSolver::new(setup, Params::default()).unwrap();
    let volumes = |solver: &TallSolver| {
        [[-1.0, 0.4], [0.4, 2.0]]
            .map(|[low, high]| solver.volume_in(&block([-1.0, low, -1.0], [2.0, high, 2.0])))
    };
    let before = volumes(&solver);
    advance(&mut solver, 0.15);
    let after = volumes(&solver);
    println!("on the ground and aloft: {before:.5?} -> {after:.5?}");
    for part in 0..2 {
        assert!((after[part] / before[part] - 1.0).abs() < 0.01, "{before:?} {after:?}");
    }
}
