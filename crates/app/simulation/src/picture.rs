//! Preview pictures beside the run, within a fifth of its time; a run of a minute may spend more, for it is looked at.

use fluvial_grids::TriangleMesh;
use fluvial_output::{OutputError, PointCloud};
use fluvial_solver_interface::Solver;
use std::time::Duration;

/// Draws frames as they come and joins them into a film at the end.
pub trait Picture {
    /// Draws a frame of a solver, its surface and its whitewater, or lets the last picture stand in when there is no time; `elapsed` is the run's wall
    /// time so far. Returns whether the frame has a picture.
    fn frame(
        &mut self,
        frame: u32,
        solver: &dyn Solver,
        surface: &TriangleMesh,
        whitewater: Option<&PointCloud>,
        elapsed: Duration,
    ) -> Result<bool, OutputError>;
    /// Joins what was drawn into a film; false where nothing was.
    fn finish(&mut self) -> Result<bool, OutputError>;
    /// What it must remember across a pause of the run.
    fn budget(&self) -> &PictureBudget;
}

/// Share of the run's time planned for pictures; with the film at the end they stay below a fifth.
pub const PICTURE_SHARE: f64 = 0.17;
/// A run of a few seconds gets its pictures too: all of them together may always take this long, seconds.
pub const ALWAYS_ALLOWED_S: f64 = 3.0;
/// In addition, half of what a run takes without them, as long as all of them together take no longer than this, seconds: a
/// third of a run of a minute is pictures.
pub const SHORT_RUN_S: f64 = 30.0;

/// Chooses how well each frame is drawn so that all of them together stay within [`PICTURE_SHARE`] of the
/// run.
///
/// Levels are numbered from the best (0); each costs `falloff` times less than the one before.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PictureBudget {
    frames_left: u32,
    frames_seen: u32,
    drawn_s: f64,
    levels: usize,
    falloff: f64,
    /// Cost of a frame at level 0, as measured on the last drawn frame.
    full_cost_s: Option<f64>,
}

impl PictureBudget {
    /// A budget for `frames` frames (frame 0 not counted).
    pub fn new(frames: u32, levels: usize, falloff: f64) -> Self {
        PictureBudget {
            frames_left: frames + 1,
            frames_seen: 0,
            drawn_s: 0.0,
            levels,
            falloff,
            full_cost_s: None,
        }
    }

    /// The run gets another number of frames; `done` are drawn or left out already, frame 0 not counted.
    pub fn extend(&mut self, frames: u32, done: u32) {
        self.frames_left = frames.saturating_sub(done);
    }

    /// The level for the next frame, or `None` where there is no time for it, `elapsed_s` into the run.
    pub fn choose(&mut self, elapsed_s: f64) -> Option<usize> {
        let (seen, left) = (f64::from(self.frames_seen), f64::from(self.frames_left.max(1)));
        self.frames_seen += 1;
        self.frames_left = self.frames_left.saturating_sub(1);
        let Some(full_cost_s) = self.full_cost_s.filter(|_| seen > 0.0) else {
            return Some(0); // frame 0: nothing is known yet
        };
        let cost_s = |level: usize| full_cost_s / self.falloff.powi(level as i32);
        // The run without pictures, so far and as it would end at its present speed.
        let run_s = (elapsed_s - self.drawn_s).max(0.0);
        let whole_run_s = run_s / seen * (seen + left - 1.0);
        let allowed_s = |run_s: f64| {
            let short_s = (ALWAYS_ALLOWED_S + 0.5 * run_s).min(SHORT_RUN_S);
            (PICTURE_SHARE / (1.0 - PICTURE_SHARE) * run_s).max(short_s)
        };
        let allowance_s = |run_s: f64| allowed_s(run_s) - self.drawn_s;
        let per_frame_s = allowance_s(whole_run_s) / left;
        let all_can_be_drawn = (0..self.levels).find(|&level| cost_s(level) <= per_frame_s);
        // Where there is no time for all frames even at the plainest level, this one is drawn if the run has
        // earned the time for it by now.
        let plainest = self.levels - 1;
        all_can_be_drawn.or((cost_s(plainest) <= allowance_s(run_s)).then_some(plainest))
    }

    /// What drawing the chosen level took.
    pub fn spent(&mut self, level: usize, seconds: f64) {
        self.drawn_s += seconds;
        self.full_cost_s = Some(seconds * self.falloff.powi(level as i32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a run whose frames cost `step_s`; returns (picture time / total, frames drawn, levels used).
    fn play(frames: u32, step_s: f64, full_cost_s: f64) -> (f64, u32, Vec<usize>) {
        let mut budget = PictureBudget::new(frames, 4, 2.0);
        let (mut elapsed, mut pictures, mut drawn, mut levels) = (0.0, 0.0, 0, vec![]);
        for frame in 0..=frames {
            if frame > 0 {
                elapsed += step_s;
            }
            if let Some(level) = budget.choose(elapsed) {
                let cost = full_cost_s / f64::from(1u32 << level);
                (elapsed, pictures, drawn) = (elapsed + cost, pictures + cost, drawn + 1);
                budget.spent(level, cost);
                levels.push(level);
            }
        }
        (pictures / elapsed, drawn, levels)
    }

    #[test]
    fn cheap_pictures_are_all_drawn_at_their_best() {
        let (share, drawn, levels) = play(100, 1.0, 0.1);
        assert!(share < 0.1 && drawn == 101 && levels.iter().all(|&l| l == 0));
    }

    #[test]
    fn a_run_of_a_second_is_drawn_all_the_same() {
        let (_, drawn, _) = play(10, 0.1, 0.4);
        assert_eq!(drawn, 11);
    }

    #[test]
    fn dear_pictures_are_drawn_worse_and_stay_within_their_share() {
        let (share, drawn, levels) = play(100, 10.0, 10.0);
        assert!(share <= PICTURE_SHARE + 1e-4 && share > 0.1, "{share}");
        assert_eq!(drawn, 101);
        assert!(levels.iter().any(|&l| l > 0));
    }

    #[test]
    fn a_run_of_a_minute_is_drawn_well() {
        let (share, drawn, levels) = play(96, 0.4, 0.18);
        assert!(share < 0.35 && drawn == 97 && levels.iter().all(|&l| l == 0), "{share} {drawn} {levels:?}");
    }

    #[test]
    fn pictures_that_cannot_be_afforded_are_left_out() {
        let (share, drawn, _) = play(100, 5.0, 30.0);
        assert!(share <= PICTURE_SHARE + 1e-4, "{share}");
        assert!((20..60).contains(&drawn), "{drawn}");
    }
}
