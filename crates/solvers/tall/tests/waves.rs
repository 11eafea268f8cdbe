//! Waves over tall cells.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::Solver;
use fluvial_solver_tall::{Params, TallSolver};
use std::f64::consts::{PI, TAU};

/// What is left after four periods of the first mode of a tank half as deep as long, and its frequency over that of
/// linear theory; with tall cells from `below` cells under the surface on.
fn kept(below: f32) -> [f64; 2] {
    let (n, depth) = (32usize, 0.5);
    let mut setup = tank(n, depth as f32);
    setup.domain.grid.cells = [n, 24, 2];
    // A tilt of a third of a cell is nine tenths first mode, and all of it after the projection below.
    let normal = Vec3::new(0.01, 1.0, 0.0).normalize();
    setup.fills[0].shape = Shape::Plane { point: Vec3::new(0.5, depth as f32, 0.0), normal };
    let params = Params { cubic_cells: 22, cells_below: below, ..Params::default() };
    let mut solver = TallSolver::new(setup, params).unwrap();
    let mode = |solver: &TallSolver| -> f64 {
        let at = |i: usize| (i as f64 + 0.5) / n as f64;
        (0..n).map(|i| (solver.height_at(at(i) as f32, 0.03) - depth) * (PI * at(i)).cos()).sum()
    };
    let (start, omega) = (mode(&solver), (9.81 * PI * (PI * depth).tanh()).sqrt());
    let period_s = TAU / omega;
    // Zero crossings give the frequency, the largest value near the end the height.
    let (mut before, mut crossings, mut last) = (start, vec![], 0.0f64);
    while solver.time_s() < 4.25 * period_s {
        solver.step(period_s / 64.0).unwrap();
        let now = mode(&solver);
        if before * now < 0.0 {
            crossings.push(solver.time_s() - period_s / 64.0 * now / (now - before));
        }
        if solver.time_s() > 3.6 * period_s {
            last = last.max((now / start).abs());
        }
        before = now;
    }
    let halves = (crossings.len() - 1) as f64;
    let frequency = 0.5 * halves / (crossings[crossings.len() - 1] - crossings[0]);
    [last, frequency * period_s]
}

/// The ends of tall cells state the balances of their halves. With those of one sub-cell each, as the paper has it, the
/// wave lost two thirds of its height.
#[test]
fn a_standing_wave_over_tall_cells_keeps_its_height() {
    let [height, frequency] = kept(6.0);
    println!("kept {height:.3}, frequency {frequency:.4} of linear theory's");
    assert!((0.9..1.05).contains(&height), "{height}");
    assert!((frequency - 1.0).abs() < 0.01, "{frequency}");
}
