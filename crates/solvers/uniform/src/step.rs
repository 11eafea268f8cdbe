//! One step, in the order of the equations:
//!
//! 1. bodies move, solids and sources take their places at the end of the step,
//! 2. the surface is carried along u^n, sources and sinks change it, and it is made a distance again:
//!    phi^{n+1} = phi^n(x - u dt),
//! 3. velocity is carried along itself:                             u* = u^n(x - u dt),
//! 4. rough walls pull, and forces act:                                                   u** = u* + dt g + dt [F grad](sigma
//!    kappa) / rho,
//! 5. pressure makes it divergence-free and moves the bodies in it: u^{n+1} = u** - dt grad p / rho,
//! 6. velocity is extended past the surface, for the next step's back-traces,
//! 7. particles receive the new velocity and the band below the surface is refilled.
//!
//! Surface first and forces on the new surface make gravity waves a leapfrog scheme: no damping of its own. For dt in
//! points 4 and 5 see `Centring`.

use crate::UniformSolver;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(s: &mut UniformSolver, dt_s: f64) -> Result<StepReport, StepError> {
    s.setup.check_step(dt_s, s.state.limiting_speed_m_s)?;
    let mut stages = Stages::new(s.asked_to_stop.clone());
    stages.run("bodies", |clamps| {
        s.work.centring = s.centring(dt_s, clamps);
        s.work.bodies.advance(s.state.bodies.as_ref(), &mut s.setup, s.state.times(dt_s))
    })?;
    stages.run("solids", |_| s.place_boundaries(dt_s))?;
    stages.run("advect_surface", |clamps| s.advect_surface(dt_s, clamps))?;
    stages.run("sources", |_| s.apply_sources_and_sinks(dt_s))?;
    stages.run("settle_volume", |clamps| s.settle_volume(clamps))?;
    stages.run("redistance", |_| s.redistance())?;
    stages.run("volume_control", |clamps| match s.params.has_particles() {
        true => s.control_mass(dt_s, clamps),
        false => s.control_volume(dt_s),
    })?;
    stages.run("advect_velocity", |clamps| s.advect_velocity(dt_s, clamps))?;
    stages.run_if(s.setup.has_friction(), "friction", |_| s.rub(dt_s))?;
    stages.run("tension", |clamps| s.find_surface_pressure(clamps))?;
    stages.run("forces", |_| s.apply_forces())?;
    stages.run("crowding", |clamps| s.fill_spreading(dt_s, clamps))?;
    let pressure = stages.try_run("pressure", |clamps| s.project(dt_s, clamps))?;
    stages.run("extrapolate", |_| s.extrapolate_velocity())?;
    let report = stages.try_run("measure", |_| s.measure(pressure))?;
    // The old particles make room for the new ones, which cannot fail.
    Ok(stages.commit("particles", report, |report| s.commit(dt_s, report)))
}
