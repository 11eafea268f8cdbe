//! Logging: everything of a run into `log.txt`, warnings to the terminal as well.

use crate::args::LogLevel;
use crate::bar;
use crate::failure::Failure;
use anyhow::Context;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt, registry};

const LOG: &str = "log.txt";

/// Starts logging into `dir/log.txt`, anew.
pub fn start(dir: &Path, level: LogLevel) -> Result<(), Failure> {
    into(dir, level, true)
}

/// Goes on logging into `dir/log.txt`.
pub fn resume(dir: &Path, level: LogLevel) -> Result<(), Failure> {
    into(dir, level, false)
}

/// Is a program at work in a run's folder? It holds a lock on the log as long as it lives.
pub fn is_held(dir: &Path) -> bool {
    let file = File::open(dir.join(LOG));
    file.is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn into(dir: &Path, level: LogLevel, anew: bool) -> Result<(), Failure> {
    let path = dir.join(LOG);
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("could not create {}", path.display()))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Failure::bad_input(
            format!("another fluvial is at work in {}", dir.display()),
            "wait for it, stop it, or choose another folder",
        ));
    }
    if anew {
        file.set_len(0).with_context(|| format!("could not write {}", path.display()))?;
    }
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let to_file =
        fmt::layer().with_writer(Mutex::new(file)).with_ansi(false).with_target(false).with_filter(level);
    let started = tracing::subscriber::set_global_default(registry().with(to_file).with(to_terminal()));
    Ok(started.context("could not start the log")?)
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
