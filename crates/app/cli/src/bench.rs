//! `fluvial bench`.

use crate::args::{BenchArgs, BenchPart};
use crate::bench_pressure::bench_pressure;
use crate::failure::Failure;
use crate::say::say;
use crate::{log, stop};
use anyhow::anyhow;
use fluvial_output::{Machine, write_json_atomic};
use fluvial_simulation::bench::{
    BenchCase, BenchError, BenchOptions, BenchReport, benches, find_benches, print_rows, run_bench,
};

/// Runs benchmarks and prints and writes what they measured.
pub fn bench(args: BenchArgs, threads: usize) -> Result<(), Failure> {
    if let Some(BenchPart::Pressure(args)) = args.part {
        return bench_pressure(args, threads);
    }
    if args.list {
        let line =
            |c: &BenchCase| say!("{:30} {} ({}, {}^3)", c.name, c.scene.what(), c.variant.name, c.cells);
        benches().iter().for_each(line);
        return Ok(());
    }
    log::start_on_terminal();
    let cases = choose(&args.cases)?;
    let stop = stop::on_interrupt()?;
    let machine = Machine::describe();
    let memory = machine.memory_bytes.map_or("unknown".into(), crate::check::bytes);
    say!(
        "{}, {} cores, {threads} threads, {memory} memory, {}",
        machine.cpu,
        machine.cores,
        machine.platform
    );
    let mut rows = Vec::new();
    for case in &cases {
        eprintln!("{}: {} x {} frames", case.name, args.repeats, args.frames);
        let options = BenchOptions { frames: args.frames, repeats: args.repeats };
        match run_bench(case, options, threads, &stop) {
            Ok(row) => {
                say!("{}", print_rows(std::slice::from_ref(&row)).trim_end());
                rows.push(row);
            }
            Err(BenchError::Interrupted) => return Err(Failure::interrupted("the benchmark is incomplete")),
            Err(error) => return Err(Failure::failed(anyhow!(error).context(case.name.clone()))),
        }
    }
    if let Some(file) = &args.json {
        write_json_atomic(file, &BenchReport::new(&rows))?;
    }
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<BenchCase>, Failure> {
    if names.is_empty() {
        return Ok(benches());
    }
    let mut cases = Vec::new();
    for name in names {
        let found = find_benches(name);
        if found.is_empty() {
            let known: Vec<String> = benches().into_iter().map(|c| c.name).collect();
            return Err(Failure::bad_input(format!("there is no benchmark `{name}`"), known.join(", ")));
        }
        cases.extend(found);
    }
    Ok(cases)
}
