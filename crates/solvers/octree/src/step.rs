//! One step, in the order of [octree §3.2]:
//!
//! 1. sources and sinks act on the liquid as it begins the step,
//! 2. sizes are evaluated and spread, and the next tree is built for where the surface will be,
//! 3. the surface is carried from the old tree to the new and made a distance again: phi^{n+1} = phi^n(x - u dt),
//! 4. velocity is carried from the old tree to the new:                               u* = u^n(x - u dt),
//! 5. forces act:                                                                     u** = u* + dt g + surface tension,
//! 6. pressure makes it divergence-free:                                              u^{n+1} = u** - dt grad p / rho,
//! 7. velocity is extended over the whole tree, for the next step's back-traces.
//!
//! Surface first and forces on the new surface make gravity waves a symplectic Euler scheme.

use crate::OctreeSolver;
use fluvial_foundation::StageTimers;
use fluvial_solver_interface::{StepError, StepReport};

/// A step in which liquid would cross more domains than this is no step.
const FARTHEST_DOMAINS: f64 = 100.0;

pub(crate) fn step(s: &mut OctreeSolver, dt_s: f64) -> Result<StepReport, StepError> {
    if !(dt_s > 0.0 && dt_s.is_finite()) {
        return Err(StepError::NotFinite { field: "the step's length", stage: "start" });
    }
    let size_m = s.shape.bounds().size().length() as f64;
    let gravity = s.setup.liquid.gravity.length() as f64;
    if s.limits.speed_m_s * dt_s + gravity * dt_s * dt_s > FARTHEST_DOMAINS * size_m {
        return Err(StepError::NotFinite { field: "what liquid crosses in the step", stage: "start" });
    }
    let mut timers = StageTimers::default();
    let mut clamps = Clamps::default();
    timers.stage("sources", || s.begin_with_sources());
    timers.stage("adapt", || s.adapt(dt_s));
    timers.stage("solids", || s.place_boundaries(dt_s));
    go_on(s)?;
    timers.stage("advect_surface", || s.advect_surface(dt_s, &mut clamps));
    go_on(s)?;
    timers.stage("redistance", || s.redistance(&mut clamps));
    go_on(s)?;
    timers.stage("volume_control", || s.control_volume(dt_s, &mut clamps));
    timers.stage("advect_velocity", || s.advect_velocity(dt_s));
    go_on(s)?;
    timers.stage("forces", || s.apply_gravity(dt_s));
    let pressure = timers.stage("pressure", || s.project(dt_s, &mut clamps))?;
    go_on(s)?;
    timers.stage("extrapolate", || s.extrapolate_velocity());
    let mut report = timers.stage("measure", || s.measure(pressure))?;
    s.commit(dt_s);
    report.clamps = clamps.rows;
    report.stages_s = timers;
    Ok(report)
}

/// Nothing of a step is in the state before it is committed: until then it may be given up.
fn go_on(s: &OctreeSolver) -> Result<(), StepError> {
    let stop = s.asked_to_stop.as_ref().is_some_and(|asked| asked());
    if stop { Err(StepError::Stopped) } else { Ok(()) }
}

/// Everything that was held back in a step, by name.
#[derive(Default)]
pub(crate) struct Clamps {
    rows: Vec<(&'static str, usize)>,
}

impl Clamps {
    pub fn add(&mut self, name: &'static str, count: usize) {
        if count > 0 {
            self.rows.push((name, count));
        }
    }
}
