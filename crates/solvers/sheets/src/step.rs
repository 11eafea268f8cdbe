//! One step, in the order of the paper's boxes; bodies move first, and the projection pushes them:
//!
//! - particles are spaced evenly: `x += dp`, `u = u(x + dp)` [sheets Alg. 4]
//! - sheets are filled by eq. 12 to 14, thick ones are thinned out by eq. 15 [sheets Alg. 2]
//! - deep particles merge, particles that come to the surface split [sheets Alg. 3]
//! - then the liquid moves [sheets Alg. 1]: particles move along g_t; their velocities make g*, eq. 1; density and shape
//!   of every particle are measured, eq. 2, 8 to 11; forces act on g*; `g_{t+1} = Project(g*, phi_L)`, phi_L the
//!   density deficit of eq. 5; and `u_{t+1} = alpha (u* + I(g_{t+1} - g*)) + (1 - alpha) I(g_{t+1})`.
//!
//! Where the flow is given, particles are carried through it and the rest is left out.

use crate::SheetsSolver;
use fluvial_solver_interface::{Flow, PressureReport, Stages, StepError, StepReport};

pub(crate) fn step(s: &mut SheetsSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.state.limiting_speed_m_s)?;
    let mut stages = Stages::new(s.asked_to_stop.clone());
    stages.run("begin", |_| s.begin())?;
    let times = s.state.times(dt_s);
    stages.run("bodies", |_| s.work.bodies.advance(s.state.bodies.as_ref(), &mut s.setup, times))?;
    stages.run("sinks", |_| s.apply_sinks())?;
    stages.run("solids", |_| s.place_boundaries(dt_s))?;
    stages.run("position_correction", |clamps| s.correct_positions(clamps))?;
    stages.run("sheets", |clamps| s.preserve_sheets(clamps))?;
    stages.run("adaptive_sampling", |_| s.adapt_sampling())?;
    let pressure = match s.setup.flow {
        Some(flow) => follow(s, &mut stages, flow, dt_s)?,
        None => advance(s, &mut stages, dt_s)?,
    };
    let report = stages.try_run("measure", |_| s.measure(dt_s, pressure))?;
    Ok(stages.commit("commit", report, |_| s.commit(dt_s)))
}

/// The liquid moves by itself [sheets Alg. 1].
fn advance(s: &mut SheetsSolver, stages: &mut Stages, dt_s: f64) -> Result<PressureReport, StepError> {
    stages.try_run("advect", |clamps| s.advect_particles(dt_s, clamps))?;
    stages.run("density", |_| s.measure_liquid(dt_s))?;
    stages.run("particles_to_grid", |_| s.particles_to_grid())?;
    stages.run_if(s.setup.has_friction(), "friction", |_| s.rub(dt_s))?;
    stages.run("forces", |_| s.apply_gravity(dt_s))?;
    stages.run("tension", |clamps| s.apply_surface_tension(dt_s, clamps))?;
    let pressure = stages.try_run("pressure", |clamps| s.project(dt_s, clamps))?;
    stages.run("extrapolate", |_| s.extrapolate_velocity())?;
    stages.run("grid_to_particles", |_| s.grid_to_particles(dt_s))?;
    Ok(pressure)
}

/// The liquid follows a given flow.
fn follow(
    s: &mut SheetsSolver,
    stages: &mut Stages,
    flow: Flow,
    dt_s: f64,
) -> Result<PressureReport, StepError> {
    stages.try_run("advect", |_| s.carry_along(flow, dt_s))?;
    stages.run("density", |_| s.measure_liquid(dt_s))?;
    Ok(PressureReport::default())
}
