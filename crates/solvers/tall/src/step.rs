//! One step: Algorithm 1 of the paper, line by line, with solids, sources and volume between its lines.

use crate::TallSolver;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(s: &mut TallSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.state.limiting_speed_m_s)?;
    let mut stages = Stages::new(s.asked_to_stop.clone());
    stages.run("bodies", |clamps| s.move_bodies(dt_s, clamps))?;
    stages.run("solids", |_| s.move_solids(dt_s))?;
    // 1: velocity extrapolation.
    stages.run("extrapolate", |_| s.extrapolate())?;
    // 2: level set reinitialisation.
    stages.run("redistance", |_| s.reinitialise())?;
    // 3: advection and external force integration.
    stages.run("advect", |_| s.advect(dt_s))?;
    stages.run("sources", |_| s.apply_sources_and_sinks(dt_s))?;
    stages.run("settle_volume", |clamps| s.settle_volume(dt_s, clamps))?;
    // 4: remeshing.
    stages.run("remesh", |_| s.remesh(dt_s))?;
    // 5: incompressibility enforcement.
    let pressure = stages.run("pressure", |clamps| s.project(dt_s, clamps))?;
    let has_spray = s.state.spray.is_some();
    stages.run_if(has_spray, "spray", |_| s.move_spray(dt_s))?;
    let report = stages.try_run("measure", |_| s.measure(pressure))?;
    Ok(stages.commit("commit", report, |_| s.commit(dt_s)))
}
