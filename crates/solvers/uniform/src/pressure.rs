//! The projection.
//!
//! With the impulse q = p dt / (rho dx) the projection reads, per unknown cell,
//! `sum_f A_f (q_i - q_j) = c dx V_i - sum_f n_f (A_f u_f + (1 - A_f) u_solid,f)`: areas A_f open to liquid
//! [Ng, Min, Gibou 2009], V_i open volume, c the wanted divergence. Towards air the neighbour's value is the
//! ghost q_j = q_i (1 - 1/theta), theta = phi_i / (phi_i - phi_j)  [octree paper eq. 26].

use crate::UniformSolver;
use crate::state::{FaceCells, for_each_face};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2};
use fluvial_pressure::{PoissonProblem, ghost_theta_floored};
use fluvial_solver_interface::{Clamps, PressureReport, StepError};

/// Smallest ghost distance in cells. A floor of 1e-2 would cost the second order from 128^3 on (its error is
/// theta_min dx |grad p|); 1e-3 does not, and the solver's iterations do not notice.
pub const THETA_MIN: f32 = 1e-3;

/// Distance from a liquid cell to the surface towards an air cell, in cells, floored; and whether it was.
pub(crate) fn ghost_theta(phi_liquid: f32, phi_air: f32) -> (f32, bool) {
    ghost_theta_floored(phi_liquid, phi_air, THETA_MIN)
}

impl UniformSolver {
    /// Solves for the pressure impulse and subtracts its gradient.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        self.fill_right_side();
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

    /// An unknown is a liquid cell with at least one open face. A lone one, a drop smaller than the grid can turn or
    /// squeeze, is left to fly: its faces' ghost distances are noise, and one of them would take all the flux.
    pub(crate) fn mark_unknowns(&mut self) {
        let (grid, work) = (self.grid, &mut self.work);
        let (phi, area) = (&work.phi_cell, &work.area_face);
        let cells = grid.cell_centers();
        let lattices = AXES.map(|axis| grid.faces(axis));
        let (unknown, ballistic) = (&mut work.unknown_cell, &mut work.ballistic_cell);
        for_each_chunk_mut2((unknown, cells.slab()), (ballistic, cells.slab()), |k, unknown, ballistic| {
            for (n, (unknown, ballistic)) in unknown.iter_mut().zip(ballistic).enumerate() {
                let at = [n % grid.cells[0], n / grid.cells[0], k];
                let cell = k * cells.slab() + n;
                (*unknown, *ballistic) = (false, false);
                if phi[cell] >= 0.0 {
                    continue;
                }
                let (mut any_open, mut alone) = (false, true);
                for axis in AXES {
                    let face = lattices[axis].index(at[0], at[1], at[2]);
                    let (low, high) = (area[axis][face], area[axis][face + lattices[axis].stride(axis)]);
                    let stride = cells.stride(axis);
                    any_open |= low > 0.0 || high > 0.0;
                    alone &= low == 1.0 && high == 1.0;
                    alone &= at[axis] > 0 && phi[cell - stride] >= 0.0;
                    alone &= at[axis] + 1 < cells.size[axis] && phi[cell + stride] >= 0.0;
                }
                (*unknown, *ballistic) = (any_open && !alone, any_open && alone);
            }
        });
    }

    fn fill_right_side(&mut self) {
        let mut rhs = std::mem::take(&mut self.work.rhs_cell);
        let (grid, work, volume) = (self.grid, &self.work, &self.work.volume);
        let open_volume = &self.solids.open_volume;
        for_each_chunk_mut(&mut rhs, grid.cell_centers().slab(), |k, rhs| {
            let start = k * grid.cells[0] * grid.cells[1];
            for (n, rhs) in rhs.iter_mut().enumerate() {
                let cell = start + n;
                *rhs = if work.unknown_cell[cell] {
                    let wanted = volume.divergence_1_s(cell) * grid.dx * open_volume[cell];
                    wanted - self.outflow(&work.u_face, n % grid.cells[0], n / grid.cells[0], k)
                } else {
                    0.0
                };
            }
        });
        self.work.rhs_cell = rhs;
    }

    /// Net flux out of a cell over dx^2, m/s, open and solid parts of its faces together.
    pub(crate) fn outflow(&self, u: &fluvial_grids::FaceField, i: usize, j: usize, k: usize) -> f32 {
        let (area, u_boundary) = (&self.work.area_face, &self.work.u_boundary);
        AXES.iter()
            .map(|&axis| {
                let lattice = self.grid.faces(axis);
                let low = lattice.index(i, j, k);
                let high = low + lattice.stride(axis);
                let flux = |f: usize| {
                    let a = area[axis][f];
                    a * u[axis][f] + (1.0 - a) * u_boundary[axis][f]
                };
                flux(high) - flux(low)
            })
            .sum()
    }

    /// u -= q_high - q_low with ghost values in air; marks the faces that now hold liquid velocity.
    fn subtract_gradient(&mut self) {
        let (grid, work) = (self.grid, &mut self.work);
        let (phi, unknown, q) = (&work.phi_cell, &work.unknown_cell, &work.impulse_cell);
        let ballistic = &work.ballistic_cell;
        for axis in AXES {
            let area = &work.area_face[axis];
            let gradient = |cells: FaceCells| -> Option<f32> {
                let is_unknown = |cell: Option<usize>| cell.filter(|&c| unknown[c]);
                let toward_air = |inside: usize, outside: Option<usize>| match outside {
                    Some(air) => q[inside] / ghost_theta(phi[inside], phi[air]).0,
                    None => q[inside],
                };
                match (is_unknown(cells.low), is_unknown(cells.high)) {
                    (Some(low), Some(high)) => Some(q[high] - q[low]),
                    (Some(low), None) => Some(-toward_air(low, cells.high)),
                    (None, Some(high)) => Some(toward_air(high, cells.low)),
                    (None, None) => None,
                }
            };
            for_each_face(&mut work.valid_face[axis], &grid, axis, |face, cells, valid| {
                let touches = [cells.low, cells.high].iter().flatten().any(|&c| unknown[c] || ballistic[c]);
                *valid = (touches && area[face] > 0.0) as u8;
            });
            for_each_face(&mut work.u_face[axis], &grid, axis, |face, cells, u| {
                if area[face] > 0.0 {
                    match gradient(cells) {
                        Some(change) => *u -= change,
                        None if [cells.low, cells.high].iter().flatten().any(|&c| ballistic[c]) => {}
                        None => *u = 0.0,
                    }
                }
            });
        }
    }
}
