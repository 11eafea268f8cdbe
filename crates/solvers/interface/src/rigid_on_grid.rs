//! Bodies in the projection of solvers on a uniform grid, see `fluvial_mac`.

use crate::{BodyStep, Setup};
use fluvial_mac::{AroundBodies, Openings, couple_bodies};
use fluvial_solids::SolidFields;

impl BodyStep {
    /// The bodies' velocities before the pressure acts in the cells `unknown_cell`, and their term of the projection.
    pub fn couple_on_grid(
        &mut self,
        setup: &Setup,
        openings: &Openings,
        solids: &SolidFields,
        unknown_cell: &[bool],
        dt_s: f64,
    ) {
        if self.is_empty() {
            return;
        }
        self.look(setup);
        let gravity = setup.liquid.gravity;
        let around = AroundBodies {
            openings,
            solids,
            among_moving: &self.among_moving,
            unknown_cell,
            gravity_m_s: dt_s as f32 * gravity,
            density: f64::from(setup.liquid.density),
        };
        couple_bodies(&mut self.term, &mut self.clinging, &self.coupled, &around);
        self.release(gravity, dt_s);
        self.fill_outflow(unknown_cell.len());
    }

    /// What the pressure's impulse has given the bodies in a step from `time_s` on, and the velocity that solids have with it.
    pub fn push_on_grid(
        &mut self,
        setup: &mut Setup,
        solids: &mut SolidFields,
        impulse_cell: &[f32],
        time_s: f64,
        dt_s: f64,
    ) {
        let grid = setup.domain.grid;
        let cell_kg = f64::from(setup.liquid.density) * f64::from(grid.dx).powi(3);
        self.push(impulse_cell, cell_kg, setup.liquid.gravity, dt_s);
        self.tell(setup);
        solids.set_twists(&grid, &setup.moving_twists(time_s + dt_s));
    }
}
