//! What the level set gains and loses in a dam break and under a falling drop: cells, cells of the tracker, CFL number.
//! `cargo bench -p fluvial-solver-cutcell --bench figures -- 16 2 1`

use fluvial_conformance::{dam_break, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Setup, Solver};

/// Longest step, s.
const LONGEST_S: f64 = 1.0 / 50.0;

fn run(name: &str, setup: Setup, tracker_factor: u32, until_s: f64) {
    let params = Params { tracker_factor, ..Params::default() };
    let mut solver = CutCellSolver::new(setup, params).expect("the scene is valid");
    let energy_of = |r: &fluvial_solver_interface::StepReport| r.kinetic_energy_j + r.potential_energy_j;
    let start = energy_of(&solver.initial_report());
    let (mut last, mut worst, mut fastest, mut energy) = (0.0, 0.0f64, 0.0f64, 0.0f64);
    while solver.time_s() < until_s {
        let report = solver.step(solver.suggest_dt().dt_s.min(LONGEST_S)).expect("the step succeeds");
        last = report.raw_volume_error;
        worst = worst.max(last.abs());
        fastest = fastest.max(report.max_speed_m_s);
        energy = energy.max(energy_of(&report) / start);
    }
    println!(
        "{name}: raw {:.2} % at most, {:.2} % last, {fastest:.2} m/s, energy {energy:.3} of the start's",
        100.0 * worst,
        100.0 * last
    );
}

fn main() {
    let numbers: Vec<f32> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let number = |n: usize, default: f32| numbers.get(n).copied().unwrap_or(default);
    let (cells, factor, cfl) = (number(0, 16.0) as usize, number(1, 2.0) as u32, number(2, 1.0));
    let dam = Setup { cfl, ..dam_break(cells, 1.0) };
    let mut drop = Setup { cfl, ..tank(cells, 0.2) };
    drop.fills.push(drop.fills[0].clone());
    drop.fills[1].shape = Shape::Sphere { center: Vec3::new(0.5, 0.65, 0.5), radius: 0.15 };
    run("dam break, 1 s", dam, factor, 1.0);
    run("falling drop, 0.8 s", drop, factor, 0.8);
}
