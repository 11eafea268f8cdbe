//! The mass of a liquid with particles: the particles', the deep cells' and what is on its way between them.
//!
//! Every particle is an eighth of a cell for life and every deep cell is full, so that the sum changes by what
//! sources bring and what leaves, and by nothing else (`fluvial_particles::Reserve`). The account is this sum.
//! The level set is only the shape that the mass has: wherever its volume differs from the mass that it
//! holds, it is the level set that is moved.

use crate::UniformSolver;
use crate::state::{Boundaries, Fields, ParticleWork, Solids, State, Work};
use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, map_indices, ordered_sum_of};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_level_set::{label_regions, spread_labels};
use fluvial_particles::{CellRanges, Occasion, Particles, Reserve, mark_near};
use fluvial_solids::{SolidFields, nearest_open};
use fluvial_solver_interface::{Clamps, StepReport, VolumeCorrection};
use fluvial_volume::Account;

/// A surface within this of where its mass puts it stays, in cells: still water then keeps every bit.
const CLOSE_ENOUGH_CELLS: f64 = 1e-3;
/// The surface is drawn back to its mass by this part of the way that waves and liquid cover in a step.
const DRAWN_BACK: f64 = 0.005;
/// The surface follows its mass by at most this in a step, in cells.
const FARTHEST_CELLS: f32 = 0.3;
/// Cells deeper than this say nothing about the surface, in cells.
const DEEPEST_OF_LAYER_CELLS: f32 = 1.0;
/// Air this near to liquid belongs to its region: particles of its surface are there, in cells.
const LABELLED_AIR_CELLS: usize = 2;
/// Where less surface than this is left in 27 cells the particles cannot be spread over it, in cells' faces.
const LEAST_AREA: f32 = 0.5;

/// What carries the mass of a liquid with particles.
#[derive(Clone, Copy)]
pub(crate) struct Carried<'a> {
    pub particles: &'a Particles,
    pub reserve: &'a Reserve,
    /// Cells that phi reaches, not 0.
    pub near_cell: &'a [u8],
}

/// Energy of the liquid, and the largest speed of particles that fly.
#[derive(Clone, Copy, Default)]
pub(crate) struct MassEnergy {
    kinetic_j: f64,
    /// Above the floor.
    potential_j: f64,
    fastest_m_s: f64,
}

impl MassEnergy {
    pub fn put_into(self, report: &mut StepReport) {
        (report.kinetic_energy_j, report.potential_energy_j) = (self.kinetic_j, self.potential_j);
        report.max_speed_m_s = report.max_speed_m_s.max(self.fastest_m_s);
    }
}

impl UniformSolver {
    /// Volume of one particle, m3.
    pub(crate) fn particle_m3(&self) -> f64 {
        Reserve::particle_m3(self.grid.dx)
    }

    /// Seeds the particles of the fills and opens the account: the liquid of the fills is what there is, and what
    /// particles and deep cells do not hold of it is the reserve's.
    pub(crate) fn seed_particles(&mut self, phi_fills: &[f32]) {
        let solids = self.state.boundaries.solids.clone();
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        self.fill_fractions(&mut fractions, phi_fills, &self.state.fields.gap_cell, &solids.fields);
        let sum = ordered_sum_of(fractions.len(), |cell| fractions[cell] as f64);
        let volume_m3 = sum * (self.grid.dx as f64).powi(3);
        self.state.fields.fraction_cell.clone_from(&fractions);
        self.work.fields.fraction_cell = fractions;
        let State { particles, reserve, fields, .. } = &mut self.state;
        let (mut particles, mut reserve) = (std::mem::take(particles), std::mem::take(reserve));
        let labels = &mut self.work.particles.label_cell;
        if self.setup.solids.is_empty() {
            reserve.tell_regions_apart(&[], 0);
        } else {
            label_liquid(&mut reserve, phi_fills, &solids, &self.grid, labels);
        }
        let u_face = std::mem::take(&mut fields.u_face);
        self.resample_particles(&mut particles, &mut reserve, phi_fills, &u_face, Occasion::Start);
        let held_m3 = reserve.volume_m3(particles.len(), &solids.fields.open_volume, self.grid.dx);
        if reserve.region_cell.is_empty() {
            reserve.rest_m3 += volume_m3 - held_m3;
        } else {
            // Seeds have booked what they take; what the fills hold stands against it cell by cell.
            (reserve.rest_m3, reserve.rest_of_region_m3) = (0.0, vec![0.0; reserve.rest_of_region_m3.len()]);
            let (cell_m3, particle_m3) = (self.cell_m3(), self.particle_m3());
            for cell in 0..self.grid.cell_count() {
                let particles = self.work.particles.cell_ranges.count(cell) as f64 * particle_m3;
                let open = f64::from(solids.fields.open_volume[cell]);
                let deep = if reserve.deep_cell[cell] != 0 { open * cell_m3 } else { 0.0 };
                let wanted = f64::from(self.state.fields.fraction_cell[cell]) * cell_m3;
                if wanted != particles + deep {
                    reserve.add_rest(cell, wanted - particles - deep);
                }
            }
        }
        self.state.fields.u_face = u_face;
        (self.state.particles, self.state.reserve) = (particles, reserve);
        self.state.volume = Account::default();
        self.state.volume.open(volume_m3);
    }

