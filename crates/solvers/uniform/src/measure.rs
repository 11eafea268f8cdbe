//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::UniformSolver;
use crate::particle_mass::Carried;
use crate::state::{Boundaries, Fields, State, Work};
use fluvial_drops::Drops;
use fluvial_foundation::parallel::{
    CHUNK, chunk_count, chunk_range, for_each_indexed_mut, map_indices, ordered_max, ordered_sum,
};
use fluvial_foundation::{AXES, DVec3, Vec3};
use fluvial_grids::Lattice;
use fluvial_level_set as level_set;
use fluvial_mac::{Probe, fastest_boundary_m_s, impulse_at};
use fluvial_solids::{Shape, SolidFields};
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use fluvial_volume::{Account, liquid_center};
use std::f64::consts::PI;

/// A cell that solids leave less of than this does not count for the largest speed: liquid in slivers has the solver's
/// residual over tiny areas for a velocity.
const SLIVER: f32 = 0.01;
/// Less of a cell than this between solids one of which moves is a film that is squeezed: solids that approach at v let it out of
/// a gap of h cells at v / h and more, a crate that lands on the floor at tens of metres a second. That speed is right, and says
/// nothing about the liquid around; it does not count for the largest speed either.
const SQUEEZED: f32 = 0.2;
/// Liquid farther than this from every surface is resolved, cells.
const RESOLVED_CELLS: f32 = 1.0;

impl UniformSolver {
    /// Volume inside phi < 0 and outside solids, m3.
    pub(crate) fn liquid_volume(&self, phi: &[f32], solids: &SolidFields) -> f64 {
        let SolidFields { open_volume, phi_node, sides, .. } = solids;
        level_set::liquid_volume_on_sides(phi, open_volume, phi_node, sides, &self.grid)
    }

    /// Fills the liquid share of every cell's volume. Gaps thinner than half a cell are not in phi yet.
    pub(crate) fn fill_fractions(
        &self,
        fraction_cell: &mut [f32],
        phi: &[f32],
        gap_cell: &[f32],
        solids: &SolidFields,
    ) {
        let SolidFields { open_volume, phi_node, sides, .. } = solids;
        // Particles carry their mass themselves.
        let carried_by_fluxes = self.params.conserves_volume();
        let up = if carried_by_fluxes { -self.setup.liquid.gravity.normalize_or_zero() } else { Vec3::ZERO };
        level_set::liquid_fractions(fraction_cell, phi, open_volume, phi_node, sides, &self.grid, up);
        for_each_indexed_mut(fraction_cell, |cell, fraction| {
            if gap_cell[cell] > 0.0 {
                *fraction = (*fraction - gap_cell[cell] / self.grid.dx).max(0.0);
            }
        });
    }

