//! One case of the pressure solver: `wavy_tank [N] [tolerance] [repeats] [case]`, case `wavy-tank` unless given
//! (`all` for every one). Prints unknowns, times, iterations, true residual, norms and memory.

use fluvial_pressure::cases::{Case, NAMES};
use fluvial_pressure::{MultigridCg, Params};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let argument =
        |n: usize, default: f64| arguments.get(n).map_or(default, |a| a.parse().expect("a number"));
    let (n, tolerance, repeats) = (argument(1, 128.0) as usize, argument(2, 1e-4), argument(3, 3.0) as usize);
    match arguments.get(4).map_or("wavy-tank", |s| s) {
        "all" => NAMES.iter().for_each(|name| measure(name, n, tolerance, repeats)),
        name => measure(name, n, tolerance, repeats),
    }
}

fn measure(name: &str, n: usize, tolerance: f64, repeats: usize) {
    let case = Case::new(name, n).expect("a known case");
    let before = status_bytes("VmRSS");
    let params = Params { relative_tolerance: tolerance, absolute_tolerance: 0.0, max_iterations: 100 };
    let mut p = vec![0.0; case.rhs.len()];
    let mut solver = None;
    for _ in 0..repeats {
        let start = Instant::now();
        let solver = solver.get_or_insert_with(|| MultigridCg::new(case.cells));
        let found = solver.prepare(&case.problem());
        let setup_s = start.elapsed().as_secs_f64();
        p.fill(0.0);
        let start = Instant::now();
        let result = solver.solve(&mut p, &case.rhs, &params);
        let solve_s = start.elapsed().as_secs_f64();
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
    let peak = status_bytes("VmHWM");
    let mut p64 = vec![0.0f64; p.len()];
    solver.expect("one repeat").solution_f64(&mut p64);
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