    /// Tells the regions of liquid apart for the books. Deep cells that a solid has passed in the step, and those that it covers, hand
    /// over what they held on the side where they were: a cell that is beyond the plate now is the other side's, its liquid is not.
    fn tell_regions_apart(&mut self, solids: &Solids) {
        if self.setup.solids.is_empty() {
            return self.work.particles.reserve.tell_regions_apart(&[], 0);
        }
        let ParticleWork { reserve, label_cell, .. } = &mut self.work.particles;
        label_liquid(reserve, &self.work.fields.phi_cell, solids, &self.grid, label_cell);
        if !self.setup.has_moving_solids() {
            return;
        }
        let (cells, cell_m3) = (self.grid.cell_centers(), f64::from(self.grid.dx).powi(3));
        let SolidFields { open_volume, sides, .. } = &solids.fields;
        let before = &self.state.boundaries.solids.fields.open_volume;
        let changes = &self.work.side_changes;
        for cell in (0..cells.len()).filter(|&cell| self.state.reserve.deep_cell[cell] != 0) {
            let to = match changes.binary_search_by_key(&(cell as u32), |change| change.cell) {
                Ok(found) => changes[found].refuge.map(|refuge| refuge as usize),
                Err(_) if open_volume[cell] == 0.0 => {
                    nearest_open(sides, &cells, cell, open_volume, solids.away(&self.grid, cell))
                }
                Err(_) => continue,
            };
            if reserve.deep_cell[cell] != 0 {
                reserve.deep_cell[cell] = 0;
                let held_m3 = f64::from(before[cell]) * cell_m3;
                match to {
                    Some(to) => reserve.add_rest(to, held_m3),
                    None => reserve.rest_m3 += held_m3,
                }
            }
        }
    }

    /// Books what the step brought and took, and moves the surface to where its mass puts it.
    pub(crate) fn control_mass(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let particle_m3 = self.particle_m3();
        let mut account = self.state.volume;
        let solids = self.work.boundaries.solids.clone();
        self.tell_regions_apart(&solids);
        let (work, sources) = (&mut self.work.particles, &self.work.sources);
        let inflow_m3: f64 = sources.inflow_m3.iter().sum();
        work.reserve.inflow_m3 += inflow_m3;
        work.reserve.rest_m3 += particle_m3 * work.trapped as f64;
        if !sources.inside_cell.contains(&1) && sources.inflow_m3.is_empty() {
            // No source is left that could fill its cells with it.
            work.reserve.rest_m3 += std::mem::take(&mut work.reserve.inflow_m3);
        }
        let drained_m3 = particle_m3 * sources.drained_particles as f64 + sources.drained_deep_m3;
        account.book_sources_and_sinks(inflow_m3, particle_m3 * work.left as f64 + drained_m3);
        let open_volume = &self.state.boundaries.solids.fields.open_volume;
        let held = work.moved.len() - sources.drained_particles;
        let volume_m3 = work.reserve.volume_m3(held, open_volume, self.grid.dx);
        account.measure(volume_m3);
        self.work.volume = account;
        self.fit_surface_to_mass(volume_m3, dt_s, clamps);
    }

