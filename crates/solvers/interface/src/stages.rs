//! The shell of a step: it times the stages, counts what they hold back, asks whether to stop, and commits.
//!
//! One protocol holds for all solvers. A step reads the state and writes what comes next elsewhere; nothing
//! of the state changes before [`Stages::commit`]. A step that fails or is given up therefore leaves no
//! trace.

use crate::{StepError, StepReport, StopQuestion};
use fluvial_foundation::StageTimers;

/// Everything that a step held back, by name.
#[derive(Debug, Default)]
pub struct Clamps {
    rows: Vec<(&'static str, usize)>,
}

impl Clamps {
    /// Adds to the count of a clamp or floor.
    pub fn add(&mut self, name: &'static str, count: usize) {
        match self.rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, so_far)) => *so_far += count,
            None if count > 0 => self.rows.push((name, count)),
            None => {}
        }
    }

    /// The clamps that acted, with their counts.
    pub fn rows(&self) -> &[(&'static str, usize)] {
        &self.rows
    }
}

/// A step under way.
pub struct Stages {
    timers: StageTimers,
    clamps: Clamps,
    stop: Option<StopQuestion>,
}

impl Stages {
    /// Begins a step that asks `stop` before every stage.
    pub fn new(stop: Option<StopQuestion>) -> Self {
        Stages { timers: StageTimers::default(), clamps: Clamps::default(), stop }
    }

    /// Runs a stage under its name; the stage may count what it holds back.
    pub fn run<T>(
        &mut self,
        name: &'static str,
        stage: impl FnOnce(&mut Clamps) -> T,
    ) -> Result<T, StepError> {
        self.ask()?;
        Ok(self.timers.stage(name, || stage(&mut self.clamps)))
    }

    /// As [`Self::run`], for a stage that only some scenes have.
    pub fn run_if(
        &mut self,
        is_wanted: bool,
        name: &'static str,
        stage: impl FnOnce(&mut Clamps),
    ) -> Result<(), StepError> {
        if is_wanted { self.run(name, stage) } else { Ok(()) }
    }

    /// Asks whether the step is to be given up, as before every stage.
    pub fn ask(&self) -> Result<(), StepError> {
        match self.stop.as_ref().is_some_and(|asked| asked()) {
            true => Err(StepError::Stopped),
            false => Ok(()),
        }
    }

    /// As [`Self::run`], for a stage that can fail.
    pub fn try_run<T>(
        &mut self,
        name: &'static str,
        stage: impl FnOnce(&mut Clamps) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        self.run(name, stage)?
    }

    /// Adds time that a device has measured to a stage.
    pub fn add_time(&mut self, name: &'static str, seconds: f64) {
        self.timers.add(name, seconds);
    }

    /// Ends a step that can no longer fail: `commit` makes what it computed the state, under the name of a
    /// stage. Returns the report with the times and clamps of all stages.
    pub fn commit(
        mut self,
        name: &'static str,
        mut report: StepReport,
        commit: impl FnOnce(&mut StepReport),
    ) -> StepReport {
        self.timers.stage(name, || commit(&mut report));
        report.clamps = self.clamps.rows;
        report.stages_s = self.timers;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn a_report_has_the_stages_in_order_and_clamps_of_one_name_together() {
        let mut stages = Stages::new(None);
        assert_eq!(stages.run("advect", |clamps| clamps.add("held", 2)).unwrap(), ());
        assert_eq!(
            stages
                .try_run("pressure", |clamps| {
                    clamps.add("floor", 0);
                    Ok(7)
                })
                .unwrap(),
            7
        );
        stages.run("advect", |clamps| clamps.add("held", 3)).unwrap();
        let report = stages.commit("commit", StepReport::default(), |report| report.cells = 5);
        assert_eq!((report.cells, report.clamps), (5, vec![("held", 5)]));
        let names: Vec<_> = report.stages_s.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["advect", "pressure", "commit"]);
    }

    #[test]
    fn the_stop_is_asked_before_every_stage_and_nothing_runs_after_it() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let mut stages = Stages::new(Some(Arc::new(move || counter.fetch_add(1, Relaxed) == 1)));
        stages.run("first", |_| ()).unwrap();
        let second = stages.run("second", |_| panic!("the step was given up"));
        assert!(matches!(second, Err(StepError::Stopped)));
        assert_eq!(asked.load(Relaxed), 2);
    }
}
