//! Forces and projection [sheets §3.3].
//!
//! With the impulse q = p dt / (rho dx) the projection reads, per unknown cell,
//! `sum_f A_f (q_i - q_j) = - sum_f n_f (A_f u_f + (1 - A_f) u_solid,f)`: areas A_f open to liquid. Towards air the
//! neighbour's value is the ghost q_j = q_i phi_j / phi_i [sheets eq. 7], phi the density deficit. Beyond the paper, cells
//! with more particles around than fit get a divergence that lets them go: FLIP's velocity is incompressible, its particles
//! are not.

use crate::SheetsSolver;
use crate::state::{FaceCells, for_each_face};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_grids::FaceField;
use fluvial_level_set as level_set;
use fluvial_pressure::{PoissonProblem, ghost_theta_floored};
use fluvial_sheets::{box_sums, dilate, distance_of_density, lattice_density};
use fluvial_solver_interface::{Clamps, PressureReport, StepError};

/// Smallest ghost distance in cells.
pub(crate) const THETA_MIN: f32 = 0.001;

/// Curvature is measured this near to the surface, in reaches of the kernel.
const TENSION_BAND: f32 = 0.55;

/// Cells count as crowded above this share of what fits: less is how particles happen to lie.
const CROWDED: f32 = 1.01;
/// Part of the excess that a step lets go.
const RELEASED_PER_STEP: f32 = 0.1;

pub(crate) fn ghost_theta(phi_liquid: f32, phi_air: f32) -> f32 {
    ghost_theta_floored(phi_liquid, phi_air, THETA_MIN).0
}

impl SheetsSolver {
    /// Gravity on every face that knows a velocity; tension where the surface crosses one.
    pub(crate) fn apply_forces(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (grid, liquid, dt) = (self.grid, self.setup.liquid, dt_s as f32);
        for axis in AXES {
            let (push, valid) = (liquid.gravity[axis] * dt, &self.work.valid_face[axis]);
            for_each_chunk_mut(&mut self.work.u_face[axis], grid.faces(axis).slab(), |k, u| {
                let valid = &valid[k * grid.faces(axis).slab()..];
                u.iter_mut().zip(valid).for_each(|(u, &v)| *u += if v != 0 { push } else { 0.0 });
            });
        }
        if liquid.surface_tension > 0.0 {
            self.mark_unknowns();
            self.apply_tension(dt, clamps);
        }
    }

    /// Surface tension: with s = sigma kappa / rho the ghost value of a face between liquid and air becomes s instead of 0,
    /// `u -= n dt s / (dx theta)`; the curvature is that of the level of half density, which is a distance near the surface.
    fn apply_tension(&mut self, dt_s: f32, clamps: &mut Clamps) {
        let (grid, liquid) = (self.grid, self.setup.liquid);
        let cells = grid.cell_centers();
        let population = &self.work.population;
        let h = population.params.reach_m();
        let inverse_rho0 = 1.0 / lattice_density(population.params.density_reach);
        let wet: Vec<bool> = self.work.population.mass_cell.iter().map(|&m| m > 0.0).collect();
        let near = dilate(&wet, grid.cells, 2);
        let mut distance = vec![distance_of_density(0.0) * h; cells.len()];
        for_each_chunk_mut(&mut distance, cells.slab(), |k, out| {
            for (n, out) in out.iter_mut().enumerate().filter(|(n, _)| near[k * cells.slab() + n]) {
                let x = cells.position(n % cells.size[0], n / cells.size[0], k);
                let rho = population.neighbours.density(x, h, &population.walls) * inverse_rho0;
                *out = distance_of_density(rho) * h;
            }
        });
        // Not in use before the projection.
        let kappa = &mut self.work.rhs_cell;
        let band = TENSION_BAND * h;
        clamps.add("curvature_limited", level_set::curvature(kappa, &distance, &cells, band));
        // Mean over 3^3 cells, those at the surface first: tension on waves of a few cells would feed on the particles' noise.
        let weights: Vec<f32> = distance.iter().map(|d| (1.0 - d.abs() / band).max(0.0)).collect();
        let weighted: Vec<f32> = kappa.iter().zip(&weights).map(|(k, w)| k * w).collect();
        let means = box_sums(&weighted, grid.cells, 1).into_iter().zip(box_sums(&weights, grid.cells, 1));
        // The level of half density lies h^2 / 6R inside a ball of radius R, and is more curved by that.
        kappa.iter_mut().zip(means).for_each(|(k, (sum, weight))| {
            let mean = sum / weight.max(1e-3);
            *k = mean / (1.0 + (h * mean).powi(2) / 24.0);
        });
        let (kappa, phi, closed) = (&self.work.rhs_cell, &self.work.phi_cell, &self.work.closed_cell);
        let unknown = &self.work.unknown_cell;
        let strength = dt_s / grid.dx * liquid.surface_tension / liquid.density;
        for axis in AXES {
            for_each_face(&mut self.work.u_face[axis], &grid, axis, |_, cells, u| {
                let FaceCells { low: Some(low), high: Some(high) } = cells else { return };
                if (phi[low] < 0.0) == (phi[high] < 0.0) || closed[low] || closed[high] {
                    return;
                }
                let (inside, outside, n) = if phi[low] < 0.0 { (low, high, 1.0) } else { (high, low, -1.0) };
                // Half of a projection: without the other half it would throw a cell that flies.
                if !unknown[inside] {
                    return;
                }
                let kappa = level_set::value_at_crossing(kappa, phi, inside, outside);
                *u -= n * strength * kappa / ghost_theta(phi[inside], phi[outside]);
            });
        }
    }

