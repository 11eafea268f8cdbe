//! One case of the pressure solvers: `wavy_tank [N] [tolerance] [repeats] [case] [solver]`, case `wavy-tank` unless
//! given (`all` for every one), solver `mg` or one of `cg`, `ic`, `mic`. Prints unknowns, times, iterations, true residual, norms and memory.

use fluvial_pressure::cases::{Case, NAMES};
use fluvial_pressure::{Params, PressureSolver, SOLVERS};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let argument =
        |n: usize, default: f64| arguments.get(n).map_or(default, |a| a.parse().expect("a number"));
    let (n, tolerance, repeats) = (argument(1, 128.0) as usize, argument(2, 1e-4), argument(3, 3.0) as usize);
    let solver = arguments.get(5).map_or("mg-cg", |s| s);
    match arguments.get(4).map_or("wavy-tank", |s| s) {
        "all" => NAMES.iter().for_each(|name| measure(name, solver, n, tolerance, repeats)),
        name => measure(name, solver, n, tolerance, repeats),
    }
}

fn make(name: &str, cells: [usize; 3]) -> Box<dyn PressureSolver> {
    let found = SOLVERS.iter().find(|s| s.name == name).expect("a known solver");
    (found.build)(cells)
}

fn measure(name: &str, solver_name: &str, n: usize, tolerance: f64, repeats: usize) {
    let case = Case::new(name, n).expect("a known case");
    let before = status_bytes("VmRSS");
    let params = Params { relative_tolerance: tolerance, max_iterations: 5000, ..Params::DEFAULT };
    let mut p = vec![0.0; case.rhs.len()];
    let mut solver = None;
    let mut least_cpu_s = f64::INFINITY;
    for _ in 0..repeats {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let solver = solver.get_or_insert_with(|| make(solver_name, case.cells));
        let found = solver.prepare(&case.problem());
        let setup_s = start.elapsed().as_secs_f64();
        p.fill(0.0);
        let start = Instant::now();
        let result = solver.solve(&mut p, &case.rhs, &params);
        let solve_s = start.elapsed().as_secs_f64();
        least_cpu_s = least_cpu_s.min(cpu_seconds() - cpu);
        print!(
            "{name} N {n} unknowns {} floors {} components {} sealed {} setup_s {setup_s:.4} solve_s {solve_s:.4} ",
            found.unknowns, found.theta_floors, found.components, found.sealed_components
        );
        match result {
            Ok(info) => {
                println!("iterations {} residual {:.2e}", info.iterations, info.relative_residual);
                let history: Vec<String> = info.history.iter().map(|r| format!("{r:.0e}")).collect();
                println!("  history {}", history.join(" "));
            }
            Err(error) => println!("failed: {error} {error:?}"),
        }
    }
    println!("  least processor time for both {least_cpu_s:.4} s");
    let peak = status_bytes("VmHWM");
    let mut p64 = vec![0.0f64; p.len()];
    solver.expect("one repeat").solution_f64(&mut p64);
    println!("  independent residual {:.2e}", case.remainder(&p64).relative());
    let rhs = case.rhs.iter().zip(&case.phi_cell).filter(|(_, phi)| **phi < 0.0).map(|(v, _)| *v as f64);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    print!("  |rhs| {:.10} |p| {:.9e} ", norm(&mut { rhs }), norm(&mut p64.iter().copied()));
    println!("sum p {:.9e}", p64.iter().sum::<f64>());
    println!(
        "  peak {:.1} MB, without the problem {:.1} MB",
        peak as f64 / 1e6,
        (peak - before) as f64 / 1e6
    );
}

/// A field of /proc/self/status, in bytes; 0 where there is none.
fn status_bytes(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field));
    line.and_then(|l| l.split_whitespace().nth(1))
        .and_then(|v| v.parse::<usize>().ok())
        .map_or(0, |kb| kb * 1024)
}

/// Processor time of all threads: what a busy machine does not change much.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let on_cpu = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(|t| on_cpu(t.path())).sum::<f64>() * 1e-9
}
