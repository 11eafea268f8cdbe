//! Particles in a flow that is given instead of computed.

use crate::SheetsSolver;
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_indexed_mut2;
use fluvial_solver_interface::{Flow, StepError};

impl SheetsSolver {
    /// Carries all particles through a given flow, which is then theirs and the grid's velocity.
    pub(crate) fn carry_along(&mut self, flow: Flow, dt_s: f64) -> Result<(), StepError> {
        let (begin_s, end_s) = (self.state.time_s, self.state.time_s + dt_s);
        let (grid, work) = (self.grid, &mut self.work);
        let particles = &mut work.population.particles;
        let bounds = grid.bounds();
        for_each_indexed_mut2(&mut particles.x, &mut particles.v, |_, x, v| {
            *x = flow.carry(*x, begin_s, dt_s).clamp(bounds.min, bounds.max);
            *v = flow.velocity(*x, end_s);
        });
        if particles.x.iter().any(|x| !x.is_finite()) {
            return Err(StepError::NotFinite { field: "positions", stage: "advect" });
        }
        work.population.grow_older(dt_s as f32);
        for axis in AXES {
            let lattice = grid.faces(axis);
            lattice.for_each_mut(&mut work.fields.u_face[axis], |_, [i, j, k], u| {
                *u = flow.velocity(lattice.position(i, j, k), end_s)[axis];
            });
            work.velocity.valid_face[axis].fill(1);
        }
        work.fields.impulse_cell.fill(0.0);
        Ok(())
    }
}