    /// Solves for the pressure impulse and subtracts its gradient.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        self.mark_unknowns();
        self.fill_right_side(dt_s as f32);
        let work = &mut self.work;
        let problem = PoissonProblem {
            cells: self.grid.cells,
            phi_cell: &work.phi_cell,
            open_area: AXES.map(|axis| work.area_face[axis].as_slice()),
        };
        let prepared = self.solver.prepare(&problem);
        clamps.add("ghost_theta_floor", prepared.theta_floors);
        let params = self.params.pressure.stopping();
        // The impulse of the last step, scaled to this step's length, is the first guess.
        let scale = if self.state.last_dt_s > 0.0 { (dt_s / self.state.last_dt_s) as f32 } else { 0.0 };
        let guess = &mut self.work.impulse_cell;
        guess.copy_from_slice(&self.state.impulse_cell);
        for_each_chunk_mut(guess, 1 << 14, |_, q| q.iter_mut().for_each(|q| *q *= scale));
        let info = self
            .solver
            .solve(guess, &self.work.rhs_cell, &params)
            .map_err(|error| StepError::Pressure(error.to_string()))?;
        self.subtract_gradient();
        Ok(PressureReport { iterations: info.iterations, relative_residual: info.relative_residual })
    }

    /// An unknown is a liquid cell with an open face and a liquid neighbour. A lone one flies: its ghost distances are noise, and
    /// the shortest would take the flux of all, whatever velocity one of its particles has.
    pub(crate) fn mark_unknowns(&mut self) {
        let (grid, work) = (self.grid, &mut self.work);
        let (phi, area) = (&work.phi_cell, &work.area_face);
        let cells = grid.cell_centers();
        let faces = AXES.map(|axis| grid.faces(axis));
        for_each_chunk_mut(&mut work.unknown_cell, cells.slab(), |k, unknown| {
            for (n, unknown) in unknown.iter_mut().enumerate() {
                let (at, cell) = ([n % cells.size[0], n / cells.size[0], k], k * cells.slab() + n);
                *unknown = false;
                if phi[cell] >= 0.0 {
                    continue;
                }
                let (mut any_open, mut alone) = (false, true);
                for axis in AXES {
                    let face = faces[axis].index(at[0], at[1], at[2]);
                    let (low, high) = (area[axis][face], area[axis][face + faces[axis].stride(axis)]);
                    let stride = cells.stride(axis);
                    any_open |= low > 0.0 || high > 0.0;
                    alone &= low == 1.0 && high == 1.0;
                    alone &= at[axis] > 0 && phi[cell - stride] >= 0.0;
                    alone &= at[axis] + 1 < cells.size[axis] && phi[cell + stride] >= 0.0;
                }
                *unknown = any_open && !alone;
            }
        });
    }

    /// What flows out of every unknown cell, negative; crowded ones are asked to let go of a part of what is too much.
    fn fill_right_side(&mut self, dt_s: f32) {
        let mut rhs = std::mem::take(&mut self.work.rhs_cell);
        let (grid, work) = (self.grid, &self.work);
        let slab = grid.cell_centers().slab();
        for_each_chunk_mut(&mut rhs, slab, |k, rhs| {
            for (n, rhs) in rhs.iter_mut().enumerate() {
                *rhs = if work.unknown_cell[k * slab + n] {
                    let wanted = self.wanted_divergence(k * slab + n, dt_s) * grid.dx;
                    wanted - self.outflow(&work.u_face, [n % grid.cells[0], n / grid.cells[0], k])
                } else {
                    0.0
                };
            }
        });
        self.work.rhs_cell = rhs;
    }

    /// The divergence that a cell shall have, 1/s: where more particles are than fit, a tenth of the excess flows off in a step.
    pub(crate) fn wanted_divergence(&self, cell: usize, dt_s: f32) -> f32 {
        if self.setup.flow.is_some() {
            return 0.0;
        }
        let excess = self.work.crowding_cell[cell] - CROWDED;
        if excess > 0.0 { RELEASED_PER_STEP * excess * self.solids.open_volume[cell] / dt_s } else { 0.0 }
    }

    /// Net flux out of a cell over dx^2, m/s, open and solid parts of its faces together.
    pub(crate) fn outflow(&self, u: &FaceField, [i, j, k]: [usize; 3]) -> f32 {
        let (area, u_boundary) = (&self.work.area_face, &self.work.u_boundary);
        let mut sum = 0.0;
        for axis in AXES {
            let lattice = self.grid.faces(axis);
            let low = lattice.index(i, j, k);
            let high = low + lattice.stride(axis);
            let flux = |f: usize| {
                let a = area[axis][f];
                a * u[axis][f] + (1.0 - a) * u_boundary[axis][f]
            };
            sum += flux(high) - flux(low);
        }
        sum
    }

    /// `u -= q_high - q_low` with ghost values in air. Faces without liquid keep what particles and gravity gave them: drops
    /// and sheets fly. Only the skin of bulk liquid gets its velocity by extension.
    fn subtract_gradient(&mut self) {
        let (grid, work) = (self.grid, &mut self.work);
        let (phi, unknown, q) = (&work.phi_cell, &work.unknown_cell, &work.impulse_cell);
        let skin = &work.skin_cell;
        for axis in AXES {
            let area = &work.area_face[axis];
            let toward_air = |inside: usize, outside: Option<usize>| match outside {
                Some(air) => q[inside] / ghost_theta(phi[inside], phi[air]),
                None => q[inside],
            };
            for_each_face(&mut work.u_face[axis], &grid, axis, |face, cells, u| {
                let is_unknown = |cell: Option<usize>| cell.filter(|&c| unknown[c]);
                if area[face] > 0.0 {
                    *u -= match (is_unknown(cells.low), is_unknown(cells.high)) {
                        (Some(low), Some(high)) => q[high] - q[low],
                        (Some(low), None) => -toward_air(low, cells.high),
                        (None, Some(high)) => toward_air(high, cells.low),
                        (None, None) => 0.0,
                    };
                }
            });
            for_each_face(&mut work.valid_face[axis], &grid, axis, |face, cells, valid| {
                if area[face] == 0.0 {
                    *valid = 0;
                } else if cells.any(|c| unknown[c]) {
                    *valid = 1;
                } else if cells.any(|c| skin[c]) {
                    *valid = 0;
                }
            });
        }
    }

    /// Extends velocity past the surface and into solids, then lets nothing flow through a wall.
    pub(crate) fn extrapolate_velocity(&mut self) {
        let layers = self.band_cells;
        let (grid, work) = (self.grid, &mut self.work);
        // What the particles gave, walls included, next to faces that they did not reach: for FLIP's difference.
        level_set::extrapolate_velocity(
            &mut work.u_before,
            &mut work.known_face,
            &grid,
            2,
            &mut work.level_set,
        );
        if self.had_sources {
            let tags = &work.source_cell;
            for axis in AXES {
                let u_boundary = &work.u_boundary[axis];
                for_each_face(&mut work.valid_face[axis], &grid, axis, |_, cells, valid| {
                    *valid |= cells.any(|c| tags[c] != 0) as u8;
                });
                for_each_face(&mut work.u_face[axis], &grid, axis, |face, cells, u| {
                    if cells.any(|c| tags[c] != 0) {
                        *u = u_boundary[face];
                    }
                });
            }
        }
        level_set::extrapolate_velocity(
            &mut work.u_face,
            &mut work.valid_face,
            &grid,
            layers,
            &mut work.level_set,
        );
        self.constrain_to_solids();
    }

    /// Closed faces inside solids keep the liquid's tangential motion but move with the solid along its normal; solid walls
    /// of the domain pass nothing.
    fn constrain_to_solids(&mut self) {
        let (grid, nodes) = (self.grid, self.grid.nodes());
        let with_solids = !self.setup.solids.is_empty();
        let work = &mut self.work;
        if with_solids {
            work.u_free.copy_from(&work.u_face);
        }
        let (open, u_solid, phi_node) = (&self.solids.open_area, &self.solids.u_solid, &self.solids.phi_node);
        let open_walls = self.open_walls;
        for axis in AXES {
            let lattice = grid.faces(axis);
            let (tags, u_free, reached) = (&work.source_cell, &work.u_free, &work.valid_face[axis]);
            for_each_face(&mut work.u_face[axis], &grid, axis, |face, cells, u| {
                let wall = match cells {
                    FaceCells { low: None, .. } => !open_walls[2 * axis],
                    FaceCells { high: None, .. } => !open_walls[2 * axis + 1],
                    _ => false,
                };
                if wall {
                    *u = 0.0;
                } else if with_solids
                    && reached[face] != 0
                    && open[axis][face] == 0.0
                    && !cells.any(|c| tags[c] != 0)
                {
                    let [i, j, k] = lattice.coordinates(face);
                    let x = lattice.position(i, j, k);
                    let normal = nodes.gradient(phi_node, x).normalize_or_zero();
                    let relative = grid.sample_velocity(u_free, x) - grid.sample_velocity(u_solid, x);
                    *u -= normal[axis] * normal.dot(relative);
                }
            });
        }
    }
}
