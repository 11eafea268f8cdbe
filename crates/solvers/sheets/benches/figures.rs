//! Figures of the method: `cargo bench --bench figures -- sampling [seconds [on|off]] | spacing |
//! speed`.
//!
//! - `sampling`: a dam break with and without merged particles: counts, time, front and mean height;
//! - `spacing`: distances to the nearest neighbour after 200 steps with and without position correction;
//! - `speed`: seconds a step, stage by stage, at 100^3 cells with about 400 000 particles.

use fluvial_conformance::dam_break;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_sheets::{Kind, Params, PositionCorrection, SheetsSolver};
use std::time::Instant;

fn main() {
    match std::env::args().filter(|a| a != "--bench").nth(1).as_deref() {
        Some("sampling") => sampling(),
        Some("spacing") => spacing(),
        Some("speed") => speed(),
        _ => eprintln!("sampling, spacing or speed?"),
    }
}

fn dam(n: usize, size: Vec3) -> Setup {
    let mut setup = dam_break(n, 1.0);
    setup.fills[0].shape = Shape::Box { min: Vec3::splat(-1.0), max: size };
    setup.cfl = 2.0;
    setup
}

/// Farthest x with at least the given height of water.
fn front(solver: &dyn Solver, n: usize) -> f64 {
    let columns = (0..4 * n).rev().map(|i| (i as f32 + 0.5) / (4 * n) as f32);
    let mut wet = columns.filter(|&x| solver.height_at(x, 0.5) > 0.5 / n as f64);
    wet.next().unwrap_or(0.0) as f64
}

fn mean_height(solver: &SheetsSolver) -> f64 {
    let p = &solver.population().particles;
    let sum: f64 = (0..p.len()).map(|i| p.weight(i) as f64 * p.x[i].y as f64).sum();
    sum / (0..p.len()).map(|i| p.weight(i) as f64).sum::<f64>()
}

fn sampling() {
    let n = 64;
    let end_s: f64 =
        std::env::args().filter(|a| a != "--bench").nth(2).map_or(0.6, |a| a.parse().expect("seconds"));
    println!("dam break 0.4 x 0.5 x 1 in {n}^3; front and mean height (centre of mass) in metres");
    println!("adaptive  t/s  particles  merged  step/s  front   mean height");
    let only = std::env::args().filter(|a| a != "--bench").nth(3);
    for adaptive in [true, false] {
        if only.as_ref().is_some_and(|only| (only == "on") != adaptive) {
            continue;
        }
        let params = Params { adaptive_sampling: adaptive, ..Params::default() };
        let mut solver = SheetsSolver::new(dam(n, Vec3::new(0.4, 0.5, 2.0)), params).unwrap();
        let mut next = 0.1;
        let (mut seconds, mut steps) = (0.0, 0);
        let mut stages: Vec<(&'static str, f64)> = vec![];
        while solver.time_s() < end_s {
            let dt_s = solver.suggest_dt().dt_s.min(next - solver.time_s()).max(1e-6);
            let start = Instant::now();
            let report = solver.step(dt_s).unwrap();
            seconds += start.elapsed().as_secs_f64();
            steps += 1;
            for (name, seconds) in report.stages_s.iter() {
                match stages.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, sum)) => *sum += seconds,
                    None => stages.push((name, seconds)),
                }
            }
            if solver.time_s() >= next - 1e-9 {
                println!(
                    "{adaptive:8} {:4.1} {:10} {:7} {:7.3} {:6.4} {:8.4}",
                    next,
                    solver.population().particles.len(),
                    solver.population().count(Kind::Merged),
                    seconds / steps as f64,
                    front(&solver, n),
                    mean_height(&solver)
                );
                next += 0.1;
            }
        }
        let stages = stages.iter().map(|(name, sum)| format!("{name} {:.1}", 1e3 * sum / steps as f64));
        println!("ms a step: {}", stages.collect::<Vec<_>>().join(", "));
    }
}

fn spacing() {
    println!(
        "distance to the nearest neighbour in radii after 200 steps of a dam break in 32^3, share per bin of 0.1"
    );
    for correction in
        [PositionCorrection::Off, PositionCorrection::Isotropic, PositionCorrection::Anisotropic]
    {
        let params = Params {
            position_correction: correction,
            adaptive_sampling: false,
            preserve_sheets: false,
            ..Params::default()
        };
        let mut solver = SheetsSolver::new(dam(32, Vec3::new(0.4, 0.5, 2.0)), params).unwrap();
        for _ in 0..200 {
            let dt_s = solver.suggest_dt().dt_s;
            solver.step(dt_s).unwrap();
        }
        let population = solver.population();
        let d0 = population.params.d0;
        let mut bins = [0usize; 16];
        for (i, &x) in population.particles.x.iter().enumerate() {
            let mut nearest = 2.0f32;
            population.neighbours.for_each_within(x, 2.0 * d0, |j, _, r2| {
                if j != i {
                    nearest = nearest.min(r2.sqrt() / d0);
                }
            });
            bins[((nearest * 10.0) as usize).min(15)] += 1;
        }
        let report = solver.initial_report();
        let total: usize = bins.iter().sum();
        let shares: Vec<String> = bins.iter().map(|b| format!("{:.3}", *b as f64 / total as f64)).collect();
        println!("{correction:?}: {} | volume error {:+.4}", shares.join(" "), report.volume_error);
    }
}

fn speed() {
    let n = 100;
    let mut solver = SheetsSolver::new(
        dam(n, Vec3::new(0.4, 0.125, 2.0)),
        Params { adaptive_sampling: false, ..Params::default() },
    )
    .unwrap();
    let mut best: Vec<(&'static str, f64)> = vec![];
    let (mut least, mut sum) = (f64::MAX, 0.0);
    println!("{} particles at the start", solver.population().particles.len());
    for step in 0..40 {
        let dt_s = solver.suggest_dt().dt_s;
        let report = solver.step(dt_s).unwrap();
        if step < 10 {
            continue;
        }
        for (name, seconds) in report.stages_s.iter() {
            match best.iter_mut().find(|(n, _)| *n == name) {
                Some((_, b)) => *b = b.min(seconds),
                None => best.push((name, seconds)),
            }
        }
        least = least.min(report.stages_s.total());
        sum += report.stages_s.total();
    }
    let population = solver.population();
    println!("{} particles, {} inserted", population.particles.len(), population.count(Kind::Inserted));
    best.iter().for_each(|(name, seconds)| println!("{name:20} {seconds:.3} s"));
    println!(
        "quickest step {least:.3} s, sum of the quickest stages {:.3} s, mean {:.3} s",
        best.iter().map(|b| b.1).sum::<f64>(),
        sum / 30.0
    );
}
