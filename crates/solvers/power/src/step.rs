//! One step:
//!
//! 1. the band is carried through the flow of the old tree; sources add, sinks and open walls take [power §5],
//! 2. it is made a distance again, and pages far from the surface are given back,
//! 3. the next tree is built around it, and leaves take their distances from it,
//! 4. velocity is carried from tree to tree, and gravity acts,
//! 5. pressure makes velocity divergence-free on the power faces [power §4],
//! 6. velocity is extended beyond the liquid, for the next step's back-traces [power §5].

use crate::PowerSolver;
use crate::pressure::extend_velocity;
use crate::state::Step;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(solver: &mut PowerSolver, dt_s: f64) -> Result<StepReport, StepError> {
    let PowerSolver { model, state, asked_to_stop } = solver;
    model.setup.check_step(dt_s, state.limiting_speed_m_s)?;
    let (step, mut stages) = (Step { model, old: state, dt_s }, Stages::new(asked_to_stop.clone()));
    let (mut band, exchange) = stages.try_run("advect_surface", |_| step.carry_surface())?;
    stages.run("redistance", |_| {
        band.redistance();
        band.release_far_pages();
    })?;
    let mut tree = stages.try_run("adapt", |_| step.next_tree(&band))?;
    stages.run("level_set", |_| step.leaf_distances(&mut tree, &band))?;
    let booked =
        stages.run("settle_volume", |clamps| step.settle_volume(&mut tree, &mut band, exchange, clamps))?;
    stages.run("advect_velocity", |_| step.carry_velocity(&mut tree))?;
    let solved = stages.try_run("pressure", |clamps| step.project(&mut tree, clamps))?;
    stages.run("extrapolate", |_| extend_velocity(&mut tree, &step.closed()))?;
    let (next, report) = stages.try_run("measure", |_| step.measure(tree, band, booked, solved))?;
    Ok(stages.commit("commit", report, |_| *state = next))
}
