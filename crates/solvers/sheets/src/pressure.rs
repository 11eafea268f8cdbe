//! Forces and projection [sheets §3.3].
//!
//! The projection is `fluvial_mac`'s. Its ghost value towards air, q_j = q_i phi_j / phi_i [sheets eq. 7],
//! takes the density deficit for phi. Beyond the paper, cells with more particles around than fit get a
//! divergence that lets them go: FLIP's velocity is incompressible, its particles are not.

use crate::SheetsSolver;
use crate::state::{Density, Fields, GridVelocity, Work};
use crate::surface::FLYING_MASS;
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_indexed_mut;
use fluvial_level_set as level_set;
use fluvial_mac::{
    AtBoundaries, FaceCells, RoughLiquid, SurfacePush, close_walls, constrain_to_solids, first_guess,
    follow_solids, for_each_face, keep_gaps, let_go, mark_unknowns, project, push_at_surface, rub,
};
use fluvial_pressure::PoissonProblem;
use fluvial_sheets::{box_sums, dilate, distance_of_density, lattice_density};
use fluvial_solver_interface::{Clamps, PressureReport, SetupError, StepError};
use std::sync::Arc;

/// Curvature is measured this near to the surface, in reaches of the kernel.
const TENSION_BAND: f32 = 0.55;

impl SheetsSolver {
    /// Rough walls and solids pull on the liquid, before forces that pressure may balance act on it.
    pub(crate) fn rub(&mut self, dt_s: f64) {
        let (work, gap_cell) = (&mut self.work, &self.state.fields.gap_cell);
        let solids = &*work.boundaries.solids;
        let liquid = RoughLiquid::new(&work.fields.phi_cell, gap_cell, &self.grid, &solids.fields);
        rub(&mut work.fields.u_face, &liquid, &solids.rough, dt_s as f32, &mut work.friction);
    }

    /// Surface tension: with s = sigma kappa / rho on the surface, the ghost value of a face between liquid and air
    /// becomes s instead of 0, `u -= n dt s / (dx theta)`.
    pub(crate) fn apply_surface_tension(&mut self, dt_s: f64, clamps: &mut Clamps) {
        if self.setup.liquid.surface_tension <= 0.0 {
            return;
        }
        let (grid, s_cell) = (self.grid, self.surface_pressure(clamps));
        let Fields { phi_cell, u_face, .. } = &mut self.work.fields;
        self.work.u_without_push.clone_from(u_face);
        let push = SurfacePush {
            phi_cell,
            unit: grid.dx,
            closed_cell: &self.work.boundaries.solids.closed_cell,
            unknown_cell: &self.work.unknowns.unknown_cell,
            strength: dt_s as f32 / grid.dx,
        };
        let value = |inside, outside| level_set::value_at_crossing(&s_cell, phi_cell, inside, outside);
        for axis in AXES {
            for_each_face(&mut u_face[axis], &grid, axis, |_, cells, u| {
                if let FaceCells { low: Some(low), high: Some(high) } = cells {
                    push_at_surface(u, [low, high], &push, value);
                }
            });
        }
    }

    /// `s = sigma kappa / rho`; the curvature is that of the level of half density, which is a distance near the
    /// surface.
    fn surface_pressure(&self, clamps: &mut Clamps) -> Vec<f32> {
        let (grid, liquid) = (self.grid, self.setup.liquid);
        let cells = grid.cell_centers();
        let population = &self.work.population;
        let h = population.params.reach_m();
        let inverse_rho0 = 1.0 / lattice_density(population.params.density_reach);
        let wet: Vec<bool> = population.mass_cell.iter().map(|&m| m > 0.0).collect();
        let near = dilate(&wet, grid.cells, 2);
        let mut distance = vec![distance_of_density(0.0) * h; cells.len()];
        cells.for_each_mut(&mut distance, |cell, [i, j, k], out| {
            if near[cell] {
                let x = cells.position(i, j, k);
                let rho = population.neighbours.density(x, h, &population.walls) * inverse_rho0;
                *out = distance_of_density(rho) * h;
            }
        });
        let mut kappa = vec![0.0; cells.len()];
        let (band, contact) = (TENSION_BAND * h, self.setup.wall_contact_cosines());
        let limited = level_set::level_curvature(&mut kappa, &distance, &cells, band, &contact);
        clamps.add("curvature_limited", limited);
        // Mean over 3^3 cells, those at the surface first: tension on waves of a few cells would feed on the
        // particles' noise.
        let weights: Vec<f32> = distance.iter().map(|d| (1.0 - d.abs() / band).max(0.0)).collect();
        let weighted: Vec<f32> = kappa.iter().zip(&weights).map(|(k, w)| k * w).collect();
        let means = box_sums(&weighted, grid.cells, 1).into_iter().zip(box_sums(&weights, grid.cells, 1));
        // The level of half density lies h^2 / 6R inside a ball of radius R, and is more curved by that.
        kappa.iter_mut().zip(means).for_each(|(k, (sum, weight))| {
            let mean = sum / weight.max(1e-3);
            *k = mean / (1.0 + (h * mean).powi(2) / 24.0);
        });
        let factor = liquid.surface_tension / liquid.density;
        kappa.iter_mut().for_each(|kappa| *kappa *= factor);
        kappa
    }

