//! One step:
//!
//! 1. the band is carried through the flow of the old tree; sources add, sinks and open walls take [power §5],
//! 2. it is made a distance again, and pages far from the surface are given back,
//! 3. the next tree is built around it, and leaves take their distances from it,
//! 4. velocity is carried from tree to tree, and gravity acts,
//! 5. pressure makes velocity divergence-free on the power faces [power §4],
//! 6. velocity is extended beyond the liquid, for the next step's back-traces [power §5].
//!
//! Forces that act on the surface after it was carried make gravity waves a leapfrog scheme (`Centring`).

use crate::PowerSolver;
use crate::pressure::extend_velocity;
use crate::state::Step;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(solver: &mut PowerSolver, dt_s: f64) -> Result<StepReport, StepError> {
    let PowerSolver { model, state, asked_to_stop } = solver;
    model.setup.check_step(dt_s, state.limiting_speed_m_s)?;
    let mut stages = Stages::new(asked_to_stop.clone());
    let step = stages.run("forces", |clamps| Step::new(model, state, dt_s, clamps))?;
    let (mut band, exchange) = stages.try_run("advect_surface", |_| step.carry_surface())?;
    stages.run("redistance", |_| band.redistance())?;
    let owed = stages.run("carry_volume", |_| step.carry_volume(&band))?;
    stages.run("redistance", |_| band.release_far_pages(model.shape.dx, |x| step.old.tree.phi(x) < 0.0))?;
    let mut tree = stages.try_run("adapt", |_| step.next_tree(&band))?;
    stages.run("level_set", |_| step.leaf_distances(&mut tree, &band))?;
    let pushed = stages.run("sources", |_| step.pushed_in(&tree))?;
    let settled = stages.run("settle_volume", |clamps| {
        step.settle_volume(&mut tree, &mut band, (owed, exchange, &pushed), clamps)
    })?;
    stages.run("advect_velocity", |_| step.carry_velocity(&mut tree))?;
    stages.run("forces", |_| step.absorb_momentum(&mut tree, &settled.arrived, &settled.held.content_m3))?;
    let solved = stages.try_run("pressure", |clamps| step.project(&mut tree, (&pushed, &settled), clamps))?;
    stages.run("extrapolate", |_| extend_velocity(&mut tree, &step.closed()))?;
    let (next, report) = stages.try_run("measure", |_| step.measure(tree, band, settled, solved))?;
    Ok(stages.commit("commit", report, |_| *state = next))
}
