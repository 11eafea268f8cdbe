//! CPU seconds of steps by stage, leaves, voxels and memory, and a sum over the bytes of the state at the end: a change that is one of
//! speed alone leaves it as it is.
//! `cargo bench --profile dev -p fluvial-solver-power --bench steps -- ball 24 20` (scene: ball, dam or rest; cells; steps to skip).

use fluvial_conformance::tank;
use fluvial_foundation::{Vec3, timers::StageTimers};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Fill, Setup, Solid, Solver, Source, StateWriter};
use fluvial_solver_power::{Params, PowerSolver};
use std::time::Instant;

/// Measured steps.
const STEPS: usize = 12;

/// A jet over a ball, a dam break beside a shallow pool, or still water.
fn scene(name: &str, cells: usize) -> Setup {
    let mut setup = tank(cells, 0.4);
    let ball = |y: f32, radius: f32| Shape::Sphere { center: Vec3::new(0.5, y, 0.5), radius };
    match name {
        "ball" => {
            setup.fills.clear();
            let (shape, velocity) = (ball(0.85, 0.08), Vec3::new(0.0, -1.5, 0.0));
            let active_s = [0.0, f64::INFINITY];
            setup.sources.push(Source {
                shape,
                motion: Motion::Static,
                velocity,
                active_s,
                measured: Default::default(),
            });
            setup.solids.push(Solid::new("ball", ball(0.4, 0.15), Motion::Static));
        }
        "dam" => {
            setup.fills.clear();
            for max in [Vec3::new(2.0, 0.1, 2.0), Vec3::new(0.4, 0.6, 0.6)] {
                let shape = Shape::Box { min: -Vec3::ONE, max };
                setup.fills.push(Fill { shape, velocity: Vec3::ZERO });
            }
        }
        _ => {}
    }
    setup
}

/// Processor time of all threads: what a busy machine does not change much.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let on_cpu = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(|t| on_cpu(t.path())).sum::<f64>() * 1e-9
}

/// FNV-1a over a state's bytes.
fn checksum(solver: &PowerSolver) -> u64 {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).expect("memory takes all bytes");
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, b| (sum ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |n: usize, default: usize| args.get(n).and_then(|v| v.parse().ok()).unwrap_or(default);
    let (name, cells, skip) = (args.first().map_or("ball", String::as_str), number(1, 24), number(2, 20));
    fluvial_foundation::parallel::with_threads(1, || {
        let mut solver = PowerSolver::new(scene(name, cells), Params::default()).expect("a valid scene");
        let step = |solver: &mut PowerSolver| {
            let dt_s = solver.suggest_dt().dt_s.min(1.0 / 48.0);
            solver.step(dt_s).expect("the step succeeds")
        };
        (0..skip).for_each(|_| drop(step(&mut solver)));
        let (start, wall) = (cpu_seconds(), Instant::now());
        let (mut stages, mut cells) = (StageTimers::default(), 0);
        for _ in 0..STEPS {
            let report = step(&mut solver);
            cells += report.cells;
            report.stages_s.iter().for_each(|(name, seconds)| stages.add(name, seconds));
        }
        let (cpu, wall) = (cpu_seconds() - start, wall.elapsed().as_secs_f64());
        let counts = solver.counts();
        println!(
            "{name}: {:.2} ms a step, {:.1} us a liquid leaf",
            1e3 * cpu / STEPS as f64,
            1e6 * cpu / cells as f64
        );
        println!("{counts:?}, checksum {:016x}", checksum(&solver));
        for (name, seconds) in stages.iter() {
            println!("  {name:16} {:8.3} ms", 1e3 * seconds * cpu / wall / STEPS as f64);
        }
    });
}