    /// Solves for the pressure impulse and subtracts its gradient. Crowded cells are asked to let go of a
    /// part of their excess. Faces without liquid keep what particles and gravity gave them: drops and
    /// sheets fly. Only the skin of bulk liquid gets its velocity by extension.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        let Work { bodies, boundaries, cover, unknowns, .. } = &mut self.work;
        let (openings, fields) = (boundaries.openings(cover, &self.grid), &boundaries.solids.fields);
        bodies.couple_on_grid(&self.setup, &openings, fields, &unknowns.unknown_cell, dt_s);
        let (fall_m_s, part) = (self.setup.liquid.gravity.length() * dt_s as f32, self.mended_part(dt_s));
        let is_pressed = self.setup.liquid.surface_tension > 0.0;
        if !self.work.bodies.is_empty() && !is_pressed {
            // For who asks what the step did to momentum.
            let Work { u_without_push, fields, .. } = &mut self.work;
            u_without_push.clone_from(&fields.u_face);
        }
        let (grid, work) = (&self.grid, &mut self.work);
        let Fields { phi_cell, u_face, impulse_cell, gap_cell, .. } = &mut work.fields;
        let (openings, unknowns) = (work.boundaries.openings(&work.cover, grid), &work.unknowns);
        let (unknown, parting) = (&unknowns.unknown_cell, &mut work.parting);
        let Density { beyond_cell, skin_cell, .. } = &work.density;
        let mass_cell = &work.population.mass_cell;
        let solids = &work.boundaries.solids;
        let term = &work.bodies.term;
        let faster_cell: &[f32] = if term.blocks.is_empty() { &[] } else { &work.bodies.outflow_cell };
        let wanted = |c: usize| {
            part * beyond_cell[c] / dt_s as f32 * grid.dx - faster_cell.get(c).copied().unwrap_or(0.0)
        };
        let open_area = AXES.map(|axis| openings.area_face[axis].as_slice());
        first_guess(impulse_cell, &self.state.fields.impulse_cell, self.state.last_dt_s, dt_s);
        gap_cell.clone_from(&self.state.fields.gap_cell);
        let may_part_cell = &solids.may_part_cell;
        let deepest_m = f32::INFINITY;
        let u_without_push = is_pressed.then_some(&work.u_without_push);
        let cells = grid.cell_centers();
        let placed = self.setup.solids_at(self.state.time_s + dt_s);
        let bodies = &work.bodies;
        let adhesion_m_s = |cell: usize| {
            let [i, j, k] = cells.coordinates(cell);
            let adhesion_pa = self.setup.adhesion_pa(&placed, cells.position(i, j, k), grid.dx);
            let hold = if bodies.is_empty() { 0.0 } else { bodies.hold(cell) as f32 };
            adhesion_pa * dt_s as f32 / (self.setup.liquid.density * grid.dx) + hold * fall_m_s
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
            gravity_m_s: self.setup.liquid.gravity * dt_s as f32,
            dt_s: dt_s as f32,
            adhesion_m_s: &adhesion_m_s,
            u_without_push,
        };
        let (mut solved, mut theta_floors, stopping) =
            (PressureReport::default(), 0, self.params.pressure.stopping());
        let solve = |q: &mut [f32], phi_cell: &[f32], rhs: &[f32]| {
            let problem = PoissonProblem { cells: grid.cells, phi_cell, open_area };
            theta_floors = self.solver.prepare(&problem).theta_floors;
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
        let pulled = project(u_face, impulse_cell, parting, &liquid, wanted, solve, |_, _| {})?;
        clamps.add("ghost_theta_floor", theta_floors + parting.floored_distances);
        clamps.add("walls_still_pull", pulled);
        clamps.add("thrown_columns", parting.thrown_columns());
        keep_gaps(gap_cell, impulse_cell, parting);
        let flies = |cell: usize| !skin_cell[cell] && mass_cell[cell] >= FLYING_MASS;
        for axis in AXES {
            let area = &openings.area_face[axis];
            for_each_face(&mut work.velocity.valid_face[axis], grid, axis, |face, cells, valid| {
                if area[face] == 0.0 {
                    *valid = 0;
                } else if cells.any(|c| unknown[c]) {
                    *valid = 1;
                } else if cells.any(|c| skin_cell[c]) && !cells.any(flies) {
                    *valid = 0;
                }
            });
        }
        let Work { bodies, fields, boundaries, .. } = &mut self.work;
        if !bodies.is_empty() {
            let solids = &mut Arc::make_mut(&mut boundaries.solids).fields;
            bodies.push_on_grid(&mut self.setup, solids, &fields.impulse_cell, self.state.time_s, dt_s);
        }
        Ok(solved)
    }

