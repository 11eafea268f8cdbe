//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::CutCellSolver;
use crate::state::{Fields, Work};
use fluvial_cutcell::tracker::sample_cubic;
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, ordered_max, ordered_sum_of};
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use fluvial_volume::Account;
use std::f64::consts::PI;

/// Longest time of the curvature flow that a suggested step needs, in square cells.
const MOST_FLOW: f64 = 0.25;

impl CutCellSolver {
    /// The step's numbers; an error when anything is not finite.
    pub(crate) fn measure(&mut self, pressure: PressureReport) -> Result<StepReport, StepError> {
        let volume_m3 = self.work.fields.population.total_m3();
        self.work.account.measure(volume_m3);
        let work = &self.work;
        let mut report = self.report(&work.fields, &work.account, pressure);
        report.raw_volume_error = self.raw_error();
        report.max_divergence_1_s = self.largest_divergence();
        let Work { mesh, .. } = work;
        if let Some(mesh) = mesh {
            (report.cells, report.faces) = (mesh.pieces.len(), mesh.faces.len());
        }
        if !(report.max_speed_m_s.is_finite() && report.kinetic_energy_j.is_finite()) {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.potential_energy_j.is_finite() {
            return Err(StepError::NotFinite { field: "positions", stage: "advect" });
        }
        if work.fields.phi_node.iter().any(|phi| phi.is_nan()) {
            return Err(StepError::NotFinite { field: "level set", stage: "advect" });
        }
        self.work.limiting_speed_m_s = report.max_speed_m_s;
        // Velocity stands half a step ahead of positions (leapfrog): the energy that this scheme keeps has the product of
        // two steps' velocities.
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        report.kinetic_energy_j = (self.state.kinetic_energy_j * report.kinetic_energy_j).sqrt();
        Ok(report)
    }

    /// What the level set would have gained or lost by the step's start, where it was cut, had its surface not been displaced to
    /// what particles hold until then. (The displacement of the step itself answers what was cut: with it, the last
    /// difference would count twice.)
    fn raw_error(&self) -> f64 {
        let Work { bodies, account, .. } = &self.work;
        let returned_m3 = self.state.fields.returned_m3;
        let cut_m3 = self.cell_m3() * bodies.volume.iter().sum::<f64>();
        let held_m3 = self.cell_m3() * bodies.held.iter().sum::<f64>();
        (cut_m3 - held_m3 - returned_m3) / account.largest_expected_m3.max(f64::MIN_POSITIVE)
    }

    /// Largest outflow of a full cell over its volume, 1/s.
    fn largest_divergence(&self) -> f64 {
        let Work { mesh, u_face, .. } = &self.work;
        let Some(mesh) = mesh else { return 0.0 };
        let dx = f64::from(self.grid.dx);
        let outflow = |piece: usize| {
            let sign = |side: usize| if side == 0 { 1.0 } else { -1.0 };
            let sum: f64 = mesh.faces_of(piece).map(|(f, s)| sign(s) * mesh.faces[f].area * u_face[f]).sum();
            if mesh.pieces[piece].is_full { (sum / dx).abs() } else { 0.0 }
        };
        let pieces = mesh.pieces.len();
        ordered_max(chunk_count(pieces, CHUNK), |c| {
            chunk_range(c, CHUNK, pieces)
                .map(outflow)
                .fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b })
        })
    }

    pub(crate) fn report(&self, fields: &Fields, account: &Account, pressure: PressureReport) -> StepReport {
        let (population, liquid) = (&fields.population, self.setup.liquid);
        let particles = &population.particles;
        let n = particles.len();
        let (floor, gravity) = (self.setup.domain.bounds().min.as_dvec3(), liquid.gravity.as_dvec3());
        let density = f64::from(liquid.density);
        let volume = |i: usize| f64::from(population.volume_m3[i]);
        let kinetic = ordered_sum_of(n, |i| 0.5 * volume(i) * particles.v[i].as_dvec3().length_squared());
        let potential = ordered_sum_of(n, |i| -volume(i) * gravity.dot(particles.x[i].as_dvec3() - floor));
        let fastest = ordered_max(chunk_count(n, CHUNK), |c| {
            chunk_range(c, CHUNK, n)
                .map(|i| f64::from(particles.v[i].length()))
                .fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b })
        });
        StepReport {
            particles: n,
            liquid_volume_m3: account.volume_m3,
            inflow_m3: account.inflow_m3,
            outflow_m3: account.outflow_m3,
            volume_error: account.error(),
            raw_volume_error: account.error(),
            kinetic_energy_j: density * kinetic,
            potential_energy_j: density * potential,
            max_speed_m_s: fastest.max(0.0),
            pressure,
            ..StepReport::default()
        }
    }

    /// The largest step that transport and gravity waves allow, and that needs no more than [`MOST_FLOW`] for surface tension.
    /// Any longer step is stable too, but its curvature is damped: a drop of five cells' radius at eight times the step had 44 %
    /// of its pressure.
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let (dx, gravity) = (f64::from(self.grid.dx), f64::from(self.setup.liquid.gravity.length()));
        let speed = self.state.limiting_speed_m_s.max(self.setup.boundary_speed_m_s(self.state.time_s, 0.0));
        let reach = f64::from(self.setup.cfl) * self.way_m();
        let mut dt = SuggestedDt::UNLIMITED;
        if speed > 0.0 {
            dt.limit(2.0 * reach / (speed + (speed * speed + 2.0 * gravity * reach).sqrt()), DtLimiter::Cfl);
        }
        dt.limit_gravity_waves(gravity, dx);
        let sigma = f64::from(self.setup.liquid.surface_tension);
        if sigma > 0.0 {
            let shortest = PI / dx;
            let density = f64::from(self.setup.liquid.density);
            dt.limit((MOST_FLOW * dx * dx * density / (sigma * shortest)).sqrt(), DtLimiter::SurfaceTension);
        }
        dt
    }

    /// Is a place in liquid, by the level set and outside solids?
    fn phi_at(&self, x: Vec3) -> f32 {
        let at = self.in_cells(x) * self.factor() as f64;
        let phi = sample_cubic(&self.state.fields.phi_node, &self.nodes, at);
        if self.is_open(x) { phi } else { phi.max(self.fine_m()) }
    }

    /// Height of the highest surface on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let (bounds, fine_m) = (self.setup.domain.bounds(), self.fine_m());
        let rows = (bounds.size().y / fine_m).round() as usize;
        let at = |row: usize| self.phi_at(Vec3::new(x, bounds.min.y + row as f32 * fine_m, z));
        let mut above = at(rows);
        if above < 0.0 {
            return f64::from(rows as f32 * fine_m);
        }
        for row in (0..rows).rev() {
            let below = at(row);
            if below < 0.0 {
                return f64::from(fine_m * (row as f32 + below / (below - above)));
            }
            above = below;
        }
        0.0
    }

    /// Pressure at a point, Pa; 0 outside the liquid.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        if self.phi_at(x) >= 0.0 {
            return 0.0;
        }
        f64::from(self.grid.cell_centers().sample(&self.state.fields.pressure_cell, x))
    }

    /// Volume of the particles in a shape; each counts as a cube.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let population = &self.state.fields.population;
        let dx = self.grid.dx;
        ordered_sum_of(population.volume_m3.len(), |n| {
            let volume = population.volume_m3[n];
            f64::from(volume * shape.share_of_cube(population.particles.x[n], volume.cbrt(), dx))
        })
    }
}
