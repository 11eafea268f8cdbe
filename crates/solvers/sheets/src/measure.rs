//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::SheetsSolver;
use crate::state::{Boundaries, Fields, State, Work};
use fluvial_foundation::parallel::{self, CHUNK, map_indices, ordered_max, ordered_sum_of};
use fluvial_foundation::{AXES, Vec3};
use fluvial_mac::{Probe, fastest_boundary_m_s, impulse_at};
use fluvial_sheets::{Population, SurfaceShape};
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use fluvial_volume::Account;
use std::f64::consts::PI;

/// Particles outside liquid cells may go so many times farther in a step than others: they fly.
const FLIGHT_ALLOWANCE: f64 = 2.0;

/// What a report is about: the liquid of the state or that of a step.
pub(crate) struct Measured<'a> {
    pub population: &'a Population,
    pub fields: &'a Fields,
    pub boundaries: &'a Boundaries,
    pub account: &'a Account,
}

impl SheetsSolver {
    /// The step's numbers; an error when anything is not finite.
    pub(crate) fn measure(&mut self, dt_s: f64, pressure: PressureReport) -> Result<StepReport, StepError> {
        let volume_m3 = self.volume_of(self.work.population.particles.total_mass());
        self.work.account.measure(volume_m3);
        let Work { population, fields, boundaries, account, .. } = &self.work;
        let liquid = Measured { population, fields, boundaries, account };
        let (mut report, limiting_speed_m_s) = self.report(&liquid, pressure, Some(dt_s));
        if !report.max_speed_m_s.is_finite() || !report.kinetic_energy_j.is_finite() {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        self.work.limiting_speed_m_s = limiting_speed_m_s;
        let squeezed_m3 = self.work.account.volume_m3 - self.occupied_volume();
        report.raw_volume_error -= squeezed_m3 / self.work.account.largest_expected_m3.max(f64::MIN_POSITIVE);
        // Velocity stands half a step ahead of the positions (leapfrog); the energy that this scheme
        // conserves has the product of two steps' velocities.
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        if self.setup.flow.is_none() {
            report.kinetic_energy_j = (self.state.kinetic_energy_j * report.kinetic_energy_j).sqrt();
        }
        Ok(report)
    }

    /// Sums over a liquid whose unknowns are marked, after a step of the given length or at the start; and
    /// the speed that limits the next step.
    pub(crate) fn report(
        &self,
        liquid: &Measured,
        pressure: PressureReport,
        of_step: Option<f64>,
    ) -> (StepReport, f64) {
        let Measured { population, fields, boundaries, account } = *liquid;
        let particles = &population.particles;
        let n = particles.len();
        let floor = self.grid.min.as_dvec3();
        let gravity = self.setup.liquid.gravity.as_dvec3();
        let unit_kg = self.setup.liquid.density as f64 * (population.params.d0 as f64).powi(3);
        let weight = |i: usize| particles.weight(i) as f64;
        let kinetic = ordered_sum_of(n, |i| 0.5 * weight(i) * particles.v[i].as_dvec3().length_squared());
        let potential = ordered_sum_of(n, |i| -weight(i) * gravity.dot(particles.x[i].as_dvec3() - floor));
        let (grid, unknown) = (self.grid, &self.work.unknowns.unknown_cell);
        let cells = grid.cell_centers();
        let (openings, beyond) =
            (boundaries.openings(&self.work.cover, &grid), &self.work.density.beyond_cell);
        let part = self.mended_part(of_step.unwrap_or(0.0));
        let wanted = |cell: usize| match of_step {
            Some(dt_s) if self.setup.flow.is_none() => part * beyond[cell] / dt_s as f32,
            _ => 0.0,
        };
        let slabs = map_indices(cells.size[2], |k| {
            let (mut count, mut divergence) = (0usize, 0.0f32);
            for m in 0..cells.slab() {
                if unknown[k * cells.slab() + m] {
                    count += 1;
                    let out = openings.outflow(&fields.u_face, [m % cells.size[0], m / cells.size[0], k]);
                    let out = (out - wanted(k * cells.slab() + m) * grid.dx).abs();
                    divergence = if divergence.is_nan() || divergence > out { divergence } else { out };
                }
            }
            (count, divergence)
        });
        let fastest = |flying: bool| self.fastest(population, flying);
        let (in_liquid, flying) = (fastest(false), fastest(true));
        let max_speed_m_s =
            if in_liquid.is_nan() || flying.is_nan() { f64::NAN } else { in_liquid.max(flying) };
        let faces =
            AXES.iter().map(|&a| self.work.velocity.valid_face[a].iter().filter(|&&v| v == 1).count()).sum();
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
    fn fastest(&self, population: &Population, flying: bool) -> f64 {
        let (particles, bins) = (&population.particles, population.neighbours.bins());
        let (n, unknown) = (particles.len(), &self.work.unknowns.unknown_cell);
        if n == 0 {
            return 0.0;
        }
        ordered_max(parallel::chunk_count(n, CHUNK), |c| {
            parallel::chunk_range(c, CHUNK, n)
                .filter(|&i| unknown[bins.index(bins.coordinates(particles.x[i]))] != flying)
                .map(|i| particles.v[i].length() as f64)
                .fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b })
        })
    }

    /// The largest step that transport, gravity waves and capillary waves allow: as in the method `uniform`.
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let (dx, liquid) = (self.grid.dx as f64, self.setup.liquid);
        let reach = self.setup.cfl as f64 * dx;
        let mut dt = SuggestedDt::UNLIMITED;
        if let Some(flow) = self.setup.flow {
            dt.limit(reach / flow.fastest_m_s(), DtLimiter::Cfl);
            return dt;
        }
        let gravity = liquid.gravity.length() as f64;
        let speed = self.state.limiting_speed_m_s.max(self.boundary_speed_m_s());
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

    /// Fastest solid or source, m/s.
    fn boundary_speed_m_s(&self) -> f64 {
        let u_solid = &self.state.boundaries.solids.fields.u_solid;
        let solids_m_s = if self.setup.has_moving_solids() { fastest_boundary_m_s(u_solid) } else { 0.0 };
        self.setup.boundary_speed_m_s(self.state.time_s, solids_m_s)
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

    /// Pressure at a point, Pa.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let State { fields, boundaries, last_dt_s, .. } = &self.state;
        if *last_dt_s == 0.0 || !self.grid.bounds().contains(x) {
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
        impulse * self.setup.liquid.density as f64 * self.grid.dx as f64 / last_dt_s
    }

    /// Volume of the particles inside a shape, each as a cube of their spacing.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let particles = &self.state.population.particles;
        let d0 = self.state.population.params.d0;
        let share = |i: usize| f64::from(shape.share_of_cube(particles.x[i], d0, d0));
        let sum = ordered_sum_of(particles.len(), |i| particles.weight(i) as f64 * share(i));
        sum * (d0 as f64).powi(3)
    }
}
