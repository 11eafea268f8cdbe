//! The one frame loop. Scenes, validation cases and benchmarks all run through it.

use crate::progress::{Eta, Progress, Status};
use fluvial_output::OutputError;
use fluvial_solver_interface::{DtLimiter, Solver, StepError, StepReport, SuggestedDt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a failed step is halved before the run gives up.
pub const MAX_RETRIES: u32 = 6;
/// More steps than this in a frame mean that the simulation has blown up.
const MAX_STEPS_PER_FRAME: f64 = 1e6;

/// How long to simulate, and how often to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FramePlan {
    /// Frames after the initial state, which is frame 0.
    pub frames: u32,
    /// Frames per simulated second: frame n is the state at n / fps seconds.
    pub fps: f64,
}

impl FramePlan {
    /// Simulated time at the end of a frame, seconds.
    pub fn frame_end_s(&self, frame: u32) -> f64 {
        f64::from(frame) / self.fps
    }
}

/// A step as it was taken.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// The frame that the step leads to.
    pub frame: u32,
    /// Counts from 1 through the run; 0 is the initial state.
    pub step: u64,
    /// At the end of the step, seconds.
    pub time_s: f64,
    /// Length of the step, seconds.
    pub dt_s: f64,
    /// What kept it from being longer; `None` for the initial state.
    pub limiter: Option<DtLimiter>,
    /// Failed tries before it.
    pub retries: u32,
    /// What the solver says about it.
    pub report: StepReport,
}

/// Where the loop stands between two steps: with the solver's state, all that it needs to go on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Position {
    /// The last frame whose outputs are written.
    pub frame: u32,
    /// The last step taken.
    pub step: u64,
}

/// Why the loop pauses between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It goes on with the next step.
    Going,
    /// It was asked to stop.
    Stopping,
    /// All frames are there.
    Done,
}

/// Writes down what happens.
pub trait Recorder {
    /// After every step, and once before the first.
    fn step(&mut self, step: &StepRecord, solver: &dyn Solver) -> Result<(), OutputError>;
    /// At every frame, 0 included, after its last step was recorded.
    fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<(), OutputError>;
    /// Before every step, and at the end: the place for checkpoints, from which [`run_from`] goes on.
    fn pause(&mut self, _at: Position, _why: Pause, _solver: &dyn Solver) -> Result<(), OutputError> {
        Ok(())
    }
    /// When the run cannot go on: keeps what helps to find out why, and says where.
    fn failed(&mut self, solver: &dyn Solver) -> Option<PathBuf>;
}

/// Writes nothing down: for those who look at the solver themselves.
pub struct Unrecorded;

impl Recorder for Unrecorded {
    fn step(&mut self, _: &StepRecord, _: &dyn Solver) -> Result<(), OutputError> {
        Ok(())
    }
    fn frame(&mut self, _: u32, _: &dyn Solver) -> Result<(), OutputError> {
        Ok(())
    }
    fn failed(&mut self, _: &dyn Solver) -> Option<PathBuf> {
        None
    }
}

