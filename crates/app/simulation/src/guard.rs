//! Watches a run for results that cannot be trusted: water that is lost or made, and speeds without a cause.
//!
//! A warning names the frame and the likely cause; it stands in the log, in the run's record, in its report
//! and at the end on the terminal. A run whose volume was off by more than [`WORST_VOLUME_ERROR`] is not
//! done, nor is one with liquid [`WORST_SPEED`] times as fast as it can be: it finished with errors.

use crate::run::StepRecord;
use fluvial_solver_interface::Setup;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Share of the liquid that may be lost or made within a second of simulated time, before and after
/// correction.
const VOLUME_PER_SECOND: f64 = 0.02;
/// A result with a larger error than this, before or after correction, cannot be trusted.
pub const WORST_VOLUME_ERROR: f64 = 0.2;
/// Speeds up to this many times what head, inflow and moving boundaries can give have a cause.
const SPEED_ALLOWANCE: f64 = 2.0;
/// A result with faster liquid than this many times what can be given cannot be trusted.
pub const WORST_SPEED: f64 = 5.0;
/// More liquid than the domain has room for, as a share of the room: beyond it a box is full for sure (how much solids take
/// of it is counted on points), and beyond the second one the result cannot be trusted.
const FULL: f64 = 1.01;
const OVERFULL: f64 = 1.05;
/// A run begins with what the fills hold, but for this share.
const BEGINS_WITHIN: f64 = 0.01;
/// Simulated time between two warnings of a kind, seconds.
const WARN_EVERY_S: f64 = 1.0;
/// Warnings that a record keeps.
const MOST_WARNINGS: usize = 40;
/// Moments of a run at which the speed of moving solids is looked at.
const LOOKS: usize = 64;

/// A result that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// In which frame.
    pub frame: u32,
    /// What was seen, and the likely cause.
    pub message: String,
}

/// What the guard found, for the run's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// Warnings, the first ones of a run that has many.
    pub warnings: Vec<Warning>,
    /// Largest volume error before any correction, relative.
    pub largest_raw_volume_error: f64,
    /// Fastest liquid, m/s.
    pub fastest_m_s: f64,
    /// What head, inflow and moving boundaries can give, m/s.
    pub speed_bound_m_s: f64,
    /// Steps in which liquid was faster than that allows.
    pub steps_too_fast: u64,
    /// Most liquid that there was, as a share of what closed walls and solids leave room for.
    pub fullest: f64,
}

/// Sees every step of a run.
pub struct Guard {
    bound_m_s: f64,
    /// What walls and solids leave room for at the start, m3; none where a wall is open.
    room_m3: Option<f64>,
    /// Liquid of the fills outside solids, m3.
    filled_m3: f64,
    /// Time, error and raw error of the steps of the last second.
    recent: VecDeque<[f64; 3]>,
    last_s: [f64; 5],
}

/// Kinds of warnings.
const LOST: usize = 0;
const RAW: usize = 1;
const FAST: usize = 2;
const TOO_FULL: usize = 3;
const BEGINS: usize = 4;

impl Guard {
    /// For a set-up that is run up to `end_s`.
    pub fn new(setup: &Setup, end_s: f64) -> Guard {
        Guard {
            bound_m_s: speed_bound_m_s(setup, end_s),
            room_m3: setup.room_m3(),
            filled_m3: setup.filled_m3(),
            recent: VecDeque::new(),
            last_s: [f64::NEG_INFINITY; 5],
        }
    }

    /// For a solver whose set-up is not known: any speed has a cause.
    #[cfg(test)]
    pub fn unbounded() -> Guard {
        Guard {
            bound_m_s: f64::MAX,
            room_m3: None,
            filled_m3: 0.0,
            recent: VecDeque::new(),
            last_s: [f64::NEG_INFINITY; 5],
        }
    }

