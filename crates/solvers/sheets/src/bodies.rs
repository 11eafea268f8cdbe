//! Bodies, see [`fluvial_solver_interface::BodyStep`].

use crate::SheetsSolver;
use crate::state::Work;
use fluvial_mac::Impulse;
use fluvial_solver_interface::{BodyReport, LastOnGrid, ProjectedOnGrid, StepMomentum, StepTimes};
use std::sync::Arc;

impl SheetsSolver {
    /// Moves the bodies, and tells the set-up's solids where they are at both ends of the step.
    pub(crate) fn move_bodies(&mut self, dt_s: f64) {
        let times = StepTimes { from_s: self.state.time_s, dt_s, last_dt_s: self.state.last_dt_s };
        self.work.bodies.advance(self.state.bodies.as_ref(), &mut self.setup, times);
    }

    /// Puts the set-up's solids where the state's bodies are.
    pub(crate) fn place_bodies_of_state(&mut self) {
        if let Some(bodies) = &self.state.bodies {
            bodies.place(&mut self.setup, self.state.time_s);
        }
    }

    /// The bodies' velocities before the pressure acts, and their term of the projection.
    pub(crate) fn couple_bodies(&mut self, dt_s: f64) {
        let Work { bodies, boundaries, cover, unknowns, .. } = &mut self.work;
        let (openings, fields) = (boundaries.openings(cover, &self.grid), &boundaries.solids.fields);
        bodies.couple_on_grid(&self.setup, &openings, fields, &unknowns.unknown_cell, dt_s);
    }

    /// What the pressure has given the bodies, and the velocity that solids have with it.
    pub(crate) fn push_bodies(&mut self, dt_s: f64) {
        let Work { bodies, fields, boundaries, .. } = &mut self.work;
        if !bodies.is_empty() {
            let solids = &mut Arc::make_mut(&mut boundaries.solids).fields;
            bodies.push_on_grid(&mut self.setup, solids, &fields.impulse_cell, self.state.time_s, dt_s);
        }
    }

    /// Where the bodies are, how they move and what the water does to them.
    pub(crate) fn body_reports(&self) -> Vec<BodyReport> {
        self.state.bodies.as_ref().map_or_else(Vec::new, |bodies| bodies.reports(self.state.last_dt_s))
    }

    /// What the last step did to momentum, from what it has left in its arrays; `None` before any step, without
    /// bodies, and with surface tension, whose push is not kept.
    pub(crate) fn last_momentum(&self) -> Option<StepMomentum> {
        let (state, work, grid) = (&self.state, &self.work, &self.grid);
        let liquid = self.setup.liquid;
        if state.bodies.is_none() || liquid.surface_tension > 0.0 || work.u_without_push[0].is_empty() {
            return None;
        }
        let (fields, seen) = (&state.fields, &work.parting);
        let step = ProjectedOnGrid {
            openings: &state.boundaries.openings(&work.cover, grid),
            solids: &state.boundaries.solids.fields,
            impulse: Impulse {
                q_cell: &fields.impulse_cell,
                phi_cell: &seen.phi_cell,
                unknown_cell: &seen.unknowns.unknown_cell,
            },
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
