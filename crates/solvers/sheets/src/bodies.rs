//! What bodies and liquid exchange, see [`fluvial_solver_interface::BodyStep`].

use crate::SheetsSolver;
use fluvial_solver_interface::{LastOnGrid, ProjectedOnGrid, StepMomentum};

impl SheetsSolver {
    /// What the last step did to momentum, from what it has left in its arrays; `None` before any step, without
    /// bodies, and with surface tension, whose push is not kept.
    pub(crate) fn last_momentum(&self) -> Option<StepMomentum> {
        let (state, work, grid) = (&self.state, &self.work, &self.grid);
        let liquid = self.setup.liquid;
        if state.bodies.is_none() || liquid.surface_tension > 0.0 || work.u_without_push[0].is_empty() {
            return None;
        }
        let fields = &state.fields;
        let step = ProjectedOnGrid {
            openings: &state.boundaries.openings(&work.cover, grid),
            solids: &state.boundaries.solids.fields,
            impulse: work.parting.impulse(&fields.impulse_cell),
            u_face: [&work.u_without_push, &work.u_without_push, &fields.u_face],
        };
        let last = LastOnGrid {
            openings: &work.boundaries.openings(&work.cover, grid),
            phi_cell: &work.fields.phi_cell,
            u_face: &work.fields.u_face,
        };
        Some(work.bodies.momentum_on_grid(state.bodies.as_ref(), liquid.density, &step, &last))
    }
}
