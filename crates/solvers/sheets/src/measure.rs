//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::SheetsSolver;
use crate::pressure::ghost_theta;
use crate::state::{Account, State};
use fluvial_foundation::parallel::{self, CHUNK, for_each_chunk_mut, map_indices, ordered_max, ordered_sum};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::FaceField;
use fluvial_sheets::{Particles, Population, SurfaceShape, box_sums};
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use std::f64::consts::PI;

/// Particles outside liquid cells may go so many times farther in a step than others: they fly.
const FLIGHT_ALLOWANCE: f64 = 2.0;

impl SheetsSolver {
    /// The step's numbers; an error when anything is not finite.
    pub(crate) fn measure(&mut self, dt_s: f64, pressure: PressureReport) -> Result<StepReport, StepError> {
        self.work.account.volume_m3 = self.occupied_volume();
        let account = &mut self.work.account;
        account.largest_expected_m3 = account.largest_expected_m3.max(account.expected_m3());
        let (mut report, limiting_speed_m_s) = self.report(pressure, Some(dt_s));
        if !report.max_speed_m_s.is_finite() || !report.kinetic_energy_j.is_finite() {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        self.limiting_speed_m_s = limiting_speed_m_s;
        // Velocity stands half a step ahead of the positions (leapfrog); the energy that this scheme conserves has the
        // product of two steps' velocities.
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        if self.setup.flow.is_none() {
            report.kinetic_energy_j = (self.state.kinetic_energy_j * report.kinetic_energy_j).sqrt();
        }
        Ok(report)
    }

    /// Sums over the liquid of the work arrays after a step of the given length, or of the state; and the speed that limits the next step.
    pub(crate) fn report(&self, pressure: PressureReport, of_step: Option<f64>) -> (StepReport, f64) {
        let dt_s = of_step.unwrap_or(0.0);
        let (population, u, account): (&Population, &FaceField, &Account) = if of_step.is_some() {
            (&self.work.population, &self.work.u_face, &self.work.account)
        } else {
            (&self.state.population, &self.state.u_face, &self.state.account)
        };
        let particles = &population.particles;
        let n = particles.len();
        let floor = self.grid.min.as_dvec3();
        let gravity = self.setup.liquid.gravity.as_dvec3();
        let unit_kg = self.setup.liquid.density as f64 * (population.params.d0 as f64).powi(3);
        let weight = |i: usize| particles.weight(i) as f64;
        let kinetic = self.sum_particles(n, |i| 0.5 * weight(i) * particles.v[i].as_dvec3().length_squared());
        let potential =
            self.sum_particles(n, |i| -weight(i) * gravity.dot(particles.x[i].as_dvec3() - floor));
        let grid = self.grid;
        let cells = grid.cell_centers();
        let wanted = |cell: usize| if dt_s > 0.0 { self.wanted_divergence(cell, dt_s as f32) } else { 0.0 };
        let slabs = map_indices(cells.size[2], |k| {
            let (mut count, mut divergence) = (0usize, 0.0f32);
            for m in 0..cells.slab() {
                if self.work.unknown_cell[k * cells.slab() + m] {
                    count += 1;
                    let out = self.outflow(u, [m % cells.size[0], m / cells.size[0], k]);
                    let out = (out - wanted(k * cells.slab() + m) * grid.dx).abs();
                    divergence = if divergence.is_nan() || divergence > out { divergence } else { out };
                }
            }
            (count, divergence)
        });
        let fastest = |flying: bool| self.fastest(particles, population, flying);
        let (in_liquid, flying) = (fastest(false), fastest(true));
        let max_speed_m_s =
            if in_liquid.is_nan() || flying.is_nan() { f64::NAN } else { in_liquid.max(flying) };
        let faces = AXES.iter().map(|&a| self.work.valid_face[a].iter().filter(|&&v| v == 1).count()).sum();
        let report = StepReport {
            cells: slabs.iter().map(|s| s.0).sum(),
            faces,
            particles: n,
            liquid_volume_m3: account.volume_m3,
            inflow_m3: account.inflow_m3,
            outflow_m3: account.outflow_m3,
            volume_error: account.error(),
            raw_volume_error: account.error(),
            kinetic_energy_j: unit_kg * kinetic,
            potential_energy_j: unit_kg * potential,
            max_speed_m_s,
            max_divergence_1_s: ordered_max(slabs.len(), |k| slabs[k].1 as f64) / grid.dx as f64,
            pressure,
            ..Default::default()
        };
        (report, in_liquid.max(flying / FLIGHT_ALLOWANCE))
    }

    /// Fastest particle inside or outside liquid cells, m/s.
    fn fastest(&self, particles: &Particles, population: &Population, flying: bool) -> f64 {
        let bins = population.neighbours.bins();
        let n = particles.len();
        if n == 0 {
            return 0.0;
        }
        ordered_max(parallel::chunk_count(n, CHUNK), |c| {
            parallel::chunk_range(c, CHUNK, n)
                .filter(|&i| self.work.unknown_cell[bins.index(bins.coordinates(particles.x[i]))] != flying)
                .map(|i| particles.v[i].length() as f64)
                .fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b })
        })
    }

    /// Mass in the 5^3 cells around each cell over what they hold when full.
    pub(crate) fn fill_crowding(&mut self) {
        self.work.crowding_cell = box_sums(&self.work.population.mass_cell, self.grid.cells, 2);
        let room = &self.work.room_cell;
        for_each_chunk_mut(&mut self.work.crowding_cell, CHUNK, |c, held| {
            let room = &room[parallel::chunk_range(c, CHUNK, room.len())];
            held.iter_mut().zip(room).for_each(|(held, room)| *held /= room.max(1e-3));
        });
    }

    /// Volume of the particles, less what is squeezed into neighbourhoods beyond what they hold.
    ///
    /// Particles carry their volume, so that drops and sheets count in full; where FLIP lets them clump, the space that they
    /// have lost shows here.
    pub(crate) fn occupied_volume(&self) -> f64 {
        let (mass, crowding) = (&self.work.population.mass_cell, &self.work.crowding_cell);
        let sum = ordered_sum(parallel::chunk_count(mass.len(), CHUNK), |c| {
            let range = parallel::chunk_range(c, CHUNK, mass.len());
            range.map(|c| (mass[c] / crowding[c].max(1.0)) as f64).sum()
        });
        sum * (self.params.radius_m(self.grid.dx) as f64).powi(3)
    }

    /// The largest step that transport, gravity waves and capillary waves allow: as in the method `uniform`.
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let dx = self.grid.dx as f64;
        let liquid = self.setup.liquid;
        if let Some(flow) = self.setup.flow {
            let dt_s = self.setup.cfl as f64 * dx / flow.fastest_m_s();
            return SuggestedDt { dt_s, limiter: DtLimiter::Cfl };
        }
        let gravity = liquid.gravity.length() as f64;
        let speed = self.limiting_speed_m_s.max(self.max_solid_speed());
        let reach = self.setup.cfl as f64 * dx;
        let mut best = SuggestedDt { dt_s: f64::INFINITY, limiter: DtLimiter::Frame };
        let mut limit = |dt_s: f64, limiter| {
            if dt_s < best.dt_s {
                best = SuggestedDt { dt_s, limiter };
            }
        };
        if speed > 0.0 {
            limit(2.0 * reach / (speed + (speed * speed + 2.0 * gravity * reach).sqrt()), DtLimiter::Cfl);
        }
        if gravity > 0.0 {
            limit((dx / (gravity * PI)).sqrt(), DtLimiter::Gravity);
        }
        if liquid.surface_tension > 0.0 {
            let sigma = liquid.surface_tension as f64;
            let density = liquid.density as f64;
            limit((density * dx.powi(3) / (4.0 * PI * sigma)).sqrt(), DtLimiter::SurfaceTension);
        }
        best
    }

    /// Fastest solid or source, m/s.
    fn max_solid_speed(&self) -> f64 {
        let u = &self.solids.u_solid;
        let solids = if self.setup.solids.iter().any(|s| !s.motion.is_static()) {
            let fastest = |axis: usize| u[axis].iter().fold(0.0f32, |m, v| m.max(v.abs())) as f64;
            AXES.iter().map(|&a| fastest(a).powi(2)).sum::<f64>().sqrt()
        } else {
            0.0
        };
        let time_s = self.state.time_s;
        let active = self.setup.sources.iter().filter(|s| s.active_s[0] <= time_s && time_s < s.active_s[1]);
        active.fold(solids, |m, s| m.max(s.velocity.length() as f64))
    }

    /// The finer lattice that the surface is sampled on.
    pub(crate) fn surface_shape(&self) -> SurfaceShape {
        let refinement = self.params.surface_refinement as usize;
        let spacing = self.grid.dx / refinement as f32;
        SurfaceShape {
            spacing,
            origin: self.grid.min + 0.5 * spacing,
            size: self.grid.cells.map(|n| n * refinement),
            sheet_reach: self.params.sheet_reach,
        }
    }

    /// Height of the highest surface crossing on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let field = self.state.population.surface_probe(&self.surface_shape());
        let bounds = self.grid.bounds();
        let step = 0.25 * self.grid.dx;
        let value = |y: f32| field.value(Vec3::new(x, y, z));
        let mut above = (bounds.max.y, value(bounds.max.y));
        if above.1 < 0.0 {
            return (bounds.max.y - bounds.min.y) as f64;
        }
        while above.0 > bounds.min.y {
            let y = (above.0 - step).max(bounds.min.y);
            let below = (y, value(y));
            if below.1 < 0.0 {
                // Between the two, by halving.
                let (mut low, mut high) = (below.0, above.0);
                for _ in 0..12 {
                    let middle = 0.5 * (low + high);
                    if value(middle) < 0.0 { low = middle } else { high = middle }
                }
                return (0.5 * (low + high) - bounds.min.y) as f64;
            }
            above = below;
        }
        0.0
    }

    /// Pressure at a point: every unknown around it speaks for itself with its own gradient.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let cells = self.grid.cell_centers();
        let State { phi_cell: phi, impulse_cell: q, last_dt_s, .. } = &self.state;
        let is_unknown = |cell: usize| phi[cell] < 0.0 && !self.work.closed_cell[cell];
        if *last_dt_s == 0.0 || !self.grid.bounds().contains(x) {
            return 0.0;
        }
        let stencil = cells.stencil(x);
        let base = cells.coordinates(stencil.base);
        let slope = |at: [usize; 3], cell: usize, axis: usize| {
            let stride = cells.stride(axis);
            let side = |up: bool| -> Option<f32> {
                let lattice = self.grid.faces(axis);
                let face = lattice.index(at[0], at[1], at[2]) + if up { lattice.stride(axis) } else { 0 };
                if self.solids.open_area[axis][face] == 0.0 {
                    return None;
                }
                if if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 } {
                    return Some(0.0);
                }
                let other = if up { cell + stride } else { cell - stride };
                let ghost = || q[cell] * (1.0 - 1.0 / ghost_theta(phi[cell], phi[other]));
                Some(if is_unknown(other) { q[other] } else { ghost() })
            };
            match (side(false), side(true)) {
                (Some(low), Some(high)) => 0.5 * (high - low),
                (Some(low), None) => q[cell] - low,
                (None, Some(high)) => high - q[cell],
                (None, None) => 0.0,
            }
        };
        let (mut sum, mut weights) = (0.0f64, 0.0f64);
        for corner in 0..8 {
            let high = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
            let at: [usize; 3] = std::array::from_fn(|a| (base[a] + high[a]).min(cells.size[a] - 1));
            let cell = cells.index(at[0], at[1], at[2]);
            if is_unknown(cell) {
                let share =
                    |a: usize| if high[a] == 1 { stencil.fraction[a] } else { 1.0 - stencil.fraction[a] };
                let weight = ((share(0) * share(1) * share(2)) as f64).max(1e-6);
                let offset = (x - cells.position(at[0], at[1], at[2])) / self.grid.dx;
                let along = AXES.map(|a| slope(at, cell, a) * offset[a]);
                sum += weight * (q[cell] + along[0] + along[1] + along[2]) as f64;
                weights += weight;
            }
        }
        if weights == 0.0 {
            return 0.0;
        }
        sum / weights * self.setup.liquid.density as f64 * self.grid.dx as f64 / last_dt_s
    }

    /// Volume of the particles inside a shape; its surface is taken as a plane within a particle.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let particles = &self.state.population.particles;
        let d0 = self.state.population.params.d0;
        let share = |i: usize| (0.5 - shape.distance(particles.x[i]) / d0).clamp(0.0, 1.0) as f64;
        let sum = self.sum_particles(particles.len(), |i| particles.weight(i) as f64 * share(i));
        sum * (d0 as f64).powi(3)
    }
}
