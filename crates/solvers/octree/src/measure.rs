//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::OctreeSolver;
use crate::particles::Particles;
use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, map_indices, ordered_max, ordered_sum};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;
use fluvial_octree::divergence::signed_area;
use fluvial_octree::gradient::{Geometry, GradientParams, face_row};
use fluvial_octree::volume::liquid_fractions;
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use fluvial_volume::Account;
use std::f64::consts::PI;

/// Liquid farther than this from every surface is resolved, cells.
const RESOLVED_CELLS: f32 = 1.0;
/// The part of its speed that counts for liquid which the tree does not resolve: it may go twice as far in a step.
const THIN_ALLOWANCE: f64 = 0.5;

/// Cells with less of their volume open are neither counted nor do they limit steps.
const SLIVER: f32 = 0.01;

/// What limits the next step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Fastest liquid, m/s.
    pub speed_m_s: f64,
    /// Largest speed over cell size, 1/s.
    pub cells_1_s: f64,
    /// Edge of the smallest cell at the surface, metres.
    pub surface_dx: f64,
}

/// A level set with velocities, and boundaries as the pressure saw them.
pub(crate) struct Liquid<'a> {
    pub tree: &'a Octree,
    pub phi_cell: &'a [f32],
    pub u_face: &'a [f32],
    pub area_face: &'a [f32],
    pub u_boundary: &'a [f32],
    pub open_volume: &'a [f32],
    pub fraction_cell: &'a [f32],
    pub volume: &'a Account,
    pub particles: &'a Particles,
}

