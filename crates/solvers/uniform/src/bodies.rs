//! Bodies, see [`fluvial_solver_interface::BodyStep`].

use crate::UniformSolver;
use crate::state::Work;
use fluvial_solver_interface::{BodyReport, StepTimes};
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
}
