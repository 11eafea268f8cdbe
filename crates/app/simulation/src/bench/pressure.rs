//! Pressure solvers on named cases: time, iterations, memory, the residual as the case itself defines it, and
//! how much of the machine's bandwidth is used.

use super::Spread;
use fluvial_foundation::parallel;
use fluvial_output::{Axis, Machine, Plot, Style, peak_rss_bytes, reset_peak_rss};
use fluvial_pressure::cases::Case;
use fluvial_pressure::{KernelTiming, MultigridCg, NamedSolver, Norm, Params, SolveError};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When a solve has done enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The residual's norm over that of the right side.
    Relative(f64),
    /// The residual's largest value, 1/s when the right side is a divergence.
    Largest(f64),
}

impl Goal {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Goal::Relative(value) | Goal::Largest(value) => value,
        }
    }

    fn params(self) -> Params {
        let max_iterations = 20_000;
        match self {
            Goal::Relative(relative_tolerance) => {
                Params { relative_tolerance, max_iterations, ..Params::DEFAULT }
            }
            Goal::Largest(absolute_tolerance) => {
                let norm = Norm::Maximum;
                Params { relative_tolerance: 0.0, absolute_tolerance, max_iterations, norm }
            }
        }
    }
}

/// What one solver needed for one case.
#[derive(Clone, Debug, Serialize)]
pub struct PressureRow {
    /// Case name.
    pub case: String,
    /// Cells per side.
    pub n: usize,
    /// Solver name.
    pub solver: String,
    /// Threads in use.
    pub threads: usize,
    /// Residual asked for.
    pub tolerance: f64,
    /// `relative`: to the right side, root of the sum of squares. `largest`: of any cell, 1/s.
    pub tolerance_of: &'static str,
    /// Cells with a pressure.
    pub unknowns: usize,
    /// Memory taken and the problem prepared, seconds, median.
    pub setup_s: f64,
    /// The first solve on that memory, seconds, median.
    pub solve_s: f64,
    /// Prepared and solved once more on the same memory, as in every step of a simulation, seconds, median;
    /// None where the first time took too long.
    pub again_s: Option<f64>,
    /// Fastest and slowest set-up.
    pub setup_range_s: [f64; 2],
    /// Fastest and slowest solve.
    pub solve_range_s: [f64; 2],
    /// Fastest and slowest second time.
    pub again_range_s: Option<[f64; 2]>,
    /// Iterations or cycles.
    pub iterations: usize,
    /// Norm of the residual over that of the right side, in f64 from the case's definition.
    pub true_relative_residual: f64,
    /// Largest value of that residual.
    pub true_largest_residual: f64,
    /// Norm of the solution.
    pub solution_norm: f64,
    /// Memory held by the solver.
    pub peak_bytes: usize,
    /// Most memory held by the process, case and result included; None where the system does not tell.
    pub peak_rss_bytes: Option<u64>,
    /// Memory traffic of the solve that nothing avoids, over its fastest time; None where it is not counted.
    pub solve_bytes_per_s: Option<f64>,
    /// Times over.
    pub repeats: u32,
    /// Why there is no solution.
    pub failure: Option<String>,
    /// Residual norms over that of the right side, before the first and after every iteration.
    pub history: Vec<f64>,
}

/// A kernel of geometric multigrid, alone.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRow {
    /// Case name.
    pub case: String,
    /// Cells per side.
    pub n: usize,
    /// Threads in use.
    pub threads: usize,
    /// What it does.
    pub kernel: &'static str,
    /// Bytes that one pass must move.
    pub bytes: usize,
    /// Least time of a pass, seconds.
    pub seconds: f64,
    /// Share of the streaming copy's bandwidth.
    pub copy_fraction: f64,
}

/// The machine's bandwidth.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CopyRow {
    /// Threads in use.
    pub threads: usize,
    /// Bytes read and written by a copy between arrays larger than any cache, over its least time.
    pub bytes_per_s: f64,
}

/// All that was measured, and on what.
#[derive(Serialize)]
pub struct PressureReport {
    /// Program version.
    pub fluvial: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// Bandwidth by number of threads.
    pub copy: Vec<CopyRow>,
    /// Solvers.
    pub rows: Vec<PressureRow>,
    /// Kernels.
    pub kernels: Vec<KernelRow>,
}

