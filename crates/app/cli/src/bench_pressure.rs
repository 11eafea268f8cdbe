//! `fluvial bench pressure`.

use crate::args::PressureArgs;
use crate::failure::Failure;
use crate::say::say;
use crate::{log, stop};
use anyhow::anyhow;
use fluvial_output::{Machine, create_dir, write_bytes_atomic, write_json_atomic};
use fluvial_pressure::cases::{Case, NAMES};
use fluvial_pressure::{NamedSolver, SOLVERS};
use fluvial_simulation::bench::pressure::{
    CopyRow, Goal, PressureReport, PressureRow, history_plots, print_head, print_kernel, print_row,
    run_kernels, run_solver, streaming_copy,
};
use fluvial_simulation::bench::table3;
use std::sync::atomic::Ordering;

/// What is to be measured, all names looked up.
struct Plan {
    cases: Vec<&'static str>,
    sizes: Vec<usize>,
    solvers: Vec<&'static NamedSolver>,
    goals: Vec<Goal>,
    threads: Vec<usize>,
}

/// Measures pressure solvers and prints, writes and plots the result.
pub fn bench_pressure(args: PressureArgs, all_threads: usize) -> Result<(), Failure> {
    if args.list {
        say!("Cases: {}", NAMES.join(", "));
        say!("Solvers:");
        SOLVERS.iter().for_each(|s| say!("  {:10} {}", s.name, s.what));
        return Ok(());
    }
    log::start_on_terminal();
    let plan = plan(&args, all_threads)?;
    args.output.as_deref().map(create_dir).transpose()?;
    let stop = stop::on_interrupt()?;
    let machine = Machine::describe();
    say!("{}, {} cores, {}", machine.cpu, machine.cores, machine.platform);
    let copy: Vec<CopyRow> = plan.threads.iter().map(|&t| streaming_copy(t)).collect();
    for row in &copy {
        say!("streaming copy, {} threads: {:.1} GB/s", row.threads, 1e-9 * row.bytes_per_s);
    }
    say!("{}", print_head().trim_end());
    let (mut rows, mut kernels) = (Vec::new(), Vec::new());
    for &n in &plan.sizes {
        for &name in &plan.cases {
            let case = Case::new(name, n).expect("a name from the list");
            for copy in &copy {
                for solver in &plan.solvers {
                    for &goal in &plan.goals {
                        let row = run_solver((name, &case), solver, goal, copy.threads, args.repeats, &stop)
                            .ok_or_else(|| Failure::interrupted("the benchmark is incomplete"))?;
                        say!("{}", print_row(&row, Some(copy)).trim_end());
                        rows.push(row);
                    }
                }
                if plan.solvers.iter().any(|s| s.name == "mg-cg") && !stop.load(Ordering::Relaxed) {
                    kernels.extend(run_kernels(name, &case, copy, args.repeats));
                }
            }
        }
    }
    if !kernels.is_empty() {
        say!("\nKernels of mg-cg's finest level, alone:");
        kernels.iter().for_each(|row| say!("{}", print_kernel(row).trim_end()));
    }
    if args.table3 {
        say!(
            "\nTable 3 of Chentanez and Müller 2011, ours beside theirs; the goal is the residual's largest value:"
        );
        say!("{}", table3::print_table(&rows).trim_end());
    }
    write(&args, PressureReport::new(copy, rows, kernels))
}

fn write(args: &PressureArgs, report: PressureReport) -> Result<(), Failure> {
    if let Some(file) = &args.json {
        write_json_atomic(file, &report)?;
    }
    if let Some(dir) = &args.output {
        for (stem, plot) in history_plots(&report.rows) {
            write_bytes_atomic(&dir.join(format!("{stem}.svg")), plot.to_svg().as_bytes())?;
        }
    }
    let failed: Vec<&PressureRow> = report.rows.iter().filter(|r| r.failure.is_some()).collect();
    match failed.len() {
        0 => Ok(()),
        count => Err(Failure::failed(anyhow!("{count} of {} solves failed", report.rows.len()))),
    }
}

fn plan(args: &PressureArgs, all_threads: usize) -> Result<Plan, Failure> {
    let or = |typed: &[String], default: &[&str]| -> Vec<String> {
        if typed.is_empty() { default.iter().map(|s| s.to_string()).collect() } else { typed.to_vec() }
    };
    let (cases, sizes, solvers, threads): (&[&str], &[usize], &[&str], usize) = if args.table3 {
        (&table3::CASES, &table3::SIZES, &table3::SOLVERS, table3::THREADS)
    } else {
        (
            &["wavy-tank", "sphere-jet-mid", "bubbly", "cut-walls"],
            &[64],
            &["mg-cg", "multigrid", "amg-cg", "mic"],
            all_threads,
        )
    };
    let relative = args.tolerance.iter().map(|t| t.0);
    let goals = match (args.table3, args.tolerance.is_empty()) {
        (true, true) => table3::GOALS.to_vec(),
        (true, false) => relative.map(Goal::Largest).collect(),
        (false, true) => vec![Goal::Relative(1e-6)],
        (false, false) => relative.map(Goal::Relative).collect(),
    };
    Ok(Plan {
        cases: find_all("case", &or(&args.case, cases), &NAMES, |n| n)?.into_iter().copied().collect(),
        sizes: if args.n.is_empty() { sizes.to_vec() } else { args.n.clone() },
        solvers: find_all("solver", &or(&args.solver, solvers), SOLVERS, |s| s.name)?,
        goals,
        threads: if args.threads.is_empty() { vec![threads] } else { args.threads.clone() },
    })
}

/// The items that the names stand for: themselves, all whose name begins so (`sphere-jet`), or all there are
/// (`all`).
fn find_all<T>(
    kind: &str,
    names: &[String],
    known: &'static [T],
    name_of: impl Fn(&T) -> &str,
) -> Result<Vec<&'static T>, Failure> {
    let mut found = Vec::new();
    for name in names {
        let fits = |item: &&T| {
            let own = name_of(item);
            own == name
                || name == "all"
                || own.strip_prefix(&name[..]).is_some_and(|rest| rest.starts_with('-'))
        };
        let before = found.len();
        found.extend(known.iter().filter(fits));
        if found.len() == before {
            let list: Vec<&str> = known.iter().map(&name_of).collect();
            return Err(Failure::bad_input(format!("there is no {kind} `{name}`"), list.join(", ")));
        }
    }
    Ok(found)
}
