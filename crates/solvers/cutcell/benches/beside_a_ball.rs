//! CPU seconds of a few steps beside a solid ball, by stage: a ball of water falls into a pool that the solid stands in.
//! `RAYON_NUM_THREADS=1 cargo bench -p fluvial-solver-cutcell --bench beside_a_ball -- 12 24 32`

use fluvial_foundation::{Vec3, timers::StageTimers};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_cutcell::{CutCellSolver, Params};
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solid, Solver, Wall};
use std::time::Instant;

const STEPS: usize = 3;

/// The scene of the program's fingerprint with any number of cells.
fn splash(cells: usize) -> Setup {
    let ball = |x: f32, y: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, y, 0.45), radius };
    let pool = Shape::Box { min: -Vec3::ONE, max: Vec3::new(2.0, 0.35, 2.0) };
    let mut domain =
        Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [cells; 3], dx: 1.0 / cells as f32 });
    domain.walls[1] = Wall::Open;
    Setup {
        domain,
        liquid: Liquid { surface_tension: 0.07, ..Liquid::default() },
        fills: vec![
            Fill { shape: pool, velocity: Vec3::new(0.5, 0.0, 0.25) },
            Fill { shape: ball(0.3, 0.55, 0.16), velocity: Vec3::new(0.0, -2.0, 0.0) },
        ],
        solids: vec![Solid::new("ball", ball(0.75, 0.35, 0.17), Motion::default())],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
}

/// Processor time of all threads: what a busy machine does not change much.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let on_cpu = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(|t| on_cpu(t.path())).sum::<f64>() * 1e-9
}

fn main() {
    for cells in std::env::args().filter_map(|arg| arg.parse::<usize>().ok()) {
        fluvial_foundation::parallel::with_threads(1, || {
            let (start, wall) = (cpu_seconds(), Instant::now());
            let mut solver =
                CutCellSolver::new(splash(cells), Params::default()).expect("the scene is valid");
            let built = cpu_seconds() - start;
            let mut stages = StageTimers::default();
            stages.add("set up", wall.elapsed().as_secs_f64());
            for _ in 0..STEPS {
                let report = solver.step(0.004 * 12.0 / cells as f64).expect("the step succeeds");
                report.stages_s.iter().for_each(|(name, seconds)| stages.add(name, seconds));
            }
            let (cpu, wall) = (cpu_seconds() - start, wall.elapsed().as_secs_f64());
            println!("{cells}^3: {cpu:.3} CPU s ({built:.3} to set up), {wall:.3} s");
            for (name, seconds) in stages.iter() {
                println!("  {name:16} {:.4} CPU s", seconds * cpu / wall);
            }
        });
    }
}
