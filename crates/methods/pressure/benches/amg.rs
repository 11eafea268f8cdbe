//! Algebraic multigrid on a case: `amg [N] [case] [repeats] [smoother] [export file]`, smoother `gs` or
//! `spai0`. Prints set-up and solve times for three tolerances, iterations, memory and the gain of a refresh.
//! The export is the linear system for other programs: u64 rows and entries, u32 row starts, u32 columns, f64
//! values, f64 right side, little endian.

use fluvial_linear::amg::{AmgParams, Smoother};
use fluvial_pressure::cases::Case;
use fluvial_pressure::{AmgCg, Params, PressureSolver};
use std::io::Write;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    let argument = |n: usize, default: &str| arguments.get(n).map_or(default.to_string(), String::clone);
    let n: usize = argument(1, "128").parse().expect("a number of cells");
    let name = argument(2, "wavy-tank");
    let repeats: usize = argument(3, "3").parse().expect("a number of repeats");
    let smoother = match argument(4, "gs").as_str() {
        "gs" => Smoother::GaussSeidel,
        "spai0" => Smoother::Spai0,
        other => panic!("smoother gs or spai0, not {other}"),
    };
    let case = Case::new(&name, n).expect("a known case");
    let before = peak_bytes();
    let mut solver = AmgCg::new(AmgParams { smoother, ..AmgParams::default() });
    let (mut least, mut least_cpu) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    let mut found = Default::default();
    for _ in 0..repeats {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        found = solver.prepare(&case.problem());
        least[0] = least[0].min(start.elapsed().as_secs_f64());
        least_cpu[0] = least_cpu[0].min(cpu_seconds() - cpu);
    }
    for _ in 0..repeats {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        solver.refresh(&case.problem()).expect("the same pattern");
        least[1] = least[1].min(start.elapsed().as_secs_f64());
        least_cpu[1] = least_cpu[1].min(cpu_seconds() - cpu);
    }
    println!("{name} N {n} {found:?}");
    println!(
        "  set-up {:.4} s (processor {:.4}), refresh {:.4} s (processor {:.4})",
        least[0], least_cpu[0], least[1], least_cpu[1]
    );
    let levels: Vec<_> = solver.amg().expect("a hierarchy").levels().collect();
    let all: usize = levels.iter().map(|l| l.1).sum();
    println!("  levels {levels:?}, operator complexity {:.3}", all as f64 / levels[0].1 as f64);
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let params = Params { relative_tolerance: tolerance, ..Params::default() };
        let (mut least, mut least_cpu) = (f64::INFINITY, f64::INFINITY);
        let mut result = None;
        for _ in 0..repeats {
            let mut p = vec![0.0; case.rhs.len()];
            let (start, cpu) = (Instant::now(), cpu_seconds());
            result = Some(solver.solve(&mut p, &case.rhs, &params));
            least = least.min(start.elapsed().as_secs_f64());
            least_cpu = least_cpu.min(cpu_seconds() - cpu);
        }
        match result.expect("a repeat") {
            Ok(info) => println!(
                "  to {tolerance:.0e}: {least:.4} s (processor {least_cpu:.4}), {} iterations, true residual {:.2e}",
                info.iterations, info.relative_residual
            ),
            Err(error) => println!("  to {tolerance:.0e}: {error}"),
        }
    }
    if let Some(traffic) = solver.traffic_bytes() {
        println!("  unavoidable memory traffic of the last solve {:.2} GB", traffic as f64 / 1e9);
    }
    println!(
        "  bytes held {:.1} MB, peak {:.1} MB",
        solver.bytes() as f64 / 1e6,
        (peak_bytes() - before) as f64 / 1e6
    );
    if let Some(path) = arguments.get(5) {
        export(path, &solver, &case).expect("a file written");
    }
}

fn export(path: &str, solver: &AmgCg, case: &Case) -> std::io::Result<()> {
    let (matrix, cells) = solver.system();
    let matrix = matrix.to_csr();
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    file.write_all(&(matrix.rows() as u64).to_le_bytes())?;
    file.write_all(&(matrix.entries() as u64).to_le_bytes())?;
    let mut end = 0u32;
    file.write_all(&end.to_le_bytes())?;
    for row in 0..matrix.rows() {
        end += matrix.row(row).0.len() as u32;
        file.write_all(&end.to_le_bytes())?;
    }
    for row in 0..matrix.rows() {
        matrix.row(row).0.iter().try_for_each(|c| file.write_all(&c.to_le_bytes()))?;
    }
    for row in 0..matrix.rows() {
        matrix.row(row).1.iter().try_for_each(|v| file.write_all(&v.to_le_bytes()))?;
    }
    cells.iter().try_for_each(|&c| file.write_all(&(case.rhs[c as usize] as f64).to_le_bytes()))?;
    file.flush()
}

/// The most memory this process ever had; 0 where the system does not tell.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM"));
    let kb = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|v| v.parse::<usize>().ok());
    kb.map_or(0, |kb| kb * 1024)
}

/// Processor time of all threads: what a busy machine does not change much.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let on_cpu = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(|t| on_cpu(t.path())).sum::<f64>() * 1e-9
}
