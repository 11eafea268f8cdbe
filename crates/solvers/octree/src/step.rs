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
//! Particles, where they are used, are born before 3, move with the surface and correct it, speak up after 4, and take up what forces
//! and pressure did after 7.
//!
//! Surface first and forces on the new surface make gravity waves a symplectic Euler scheme.

use crate::OctreeSolver;
use fluvial_foundation::StageTimers;
use fluvial_solver_interface::{Clamps, StepError, StepReport};

pub(crate) fn step(s: &mut OctreeSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.limits.speed_m_s)?;
    let mut timers = StageTimers::default();
    let mut clamps = Clamps::default();
    timers.stage("sources", || s.begin_with_sources());
    timers.stage("adapt", || s.adapt(dt_s));
    timers.stage("particles", || s.begin_with_particles());
    timers.stage("solids", || s.place_boundaries(dt_s));
    go_on(s)?;
    timers.stage("advect_surface", || s.advect_surface(dt_s, &mut clamps));
    go_on(s)?;
    timers.stage("particles", || s.advect_particles(dt_s, &mut clamps));
    timers.stage("redistance", || s.redistance(&mut clamps));
    go_on(s)?;
    timers.stage("particles", || s.sort_flights());
    timers.stage("volume_control", || s.control_volume(dt_s, &mut clamps));
    timers.stage("advect_velocity", || s.advect_velocity(dt_s));
    timers.stage("particles", || s.particles_to_faces());
    go_on(s)?;
    timers.stage("forces", || s.apply_gravity(dt_s));
    let pressure = timers.stage("pressure", || s.project(dt_s, &mut clamps))?;
    timers.stage("pressure", || s.keep_momentum(dt_s));
    go_on(s)?;
    timers.stage("extrapolate", || s.extrapolate_velocity());
    timers.stage("particles", || s.update_particles(dt_s));
    let mut report = timers.stage("measure", || s.measure(pressure))?;
    s.commit(dt_s);
    report.clamps = clamps.rows().to_vec();
    report.stages_s = timers;
    Ok(report)
}

/// Nothing of a step is in the state before it is committed: until then it may be given up.
fn go_on(s: &OctreeSolver) -> Result<(), StepError> {
    let stop = s.asked_to_stop.as_ref().is_some_and(|asked| asked());
    if stop { Err(StepError::Stopped) } else { Ok(()) }
}