    /// Gives the liquid at the start the motion of the solids in it: they move from the first moment on, so it
    /// does. See [`fluvial_mac::follow_solids`].
    pub(crate) fn follow_solids(&mut self) -> Result<(), SetupError> {
        let (grid, work) = (&self.grid, &mut self.work);
        let Fields { phi_cell, u_face, impulse_cell, .. } = &mut work.fields;
        let openings = work.boundaries.openings(&work.cover, grid);
        mark_unknowns(&mut work.unknowns, phi_cell, &openings);
        work.parting.parted_cell.resize(phi_cell.len(), false);
        let stopping = self.params.pressure.stopping();
        let solve = |q: &mut [f32], phi_cell: &[f32], rhs: &[f32], open_area: [&[f32]; 3]| {
            self.solver.prepare(&PoissonProblem { cells: grid.cells, phi_cell, open_area });
            self.solver.solve(q, rhs, &stopping).map(|_| ()).map_err(|e| SetupError::Invalid(e.to_string()))
        };
        follow_solids(u_face, impulse_cell, &work.unknowns, phi_cell, &openings, solve)?;
        impulse_cell.fill(0.0);
        Ok(())
    }

    /// Extends velocity past the surface and into solids, then lets nothing flow through a wall.
    pub(crate) fn extrapolate_velocity(&mut self) {
        let (grid, layers, work) = (&self.grid, self.band_cells, &mut self.work);
        let (u_face, open_walls, scratch) =
            (&mut work.fields.u_face, self.setup.open_walls(), &mut work.level_set);
        let GridVelocity { u_before, known_face, valid_face, u_free, .. } = &mut work.velocity;
        // What the particles gave, walls included, next to faces that they did not reach: for FLIP's
        // difference.
        level_set::extrapolate_velocity(u_before, known_face, grid, 2, scratch);
        let (sources, openings) = (&work.boundaries.sources, work.boundaries.openings(&work.cover, grid));
        sources.prescribe(u_face, valid_face, openings.area_face);
        level_set::extrapolate_velocity(u_face, valid_face, grid, layers, scratch);
        // Nothing flows into a solid below films that bulk liquid does not reach, either.
        for axis in AXES {
            let area = &openings.area_face[axis];
            for_each_indexed_mut(&mut valid_face[axis], |face, valid| {
                if area[face] == 0.0 {
                    *valid = (*valid).max(known_face[axis][face]);
                }
            });
        }
        if self.setup.solids.is_empty() {
            close_walls(u_face, open_walls, grid);
        } else {
            let solids = work.boundaries.solid_faces();
            constrain_to_solids(u_face, u_free, valid_face, &solids, open_walls, grid);
        }
        let (may_part, unknown) = (&work.boundaries.solids.may_part_cell, &work.unknowns.unknown_cell);
        let_go(u_face, &work.parting.parted_cell, may_part, unknown, &openings);
    }
}
