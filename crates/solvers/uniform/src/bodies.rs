//! What bodies and liquid exchange, see [`fluvial_solver_interface::BodyStep`].

use crate::UniformSolver;
use fluvial_solver_interface::{LastOnGrid, ProjectedOnGrid, StepMomentum};

impl UniformSolver {
    /// What the last step did to momentum, from what it has left in its arrays; `None` before any step.
    pub(crate) fn last_momentum(&self) -> Option<StepMomentum> {
        let (state, work, grid) = (&self.state, &self.work, &self.grid);
        if state.steps == 0 || work.u_without_push[0].is_empty() {
            return None;
        }
        let fields = &state.fields;
        let mut u_before = work.u_without_push.clone();
        self.push_on_surface(&mut u_before, &fields.phi_cell, &state.boundaries, &work.unknowns);
        let step = ProjectedOnGrid {
            openings: &state.boundaries.openings(&work.cover, grid),
            solids: &state.boundaries.solids.fields,
            impulse: work.parting.impulse(&fields.impulse_cell),
            u_face: [&work.u_without_push, &u_before, &fields.u_face],
        };
        // The step has swapped the last state's arrays for its own.
        let last = LastOnGrid {
            openings: &work.boundaries.openings(&work.cover, grid),
            phi_cell: &work.fields.phi_cell,
            u_face: &work.fields.u_face,
        };
        Some(work.bodies.momentum_on_grid(state.bodies.as_ref(), self.setup.liquid.density, &step, &last))
    }
}
