//! The projection, see `fluvial_mac`.

use crate::UniformSolver;
use crate::state::{Fields, State, Work};
use fluvial_foundation::AXES;
use fluvial_mac::{
    AtBoundaries, FaceCells, Unknowns, first_guess, follow_solids, for_each_face, keep_gaps, mark_unknowns,
    project,
};
use fluvial_pressure::PoissonProblem;
use fluvial_solver_interface::{Clamps, PressureReport, SetupError, StepError};
use std::sync::Arc;

impl UniformSolver {
    /// Solves for the pressure impulse and subtracts its gradient, until no wall pulls on the liquid. The
    /// wanted divergence is the one that brings back volume or the particles' density. Faces without liquid are set to zero,
    /// but for those of lone cells, which fly, and of cells that have let go.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        let Work { bodies, boundaries, cover, unknowns, .. } = &mut self.work;
        let (openings, fields) = (boundaries.openings(cover, &self.grid), &boundaries.solids.fields);
        bodies.couple_on_grid(&self.setup, &openings, fields, &unknowns.unknown_cell, dt_s);
        let push_s = self.work.centring.push_s;
        let fall_m_s = self.setup.liquid.gravity.length() * push_s as f32;
        let Work {
            fields,
            bodies,
            boundaries,
            cover,
            unknowns,
            parting,
            mass,
            u_without_push,
            particles,
            ..
        } = &mut self.work;
        let Fields { phi_cell, u_face, impulse_cell, gap_cell, residual_cell, .. } = fields;
        let (grid, openings, solids) =
            (&self.grid, boundaries.openings(cover, &self.grid), &boundaries.solids);
        // A gap must not open where the liquid is without particles.
        let band_m = (self.params.narrow_band - 1.0) * grid.dx;
        let deepest_m = if self.params.has_particles() { band_m } else { f32::INFINITY };
        let (may_part_cell, lone_cell) = (&solids.may_part_cell, &unknowns.lone_cell);
        let u_without_push = Some(&*u_without_push);
        let cells = grid.cell_centers();
        let placed = self.setup.solids_at(self.state.time_s + dt_s);
        let bodies = &*bodies;
        let adhesion_m_s = |cell: usize| {
            let [i, j, k] = cells.coordinates(cell);
            let adhesion_pa = self.setup.adhesion_pa(&placed, cells.position(i, j, k), grid.dx);
            let hold = if bodies.is_empty() { 0.0 } else { bodies.hold(cell) as f32 };
            adhesion_pa * push_s as f32 / (self.setup.liquid.density * grid.dx) + hold * fall_m_s
        };
        let liquid = AtBoundaries {
            openings: &openings,
            may_part_cell,
            gap_cell,
            unknowns,
            phi_cell,
            unit: grid.dx,
            deepest_m,
            fall_m_s,
            gravity_m_s: self.setup.liquid.gravity * push_s as f32,
            dt_s: dt_s as f32,
            adhesion_m_s: &adhesion_m_s,
            u_without_push,
        };
        let (mass, residual_cell) = (&*mass, &*residual_cell);
        let spreading_cell = &particles.spreading_cell;
        let term = &bodies.term;
        let faster_cell: &[f32] = if term.blocks.is_empty() { &[] } else { &bodies.outflow_cell };
        let wanted = |cell: usize| {
            let of_liquid = match residual_cell.get(cell) {
                Some(&residual) => {
                    mass.wanted_m_s(residual, phi_cell[cell], &openings, cells.coordinates(cell))
                }
                None => spreading_cell.get(cell).copied().unwrap_or(0.0),
            };
            of_liquid - faster_cell.get(cell).copied().unwrap_or(0.0)
        };
        let open_area = AXES.map(|axis| openings.area_face[axis].as_slice());
        first_guess(impulse_cell, &self.state.fields.impulse_cell, self.state.pushed_s, push_s);
        let (mut solved, mut theta_floors, stopping) =
            (PressureReport::default(), 0, self.params.pressure.stopping());
        let solve = |q: &mut [f32], phi_cell: &[f32], rhs: &[f32]| {
            theta_floors =
                self.solver.prepare(&PoissonProblem { cells: grid.cells, phi_cell, open_area }).theta_floors;
            let info = match term.blocks.is_empty() {
                true => self.solver.solve(q, rhs, &stopping),
                false => self.solver.solve_coupled(q, rhs, term, &stopping),
            };
            let info = info.map_err(|e| StepError::Pressure(e.to_string()))?;
            // Walls do not pull on what no air can get into.
            self.solver.raise_sealed(q);
            solved.iterations += info.iterations;
            solved.relative_residual = info.relative_residual;
            Ok(())
        };
        let still = |cells: FaceCells, u: &mut f32| {
            if !cells.any(|cell| lone_cell[cell]) {
                *u = 0.0;
            }
        };
        let pulled = project(u_face, impulse_cell, parting, &liquid, wanted, solve, still)?;
        clamps.add("ghost_theta_floor", theta_floors + parting.floored_distances);
        clamps.add("walls_still_pull", pulled);
        clamps.add("thrown_columns", parting.thrown_columns());
        clamps.add("closed_slivers", solids.fields.snapped_faces);
        keep_gaps(gap_cell, impulse_cell, parting);
        let Work { bodies, fields, boundaries, .. } = &mut self.work;
        if !bodies.is_empty() {
            let solids = &mut Arc::make_mut(&mut boundaries.solids).fields;
            bodies.push_on_grid(&mut self.setup, solids, &fields.impulse_cell, self.state.time_s, dt_s);
        }
        self.mark_valid_faces();
        Ok(solved)
    }

    /// Gives the liquid at the start the motion of the solids in it: they move from the first moment on, so it
    /// does. See [`fluvial_mac::follow_solids`].
    pub(crate) fn follow_solids(&mut self) -> Result<(), SetupError> {
        let (grid, state, work) = (&self.grid, &mut self.state, &mut self.work);
        let Fields { phi_cell, u_face, impulse_cell, .. } = &mut work.fields;
        phi_cell.clone_from(&state.fields.phi_cell);
        u_face.copy_from(&state.fields.u_face);
        let openings = state.boundaries.openings(&work.cover, grid);
        mark_unknowns(&mut work.unknowns, phi_cell, &openings);
        let stopping = self.params.pressure.stopping();
        let solve = |q: &mut [f32], phi_cell: &[f32], rhs: &[f32], open_area: [&[f32]; 3]| {
            self.solver.prepare(&PoissonProblem { cells: grid.cells, phi_cell, open_area });
            self.solver.solve(q, rhs, &stopping).map(|_| ()).map_err(|e| SetupError::Invalid(e.to_string()))
        };
        follow_solids(u_face, impulse_cell, &work.unknowns, phi_cell, &openings, solve)?;
        impulse_cell.fill(0.0);
        work.parting.parted_cell.resize(phi_cell.len(), false);
        self.mark_valid_faces();
        self.extrapolate_velocity();
        let (state, made) = (&mut self.state.fields, &self.work.fields);
        state.u_face.copy_from(&made.u_face);
        state.u_transport.copy_from(&made.u_transport);
        let State { fields, boundaries, volume, drops, .. } = &self.state;
        let limits = self.report(fields, boundaries, PressureReport::default(), (volume, drops)).1;
        self.state.limiting_speed_m_s = limits;
        Ok(())
    }

    /// Marks the faces whose velocity is the liquid's.
    fn mark_valid_faces(&mut self) {
        let Work { boundaries, cover, unknowns, valid_face, .. } = &mut self.work;
        let openings = boundaries.openings(cover, &self.grid);
        let Unknowns { unknown_cell, lone_cell } = unknowns;
        for axis in AXES {
            let area = &openings.area_face[axis];
            for_each_face(&mut valid_face[axis], &self.grid, axis, |face, cells, valid| {
                *valid = (cells.any(|c| unknown_cell[c] || lone_cell[c]) && area[face] > 0.0) as u8;
            });
        }
    }

    /// Marks the cells whose pressure is unknown.
    pub(crate) fn mark_unknowns(&mut self) {
        let work = &mut self.work;
        let openings = work.boundaries.openings(&work.cover, &self.grid);
        mark_unknowns(&mut work.unknowns, &work.fields.phi_cell, &openings);
    }
}