/// How a run ended, short of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All frames are there.
    Done,
    /// Stopped on request after the last complete frame.
    Interrupted,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A step failed at every length tried.
    #[error(
        "frame {frame}, t = {time_s:.6} s: the step failed {tries} times, down to dt = {dt_s:.3e} s: {source}{}",
        snapshot.as_ref().map(|p| format!("\nThe surface before the step is in {}.", p.display())).unwrap_or_default()
    )]
    Step {
        /// Which frame it led to.
        frame: u32,
        /// Before the step, seconds.
        time_s: f64,
        /// The last length tried, seconds.
        dt_s: f64,
        /// How often it was tried.
        tries: u32,
        /// What the solver said last.
        source: StepError,
        /// The surface before the step.
        snapshot: Option<PathBuf>,
    },
    /// The device that computes has failed; what was written before it is good.
    #[error("frame {frame}, t = {time_s:.6} s: {source}")]
    Device {
        /// Which frame it led to.
        frame: u32,
        /// The last moment that was reached, seconds.
        time_s: f64,
        /// What the device said.
        source: StepError,
    },
    /// The solver asks for a step that cannot be taken: the simulation has blown up.
    #[error(
        "frame {frame}, t = {time_s:.6} s: the liquid is so fast that a step may last only {dt_s:.3e} s{}",
        snapshot.as_ref().map(|p| format!("\nThe surface is in {}.", p.display())).unwrap_or_default()
    )]
    BadStep {
        /// Which frame it led to.
        frame: u32,
        /// Before the step, seconds.
        time_s: f64,
        /// What it asked for, seconds.
        dt_s: f64,
        /// The surface at that moment.
        snapshot: Option<PathBuf>,
    },
    /// The method breaks what a solver promises: nothing that it says can be believed.
    #[error("frame {frame}, t = {time_s:.6} s: the method `{method}` {what}; this is a defect of the method")]
    Promise {
        /// Which frame it led to.
        frame: u32,
        /// Before the step, seconds.
        time_s: f64,
        /// The method's name.
        method: &'static str,
        /// What it did.
        what: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Simulates all frames, or until `stop` is set. `stop` is read between steps; where the solver knows of it
/// too ([`Solver::stop_when`]), the step in progress is given up and the run stands where it was before.
pub fn run(
    solver: &mut dyn Solver,
    plan: FramePlan,
    recorder: &mut dyn Recorder,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<RunEnd, RunError> {
    recorder.step(&initial_record(solver), solver)?;
    recorder.frame(0, solver)?;
    run_from(Position::default(), solver, plan, recorder, progress, stop)
}

/// As [`run()`], from a pause on: `at` and the solver's state are what they were there.
pub fn run_from(
    mut at: Position,
    solver: &mut dyn Solver,
    plan: FramePlan,
    recorder: &mut dyn Recorder,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<RunEnd, RunError> {
    let mut eta = Eta::start(plan, solver.time_s());
    for frame in at.frame + 1..=plan.frames {
        let frame_end_s = plan.frame_end_s(frame);
        while !reached(solver.time_s(), frame_end_s) {
            if stop.load(Ordering::Relaxed) {
                recorder.pause(at, Pause::Stopping, solver)?;
                return Ok(RunEnd::Interrupted);
            }
            recorder.pause(at, Pause::Going, solver)?;
            let Some(step) = next_step(solver, frame, at.step + 1, frame_end_s, recorder)? else {
                recorder.pause(at, Pause::Stopping, solver)?;
                return Ok(RunEnd::Interrupted);
            };
            at.step = step.step;
            recorder.step(&step, solver)?;
            progress.step(&Status::new(plan, &step, &eta));
        }
        solver.fetch().map_err(|source| RunError::Device { frame, time_s: solver.time_s(), source })?;
        recorder.frame(frame, solver)?;
        at.frame = frame;
        eta.frame_done(frame);
        progress.frame(frame);
    }
    recorder.pause(at, Pause::Done, solver)?;
    Ok(RunEnd::Done)
}

/// Takes one step towards the end of a frame; `None` where it was given up on request.
pub fn next_step(
    solver: &mut dyn Solver,
    frame: u32,
    step: u64,
    frame_end_s: f64,
    recorder: &mut dyn Recorder,
) -> Result<Option<StepRecord>, RunError> {
    let dt = clip_to_frame(solver, frame, frame_end_s, recorder)?;
    step_with_retries(solver, frame, step, dt, recorder)
}

fn initial_record(solver: &dyn Solver) -> StepRecord {
    let report = solver.initial_report();
    StepRecord { frame: 0, step: 0, time_s: solver.time_s(), dt_s: 0.0, limiter: None, retries: 0, report }
}

/// Has the frame's end been reached, up to the rounding of summed step lengths?
pub fn reached(time_s: f64, frame_end_s: f64) -> bool {
    time_s >= frame_end_s * (1.0 - 1e-12) - 1e-12
}

/// Divides what remains of the frame, or the time to where a motion changes its velocity, into equal steps no longer
/// than suggested, so that this moment is hit exactly and no step is a sliver.
fn clip_to_frame(
    solver: &dyn Solver,
    frame: u32,
    frame_end_s: f64,
    recorder: &mut dyn Recorder,
) -> Result<SuggestedDt, RunError> {
    let (suggested, time_s) = (solver.suggest_dt(), solver.time_s());
    if suggested.dt_s.is_nan() || suggested.dt_s < 0.0 {
        let what = format!("suggests a step of {} s", suggested.dt_s);
        return Err(RunError::Promise { frame, time_s, method: solver.method(), what });
    }
    let remaining_s = frame_end_s.min(suggested.ends_at_s) - time_s;
    // The small slack keeps 5.0000001 steps from becoming 6.
    let steps = (remaining_s / suggested.dt_s - 1e-6).ceil().max(1.0);
    if suggested.dt_s == 0.0 || steps > MAX_STEPS_PER_FRAME {
        let snapshot = recorder.failed(solver);
        return Err(RunError::BadStep { frame, time_s, dt_s: suggested.dt_s, snapshot });
    }
    let limiter = if steps == 1.0 { DtLimiter::Frame } else { suggested.limiter };
    Ok(SuggestedDt { dt_s: remaining_s / steps, limiter, ..suggested })
}

/// Takes the step, at half its length after each failure; `None` where it was given up on request.
fn step_with_retries(
    solver: &mut dyn Solver,
    frame: u32,
    step: u64,
    dt: SuggestedDt,
    recorder: &mut dyn Recorder,
) -> Result<Option<StepRecord>, RunError> {
    let SuggestedDt { mut dt_s, mut limiter, .. } = dt;
    let time_s = solver.time_s();
    for retries in 0.. {
        match solver.step(dt_s) {
            Ok(report) => {
                if let Some(what) = broken_promise(&report, solver.time_s() - time_s, dt_s) {
                    return Err(RunError::Promise { frame, time_s, method: solver.method(), what });
                }
                return Ok(Some(StepRecord {
                    frame,
                    step,
                    time_s: solver.time_s(),
                    dt_s,
                    limiter: Some(limiter),
                    retries,
                    report,
                }));
            }
            Err(StepError::Stopped) => return Ok(None),
            // The surface before the step lies on the device that has failed.
            Err(source @ StepError::Device(_)) => return Err(RunError::Device { frame, time_s, source }),
            Err(source) if retries == MAX_RETRIES => {
                let snapshot = recorder.failed(solver);
                return Err(RunError::Step { frame, time_s, dt_s, tries: retries + 1, source, snapshot });
            }
            Err(error) => {
                tracing::warn!(
                    "frame {frame}, t = {time_s:.6} s: {error}; trying again with dt = {:.3e} s",
                    0.5 * dt_s
                );
                (dt_s, limiter) = (0.5 * dt_s, DtLimiter::Retry);
            }
        }
    }
    unreachable!("the loop ends by success or by the last retry")
}

/// What a step did that no step may: advance by another time than asked for, or report numbers that are none.
fn broken_promise(report: &StepReport, advanced_s: f64, dt_s: f64) -> Option<String> {
    // Sums of step lengths round; a run of a day has times of 1e5 s.
    if (advanced_s - dt_s).abs() > 1e-6 * dt_s + 1e-9 {
        return Some(format!("advanced by {advanced_s:e} s where {dt_s:e} s were asked for"));
    }
    let numbers = [
        ("liquid_volume_m3", report.liquid_volume_m3),
        ("kinetic_energy_j", report.kinetic_energy_j),
        ("potential_energy_j", report.potential_energy_j),
        ("max_speed_m_s", report.max_speed_m_s),
    ];
    let bad = numbers.into_iter().find(|(_, value)| !value.is_finite());
    bad.map(|(name, value)| format!("reports {name} = {value} after a step that it says succeeded"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::toy::FallingBlock;

    #[derive(Default)]
    struct Notes {
        frames: Vec<(u32, f64)>,
        steps: Vec<StepRecord>,
        snapshots: usize,
    }

    impl Recorder for Notes {
        fn step(&mut self, step: &StepRecord, _: &dyn Solver) -> Result<(), OutputError> {
            self.steps.push(step.clone());
            Ok(())
        }
        fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<(), OutputError> {
            self.frames.push((frame, solver.time_s()));
            Ok(())
        }
        fn failed(&mut self, _: &dyn Solver) -> Option<PathBuf> {
            self.snapshots += 1;
            Some("surface.failed.ply".into())
        }
    }

    const PLAN: FramePlan = FramePlan { frames: 7, fps: 24.0 };

    fn run_block(block: &mut FallingBlock, stop: &AtomicBool) -> (Result<RunEnd, RunError>, Notes) {
        let mut notes = Notes::default();
        let end = run(block, PLAN, &mut notes, &mut Silent, stop);
        (end, notes)
    }

    #[test]
    fn frames_are_hit_exactly_with_even_steps() {
        let mut block = FallingBlock::new(1.0 / 24.0 / 3.3);
        let (end, notes) = run_block(&mut block, &AtomicBool::new(false));
        assert_eq!(end.unwrap(), RunEnd::Done);
        assert_eq!(notes.frames.len(), 8);
        for (frame, time_s) in notes.frames {
            assert!((time_s - f64::from(frame) / 24.0).abs() < 1e-12, "frame {frame} at {time_s}");
        }
        let dts: Vec<f64> = notes.steps.iter().skip(1).map(|s| s.dt_s).collect();
        assert_eq!(dts.len(), 7 * 4);
        assert!(dts.iter().all(|dt| (dt * 24.0 * 4.0 - 1.0).abs() < 1e-9), "{dts:?}");
        // The last step of a frame ends with it, the others are limited by the solver.
        let limiters: Vec<_> = notes.steps[1..5].iter().map(|s| s.limiter.unwrap()).collect();
        assert_eq!(limiters, [DtLimiter::Cfl, DtLimiter::Cfl, DtLimiter::Cfl, DtLimiter::Frame]);
        // Symplectic Euler's exact position after n equal steps: y0 - g dt^2 n (n + 1) / 2.
        let (n, dt) = (28.0, 1.0 / 96.0);
        let expected = FallingBlock::START_Y - 9.81 * dt * dt * n * (n + 1.0) / 2.0;
        assert!((block.y - expected).abs() < 1e-12);
    }

    #[test]
    fn an_unlimited_step_takes_the_whole_frame() {
        let (_, notes) = run_block(&mut FallingBlock::new(f64::INFINITY), &AtomicBool::new(false));
        assert_eq!(notes.steps.len(), 8);
        assert!(notes.steps[1..].iter().all(|s| s.limiter == Some(DtLimiter::Frame)));
    }

    #[test]
    fn a_failed_step_is_redone_at_half_its_length_and_the_frame_is_still_hit() {
        let mut block = FallingBlock::new(1.0 / 24.0);
        block.longest_good_dt_s = 0.012;
        let (end, notes) = run_block(&mut block, &AtomicBool::new(false));
        assert_eq!(end.unwrap(), RunEnd::Done);
        assert!(notes.steps[1..].iter().all(|s| s.dt_s <= 0.012));
        assert_eq!((notes.steps[1].retries, notes.steps[1].limiter), (2, Some(DtLimiter::Retry)));
        assert!((notes.frames[7].1 - 7.0 / 24.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_that_never_succeeds_ends_the_run_with_a_snapshot() {
        let mut block = FallingBlock::new(1.0 / 24.0);
        block.longest_good_dt_s = 0.0;
        let (end, notes) = run_block(&mut block, &AtomicBool::new(false));
        let message = end.unwrap_err().to_string();
        assert!(
            message.contains("frame 1")
                && message.contains("7 times")
                && message.contains("surface.failed.ply"),
            "{message}"
        );
        assert_eq!((notes.snapshots, notes.frames.len(), block.tries), (1, 1, 7));
    }

    #[test]
    fn a_bad_suggestion_is_an_error_not_an_endless_loop() {
        for dt_s in [0.0, 1e-300] {
            let (end, _) = run_block(&mut FallingBlock::new(dt_s), &AtomicBool::new(false));
            assert!(matches!(end, Err(RunError::BadStep { frame: 1, .. })), "{dt_s}: {end:?}");
        }
        for dt_s in [-1.0, f64::NAN] {
            let (end, _) = run_block(&mut FallingBlock::new(dt_s), &AtomicBool::new(false));
            let message = end.unwrap_err().to_string();
            assert!(message.contains("`falling-block` suggests a step of"), "{message}");
        }
    }

    /// A step that says that it succeeded and did not advance, advanced too far, or lost its numbers ends the run.
    #[test]
    fn a_broken_promise_is_an_error_not_an_endless_loop() {
        for (advances, volume_m3, said) in [
            (0.0, 1.0, "advanced by 0e0 s"),
            (2.0, 1.0, "advanced by"),
            (1.0, f64::NAN, "reports liquid_volume_m3 = NaN"),
        ] {
            let mut block = FallingBlock::new(0.01);
            (block.advances, block.volume_m3) = (advances, volume_m3);
            let (end, notes) = run_block(&mut block, &AtomicBool::new(false));
            let message = end.unwrap_err().to_string();
            assert!(message.contains(said) && message.contains("defect of the method"), "{message}");
            assert_eq!(notes.steps.len(), 1, "only the initial state is recorded");
        }
    }

    #[test]
    fn a_step_given_up_on_request_ends_the_run_where_it_was() {
        let mut block = FallingBlock::new(0.01);
        block.gives_up_at_try = Some(7);
        let (end, notes) = run_block(&mut block, &AtomicBool::new(false));
        assert_eq!(end.unwrap(), RunEnd::Interrupted);
        assert_eq!((notes.steps.len(), notes.snapshots), (7, 0), "the initial state and six steps");
    }

    #[test]
    fn a_stop_request_ends_the_run_between_steps() {
        let (end, notes) = run_block(&mut FallingBlock::new(0.01), &AtomicBool::new(true));
        assert_eq!(end.unwrap(), RunEnd::Interrupted);
        assert_eq!((notes.frames.len(), notes.steps.len()), (1, 1));
    }
}
