//! The `fluvial` command: scene in, meshes, statistics and pictures out.
//!
//! Arguments come in two stages: as typed ([`args`]), then as ready objects that the commands work with.

mod args;
mod bar;
mod bench;
mod bench_pressure;
mod check;
mod export;
mod failure;
mod info;
mod live;
mod log;
mod mesh;
mod processor;
mod render;
mod report;
mod resume;
mod run;
mod say;
mod stop;
mod validate;
mod whitewater;

use args::{Command, Typed};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    // This check comes first: on an older processor the next vector instruction would end the program without a message.
    if let Err(missing) = processor::check() {
        eprintln!(
            "fluvial: this program needs a processor with {missing} (x86-64-v3: Intel Haswell or AMD Zen and later)."
        );
        eprintln!("Build it for this machine with: RUSTFLAGS=\"-C target-cpu=native\" cargo build --release");
        return ExitCode::from(failure::FAILED);
    }
    // Commands in advice are there to be copied: the terminal may break lines, the program must not.
    let set =
        miette::set_hook(Box::new(|_| Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).build())));
    debug_assert!(set.is_ok(), "the first hook");
    let Typed { command, threads } = Typed::parse();
    let result = use_threads(threads).and_then(|threads| match command {
        Command::Run(args) => run::run(args, threads),
        Command::Live(args) => live::live(args, threads),
        Command::Resume(args) => resume::resume(args, threads),
        Command::Info(args) => info::info(args),
        Command::Report(args) => report::report(args),
        Command::Check(args) => check::check(args),
        Command::Scenes => check::scenes(),
        Command::Schema => check::schema(),
        Command::Render(args) => render::render(args),
        Command::Mesh(args) => mesh::mesh(args),
        Command::Whitewater(args) => whitewater::whitewater(args),
        Command::Export(args) => export::export(args),
        Command::Validate(args) => validate::validate(args),
        Command::Bench(args) => bench::bench(args, threads),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Sets the number of worker threads for the whole program; returns it.
fn use_threads(wanted: Option<usize>) -> Result<usize, Failure> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(wanted.unwrap_or(0));
    builder
        .build_global()
        .map_err(|e| Failure::failed(anyhow::anyhow!("could not start the worker threads: {e}")))?;
    Ok(rayon::current_num_threads())
}