impl PressureReport {
    /// Describes this machine.
    pub fn new(copy: Vec<CopyRow>, rows: Vec<PressureRow>, kernels: Vec<KernelRow>) -> Self {
        let machine = Machine::describe();
        PressureReport { fluvial: env!("CARGO_PKG_VERSION"), machine, copy, rows, kernels }
    }
}

/// A first time beyond this many seconds is not repeated on the same memory.
const LONG_S: f64 = 20.0;
/// Values in each array of the streaming copy: four times any cache of a workstation.
const COPY_LEN: usize = 1 << 25;

/// Bandwidth of a streaming copy with the given number of threads.
pub fn streaming_copy(threads: usize) -> CopyRow {
    let (from, mut to) = (vec![1.0f32; COPY_LEN], vec![0.0f32; COPY_LEN]);
    let least_s = parallel::with_threads(threads, || {
        // The library's copy or a plain loop, in small or large pieces: what is fastest differs between
        // machines.
        let pass = |round: usize| {
            let (factor, chunk) =
                (0.5 * round as f32, if round.is_multiple_of(2) { 1 << 14 } else { 1 << 20 });
            let start = Instant::now();
            parallel::for_each_chunk_mut(&mut to, chunk, |n, to| {
                let from = &from[n * chunk..][..to.len()];
                if round < 8 {
                    to.copy_from_slice(from);
                } else {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = factor * *from);
                }
            });
            start.elapsed().as_secs_f64()
        };
        (0..12).map(pass).fold(f64::INFINITY, f64::min)
    });
    CopyRow { threads, bytes_per_s: (2 * 4 * COPY_LEN) as f64 / least_s }
}

/// One solver on one case; None when stopped on request.
pub fn run_solver(
    (name, case): (&str, &Case),
    solver: &NamedSolver,
    goal: Goal,
    threads: usize,
    repeats: u32,
    stop: &AtomicBool,
) -> Option<PressureRow> {
    reset_peak_rss();
    let mut times = Times::default();
    let mut last = None;
    for _ in 0..repeats.max(1) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        last = Some(parallel::with_threads(threads, || solve_once(case, solver, goal, &mut times)));
    }
    let solved = last.expect("one repeat");
    let remainder = case.remainder(&solved.p);
    let [setup, solve] = [times.setup_s, times.solve_s].map(Spread::of);
    let again = (!times.again_s.is_empty()).then(|| Spread::of(times.again_s));
    let (iterations, history, failure) = match solved.result {
        Ok(info) => (info.iterations, info.history, None),
        Err(error) => {
            (error.history().len().saturating_sub(1), error.history().to_vec(), Some(error.to_string()))
        }
    };
    Some(PressureRow {
        case: name.into(),
        n: case.cells[0],
        solver: solver.name.into(),
        threads,
        tolerance: goal.value(),
        tolerance_of: if matches!(goal, Goal::Relative(_)) { "relative" } else { "largest" },
        unknowns: remainder.unknowns,
        setup_s: setup.median,
        solve_s: solve.median,
        again_s: again.map(|s| s.median),
        setup_range_s: [setup.min, setup.max],
        solve_range_s: [solve.min, solve.max],
        again_range_s: again.map(|s| [s.min, s.max]),
        iterations,
        true_relative_residual: remainder.relative(),
        true_largest_residual: remainder.largest,
        solution_norm: remainder.solution_square.sqrt(),
        peak_bytes: solved.bytes,
        peak_rss_bytes: peak_rss_bytes(),
        solve_bytes_per_s: solved.traffic_bytes.map(|b| b as f64 / times.fastest_solve_s),
        repeats,
        failure,
        history,
    })
}

#[derive(Default)]
struct Times {
    setup_s: Vec<f64>,
    solve_s: Vec<f64>,
    again_s: Vec<f64>,
    fastest_solve_s: f64,
}

struct Solved {
    p: Vec<f64>,
    result: Result<fluvial_pressure::Info, SolveError>,
    bytes: usize,
    traffic_bytes: Option<usize>,
}

