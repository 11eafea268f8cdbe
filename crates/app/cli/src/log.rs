//! Logging: everything of a run into `log.txt`, warnings to the terminal as well.

use crate::args::LogLevel;
use crate::bar;
use anyhow::Context;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt, registry};

/// Starts logging into `dir/log.txt`.
pub fn start(dir: &Path, level: LogLevel) -> anyhow::Result<()> {
    let path = dir.join("log.txt");
    let file = File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let to_file =
        fmt::layer().with_writer(Mutex::new(file)).with_ansi(false).with_target(false).with_filter(level);
    tracing::subscriber::set_global_default(registry().with(to_file).with(to_terminal()))
        .context("could not start the log")
}

/// Warnings to the terminal only, for commands without a folder of their own.
pub fn start_on_terminal() {
    let _ = tracing::subscriber::set_global_default(registry().with(to_terminal()));
}

fn to_terminal<S>() -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    fmt::layer()
        .with_writer(|| AboveBar)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .with_filter(LevelFilter::WARN)
}

/// Writes above the progress bar.
struct AboveBar;

impl Write for AboveBar {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        bar::print_above(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