    /// The step's numbers; an error when anything in the liquid is not finite.
    pub(crate) fn measure(&mut self, pressure: PressureReport) -> Result<StepReport, StepError> {
        let work = &self.work;
        let (mut report, limiting_speed_m_s) =
            self.report(&work.fields, &work.boundaries, pressure, (&work.volume, &work.mass.drops));
        if !report.max_speed_m_s.is_finite() {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.liquid_volume_m3.is_finite() {
            return Err(StepError::NotFinite { field: "level set", stage: "advect_surface" });
        }
        self.work.limiting_speed_m_s = limiting_speed_m_s;
        self.center_kinetic_energy(&mut report);
        Ok(report)
    }

    /// Velocity stands half a step ahead of the surface that it carries next (leapfrog). The energy that
    /// this scheme conserves has v^{n-1} v^n / 2 for the kinetic part: exact in free fall, where
    /// v^n v^n / 2 is not.
    fn center_kinetic_energy(&mut self, report: &mut StepReport) {
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        report.kinetic_energy_j =
            self.work.centring.kinetic_at_surface(self.state.kinetic_energy_j, report.kinetic_energy_j);
    }

    /// Puts the energy of the particles and the deep cells that a step leaves into its report. Not before they have
    /// exchanged their mass: until then deep cells stand where they were and particles have flowed into them, so that what sinks
    /// through the band's lower edge would count above it, as what is still to be seeded below does.
    /// Test: `a_falling_column_with_particles_gains_no_energy`.
    pub(crate) fn measure_particles(&mut self, report: &mut StepReport) {
        if !self.params.has_particles() {
            return;
        }
        let carried = Carried {
            particles: &self.state.particles,
            reserve: &self.work.particles.reserve,
            near_cell: &self.work.particles.near_cell,
        };
        let Work { fields, boundaries, volume, .. } = &self.work;
        self.energy_of_mass(&carried, fields, boundaries, volume.volume_m3).put_into(report);
        self.center_kinetic_energy(report);
    }

    /// Sums over the liquid whose fractions and unknowns the work arrays hold; and the speed that limits the
    /// next step. The energy is that of what the cells hold, which in a splash is not what phi alone stands for; that of particles is
    /// [`Self::energy_of_mass`].
    pub(crate) fn report(
        &self,
        fields: &Fields,
        boundaries: &Boundaries,
        pressure: PressureReport,
        (volume, flying): (&Account, &Drops),
    ) -> (StepReport, f64) {
        let (grid, work, liquid) = (self.grid, &self.work, self.setup.liquid);
        let has_particles = self.params.has_particles();
        let (phi, u, unknown) = (&fields.phi_cell, &fields.u_face, &work.unknowns.unknown_cell);
        let openings = boundaries.openings(&work.cover, &grid);
        let solids = &*boundaries.solids;
        let open_volume = &solids.fields.open_volume;
        let cells = grid.cell_centers();
        let floor = grid.min.as_dvec3();
        let gravity = liquid.gravity.as_dvec3();
        // Per z-slab: cells, twice the kinetic energy over density, -g.x, largest speeds squared of all
        // liquid and of resolved liquid, divergence.
        let slabs = map_indices(cells.size[2], |k| {
            let (mut count, mut kinetic, mut potential) = (0usize, 0.0f64, 0.0f64);
            let (mut speed2, mut resolved_speed2, mut divergence) = (0.0f32, 0.0f32, 0.0f32);
            for j in 0..cells.size[1] {
                let row = cells.index(0, j, k)..cells.index(0, j, k) + cells.size[0];
                let is_wet = unknown[row.clone()].iter().fold(false, |any, &liquid| any | liquid)
                    || !has_particles && row.fold(false, |any, cell| any | (fields.held(cell) != 0.0));
                if !is_wet {
                    continue;
                }
                for i in 0..cells.size[0] {
                    let cell = cells.index(i, j, k);
                    let held = if has_particles { 0.0 } else { fields.held(cell) };
                    if held == 0.0 && !unknown[cell] {
                        continue;
                    }
                    let [square, outflow] = openings.flow(u, [i, j, k]);
                    let mut x = cells.position(i, j, k).as_dvec3() - floor;
                    if held != 0.0 && held < 1.0 {
                        let out = phi_gradient(phi, &cells, [i, j, k]).normalize_or_zero().as_dvec3();
                        let away = match open_volume[cell] < 1.0 {
                            true => solids.away(&grid, cell).normalize_or_zero().as_dvec3(),
                            false => DVec3::ZERO,
                        };
                        let open = f64::from(open_volume[cell]);
                        x += f64::from(grid.dx) * liquid_center(held.max(0.0), open, out, away);
                    }
                    kinetic += held * square as f64;
                    potential -= held * gravity.dot(x);
                    if unknown[cell] {
                        count += 1;
                        let open = open_volume[cell];
                        if open < SLIVER || open < SQUEEZED && openings.has_moving_boundary([i, j, k]) {
                            continue;
                        }
                        speed2 = max_or_nan(speed2, square);
                        if phi[cell] < -RESOLVED_CELLS * grid.dx {
                            resolved_speed2 = max_or_nan(resolved_speed2, square);
                        }
                        if fields.gap_cell[cell] >= 0.0 {
                            continue;
                        }
                        let wanted = match fields.residual_cell.get(cell) {
                            Some(&0.0) => 0.0,
                            Some(&owed) => work.mass.wanted_m_s(owed, phi[cell], &openings, [i, j, k]),
                            None => work.particles.spreading_cell.get(cell).copied().unwrap_or(0.0),
                        };
                        divergence = max_or_nan(divergence, (outflow - wanted).abs());
                    }
                }
            }
            (count, kinetic, potential, [speed2, resolved_speed2], divergence)
        });
        let mass = liquid.density as f64 * (grid.dx as f64).powi(3);
        let mut drops = (0.0, 0.0);
        for n in 0..flying.len() {
            let cells = flying.volume_m3[n] / self.cell_m3();
            drops.0 += cells * flying.v[n].as_dvec3().length_squared();
            drops.1 -= cells * gravity.dot(flying.x[n].as_dvec3() - floor);
        }
        let faces = AXES.iter().map(|&axis| count_valid(&work.valid_face[axis])).sum();
        let [max_speed_m_s, resolved_m_s] =
            [0, 1].map(|n| ordered_max(slabs.len(), |k| slabs[k].3[n] as f64).sqrt());
        let report = StepReport {
            cells: slabs.iter().map(|s| s.0).sum(),
            faces,
            particles: self.state.particles.len() + flying.len(),
            liquid_volume_m3: volume.volume_m3,
            inflow_m3: volume.inflow_m3,
            outflow_m3: volume.outflow_m3,
            volume_error: volume.error(),
            raw_volume_error: volume.error(),
            kinetic_energy_j: 0.5 * mass * (ordered_sum(slabs.len(), |k| slabs[k].1).max(0.0) + drops.0),
            potential_energy_j: mass * (ordered_sum(slabs.len(), |k| slabs[k].2) + drops.1),
            max_speed_m_s: if max_speed_m_s.is_nan() {
                f64::NAN
            } else {
                max_speed_m_s.max(f64::from(flying.fastest_m_s()))
            },
            max_divergence_1_s: ordered_max(slabs.len(), |k| slabs[k].4 as f64) / grid.dx as f64,
            pressure,
            ..Default::default()
        };
        // Without any resolved liquid the thin one is all there is to see.
        let thin_m_s = max_speed_m_s * if resolved_m_s > 0.0 { self.thin_liquid_allowance() } else { 1.0 };
        (report, resolved_m_s.max(thin_m_s))
    }

    /// The part of its speed that counts for liquid which the grid does not resolve. It may cross twice as
    /// many cells in a step as other liquid, but never so many that its new surface leaves the band in
    /// which phi and velocity are known.
    fn thin_liquid_allowance(&self) -> f64 {
        let cfl = self.setup.cfl as f64;
        cfl / (2.0 * cfl).min(self.cfl_band_cells as f64 - 1.5)
    }

    /// The largest step that transport, gravity waves and capillary waves allow.
    ///
    /// - transport: `u dt + g dt^2 / 2 <= cfl dx`, u the fastest solid or resolved liquid. Films and drops
    ///   thinner than two cells go up to twice as far: trajectories bend where pressure acts, and nothing of
    ///   their inside is resolved that a shorter step could show; what they must not leave is the band around
    ///   the surface;
    /// - gravity waves of two cells' length, omega^2 = g pi / dx, are explicit: half of their limit omega dt
    ///   < 2;
    /// - capillary waves: `dt <= sqrt((rho + rho_air) dx^3 / (4 pi sigma))` [brackbill-1992], the air
    ///   weightless.
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let (dx, liquid) = (self.grid.dx as f64, self.setup.liquid);
        let gravity = liquid.gravity.length() as f64;
        let speed = self.state.limiting_speed_m_s.max(self.boundary_speed_m_s());
        let reach = self.setup.cfl as f64 * dx;
        let mut dt = SuggestedDt::UNLIMITED;
        if speed > 0.0 {
            dt.limit(2.0 * reach / (speed + (speed * speed + 2.0 * gravity * reach).sqrt()), DtLimiter::Cfl);
        }
        dt.ends_at_s = self.setup.next_key_s(self.state.time_s);
        dt.limit_gravity_waves(gravity, dx);
        if liquid.surface_tension > 0.0 {
            let sigma = liquid.surface_tension as f64;
            let capillary_s = (liquid.density as f64 * dx.powi(3) / (4.0 * PI * sigma)).sqrt();
            dt.limit(capillary_s, DtLimiter::SurfaceTension);
        }
        dt
    }