    /// Moves phi along its normal so that the volume under it is that of the particles that do not fly.
    ///
    /// What all of it lacks (or has too much) is made up for where the particles say so: with the misfit m of
    /// every cell at the surface ([`Self::fill_misfits`]), phi -= k max(0, m) (or min), k <= 1 such that the
    /// sum is right. The misfits of single cells are mostly noise of the particles' places; their sum is not.
    ///
    /// With surface tension, a surface that lies too far out is drawn back slowly. It lies there because
    /// [`fluvial_particles::correct_by_particles`] takes it to where particles show, and drawn back within it leaves them outside again:
    /// step by step the two would print the noise of the particles' places into the surface, on which tension feeds.
    /// Test: `tension_does_not_feed_on_the_noise_of_particles`.
    fn fit_surface_to_mass(&mut self, volume_m3: f64, dt_s: f64, clamps: &mut Clamps) {
        let solids = self.work.boundaries.solids.clone();
        let dx = self.grid.dx as f64;
        let under_m3 = self.fill_near_fractions(&solids);
        let ParticleWork { cell_ranges, near_cell, .. } = &self.work.particles;
        let wanted_m3 = volume_m3 - self.particle_m3() * flying(cell_ranges, near_cell) as f64;
        let area_m2 = self.surface_area_m2(&self.work.fields.phi_cell, near_cell, &solids);
        let gravity_m_s2 = f64::from(self.setup.liquid.gravity.length());
        let speed_m_s = self.state.limiting_speed_m_s + (gravity_m_s2 * dx).sqrt();
        // Without tension nothing feeds on the noise, and a front that is not drawn back runs ahead of its mass: 1.03 times as fast as
        // Ritter's bound in the dam break with APIC.
        let has_tension = self.setup.liquid.surface_tension > 0.0;
        let most_m3 = if has_tension { DRAWN_BACK * speed_m_s * dt_s * area_m2 } else { f64::INFINITY };
        let lacking_m3 = (wanted_m3 - under_m3).max(-most_m3);
        clamps.add("surface_ahead_of_mass", (wanted_m3 - under_m3 < -most_m3) as usize);
        let is_off = self.params.volume_correction == VolumeCorrection::Off;
        if is_off || lacking_m3.abs() <= CLOSE_ENOUGH_CELLS * dx * area_m2 {
            return;
        }
        let sign = lacking_m3.signum() as f32;
        self.fill_misfits(&solids);
        let (misfit, phi) = (&self.work.particles.misfit_cell, &self.work.fields.phi_cell);
        let open = &solids.fields.open_volume;
        let supported_m3 = dx.powi(3)
            * ordered_sum_of(misfit.len(), |cell| {
                ((sign * misfit[cell]).max(0.0) * surface_share(phi[cell], self.grid.dx) * open[cell]) as f64
            });
        let part = lacking_m3.abs() / supported_m3.max(f64::MIN_POSITIVE);
        clamps.add("surface_behind_mass", (part > 1.0) as usize);
        let way = sign * part.min(1.0) as f32 * self.grid.dx;
        let cells = self.grid.cell_centers();
        let Work { particles, fields, .. } = &mut self.work;
        let Fields { phi_cell, fraction_cell, .. } = fields;
        let (misfit, dx) = (&particles.misfit_cell, self.grid.dx);
        cells.for_each_mut2(phi_cell, fraction_cell, |cell, _, phi, fraction| {
            let shift = way * (sign * misfit[cell]).clamp(0.0, FARTHEST_CELLS);
            if shift != 0.0 {
                let gained = shift / dx * surface_share(*phi, dx) * open[cell];
                *fraction = (*fraction + gained).clamp(0.0, open[cell]);
                *phi -= shift;
            }
        });
        mark_near(&mut self.work.particles.near_cell, &self.work.fields.phi_cell, &self.grid);
    }

    /// Fills, for every cell at the surface, how much the volume of the particles around is more than that
    /// under phi, as a thickness of the surface in cells: `sum w (n / 8 - f) / sum w a` over the 27 cells around,
    /// w = 1, 1/2 per axis, n particles, f the liquid share, a the surface's area over dx^2; 0 elsewhere.
    fn fill_misfits(&mut self, solids: &Solids) {
        let mut misfits = std::mem::take(&mut self.work.particles.misfit_cell);
        misfits.resize(self.grid.cell_count(), 0.0);
        let (cells, dx, open) = (self.grid.cell_centers(), self.grid.dx, &solids.fields.open_volume);
        let (phi, fraction) = (&self.work.fields.phi_cell, &self.work.fields.fraction_cell);
        let ParticleWork { cell_ranges, near_cell, .. } = &self.work.particles;
        let size = cells.size;
        cells.for_each_mut(&mut misfits, |cell, at, misfit| {
            *misfit = 0.0;
            if near_cell[cell] == 0 || phi[cell].abs() >= dx {
                return;
            }
            let (mut area, mut sum) = (0.0, 0.0);
            let reach = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
            let weight = |a: usize, c: usize| if at[a] == c { 1.0 } else { 0.5 };
            for (k, j) in reach(2).flat_map(|k| reach(1).map(move |j| (k, j))) {
                for i in reach(0) {
                    let other = cells.index(i, j, k);
                    if near_cell[other] != 0 && phi[other] > -DEEPEST_OF_LAYER_CELLS * dx {
                        let w = weight(0, i) * weight(1, j) * weight(2, k);
                        area += w * surface_share(phi[other], dx) * open[other];
                        sum += w * (cell_ranges.count(other) as f32 / 8.0 - fraction[other]);
                    }
                }
            }
            *misfit = sum / area.max(LEAST_AREA);
        });
        self.work.particles.misfit_cell = misfits;
    }

