//! Particles that crowd or thin out below the surface: the projection moves them apart or together.
//!
//! FLIP's velocity is free of divergence at the faces, its particles are not incompressible: interpolation and
//! the error of every step let them drift together, by 12 to 25 % in two seconds of a dam break. So the
//! projection is asked for the divergence that brings the density back, as `sheets` and level sets ask for theirs.
//! [kugelstadt-2019] correct the density in a solve of its own, which moves particles and leaves their velocity alone;
//! here one solve does both, and the next takes the divergence out again. Pressure is an inner force: momentum
//! changes at walls alone.

use crate::UniformSolver;
use crate::state::ParticleWork;
use fluvial_solver_interface::Clamps;

/// Counts that are even: nine standard deviations of the particles in a block of one cell that happen to lie beyond its
/// faces or not, over those that it holds, 0.7 for each of its 6 faces, of 8. In m cells it is m^(-2/3) of that. Four
/// would do if particles were independent; those of a drop that drifts across the grid pass its faces in rows. Still
/// water and falling drops keep every bit (`free-fall`, `galilean-drift`).
const EVEN: f32 = 1.9;
/// Density is that of the full cells this far around, if there are enough of them.
const REACH_CELLS: usize = 2;
const LEAST_ROOM_CELLS: f32 = 20.0;
/// Cells are full from this depth on, whatever the direction of the surface: half of a cell's diagonal, in cells.
const FULL_DEPTH_CELLS: f32 = 0.87;
/// Part of the excess that goes while liquid crosses a cell, and the largest excess that counts.
const SPREADING: f32 = 0.2;
const LARGEST_EXCESS: f32 = 0.3;
/// Cells nearer to the surface than this are left to it, in cells.
const LEAST_DEPTH_CELLS: f32 = 1.0;
/// Cells with less of their faces open ask the projection for nothing.
const LEAST_OPEN_PART: f32 = 0.7;
/// Particles that a full cell holds.
const PER_CELL: f32 = 8.0;

impl UniformSolver {
    /// Fills the divergence times dx that every cell with particles below the surface shall have, m/s: with
    /// `e = sum (n / 8 - f) / sum f` over the cells below the surface around, n particles and octants whose liquid comes from
    /// deep cells, f the liquid share, `k e dx` beyond what is even.
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
        let ParticleWork { cell_ranges, reserve, spreading_cell, from_deep_cell, .. } = &mut work.particles;
        let (ranges, deep) = (&*cell_ranges, &reserve.deep_cell);
        spreading_cell.resize(cells.len(), 0.0);
        let size = cells.size;
        cells.for_each_mut(spreading_cell, |cell, at, out| {
            *out = 0.0;
            if phi[cell] > -LEAST_DEPTH_CELLS * dx || deep[cell] != 0 {
                return;
            }
            let (mut held, mut room) = (0.0, 0.0);
            let reach = |a: usize| at[a].saturating_sub(REACH_CELLS)..(at[a] + REACH_CELLS + 1).min(size[a]);
            for (k, j) in reach(2).flat_map(|k| reach(1).map(move |j| (k, j))) {
                for other in reach(0).map(|i| cells.index(i, j, k)) {
                    if phi[other] < -FULL_DEPTH_CELLS * dx {
                        let from_deep = from_deep_cell[other].count_ones() as f32 * fraction[other];
                        held += (ranges.count(other) as f32 + from_deep) / PER_CELL;
                        room += fraction[other];
                    }
                }
            }
            if room < LEAST_ROOM_CELLS {
                return;
            }
            let excess = held / room - 1.0;
            let even = EVEN * room.powf(-2.0 / 3.0);
            let beyond = excess - excess.clamp(-even, even);
            if beyond != 0.0 && openings.open_part(at) >= LEAST_OPEN_PART {
                *out = rate_1_s * dx * beyond.clamp(-LARGEST_EXCESS, LARGEST_EXCESS);
            }
        });
        let most = rate_1_s * dx * LARGEST_EXCESS;
        clamps.add("particle_spreading", spreading_cell.iter().filter(|m_s| m_s.abs() >= most).count());
    }
}