    /// Fastest boundary that touches the domain, m/s.
    fn boundary_speed_m_s(&self) -> f64 {
        let u_solid = &self.state.boundaries.solids.fields.u_solid;
        let solids_m_s = if self.setup.has_moving_solids() { fastest_boundary_m_s(u_solid) } else { 0.0 };
        self.setup.boundary_speed_m_s(self.state.time_s, solids_m_s)
    }

    /// Height of the highest surface crossing on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let cells = self.grid.cell_centers();
        let phi_at =
            |j: usize| cells.sample(&self.state.fields.phi_cell, Vec3::new(x, cells.position(0, j, 0).y, z));
        let floor = self.grid.min.y;
        let top = cells.size[1] - 1;
        let mut above = phi_at(top);
        if above < 0.0 {
            return (self.grid.bounds().max.y - floor) as f64;
        }
        for j in (0..top).rev() {
            let below = phi_at(j);
            if below < 0.0 {
                let y = cells.position(0, j, 0).y + self.grid.dx * below / (below - above);
                return (y - floor) as f64;
            }
            above = below;
        }
        if self.params.has_particles() {
            return self.film_height(x, z);
        }
        // Liquid shallower than half a cell has its centre in the air.
        ((0.5 * self.grid.dx - above).max(0.0)) as f64
    }

    /// Pressure at a point, Pa.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let (fields, boundaries) = (&self.state.fields, &self.state.boundaries);
        let inside = self.grid.cell_centers().sample(&fields.phi_cell, x) < 0.0;
        if self.state.pushed_s == 0.0 || !inside {
            return 0.0;
        }
        let probe = Probe {
            grid: &self.grid,
            q_cell: &fields.impulse_cell,
            phi_cell: &fields.phi_cell,
            closed_cell: &boundaries.solids.closed_cell,
            open_area: boundaries.openings(&self.work.cover, &self.grid).area_face,
        };
        let impulse = impulse_at(x, &probe).unwrap_or(0.0);
        impulse * self.setup.liquid.density as f64 * self.grid.dx as f64 / self.state.pushed_s
    }

    /// Liquid volume inside a shape; what a cell holds counts as spread over it.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let cells = self.grid.cell_centers();
        let mut held = self.held_cells();
        cells.for_each_mut(&mut held, |_, [i, j, k], held| {
            if *held != 0.0 {
                *held *= shape.share_of_cube(cells.position(i, j, k), self.grid.dx, self.grid.dx);
            }
        });
        let slab = cells.slab();
        let sum =
            ordered_sum(cells.size[2], |k| held[k * slab..(k + 1) * slab].iter().map(|&f| f as f64).sum());
        let drops = &self.state.drops;
        let inside = (0..drops.len()).filter(|&n| shape.distance(drops.x[n]) < 0.0);
        sum * self.cell_m3() + inside.map(|n| drops.volume_m3[n]).sum::<f64>()
    }

    /// What each cell holds of the account, in cells: what phi stands for and what the cell is owed beside it, or its
    /// particles and, deep inside, all of it. Test: `a_probe_over_everything_reads_the_account`.
    fn held_cells(&self) -> Vec<f32> {
        let State { fields, particles, reserve, boundaries, .. } = &self.state;
        let (cells, open) = (self.grid.cell_centers(), &boundaries.solids.fields.open_volume);
        if !self.params.has_particles() {
            let owed = |cell: usize| fields.residual_cell.get(cell).copied().unwrap_or(0.0);
            return (0..cells.len()).map(|cell| fields.fraction_cell[cell] + owed(cell)).collect();
        }
        let deep = |cell: usize| if reserve.deep_cell[cell] != 0 { open[cell] } else { 0.0 };
        let mut held: Vec<f32> = (0..cells.len()).map(deep).collect();
        let of_particle = (self.particle_m3() / self.cell_m3()) as f32;
        for x in &particles.x {
            let at = ((*x - self.grid.min) / self.grid.dx).floor();
            held[cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)] += of_particle;
        }
        // What is on its way between particles and deep cells has no place: all of a region hold their share of it, and what is no
        // region's all of them.
        let mut of_region_m3 = vec![0.0; reserve.rest_of_region_m3.len()];
        for (cell, held) in held.iter().enumerate() {
            if let Some(region) = reserve.region_of(cell) {
                of_region_m3[region] += f64::from(*held) * self.cell_m3();
            }
        }
        for (cell, held) in held.iter_mut().enumerate() {
            if let Some(region) = reserve.region_of(cell)
                && of_region_m3[region] > 0.0
            {
                *held *= (1.0 + reserve.rest_of_region_m3[region] / of_region_m3[region]) as f32;
            }
        }
        let held_m3 = held.iter().map(|&held| f64::from(held)).sum::<f64>() * self.cell_m3();
        if held_m3 > 0.0 {
            let part = (self.state.volume.volume_m3 / held_m3) as f32;
            held.iter_mut().for_each(|held| *held *= part);
        }
        held
    }
}

/// Central differences of phi, one-sided at the walls (per metre up to a factor of two there).
fn phi_gradient(phi: &[f32], cells: &Lattice, at: [usize; 3]) -> Vec3 {
    let cell = cells.index(at[0], at[1], at[2]);
    let slope = |axis: usize| {
        let stride = cells.stride(axis);
        let low = if at[axis] > 0 { cell - stride } else { cell };
        let high = if at[axis] + 1 < cells.size[axis] { cell + stride } else { cell };
        phi[high] - phi[low]
    };
    Vec3::new(slope(0), slope(1), slope(2)) / (2.0 * cells.spacing)
}

fn count_valid(valid_face: &[u8]) -> usize {
    let chunks = map_indices(chunk_count(valid_face.len(), CHUNK), |chunk| {
        valid_face[chunk_range(chunk, CHUNK, valid_face.len())].iter().filter(|&&valid| valid == 1).count()
    });
    chunks.into_iter().sum()
}

fn max_or_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}