    /// Marks the cells that phi reaches and fills the liquid share of their volume; returns the sum, m3.
    fn fill_near_fractions(&mut self, solids: &Solids) -> f64 {
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        let phi = &self.work.fields.phi_cell;
        self.fill_fractions(&mut fractions, phi, &self.work.fields.gap_cell, &solids.fields);
        let near = &mut self.work.particles.near_cell;
        mark_near(near, phi, &self.grid);
        let cells = self.grid.cell_centers();
        cells.for_each_mut(&mut fractions, |cell, _, fraction| {
            if near[cell] == 0 {
                *fraction = 0.0;
            }
        });
        let sum = ordered_sum_of(fractions.len(), |cell| fractions[cell] as f64);
        self.work.fields.fraction_cell = fractions;
        sum * (self.grid.dx as f64).powi(3)
    }

    /// Energy of the mass that the account has, `volume_m3` in all: of the deep cells, of the particles, and of what is
    /// on its way between them, which lies where they meet. Deep cells, and particles in cells that phi reaches, move with
    /// the grid there; others have their own velocity. Test: `the_energy_of_particles_is_that_of_their_mass`.
    pub(crate) fn energy_of_mass(
        &self,
        carried: &Carried,
        fields: &Fields,
        boundaries: &Boundaries,
        volume_m3: f64,
    ) -> MassEnergy {
        let (grid, cells) = (&self.grid, self.grid.cell_centers());
        let openings = boundaries.openings(&self.work.cover, grid);
        let mean_square_speed = |at: [usize; 3]| openings.mean_square_speed(&fields.u_face, at);
        let (gravity, floor) = (self.setup.liquid.gravity.as_dvec3(), grid.min.as_dvec3());
        let (deep_cell, open_volume) = (&carried.reserve.deep_cell, &boundaries.solids.fields.open_volume);
        let meets_particles = |at: [usize; 3]| {
            (0..3).any(|axis| {
                let beside = |cell: usize| deep_cell[cell] == 0 && open_volume[cell] > 0.0;
                let (cell, stride) = (cells.index(at[0], at[1], at[2]), cells.stride(axis));
                at[axis] > 0 && beside(cell - stride)
                    || at[axis] + 1 < cells.size[axis] && beside(cell + stride)
            })
        };
        // Volume, kinetic and potential energy over density, of all deep cells and of those that meet particles.
        let deep = map_indices(cells.size[2], |k| {
            let mut sums = [[0.0f64; 3]; 2];
            for cell in (k * cells.slab()..(k + 1) * cells.slab()).filter(|&cell| deep_cell[cell] != 0) {
                let (at, open) = (cells.coordinates(cell), f64::from(open_volume[cell]));
                let x = cells.position(at[0], at[1], at[2]).as_dvec3() - floor;
                let of_cell = [open, 0.5 * open * f64::from(mean_square_speed(at)), -open * gravity.dot(x)];
                for part in 0..if meets_particles(at) { 2 } else { 1 } {
                    (0..3).for_each(|n| sums[part][n] += of_cell[n]);
                }
            }
            sums
        });
        let sum = |part: usize, n: usize| deep.iter().map(|sums| sums[part][n]).sum::<f64>() * self.cell_m3();
        let (density, meeting_m3) = (f64::from(self.setup.liquid.density), sum(1, 0));
        let outside_m3 = volume_m3 - sum(0, 0);
        // Half a particle for each cell, in the mean, waits to be a whole one. What the account has beyond that is what cells that solids cut
        // could not be given as whole particles: it lies among those that they have.
        let most_m3 = meeting_m3 / 16.0;
        let between_m3 =
            (outside_m3 - carried.particles.len() as f64 * self.particle_m3()).clamp(-most_m3, most_m3);
        let mut energy =
            self.particle_energy(carried, density * (outside_m3 - between_m3), mean_square_speed);
        let part = if meeting_m3 > 0.0 { between_m3 / meeting_m3 } else { 0.0 };
        energy.kinetic_j += density * (sum(0, 1) + part * sum(1, 1));
        energy.potential_j += density * (sum(0, 2) + part * sum(1, 2));
        energy
    }

