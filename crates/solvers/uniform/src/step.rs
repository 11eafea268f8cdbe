//! One step, in the order of the equations:
//!
//! 1. solids and sources take their places at the end of the step,
//! 2. the surface is carried along u^n and made a distance again:  phi^{n+1} = phi^n(x - u dt),
//! 3. velocity is carried along itself:                             u* = u^n(x - u dt),
//! 4. forces act:                                                   u** = u* + dt g + dt [F grad](sigma kappa) / rho,
//! 5. pressure makes it divergence-free:                            u^{n+1} = u** - dt grad p / rho,
//! 6. velocity is extended past the surface, for the next step's back-traces,
//! 7. particles take up the new velocity and the band is refilled.
//!
//! Surface first and forces on the new surface make gravity waves a symplectic Euler scheme: no damping of
//! its own.

use crate::UniformSolver;
use fluvial_foundation::StageTimers;
use fluvial_solver_interface::{Clamps, StepError, StepReport};

pub(crate) fn step(s: &mut UniformSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.limiting_speed_m_s)?;
    let mut timers = StageTimers::default();
    let mut clamps = Clamps::default();
    let outcome = (|| {
        timers.stage("sources", || s.apply_sources_and_sinks());
        timers.stage("solids", || s.place_boundaries(dt_s));
        go_on(s)?;
        timers.stage("advect_surface", || s.advect_surface(dt_s, &mut clamps));
        go_on(s)?;
        timers.stage("redistance", || s.redistance());
        go_on(s)?;
        timers.stage("volume_control", || s.control_volume(dt_s, &mut clamps));
        timers.stage("advect_velocity", || s.advect_velocity(dt_s));
        go_on(s)?;
        timers.stage("forces", || s.apply_forces(dt_s, &mut clamps));
        let pressure = timers.stage("pressure", || s.project(dt_s, &mut clamps))?;
        go_on(s)?;
        timers.stage("extrapolate", || s.extrapolate_velocity());
        let mut report = timers.stage("measure", || s.measure(pressure))?;
        // Last, when nothing can fail any more: the old particles make room for the new ones.
        timers.stage("particles", || s.update_particles());
        report.particles = s.state.particles.len();
        Ok(report)
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

/// Nothing of a step stays in the state before its last stage (sources and sinks can be undone): until then it may be given
/// up.
fn go_on(s: &UniformSolver) -> Result<(), StepError> {
    if s.asked_to_stop.as_ref().is_some_and(|asked| asked()) { Err(StepError::Stopped) } else { Ok(()) }
}
