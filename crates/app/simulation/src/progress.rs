//! What the loop tells about itself while it runs.

use crate::run::{FramePlan, StepRecord};
use fluvial_solver_interface::DtLimiter;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Shows how far a run is; the command line draws a bar with it.
pub trait Progress {
    /// After every step.
    fn step(&mut self, status: &Status);
    /// After every frame's outputs.
    fn frame(&mut self, frame: u32);
}

/// Shows nothing.
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &Status) {}
    fn frame(&mut self, _: u32) {}
}

/// The state of the run after a step.
#[derive(Clone, Debug)]
pub struct Status {
    /// The frame being computed.
    pub frame: u32,
    /// Frames in all.
    pub frames: u32,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Simulated time at the end of the run, seconds.
    pub end_s: f64,
    /// Length of the step, seconds.
    pub dt_s: f64,
    /// What kept the step from being longer.
    pub limiter: Option<DtLimiter>,
    /// Liquid cells.
    pub cells: usize,
    /// Particles.
    pub particles: usize,
    /// Volume that is missing or too much, relative.
    pub volume_error: f64,
    /// Wall time to the end; `None` before anything can be said.
    pub eta: Option<Duration>,
}

impl Status {
    pub(crate) fn new(plan: FramePlan, step: &StepRecord, eta: &Eta) -> Status {
        Status {
            frame: step.frame,
            frames: plan.frames,
            time_s: step.time_s,
            end_s: plan.frame_end_s(plan.frames),
            dt_s: step.dt_s,
            limiter: step.limiter,
            cells: step.report.cells,
            particles: step.report.particles,
            volume_error: step.report.volume_error,
            eta: eta.remaining(step.time_s),
        }
    }
}

/// Frames over which the speed is averaged: recent enough to follow a splash, long enough not to jump.
const WINDOW: usize = 12;

/// Guesses the wall time to the end from the last frames' speed.
pub(crate) struct Eta {
    plan: FramePlan,
    /// (simulated time, wall time) at the start and after each of the last frames.
    marks: VecDeque<(f64, Instant)>,
}

impl Eta {
    /// From a simulated time on, 0 unless a run is resumed.
    pub fn start(plan: FramePlan, time_s: f64) -> Eta {
        Eta { plan, marks: VecDeque::from([(time_s, Instant::now())]) }
    }

    pub fn frame_done(&mut self, frame: u32) {
        self.marks.push_back((self.plan.frame_end_s(frame), Instant::now()));
        if self.marks.len() > WINDOW {
            self.marks.pop_front();
        }
    }

    fn remaining(&self, time_s: f64) -> Option<Duration> {
        self.remaining_at(time_s, Instant::now())
    }

    fn remaining_at(&self, time_s: f64, now: Instant) -> Option<Duration> {
        let &(first_s, first) = self.marks.front()?;
        let simulated_s = time_s - first_s;
        if simulated_s <= 0.0 {
            return None;
        }
        let wall_s = now.duration_since(first).as_secs_f64();
        let left_s = self.plan.frame_end_s(self.plan.frames) - time_s;
        Duration::try_from_secs_f64((wall_s * left_s / simulated_s).max(0.0)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_follows_the_speed_of_the_last_frames() {
        let plan = FramePlan { frames: 100, fps: 10.0 };
        let mut eta = Eta::start(plan, 0.0);
        let start = eta.marks[0].1;
        assert_eq!(eta.remaining_at(0.0, start), None);
        // 2 s of wall time after 1 s of 10 s simulated: 18 s to go.
        let left = eta.remaining_at(1.0, start + Duration::from_secs(2)).unwrap();
        assert!((left.as_secs_f64() - 18.0).abs() < 1e-9);
        for frame in 1..=50 {
            eta.frame_done(frame);
        }
        assert_eq!(eta.marks.len(), WINDOW);
        assert_eq!(eta.marks.back().unwrap().0, 5.0);
    }
}
