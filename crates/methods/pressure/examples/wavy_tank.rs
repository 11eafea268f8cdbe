//! The `wavy-tank` problem: `wavy_tank [N] [tolerance] [repeats]`.
//!
//! Unit cube of N^3 cells, liquid below `z = 0.7 + 0.1 sin(2 pi x) cos(2 pi y)`, solid walls.

use fluvial_foundation::random::splitmix64;
use fluvial_pressure::{MultigridCg, Params, PoissonProblem};
use std::f64::consts::PI;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let argument =
        |n: usize, default: f64| arguments.get(n).map_or(default, |a| a.parse().expect("a number"));
    let (n, tolerance, repeats) = (argument(1, 128.0) as usize, argument(2, 1e-4), argument(3, 3.0) as usize);
    let (phi, area, rhs) = wavy_tank(n);
    let problem = PoissonProblem { cells: [n; 3], phi_cell: &phi, open_area: [&area[0], &area[1], &area[2]] };
    let before = status_bytes("VmRSS");
    let params = Params { relative_tolerance: tolerance, absolute_tolerance: 0.0, max_iterations: 100 };
    let mut p = vec![0.0; n * n * n];
    let mut solver = None;
    for _ in 0..repeats {
        let start = Instant::now();
        let solver = solver.get_or_insert_with(|| MultigridCg::new([n; 3]));
        let found = solver.prepare(&problem);
        let setup_s = start.elapsed().as_secs_f64();
        p.fill(0.0);
        let start = Instant::now();
        let info = solver.solve(&mut p, &rhs, &params).unwrap_or_else(|e| panic!("{e}: {e:?}"));
        let solve_s = start.elapsed().as_secs_f64();
        println!(
            "N {n} unknowns {} floors {} setup_s {setup_s:.4} solve_s {solve_s:.4} iterations {} residual {:.3e}",
            found.unknowns, found.theta_floors, info.iterations, info.relative_residual
        );
        println!(
            "  history {}",
            info.history.iter().map(|r| format!("{r:.1e}")).collect::<Vec<_>>().join(" ")
        );
    }
    let mut p64 = vec![0.0f64; n * n * n];
    let peak = status_bytes("VmHWM");
    solver.expect("one repeat").solution_f64(&mut p64);
    let unknown = |i: &usize| phi[*i] < 0.0;
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    println!("  |rhs| {:.10}", norm(&mut (0..rhs.len()).filter(unknown).map(|i| rhs[i] as f64)));
    println!("  |p| {:.10e} sum p {:.10e}", norm(&mut p64.iter().copied()), p64.iter().sum::<f64>());
    println!("  peak MB {:.1}, of it the solver {:.1}", peak as f64 / 1e6, (peak - before) as f64 / 1e6);
}

/// phi, open areas and right side.
fn wavy_tank(n: usize) -> (Vec<f32>, [Vec<f32>; 3], Vec<f32>) {
    let h = 1.0 / n as f64;
    let (mut phi, mut rhs) = (Vec::with_capacity(n * n * n), Vec::with_capacity(n * n * n));
    for cell in 0..n * n * n {
        let [x, y, z] = [cell % n, cell / n % n, cell / (n * n)].map(|i| (i as f64 + 0.5) * h);
        phi.push((z - (0.7 + 0.1 * (2.0 * PI * x).sin() * (2.0 * PI * y).cos())) as f32);
        let r = (splitmix64(cell as u64) >> 11) as f64 * 2f64.powi(-53);
        let wave = (3.0 * PI * x).cos() * (5.0 * PI * y).cos() * (2.0 * PI * z).sin();
        rhs.push((wave + 0.3 * (2.0 * r - 1.0)) as f32);
    }
    let area = std::array::from_fn(|axis| {
        let mut size = [n; 3];
        size[axis] += 1;
        (0..size.iter().product())
            .map(|f: usize| [f % size[0], f / size[0] % size[1], f / (size[0] * size[1])][axis])
            .map(|at| if at == 0 || at == n { 0.0 } else { 1.0 })
            .collect()
    });
    (phi, area, rhs)
}

/// A field of /proc/self/status, in bytes; 0 where there is none.
fn status_bytes(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field));
    line.and_then(|l| l.split_whitespace().nth(1))
        .and_then(|v| v.parse::<usize>().ok())
        .map_or(0, |kb| kb * 1024)
}
