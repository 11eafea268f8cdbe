//! Bodies in the projection, see `fluvial_mac`; how they move is [`fluvial_solver_interface::BodyStep`]'s.

use crate::UniformSolver;
use crate::state::Work;
use fluvial_mac::{AroundBodies, couple_bodies};
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
        if bodies.is_empty() {
            return;
        }
        bodies.look(&self.setup);
        let (openings, fields) = (boundaries.openings(cover, &self.grid), &boundaries.solids.fields);
        let around = AroundBodies {
            openings: &openings,
            solids: fields,
            among_moving: &bodies.among_moving,
            unknown_cell: &unknowns.unknown_cell,
            gravity_m_s: dt_s as f32 * self.setup.liquid.gravity,
            density: f64::from(self.setup.liquid.density),
        };
        couple_bodies(&mut bodies.term, &mut bodies.clinging, &bodies.coupled, &around);
        bodies.release(self.setup.liquid.gravity, dt_s);
        bodies.fill_outflow(self.grid.cell_count());
    }

    /// What the pressure has given the bodies, and the velocity that solids have with it.
    pub(crate) fn push_bodies(&mut self, dt_s: f64) {
        let Work { bodies, fields, boundaries, .. } = &mut self.work;
        if bodies.is_empty() {
            return;
        }
        let cell_kg = f64::from(self.setup.liquid.density) * f64::from(self.grid.dx).powi(3);
        bodies.push(&fields.impulse_cell, cell_kg, self.setup.liquid.gravity, dt_s);
        bodies.tell(&mut self.setup);
        let twists = self.setup.moving_twists(self.state.time_s + dt_s);
        Arc::make_mut(&mut boundaries.solids).fields.set_twists(&self.grid, &twists);
    }

    /// Where the bodies are, how they move and what the water does to them.
    pub(crate) fn body_reports(&self) -> Vec<BodyReport> {
        self.state.bodies.as_ref().map_or_else(Vec::new, |bodies| bodies.reports(self.state.pushed_s))
    }
}
