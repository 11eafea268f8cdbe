//! The one frame loop ([`run()`]), what it writes down, and what is measured with it: validation and
//! benchmarks.
//!
//! Read [`mod@run`] first; everything else serves it.

pub mod bench;
pub mod bodies;
pub mod cache;
pub mod cells;
pub mod changes;
pub mod checkpoint;
pub mod draw;
pub mod fingerprint;
pub mod frame_files;
pub mod guard;
pub mod info;
pub mod picture;
pub mod probes;
pub mod progress;
pub mod record;
pub mod remesh;
pub mod report;
pub mod run;
pub mod stats;
#[cfg(test)]
mod toy;
pub mod validate;
pub mod whitewater;

pub use run::{
    FramePlan, Pause, Position, Recorder, RunEnd, RunError, StepRecord, Unrecorded, next_step, reached, run,
    run_from,
};
