//! The one frame loop ([`run`]), what it writes down, and what is measured with it: validation and benchmarks.
//!
//! Read [`mod@run`] first; everything else serves it.

pub mod cache;
pub mod picture;
pub mod probes;
pub mod progress;
pub mod run;
pub mod stats;
#[cfg(test)]
mod toy;

pub use run::{FramePlan, Recorder, RunEnd, RunError, StepRecord, run};
