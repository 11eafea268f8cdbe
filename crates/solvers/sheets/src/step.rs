//! One step, in the order of the paper's boxes:
//!
//! - particles are spaced evenly:                 x += dp,  u = u(x + dp)                      [Alg. 4]
//! - sheets are filled and thick ones thinned out: insert by eq. 12-14, collapse by eq. 15      [Alg. 2]
//! - deep particles merge, surfacing ones split                                                [Alg. 3]
//! - 1: u* = particles moved along g_t
//! - 2: g* = the particles' velocities on the grid, eq. 1; density and shape of every particle, eq. 2, 8-11
//! -    forces act on g*
//! - 3: g_{t+1} = Project(g*, phi_L), phi_L the density deficit of eq. 5
//! - 4: u_{t+1} = alpha (u* + I(g_{t+1} - g*)) + (1 - alpha) I(g_{t+1})                        [Alg. 1]
//!
//! Where the flow is given, particles are carried through it and the rest is left out.
//!
//! Everything happens in the work arrays; the state changes when the step has succeeded.

use crate::SheetsSolver;
use fluvial_foundation::StageTimers;
use fluvial_solver_interface::{Clamps, PressureReport, StepError, StepReport};

pub(crate) fn step(s: &mut SheetsSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.limiting_speed_m_s)?;
    let mut timers = StageTimers::default();
    let mut clamps = Clamps::default();
    let outcome = (|| {
        timers.stage("begin", || s.begin());
        timers.stage("sources", || s.apply_sources_and_sinks());
        timers.stage("solids", || s.place_boundaries(dt_s));
        go_on(s)?;
        timers.stage("position_correction", || s.correct_positions(&mut clamps));
        timers.stage("sheets", || s.preserve_sheets(&mut clamps));
        timers.stage("adaptive_sampling", || s.adapt_sampling());
        go_on(s)?;
        if let Some(flow) = s.setup.flow {
            timers.stage("advect", || s.carry_along(flow, dt_s))?;
            timers.stage("density", || s.measure_particles());
            s.mark_unknowns();
            return timers.stage("measure", || s.measure(dt_s, PressureReport::default()));
        }
        timers.stage("advect", || s.advect_particles(dt_s, &mut clamps))?;
        go_on(s)?;
        timers.stage("density", || s.measure_particles());
        timers.stage("particles_to_grid", || s.particles_to_grid());
        go_on(s)?;
        timers.stage("forces", || s.apply_forces(dt_s, &mut clamps));
        let pressure = timers.stage("pressure", || s.project(dt_s, &mut clamps))?;
        go_on(s)?;
        timers.stage("extrapolate", || s.extrapolate_velocity());
        timers.stage("grid_to_particles", || s.grid_to_particles());
        timers.stage("measure", || s.measure(dt_s, pressure))
    })();
    match outcome {
        Ok(mut report) => {
            s.commit(dt_s);
            report.clamps = clamps.rows().to_vec();
            report.stages_s = timers;
            Ok(report)
        }
        Err(error) => {
            s.roll_back();
            Err(error)
        }
    }
}

/// Nothing of a step is in the state before its end: until then it may be given up.
fn go_on(s: &SheetsSolver) -> Result<(), StepError> {
    if s.asked_to_stop.as_ref().is_some_and(|asked| asked()) { Err(StepError::Stopped) } else { Ok(()) }
}