impl OctreeSolver {
    /// The step's numbers; an error when anything in the liquid is not finite.
    pub(crate) fn measure(&mut self, pressure: PressureReport) -> Result<StepReport, StepError> {
        let work = &self.work;
        let liquid = Liquid {
            tree: &work.fields.tree,
            phi_cell: &work.fields.phi_cell,
            u_face: &work.fields.u_face,
            area_face: &work.sources.area_face,
            u_boundary: &work.sources.u_boundary,
            open_volume: &work.boundaries.open_volume,
            fraction_cell: &work.fraction_cell,
            volume: &work.volume,
            particles: &work.particles.particles,
        };
        let (mut report, limits) = self.report(&liquid, pressure);
        if !report.max_speed_m_s.is_finite() {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.liquid_volume_m3.is_finite() {
            return Err(StepError::NotFinite { field: "level set", stage: "advect_surface" });
        }
        self.work.limits = limits;
        // Velocity stands half a step ahead of the surface that it carries next (leapfrog): as in `uniform`.
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        report.kinetic_energy_j = (self.state.kinetic_energy_j * report.kinetic_energy_j).sqrt();
        Ok(report)
    }

    /// Sums over the liquid, and what limits the next step.
    pub(crate) fn report(&self, of: &Liquid, pressure: PressureReport) -> (StepReport, Limits) {
        let tree = of.tree;
        let floor = tree.shape().min.as_dvec3();
        let gravity = self.setup.liquid.gravity.as_dvec3();
        let parts = map_indices(chunk_count(tree.cell_count(), CHUNK), |n| {
            let mut part = Part::default();
            for cell in chunk_range(n, CHUNK, tree.cell_count()) {
                let (phi, fraction) = (of.phi_cell[cell], of.fraction_cell[cell] as f64);
                if fraction == 0.0 && phi >= 0.0 {
                    continue;
                }
                let dx = tree.cell_dx(cell) as f64;
                let faces = tree.cell_faces()[cell];
                let square: f32 = faces.iter().map(|&face| 0.5 * of.u_face[face as usize].powi(2)).sum();
                let mut x = tree.cell_center(cell).as_dvec3() - floor;
                if fraction < 1.0 {
                    // The liquid part's centre lies off the cell's, away from the surface.
                    let out = phi_slope(tree, of.phi_cell, cell).normalize_or_zero().as_dvec3();
                    x -= 0.5 * (1.0 - fraction) * dx * out;
                }
                let mass = fraction * dx.powi(3);
                part.kinetic += mass * square as f64;
                part.potential -= mass * gravity.dot(x);
                part.surface_dx =
                    if phi.abs() < dx as f32 { part.surface_dx.min(dx) } else { part.surface_dx };
                // Liquid in slivers that solids leave has the solver's residual over tiny areas for a velocity.
                if phi < 0.0 && of.open_volume[cell] > SLIVER {
                    let speed = (square as f64).sqrt();
                    let resolved = phi < -RESOLVED_CELLS * dx as f32;
                    let counted = if resolved { speed } else { THIN_ALLOWANCE * speed };
                    part.cells += 1;
                    part.speed = max_or_nan(part.speed, speed);
                    part.cells_1_s = part.cells_1_s.max(counted / dx);
                    let wanted = of.volume.divergence_1_s(cell) as f64 * of.open_volume[cell] as f64;
                    let divergence = outflow(of, cell) / dx.powi(3) - wanted;
                    let open = faces.iter().any(|&face| of.area_face[face as usize] > 0.0);
                    if open && !lone(of, cell) {
                        part.divergence = max_or_nan(part.divergence, divergence.abs());
                    }
                }
            }
            part
        });
        let density = self.setup.liquid.density as f64;
        let max = |value: fn(&Part) -> f64| ordered_max(parts.len(), |n| value(&parts[n]));
        let volume = of.volume;
        let mut drops = Part::default();
        for p in (0..of.particles.len()).filter(|&p| of.particles.flies[p] != 0) {
            drops.kinetic += self.particle_m3() * of.particles.v[p].length_squared() as f64;
            drops.potential -= self.particle_m3() * gravity.dot(of.particles.x[p].as_dvec3() - floor);
        }
        let report = StepReport {
            cells: parts.iter().map(|p| p.cells).sum(),
            faces: self.work.known_face.iter().filter(|&&known| known).count(),
            particles: of.particles.len(),
            liquid_volume_m3: volume.volume_m3 + volume.flying_m3,
            inflow_m3: volume.inflow_m3,
            outflow_m3: volume.outflow_m3,
            volume_error: volume.error(),
            raw_volume_error: volume.raw_error(),
            kinetic_energy_j: 0.5
                * density
                * (ordered_sum(parts.len(), |n| parts[n].kinetic) + drops.kinetic),
            potential_energy_j: density
                * (ordered_sum(parts.len(), |n| parts[n].potential) + drops.potential),
            max_speed_m_s: max(|p| p.speed),
            max_divergence_1_s: max(|p| p.divergence),
            pressure,
            ..Default::default()
        };
        let limits = Limits {
            speed_m_s: report.max_speed_m_s,
            cells_1_s: max(|p| p.cells_1_s),
            surface_dx: -max(|p| -p.surface_dx),
        };
        (report, limits)
    }

    /// The largest step that transport, gravity waves and capillary waves allow, as in `uniform`, cell by cell:
    /// - transport: `u dt + g dt^2 / 2 <= cfl dx`, films and drops twice as far;
    /// - gravity waves of two of the smallest cells at the surface: half of their limit omega dt < 2;
    /// - capillary waves: `dt <= capillary_cfl sqrt(rho dx^3 / (4 pi sigma))` [Brackbill, Kothe, Zemach 1992].
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let liquid = self.setup.liquid;
        let finest = self.shape.dx as f64;
        let dx = if self.limits.surface_dx.is_finite() { self.limits.surface_dx } else { finest };
        let gravity = liquid.gravity.length() as f64;
        let rate = self.limits.cells_1_s.max(self.max_boundary_speed() / finest);
        let cfl = self.setup.cfl as f64;
        let mut best = SuggestedDt { dt_s: f64::INFINITY, limiter: DtLimiter::Frame };
        let mut limit = |dt_s: f64, limiter| {
            if dt_s < best.dt_s {
                best = SuggestedDt { dt_s, limiter };
            }
        };
        if rate > 0.0 {
            limit(2.0 * cfl / (rate + (rate * rate + 2.0 * gravity * cfl / dx).sqrt()), DtLimiter::Cfl);
        }
        if gravity > 0.0 {
            limit((dx / (gravity * PI)).sqrt(), DtLimiter::Gravity);
        }
        if liquid.surface_tension > 0.0 {
            let sigma = liquid.surface_tension as f64 / liquid.density as f64;
            let explicit = (dx.powi(3) / (4.0 * PI * sigma)).sqrt();
            let times = if self.params.capillary_cfl > 0.0 { self.params.capillary_cfl as f64 } else { 1.0 };
            limit(times * explicit, DtLimiter::SurfaceTension);
        }
        best
    }

    /// Fastest solid or active source, m/s.
    pub(crate) fn max_boundary_speed(&self) -> f64 {
        let moving = self.setup.solids.iter().any(|s| !s.motion.is_static());
        let u = &self.state.boundaries.u_solid;
        let tree = &self.state.fields.tree;
        let solids = if moving {
            let fastest = |axis| u[tree.faces(axis)].iter().fold(0.0f32, |m, v| m.max(v.abs())) as f64;
            AXES.iter().map(|&a| fastest(a).powi(2)).sum::<f64>().sqrt()
        } else {
            0.0
        };
        let time_s = self.state.time_s;
        let active = self.setup.sources.iter().filter(|s| s.active_s[0] <= time_s && time_s < s.active_s[1]);
        active.fold(solids, |m, s| m.max(s.velocity.length() as f64))
    }

