//! Ctrl-C: once to give up the current step and stop with a checkpoint, twice to stop at once.

use crate::failure::INTERRUPTED;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the first Ctrl-C (or SIGTERM) sets; the second one ends the program.
pub fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("stopping; once more to stop at once");
    })?;
    Ok(stop)
}