fn solve_once(case: &Case, solver: &NamedSolver, goal: Goal, times: &mut Times) -> Solved {
    let params = goal.params();
    let mut p = vec![0.0; case.rhs.len()];
    let mut clock = Instant::now();
    let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
    let mut solver = (solver.build)(case.cells);
    solver.prepare(&case.problem());
    let setup_s = lap();
    let mut result = solver.solve(&mut p, &case.rhs, &params);
    let mut solve_s = lap();
    times.setup_s.push(setup_s);
    times.solve_s.push(solve_s);
    if setup_s + solve_s < LONG_S && result.is_ok() {
        p.fill(0.0);
        lap();
        solver.prepare(&case.problem());
        let prepare_s = lap();
        result = solver.solve(&mut p, &case.rhs, &params);
        let again_s = lap();
        times.again_s.push(prepare_s + again_s);
        solve_s = solve_s.min(again_s);
    }
    if times.fastest_solve_s == 0.0 || solve_s < times.fastest_solve_s {
        times.fastest_solve_s = solve_s;
    }
    let mut p64 = vec![0.0; p.len()];
    solver.solution_f64(&mut p64);
    Solved { p: p64, result, bytes: solver.bytes(), traffic_bytes: solver.traffic_bytes() }
}

/// Kernels of geometric multigrid on one case.
pub fn run_kernels(name: &str, case: &Case, copy: &CopyRow, repeats: u32) -> Vec<KernelRow> {
    let passes = 5 * repeats.max(1) as usize;
    let timings = parallel::with_threads(copy.threads, || {
        let mut solver = MultigridCg::new(case.cells);
        solver.prepare(&case.problem());
        let mut p = vec![0.0; case.rhs.len()];
        let rough = Params { relative_tolerance: 0.1, ..Params::DEFAULT };
        // Real values in all vectors; a failure will show in the solver's own row.
        let _ = solver.solve(&mut p, &case.rhs, &rough);
        solver.time_kernels(passes)
    });
    let row = |KernelTiming { name: kernel, bytes, seconds }| KernelRow {
        case: name.into(),
        n: case.cells[0],
        threads: copy.threads,
        kernel,
        bytes,
        seconds,
        copy_fraction: bytes as f64 / seconds / copy.bytes_per_s,
    };
    timings.into_iter().map(row).collect()
}

/// Residual against iterations for every case and size: file stem and plot. Of several tolerances the
/// tightest is shown, of several thread counts the first.
pub fn history_plots(rows: &[PressureRow]) -> Vec<(String, Plot)> {
    let mut plots: Vec<(String, Plot)> = Vec::new();
    for row in rows {
        let stem = format!("pressure-{}-{}", row.case, row.n);
        let same = |r: &&PressureRow| (&r.case, r.n, &r.solver) == (&row.case, row.n, &row.solver);
        let shown = rows.iter().filter(same).min_by(|a, b| a.tolerance.total_cmp(&b.tolerance));
        if !shown.is_some_and(|shown| std::ptr::eq(shown, row)) {
            continue;
        }
        if plots.iter().all(|(s, _)| *s != stem) {
            let title = format!("{}, {} cubed, {} unknowns", row.case, row.n, row.unknowns);
            let (x, y) = (Axis::log("iteration + 1"), Axis::log("residual / right side"));
            plots.push((stem.clone(), Plot { title, x, y, series: vec![] }));
        }
        let points = row.history.iter().enumerate().map(|(i, &r)| [i as f64 + 1.0, r]).collect();
        let style = if row.history.len() > 40 { Style::Line } else { Style::LineMarkers };
        let (_, plot) = plots.iter_mut().find(|(s, _)| *s == stem).expect("just added");
        plot.series.push(fluvial_output::Series { name: row.solver.clone(), style, points });
    }
    plots
}

/// The head of [`print_row`]'s columns.
pub fn print_head() -> String {
    format!(
        "{:<16} {:>4} {:<10} {:>3} {:>8} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>12} {:>9} {:>6} {:>7}\n",
        "case",
        "n",
        "solver",
        "thr",
        "goal",
        "unknowns",
        "setup s",
        "solve s",
        "again s",
        "iter",
        "residual",
        "|p|",
        "memory MB",
        "GB/s",
        "of copy"
    )
}