    /// Energy of the particles, `all_kg` together.
    fn particle_energy(
        &self,
        carried: &Carried,
        all_kg: f64,
        mean_square_speed: impl Fn([usize; 3]) -> f32 + Sync,
    ) -> MassEnergy {
        let (Carried { particles, near_cell, .. }, grid) = (*carried, &self.grid);
        let (n, cells) = (particles.len(), grid.cell_centers());
        let (gravity, floor) = (self.setup.liquid.gravity.as_dvec3(), grid.min.as_dvec3());
        let kg = all_kg / n.max(1) as f64;
        let parts = map_indices(chunk_count(n, CHUNK), |chunk| {
            let mut sums = [0.0f64; 3];
            // Particles are sorted by cells: those of one cell follow each other.
            let mut of_cell = (usize::MAX, 0.0);
            for p in chunk_range(chunk, CHUNK, n) {
                let place = ((particles.x[p] - grid.min) / grid.dx).floor();
                let cell = cells.index_clamped(place.x as isize, place.y as isize, place.z as isize);
                let own2 = particles.v[p].as_dvec3().length_squared();
                let speed2 = if near_cell[cell] == 0 {
                    sums[2] = if own2.is_nan() { own2 } else { sums[2].max(own2) };
                    own2
                } else {
                    if of_cell.0 != cell {
                        of_cell = (cell, f64::from(mean_square_speed(cells.coordinates(cell))));
                    }
                    of_cell.1
                };
                sums[0] += 0.5 * kg * speed2;
                sums[1] -= kg * gravity.dot(particles.x[p].as_dvec3() - floor);
            }
            sums
        });
        let total = parts.into_iter().fold([0.0f64; 3], |a, b| {
            [a[0] + b[0], a[1] + b[1], if a[2].is_nan() || b[2].is_nan() { f64::NAN } else { a[2].max(b[2]) }]
        });
        MassEnergy { kinetic_j: total[0], potential_j: total[1], fastest_m_s: total[2].sqrt() }
    }

    /// Does a particle fly at x?
    pub(crate) fn flies(&self, x: Vec3, near_cell: &[u8]) -> bool {
        let at = ((x - self.grid.min) / self.grid.dx).floor();
        let cells = self.grid.cell_centers();
        near_cell[cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)] == 0
    }

    /// Height of a film on the floor around (x, z) that reaches no cell's centre: the volume of its particles
    /// within a cell along x and z, weighted by 1 - distance / dx, over their area.
    pub(crate) fn film_height(&self, x: f32, z: f32) -> f64 {
        let (dx, floor) = (self.grid.dx, self.grid.min.y);
        let weight = |p: &Vec3| {
            let near = |distance: f32| (1.0 - distance.abs() / dx).max(0.0);
            if p.y < floor + dx { near(p.x - x) * near(p.z - z) } else { 0.0 }
        };
        let sum: f64 = self.state.particles.x.iter().map(|p| f64::from(weight(p))).sum();
        sum * self.particle_m3() / f64::from(dx).powi(2)
    }

    /// Area of the surface in the cells near it, m2.
    pub(crate) fn surface_area_m2(&self, phi: &[f32], near_cell: &[u8], solids: &Solids) -> f64 {
        let (dx, open) = (self.grid.dx, &solids.fields.open_volume);
        let cells = ordered_sum_of(phi.len(), |cell| match near_cell[cell] {
            0 => 0.0,
            _ => (surface_share(phi[cell], dx) * open[cell]) as f64,
        });
        cells * (dx as f64).powi(2)
    }
}

/// Tells the regions of liquid apart that solids divide, with the cells at their surface: each has a rest of its own. `labels` is made
/// use of.
fn label_liquid(
    reserve: &mut Reserve,
    phi_cell: &[f32],
    solids: &Solids,
    grid: &UniformGrid,
    labels: &mut [Vec<u32>; 2],
) {
    let open_area = &solids.fields.open_area;
    let area = AXES.map(|axis| open_area[axis].as_slice());
    let [region_cell, inner_cell] = labels;
    let regions = label_regions(region_cell, phi_cell, area, grid);
    for _ in 0..LABELLED_AIR_CELLS {
        std::mem::swap(region_cell, inner_cell);
        spread_labels(region_cell, inner_cell, area, grid);
    }
    reserve.tell_regions_apart(region_cell, regions);
}

/// Area of the surface that belongs to a cell, over dx^2.
fn surface_share(phi: f32, dx: f32) -> f32 {
    (1.0 - (phi / dx).abs()).max(0.0)
}

/// Particles in cells that phi does not reach.
fn flying(ranges: &CellRanges, near_cell: &[u8]) -> usize {
    let count = |cell: usize| if near_cell[cell] == 0 { ranges.count(cell) as f64 } else { 0.0 };
    ordered_sum_of(near_cell.len(), count) as usize
}