    /// Height of the highest surface crossing on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let (fields, bounds, dx) = (&self.state.fields, self.shape.bounds(), self.shape.dx);
        let sampler = self.sampler(&fields.tree);
        let height = |j: usize| bounds.min.y + (j as f32 + 0.5) * dx;
        let phi_at = |j: usize| sampler.cells(&fields.phi_cell, Vec3::new(x, height(j), z));
        let top = self.shape.cells(0)[1] - 1;
        let mut above = phi_at(top);
        if above < 0.0 {
            return (bounds.max.y - bounds.min.y) as f64;
        }
        for j in (0..top).rev() {
            let below = phi_at(j);
            if below < 0.0 {
                return (height(j) + dx * below / (below - above) - bounds.min.y) as f64;
            }
            above = below;
        }
        // Liquid shallower than half a cell has its centre in the air.
        (0.5 * dx - above).max(0.0) as f64
    }

    /// Pressure at a point: the cell there (or its deepest neighbour, at the surface) speaks with its own gradient, so that a
    /// hydrostatic pressure is exact up to walls and surface.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let fields = &self.state.fields;
        let tree = &*fields.tree;
        let bounds = self.shape.bounds();
        if self.state.last_dt_s == 0.0 || !bounds.contains(x) {
            return 0.0;
        }
        if self.sampler(tree).cells(&fields.phi_cell, x) >= 0.0 {
            return 0.0;
        }
        let here = tree.locate(x).cell as usize;
        let around = tree.cell_faces()[here].iter().flat_map(|&f| tree.cells_beside(f as usize));
        let phi = &fields.phi_cell;
        let wettest = around.fold(here, |best, cell| if phi[cell] < phi[best] { cell } else { best });
        let cell = if phi[here] < 0.0 { here } else { wettest };
        if phi[cell] >= 0.0 {
            return 0.0;
        }
        let geometry = Geometry { tree, phi_cell: phi, open_area: &self.state.boundaries.open_area };
        let params = GradientParams { form: self.params.form(), ..GradientParams::default() };
        let mut slope = Vec3::ZERO;
        for axis in AXES {
            let sides = [0, 1].map(|side| {
                let face = tree.cell_faces()[cell][2 * axis + side] as usize;
                let row = face_row(&geometry, &params, face);
                (!row.is_empty()).then(|| row.apply(&fields.impulse_cell))
            });
            slope[axis] = match sides {
                [Some(low), Some(high)] => 0.5 * (low + high),
                [one, other] => one.or(other).unwrap_or(0.0),
            } as f32;
        }
        let offset = (x - tree.cell_center(cell)).dot(slope) as f64;
        (fields.impulse_cell[cell] + offset) * self.setup.liquid.density as f64 / self.state.last_dt_s
    }

    /// Liquid volume inside a shape, drops included; the shape's surface is taken as a plane within a cell.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let tree = &*self.state.fields.tree;
        let mut fractions = vec![];
        liquid_fractions(
            &mut fractions,
            tree,
            &self.state.fields.phi_cell,
            self.open(&self.state.boundaries),
        );
        let Particles { x, flies, .. } = &self.state.particles;
        let drops = (0..x.len()).filter(|&p| flies[p] != 0 && shape.distance(x[p]) < 0.0).count();
        let bodies_m3 = ordered_sum(chunk_count(fractions.len(), CHUNK), |n| {
            let cells = chunk_range(n, CHUNK, fractions.len()).filter(|&cell| fractions[cell] > 0.0);
            cells
                .map(|cell| {
                    let dx = tree.cell_dx(cell);
                    let share = (0.5 - shape.distance(tree.cell_center(cell)) / dx).clamp(0.0, 1.0);
                    (fractions[cell] * share) as f64 * (dx as f64).powi(3)
                })
                .sum()
        });
        bodies_m3 + drops as f64 * self.particle_m3()
    }
}

/// What a chunk of cells adds to a report.
struct Part {
    cells: usize,
    kinetic: f64,
    potential: f64,
    speed: f64,
    cells_1_s: f64,
    divergence: f64,
    surface_dx: f64,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            cells: 0,
            kinetic: 0.0,
            potential: 0.0,
            speed: 0.0,
            cells_1_s: 0.0,
            divergence: 0.0,
            surface_dx: f64::INFINITY,
        }
    }
}

/// Net flux out of a cell, m3/s, open and solid parts of its faces together.
fn outflow(of: &Liquid, cell: usize) -> f64 {
    let dx = of.tree.cell_dx(cell) as f64;
    let mut sum = 0.0;
    for (side, &face) in of.tree.cell_faces()[cell].iter().enumerate() {
        let (face, area) = (face as usize, of.area_face[face as usize]);
        let u = area * of.u_face[face] + (1.0 - area) * of.u_boundary[face];
        sum -= signed_area(dx, side) * u as f64;
    }
    sum
}

/// Is a liquid cell one without liquid neighbours?
fn lone(of: &Liquid, cell: usize) -> bool {
    of.tree.cell_faces()[cell].iter().all(|&face| {
        of.tree.cells_beside(face as usize).all(|other| other == cell || of.phi_cell[other] >= 0.0)
    })
}

/// Direction of growing phi, of any length, from the cells across the six sides.
fn phi_slope(tree: &Octree, phi: &[f32], cell: usize) -> Vec3 {
    let x = tree.cell_center(cell);
    let mut slope = Vec3::ZERO;
    for &face in &tree.cell_faces()[cell] {
        for other in tree.cells_beside(face as usize).filter(|&other| other != cell) {
            let away = tree.cell_center(other) - x;
            slope += (phi[other] - phi[cell]) / away.length_squared() * away;
        }
    }
    slope
}

fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
