//! Bodies, see [`fluvial_solver_interface::BodyStep`].

use crate::UniformSolver;
use crate::state::Work;
use fluvial_mac::Impulse;
use fluvial_solver_interface::{BodyReport, LastOnGrid, ProjectedOnGrid, StepMomentum, StepTimes};
use std::sync::Arc;

impl UniformSolver {
    /// Moves the bodies, and tells the set-up's solids where they are at both ends of the step.
    pub(crate) fn move_bodies(&mut self, dt_s: f64) {
        let times = StepTimes { from_s: self.state.time_s, dt_s, last_dt_s: self.state.pushed_s };
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
        self.state.bodies.as_ref().map_or_else(Vec::new, |bodies| bodies.reports(self.state.pushed_s))
    }

    /// What the last step did to momentum, from what it has left in its arrays; `None` before any step.
    pub(crate) fn last_momentum(&self) -> Option<StepMomentum> {
        let (state, work, grid) = (&self.state, &self.work, &self.grid);
        if state.steps == 0 || work.u_without_push[0].is_empty() {
            return None;
        }
        let (fields, seen) = (&state.fields, &work.parting);
        let mut u_before = work.u_without_push.clone();
        self.push_on_surface(&mut u_before, &fields.phi_cell, &state.boundaries, &work.unknowns);
        let step = ProjectedOnGrid {
            openings: &state.boundaries.openings(&work.cover, grid),
            solids: &state.boundaries.solids.fields,
            impulse: Impulse {
                q_cell: &fields.impulse_cell,
                phi_cell: &seen.phi_cell,
                unknown_cell: &seen.unknowns.unknown_cell,
            },
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