/// One line of the table; times are medians, with the fastest and slowest solve below when there are several.
pub fn print_row(row: &PressureRow, copy: Option<&CopyRow>) -> String {
    let dash = || "-".to_owned();
    let again = row.again_s.map_or_else(dash, |s| format!("{s:.4}"));
    let rate = row.solve_bytes_per_s.map_or_else(dash, |b| format!("{:.1}", 1e-9 * b));
    let share = row.solve_bytes_per_s.zip(copy);
    let share = share.map_or_else(dash, |(b, c)| format!("{:.0} %", 100.0 * b / c.bytes_per_s));
    let residual =
        if row.tolerance_of == "largest" { row.true_largest_residual } else { row.true_relative_residual };
    let mut text = format!(
        "{:<16} {:>4} {:<10} {:>3} {:>8} {:>9} {:>9.4} {:>9.4} {:>9} {:>6} {:>9.2e} {:>12.6e} {:>9.1} {:>6} {:>7}\n",
        row.case,
        row.n,
        row.solver,
        row.threads,
        format!("{:.0e}", row.tolerance),
        row.unknowns,
        row.setup_s,
        row.solve_s,
        again,
        row.iterations,
        residual,
        row.solution_norm,
        1e-6 * row.peak_bytes as f64,
        rate,
        share
    );
    if row.repeats > 1 {
        let [setup, solve] = [row.setup_range_s, row.solve_range_s].map(|[a, b]| format!("{a:.4} to {b:.4}"));
        let again = row.again_range_s.map_or_else(String::new, |[a, b]| format!(", again {a:.4} to {b:.4}"));
        text += &format!("{:<21} of {}: setup {setup}, solve {solve}{again}\n", "", row.repeats);
    }
    if let Some(failure) = &row.failure {
        text += &format!("{:<21} FAILED: {failure}\n", "");
    }
    text
}

/// One line of a kernel.
pub fn print_kernel(row: &KernelRow) -> String {
    format!(
        "{:<16} {:>4} {:>3} threads  {:<36} {:>8.1} MB {:>9.3} ms {:>7.1} GB/s {:>5.0} % of the copy\n",
        row.case,
        row.n,
        row.threads,
        row.kernel,
        1e-6 * row.bytes as f64,
        1e3 * row.seconds,
        1e-9 * row.bytes as f64 / row.seconds,
        100.0 * row.copy_fraction
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_pressure::SOLVERS;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    #[test]
    fn every_solver_meets_its_goal_by_the_case_s_own_measure() {
        for (name, goal) in [("bubbly", Goal::Relative(1e-7)), ("sphere-jet-mid", Goal::Largest(1e-6))] {
            let case = Case::new(name, 24).unwrap();
            let rows: Vec<PressureRow> = SOLVERS
                .iter()
                .map(|solver| run_solver((name, &case), solver, goal, 1, 2, &GO_ON).unwrap())
                .collect();
            for row in &rows {
                let residual = match goal {
                    Goal::Relative(_) => row.true_relative_residual,
                    Goal::Largest(_) => row.true_largest_residual,
                };
                assert!(row.failure.is_none() && residual <= 1.01 * goal.value(), "{row:?}");
                assert_eq!(row.history.len(), row.iterations + 1);
                assert!(row.setup_s > 0.0 && row.solve_s > 0.0 && row.again_s.unwrap() > 0.0);
                assert!((row.solution_norm / rows[0].solution_norm - 1.0).abs() < 1e-4, "{row:?}");
                assert!(row.peak_bytes > 8 * row.unknowns, "{row:?}");
            }
            let plots = history_plots(&rows);
            assert_eq!((plots.len(), plots[0].1.series.len()), (1, SOLVERS.len()));
        }
    }

    #[test]
    fn a_solve_that_fails_says_so_and_a_stopped_one_gives_nothing() {
        let case = Case::new("tank", 16).unwrap();
        let impossible = Goal::Relative(1e-30);
        let row = run_solver(("tank", &case), &SOLVERS[0], impossible, 1, 1, &GO_ON).unwrap();
        assert!(row.failure.is_some() && print_row(&row, None).contains("FAILED"), "{row:?}");
        assert!(run_solver(("tank", &case), &SOLVERS[0], impossible, 1, 1, &AtomicBool::new(true)).is_none());
    }

    #[test]
    fn kernels_move_their_bytes() {
        let case = Case::new("wavy-tank", 32).unwrap();
        let copy = CopyRow { threads: 1, bytes_per_s: 1e10 };
        let rows = run_kernels("wavy-tank", &case, &copy, 1);
        assert!(
            rows.iter().any(|r| r.kernel == "red-black sweep") && rows.iter().any(|r| r.kernel == "residual")
        );
        for row in &rows {
            assert!(row.bytes > 14 * 22_000 && row.seconds > 0.0 && row.copy_fraction > 0.0, "{row:?}");
        }
    }
}