    /// Looks at a step; adds what it finds.
    pub fn step(&mut self, step: &StepRecord, largest_error: f64, findings: &mut Findings) {
        let report = &step.report;
        findings.largest_raw_volume_error =
            findings.largest_raw_volume_error.max(report.raw_volume_error.abs());
        findings.fastest_m_s = findings.fastest_m_s.max(report.max_speed_m_s);
        findings.speed_bound_m_s = self.bound_m_s;
        self.recent.push_back([step.time_s, report.volume_error, report.raw_volume_error]);
        while self.recent.front().is_some_and(|[t, ..]| *t < step.time_s - WARN_EVERY_S) {
            self.recent.pop_front();
        }
        let [_, error_before, raw_before] = self.recent[0];
        let [error, raw] = [report.volume_error - error_before, report.raw_volume_error - raw_before];
        let cause = if report.particles > 0 {
            "likely liquid thinner than a cell, or particles that clump or spread: try smaller cells"
        } else {
            "likely liquid thinner than a cell, which a level set cannot hold: try smaller cells or a tracker with particles"
        };
        let begins_with = report.liquid_volume_m3 / self.filled_m3;
        if step.step == 0 && self.filled_m3 > 0.0 && (begins_with - 1.0).abs() > BEGINS_WITHIN {
            let message = format!(
                "the run begins with {:.4} m3 of liquid where the fills hold {:.4} m3 ({:+.1} %): some of it, or of the air beside it, is thinner than the cells can tell, or in cells that solids cut: try smaller cells, or let fills reach into solids and walls",
                report.liquid_volume_m3,
                self.filled_m3,
                100.0 * (begins_with - 1.0)
            );
            self.warn(BEGINS, step, message, findings);
        }
        let fullness = self.room_m3.map_or(0.0, |room_m3| report.liquid_volume_m3 / room_m3);
        findings.fullest = findings.fullest.max(fullness);
        if fullness > FULL {
            let message = format!(
                "{:.4} m3 of liquid are in a space of {:.4} m3, which is full: end the sources earlier, open a wall or add a sink",
                report.liquid_volume_m3,
                report.liquid_volume_m3 / fullness
            );
            self.warn(TOO_FULL, step, message, findings);
        }
        let percent = |v: f64| 100.0 * v;
        if error.abs() > VOLUME_PER_SECOND || report.volume_error.abs() > WORST_VOLUME_ERROR {
            let message = format!(
                "volume is {:+.1} % off (largest so far {:.1} %): {cause}",
                percent(report.volume_error),
                percent(largest_error)
            );
            self.warn(LOST, step, message, findings);
        }
        if raw.abs() > VOLUME_PER_SECOND {
            let message = format!(
                "transport {} {:.1} % of the liquid within a second, {:+.1} % since the start, which correction put elsewhere: {cause}",
                if raw < 0.0 { "lost" } else { "made" },
                percent(raw.abs()),
                percent(report.raw_volume_error)
            );
            self.warn(RAW, step, message, findings);
        }
        if report.max_speed_m_s > SPEED_ALLOWANCE * self.bound_m_s {
            findings.steps_too_fast += 1;
            let message = format!(
                "liquid moves at {:.1} m/s, where head, inflow and moving solids can give {:.1} m/s: likely {}",
                report.max_speed_m_s,
                self.bound_m_s,
                match fullness > 2.0 - FULL {
                    true => "because the space is full",
                    false => "a gap narrower than a cell between solids, walls or surface",
                }
            );
            self.warn(FAST, step, message, findings);
        }
    }

    fn warn(&mut self, kind: usize, step: &StepRecord, message: String, findings: &mut Findings) {
        if step.time_s - self.last_s[kind] < WARN_EVERY_S {
            return;
        }
        self.last_s[kind] = step.time_s;
        tracing::warn!("frame {}, t = {:.3} s: {message}", step.frame, step.time_s);
        if findings.warnings.len() < MOST_WARNINGS {
            findings.warnings.push(Warning { frame: step.frame, message });
        }
    }
}

impl Findings {
    /// Why the result cannot be trusted, if so, and what may help: the volume was too far off, the space too full, or
    /// liquid too fast. `largest_error` is that after correction.
    pub fn fatal(&self, largest_error: f64) -> Option<(String, &'static str)> {
        let finer = "smaller cells, or a method or tracker that carries particles, hold thinner liquid";
        if largest_error.max(self.largest_raw_volume_error) > WORST_VOLUME_ERROR {
            let error = largest_error.max(self.largest_raw_volume_error);
            return Some((format!("volume was up to {:.0} % off", 100.0 * error), finer));
        }
        if self.fullest > OVERFULL {
            let why =
                format!("there was {:.2} times as much liquid as the domain has room for", self.fullest);
            return Some((why, "end the sources earlier, open a wall or add a sink"));
        }
        (self.fastest_m_s > WORST_SPEED * self.speed_bound_m_s).then(|| {
            let why = format!(
                "liquid moved at up to {:.0} m/s, where head, inflow and moving solids can give {:.1} m/s",
                self.fastest_m_s, self.speed_bound_m_s
            );
            (why, finer)
        })
    }
}

