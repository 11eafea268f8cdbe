//! Wall time by stage. Stage names are the same in timers, log, report and viewer.

use std::time::Instant;

/// Seconds spent per named stage, in order of first use.
#[derive(Clone, Debug, Default)]
pub struct StageTimers {
    stages: Vec<(&'static str, f64)>,
}

impl StageTimers {
    /// Times `body` under `name` and returns its result.
    pub fn stage<T>(&mut self, name: &'static str, body: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = body();
        self.add(name, start.elapsed().as_secs_f64());
        result
    }

    /// Adds seconds to a stage.
    pub fn add(&mut self, name: &'static str, seconds: f64) {
        match self.stages.iter_mut().find(|(n, _)| *n == name) {
            Some((_, s)) => *s += seconds,
            None => self.stages.push((name, seconds)),
        }
    }

    /// Stage names with their seconds.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.stages.iter().copied()
    }

    /// Sets every stage back to nothing.
    pub fn clear(&mut self) {
        self.stages.clear();
    }

    /// Seconds over all stages.
    pub fn total(&self) -> f64 {
        self.stages.iter().map(|(_, s)| s).sum()
    }
}
