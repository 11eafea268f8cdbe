//! Particles that crowd or thin out below the surface: the projection moves them apart or together.
//!
//! FLIP's velocity is free of divergence at the faces, its particles are not incompressible: interpolation and
//! the error of every step let them drift together, by 12 to 25 % in two seconds of a dam break. So the
//! projection is asked for the divergence that brings the density back, as `sheets` and level sets ask for theirs
//! (the idea of correcting density by a source term of the pressure: [kugelstadt-2019 §4], with one solve for
//! both). The pressure's forces sum up to nothing but at walls, as always.

use crate::UniformSolver;
use crate::state::ParticleWork;
use fluvial_solver_interface::Clamps;

/// A density within this of the full one is how particles happen to lie in 27 cells; still water keeps every bit.
const EVEN: f32 = 0.03;
/// Part of the excess that goes while liquid crosses a cell, and the largest excess that counts.
const SPREADING: f32 = 0.3;
const LARGEST_EXCESS: f32 = 0.3;
/// Cells nearer to the surface than this are left to it, in cells.
const LEAST_DEPTH_CELLS: f32 = 1.0;
/// Cells with less of their faces open ask the projection for nothing.
const LEAST_OPEN_PART: f32 = 0.7;
/// Particles that a full cell holds.
const PER_CELL: f32 = 8.0;

impl UniformSolver {
    /// Fills the divergence times dx that every cell with particles below the surface shall have, m/s: with
    /// `e = sum w (n / 8 - f) / sum w f` over the 27 cells around, w = 1, 1/2 per axis, n particles, f the liquid
    /// share, `k e dx` beyond what is even. Deep cells hold no particles and are full.
    ///
    /// Test: `stirred_particles_stay_even`, `still_water_with_particles_stays_still`.
    pub(crate) fn fill_spreading(&mut self, dt_s: f64, clamps: &mut Clamps) {
        if !self.params.has_particles() {
            return;
        }
        let (cells, dx) = (self.grid.cell_centers(), self.grid.dx);
        let wave_m_s = (self.setup.liquid.gravity.length() * dx).sqrt();
        let crossing_s = dx / (self.state.limiting_speed_m_s as f32 + wave_m_s).max(f32::MIN_POSITIVE);
        let rate_1_s = SPREADING / crossing_s.max(dt_s as f32);
        let work = &mut self.work;
        let openings = work.boundaries.openings(&work.cover, &self.grid);
        let (phi, fraction) = (&work.fields.phi_cell, &work.fields.fraction_cell);
        let ParticleWork { cell_ranges, reserve, spreading_cell, .. } = &mut work.particles;
        let (ranges, deep) = (&*cell_ranges, &reserve.deep_cell);
        spreading_cell.resize(cells.len(), 0.0);
        let size = cells.size;
        cells.for_each_mut(spreading_cell, |cell, at, out| {
            *out = 0.0;
            if phi[cell] > -LEAST_DEPTH_CELLS * dx || deep[cell] != 0 {
                return;
            }
            let (mut held, mut room) = (0.0, 0.0);
            let reach = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
            let weight = |a: usize, c: usize| if at[a] == c { 1.0 } else { 0.5 };
            for (k, j) in reach(2).flat_map(|k| reach(1).map(move |j| (k, j))) {
                for i in reach(0) {
                    let other = cells.index(i, j, k);
                    let w = weight(0, i) * weight(1, j) * weight(2, k);
                    let full = deep[other] != 0;
                    held += w * if full { fraction[other] } else { ranges.count(other) as f32 / PER_CELL };
                    room += w * fraction[other];
                }
            }
            let excess = held / room.max(f32::MIN_POSITIVE) - 1.0;
            let beyond = excess - excess.clamp(-EVEN, EVEN);
            if beyond != 0.0 && openings.open_part(at) >= LEAST_OPEN_PART {
                *out = rate_1_s * dx * beyond.clamp(-LARGEST_EXCESS, LARGEST_EXCESS);
            }
        });
        let most = rate_1_s * dx * LARGEST_EXCESS;
        clamps.add("particle_spreading", spreading_cell.iter().filter(|m_s| m_s.abs() >= most).count());
    }
}
