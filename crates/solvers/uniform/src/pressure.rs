//! The projection, see `fluvial_mac`.

use crate::UniformSolver;
use crate::state::Fields;
use fluvial_foundation::AXES;
use fluvial_mac::{Impulse, first_guess, for_each_face, mark_unknowns, right_side, subtract_gradient};
use fluvial_pressure::PoissonProblem;
use fluvial_solver_interface::{Clamps, PressureReport, StepError};

impl UniformSolver {
    /// Solves for the pressure impulse and subtracts its gradient. The wanted divergence is the one that
    /// corrects the bodies' volumes. Faces without liquid are set to zero, but for those of lone cells,
    /// which fly.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        let (grid, work) = (&self.grid, &mut self.work);
        let Fields { phi_cell, u_face, impulse_cell, residual_cell, .. } = &mut work.fields;
        let (openings, unknown) = (work.boundaries.openings(&work.cover, grid), &work.unknowns.unknown_cell);
        let conserves = self.params.conserves_volume();
        let (volume, open_volume) = (&work.volume, &work.boundaries.solids.fields.open_volume);
        let (mass, residual_cell) = (&work.mass, &*residual_cell);
        let wanted = |cell: usize| {
            if conserves {
                return mass.wanted_m_s(residual_cell[cell], phi_cell[cell], open_volume[cell], grid.dx);
            }
            volume.divergence_1_s(cell) * grid.dx * open_volume[cell]
        };
        right_side(&mut work.rhs_cell, unknown, &openings, u_face, wanted);
        let open_area = AXES.map(|axis| openings.area_face[axis].as_slice());
        let prepared = self.solver.prepare(&PoissonProblem { cells: grid.cells, phi_cell, open_area });
        clamps.add("ghost_theta_floor", prepared.theta_floors);
        first_guess(impulse_cell, &self.state.fields.impulse_cell, self.state.last_dt_s, dt_s);
        let solved = self.solver.solve(impulse_cell, &work.rhs_cell, &self.params.pressure.stopping());
        let info = solved.map_err(|error| StepError::Pressure(error.to_string()))?;
        let impulse = Impulse { q_cell: impulse_cell, phi_cell, unknown_cell: unknown };
        let lone = &work.unknowns.lone_cell;
        subtract_gradient(u_face, &openings, &impulse, |cells, u| {
            if !cells.any(|c| lone[c]) {
                *u = 0.0;
            }
        });
        for axis in AXES {
            let area = &openings.area_face[axis];
            for_each_face(&mut work.valid_face[axis], grid, axis, |face, cells, valid| {
                *valid = (cells.any(|c| unknown[c] || lone[c]) && area[face] > 0.0) as u8;
            });
        }
        Ok(PressureReport { iterations: info.iterations, relative_residual: info.relative_residual })
    }

    /// Marks the cells whose pressure is unknown.
    pub(crate) fn mark_unknowns(&mut self) {
        let work = &mut self.work;
        let openings = work.boundaries.openings(&work.cover, &self.grid);
        mark_unknowns(&mut work.unknowns, &work.fields.phi_cell, &openings);
    }
}
