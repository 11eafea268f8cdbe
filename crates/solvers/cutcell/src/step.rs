//! One step [cutcell §3]: cut, gather, press, carry.

use crate::CutCellSolver;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(s: &mut CutCellSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.state.limiting_speed_m_s)?;
    let mut stages = Stages::new(s.asked_to_stop.clone());
    stages.run("sources", |_| s.open_sources_and_sinks(dt_s))?;
    stages.run("cut", |clamps| s.cut(clamps))?;
    stages.run("iso_distances", |clamps| s.find_iso_distances(clamps))?;
    stages.run("transfer", |_| s.gather(dt_s))?;
    stages.try_run("tension", |clamps| s.find_tension(dt_s, clamps))?;
    let pressure = stages.try_run("pressure", |clamps| s.project(dt_s, clamps))?;
    stages.try_run("velocity", |clamps| s.find_velocity(dt_s, clamps))?;
    stages.run("particles", |clamps| {
        s.update_particles(dt_s);
        clamps.add("wall_contact", s.stop_at_walls(dt_s));
    })?;
    stages.run("advect", |clamps| s.advect(dt_s, clamps))?;
    stages.run("inflow", |_| s.fill_sources(dt_s))?;
    stages.run("redistance", |_| s.redistance())?;
    stages.run("drops", |clamps| s.add_drops(clamps))?;
    let report = stages.try_run("measure", |_| s.measure(pressure))?;
    Ok(stages.commit("commit", report, |_| s.commit(dt_s)))
}
