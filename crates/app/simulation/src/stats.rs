//! `stats.jsonl`: one line per step.

use crate::run::StepRecord;
use fluvial_foundation::StageTimers;
use fluvial_solver_interface::{DtLimiter, PressureReport};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A line of `stats.jsonl`; the field order is the key order.
#[derive(Serialize)]
pub struct StatsLine<'a> {
    frame: u32,
    step: u64,
    time_s: f64,
    dt_s: f64,
    dt_limiter: Option<DtLimiter>,
    retries: u32,
    cells: usize,
    faces: usize,
    particles: usize,
    liquid_volume_m3: f64,
    inflow_m3: f64,
    outflow_m3: f64,
    volume_error: f64,
    raw_volume_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    displaced_m3: Option<f64>,
    kinetic_energy_j: f64,
    potential_energy_j: f64,
    max_speed_m_s: f64,
    max_divergence_1_s: f64,
    pressure: PressureReport,
    #[serde(serialize_with = "counts")]
    clamps: &'a [(&'static str, usize)],
    #[serde(serialize_with = "stages")]
    stages_s: &'a StageTimers,
    peak_rss_bytes: Option<u64>,
}

impl<'a> StatsLine<'a> {
    /// The line of a step.
    pub fn new(step: &'a StepRecord, peak_rss_bytes: Option<u64>) -> StatsLine<'a> {
        let report = &step.report;
        StatsLine {
            frame: step.frame,
            step: step.step,
            time_s: step.time_s,
            dt_s: step.dt_s,
            dt_limiter: step.limiter,
            retries: step.retries,
            cells: report.cells,
            faces: report.faces,
            particles: report.particles,
            liquid_volume_m3: report.liquid_volume_m3,
            inflow_m3: report.inflow_m3,
            outflow_m3: report.outflow_m3,
            volume_error: report.volume_error,
            raw_volume_error: report.raw_volume_error,
            displaced_m3: report.displaced_m3,
            kinetic_energy_j: report.kinetic_energy_j,
            potential_energy_j: report.potential_energy_j,
            max_speed_m_s: report.max_speed_m_s,
            max_divergence_1_s: report.max_divergence_1_s,
            pressure: report.pressure,
            clamps: &report.clamps,
            stages_s: &report.stages_s,
            peak_rss_bytes,
        }
    }
}

fn counts<S: Serializer>(clamps: &&[(&'static str, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(clamps.iter().copied())
}

/// Stage seconds as a JSON object in stage order.
pub fn stages<S: Serializer>(timers: &StageTimers, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (name, seconds) in timers.iter() {
        map.serialize_entry(name, &seconds)?;
    }
    map.end()
}