/// `sqrt(2 g h + 2 sigma / (rho dx) + v^2)`: the speed of liquid that falls through the whole domain with the fastest velocity
/// that fills, sources, solids or a given flow have, and of the rim of a film of a cell that surface tension
/// pulls [culick-1960], m/s.
pub(crate) fn speed_bound_m_s(setup: &Setup, end_s: f64) -> f64 {
    let head = setup.liquid.gravity.abs().dot(setup.domain.bounds().size()) as f64;
    let mut fastest = 0.0f32;
    let velocities = setup.fills.iter().map(|f| f.velocity).chain(setup.sources.iter().map(|s| s.velocity));
    velocities.for_each(|v| fastest = fastest.max(v.length()));
    for solid in setup.solids.iter().filter(|s| !s.motion.is_static()) {
        let bounds = solid.shape.bounds();
        for look in 0..=LOOKS {
            let time_s = end_s * look as f64 / LOOKS as f64;
            let pose = solid.motion.pose(time_s);
            for corner in 0..8 {
                let pick =
                    |axis: usize| if corner >> axis & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
                let x = pose.world_from_body([pick(0), pick(1), pick(2)].into());
                let v = solid.motion.velocity_at(time_s, x).length();
                fastest = fastest.max(if v.is_finite() { v } else { 0.0 });
            }
        }
    }
    let given_m_s = setup.flow.map_or(0.0, |flow| flow.fastest_m_s());
    let liquid = &setup.liquid;
    let tension = f64::from(liquid.surface_tension / (liquid.density * setup.domain.grid.dx));
    (2.0 * head + 2.0 * tension + f64::from(fastest).max(given_m_s).powi(2)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_solver_interface::StepReport;

    fn step(time_s: f64, volume_error: f64, raw_volume_error: f64, max_speed_m_s: f64) -> StepRecord {
        let report = StepReport { volume_error, raw_volume_error, max_speed_m_s, ..StepReport::default() };
        StepRecord { frame: 3, step: 1, time_s, dt_s: 0.1, limiter: None, retries: 0, report }
    }

    fn guard() -> Guard {
        Guard { bound_m_s: 4.0, ..Guard::unbounded() }
    }

    #[test]
    fn slow_drift_and_fast_water_with_a_cause_are_fine() {
        let (mut guard, mut found) = (guard(), Findings::default());
        for n in 0..50 {
            let t = 0.1 * f64::from(n);
            guard.step(&step(t, 1e-3, -0.015 * t, 7.9), 1e-3, &mut found);
        }
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        assert_eq!(found.fatal(1e-3), None);
    }

    #[test]
    fn speeds_far_beyond_any_cause_are_fatal() {
        let (mut guard, mut found) = (guard(), Findings::default());
        guard.step(&step(0.1, 0.0, 0.0, 19.0), 0.0, &mut found);
        assert_eq!((found.fatal(0.0), found.warnings.len()), (None, 1));
        guard.step(&step(0.2, 0.0, 0.0, 21.0), 0.0, &mut found);
        assert!(found.fatal(0.0).is_some_and(|(why, _)| why.contains("21 m/s")));
    }

    #[test]
    fn what_correction_hides_is_said_once_a_second_and_is_fatal_in_the_end() {
        let (mut guard, mut found) = (guard(), Findings::default());
        for n in 0..40 {
            let t = 0.1 * f64::from(n);
            guard.step(&step(t, 0.0, -0.1 * t, 1.0), 0.0, &mut found);
        }
        assert!((3..=5).contains(&found.warnings.len()), "{:?}", found.warnings);
        assert!(found.warnings[0].message.contains("lost"), "{:?}", found.warnings[0]);
        assert!(found.fatal(0.0).is_some_and(|(why, _)| why.contains("39 %")), "39 % were lost and put back");
    }

    /// Only closed spaces are full; a source that goes on is the cause of what is fast then.
    #[test]
    fn a_full_space_is_said_and_is_fatal_in_the_end() {
        let full = |liquid_volume_m3: f64| {
            let mut step = step(0.1, 0.0, 0.0, 9.0);
            step.report.liquid_volume_m3 = liquid_volume_m3;
            step
        };
        let (mut guard, mut found) = (Guard { room_m3: Some(2.0), ..guard() }, Findings::default());
        guard.step(&full(1.999), 0.0, &mut found);
        assert!(found.warnings[0].message.contains("because the space is full"), "{:?}", found.warnings);
        guard.step(&full(2.03), 0.0, &mut found);
        assert!(found.warnings[1].message.contains("2.0300 m3 of liquid are in a space of 2.0000 m3"));
        assert_eq!(found.fatal(0.0), None);
        guard.step(&full(2.2), 0.0, &mut found);
        assert!(found.fatal(0.0).is_some_and(|(why, _)| why.contains("1.10 times")));
        let (mut open, mut found) = (self::guard(), Findings::default());
        open.step(&full(9.0), 0.0, &mut found);
        assert_eq!(found.fullest, 0.0);
    }

    #[test]
    fn a_start_that_differs_from_the_fills_is_said_once() {
        let (mut guard, mut found) = (Guard { filled_m3: 2.0, ..guard() }, Findings::default());
        let mut first = step(0.0, 0.0, 0.0, 0.0);
        (first.step, first.report.liquid_volume_m3) = (0, 1.99);
        guard.step(&first, 0.0, &mut found);
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        first.report.liquid_volume_m3 = 1.5;
        guard.step(&first, 0.0, &mut found);
        guard.step(&step(0.1, 0.0, 0.0, 1.0), 0.0, &mut found);
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].message.contains("(-25.0 %)"), "{:?}", found.warnings);
    }

    #[test]
    fn every_step_that_is_too_fast_counts() {
        let (mut guard, mut found) = (guard(), Findings::default());
        (0..5).for_each(|n| guard.step(&step(0.01 * f64::from(n), 0.0, 0.0, 74.0), 0.0, &mut found));
        assert_eq!((found.steps_too_fast, found.warnings.len()), (5, 1));
        assert!(found.warnings[0].message.contains("74.0 m/s"), "{:?}", found.warnings);
    }
}
