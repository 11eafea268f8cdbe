//! Measurements of the liquid: step reports, time-step limits, probes.

use crate::OctreeSolver;
use crate::state::{Fields, Ground, Limits, Model, State, Step};
use fluvial_drops::Drops;
use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, map_indices, ordered_max, ordered_sum};
use fluvial_foundation::{AXES, DVec3, Vec3};
use fluvial_grids::Octree;
use fluvial_octree::divergence::signed_area;
use fluvial_octree::gradient::{Geometry, GradientParams, face_row};
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, Setup, StepError, StepReport, SuggestedDt};
use fluvial_volume::{Account, liquid_center};
use std::f64::consts::PI;

/// Liquid farther than this from every surface is resolved, cells.
const RESOLVED_CELLS: f32 = 1.0;
/// The part of its speed that counts for liquid which the tree does not resolve: it may go twice as far in a
/// step.
const THIN_ALLOWANCE: f64 = 0.5;

/// Cells with less of their volume open are neither counted nor do they limit steps.
const SLIVER: f32 = 0.01;

/// A level set with velocities, and boundaries as the pressure saw them.
pub(crate) struct Liquid<'a> {
    pub tree: &'a Octree,
    pub phi_cell: &'a [f32],
    pub u_face: &'a [f32],
    pub area_face: &'a [f32],
    pub u_boundary: &'a [f32],
    /// What sources let into cells, m3/s, by cell.
    pub flow_into_cell: &'a [(usize, f64)],
    pub open_volume: &'a [f32],
    /// Empty without solids.
    pub phi_solid_cell: &'a [f32],
    /// What phi stands for in each cell, and what the cell holds beyond that.
    pub fraction_cell: &'a [f32],
    pub residual_cell: &'a [f32],
    /// Cells that have let go of walls.
    pub parted_cell: &'a [bool],
    /// What the projection was asked to let out of a cell, m3/s.
    pub wanted_m3_s: &'a (dyn Fn(usize) -> f64 + Sync),
    pub volume: &'a Account,
    pub particles: usize,
    pub drops: &'a Drops,
}

impl Step<'_> {
    /// The step's report, and the numbers of the next state that follow from it. An error when anything in
    /// the liquid is not finite.
    pub fn measure(
        &self,
        next: &mut State,
        ground: Ground,
        solved: PressureReport,
    ) -> Result<StepReport, StepError> {
        let Ground { tree, boundaries, sources, u_boundary } = ground;
        let liquid = Liquid {
            tree,
            phi_cell: &next.fields.phi_cell,
            u_face: &next.fields.u_face,
            area_face: &sources.area_face,
            u_boundary,
            flow_into_cell: &sources.flow_into_cell,
            open_volume: &boundaries.open_volume,
            phi_solid_cell: &boundaries.phi_solid_cell,
            fraction_cell: &next.fields.fraction_cell,
            residual_cell: &next.fields.residual_cell,
            parted_cell: &next.fields.parted_cell,
            wanted_m3_s: &|cell| {
                let Fields { phi_cell, residual_cell, .. } = &next.fields;
                let geometry = ground.liquid(phi_cell);
                self.wanted_m3_s(residual_cell, &geometry, &boundaries.swept_part_cell, cell)
            },
            volume: &next.volume,
            particles: next.particles.len(),
            drops: &next.drops,
        };
        let (mut report, limits) = self.model.report(&liquid);
        if !report.max_speed_m_s.is_finite() {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.liquid_volume_m3.is_finite() {
            return Err(StepError::NotFinite { field: "level set", stage: "advect_surface" });
        }
        (report.faces, report.pressure, next.limits) = (next.liquid_faces, solved, limits);
        // Velocity stands half a step ahead of the surface that it carries next (leapfrog): as in `uniform`.
        next.kinetic_energy_j = report.kinetic_energy_j;
        report.kinetic_energy_j =
            self.forces.kinetic_at_surface(self.old.kinetic_energy_j, report.kinetic_energy_j);
        next.time_s = self.old.time_s + self.dt_s;
        (next.pushed_s, next.lead_s) = (self.forces.push_s, self.forces.lead_s);
        next.steps = self.old.steps + 1;
        next.sources_flowing.clear();
        next.sources_flowing.extend(self.sources_flowing());
        Ok(report)
    }
}

impl Model {
    /// Sums over the liquid, and what limits the next step. Energies are those of what the cells hold, which in a splash is not what
    /// phi alone stands for. Test: `energy_is_that_of_what_cells_hold`.
    pub(crate) fn report(&self, of: &Liquid) -> (StepReport, Limits) {
        let tree = of.tree;
        let floor = tree.shape().min.as_dvec3();
        let gravity = self.setup.liquid.gravity.as_dvec3();
        let parts = map_indices(chunk_count(tree.cell_count(), CHUNK), |n| {
            let mut part = Part::default();
            for cell in chunk_range(n, CHUNK, tree.cell_count()) {
                let phi = of.phi_cell[cell];
                let held = f64::from(of.fraction_cell[cell]) + f64::from(of.residual_cell[cell]);
                if held == 0.0 && phi >= 0.0 {
                    continue;
                }
                let dx = tree.cell_dx(cell) as f64;
                let faces = tree.cell_faces()[cell];
                let square = mean_square_speed(of, cell);
                let mut x = tree.cell_center(cell).as_dvec3() - floor;
                if held < 1.0 {
                    let slope = |phi: &[f32]| phi_slope(tree, phi, cell).normalize_or_zero().as_dvec3();
                    let is_cut = of.open_volume[cell] < 1.0 && !of.phi_solid_cell.is_empty();
                    let away = if is_cut { slope(of.phi_solid_cell) } else { DVec3::ZERO };
                    let open = f64::from(of.open_volume[cell]);
                    x += dx * liquid_center(held.max(0.0), open, slope(of.phi_cell), away);
                }
                let mass = held * dx.powi(3);
                part.kinetic += mass * square as f64;
                part.potential -= mass * gravity.dot(x);
                part.surface_dx =
                    if phi.abs() < dx as f32 { part.surface_dx.min(dx) } else { part.surface_dx };
                // Liquid in slivers that solids leave has the solver's residual over tiny areas for a
                // velocity.
                if phi < 0.0 && of.open_volume[cell] > SLIVER {
                    let speed = (square as f64).sqrt();
                    let resolved = phi < -RESOLVED_CELLS * dx as f32;
                    let counted = if resolved { speed } else { THIN_ALLOWANCE * speed };
                    part.cells += 1;
                    part.speed = max_or_nan(part.speed, speed);
                    part.cells_1_s = part.cells_1_s.max(counted / dx);
                    let divergence = (outflow(of, cell) - (of.wanted_m3_s)(cell)) / dx.powi(3);
                    let open = faces.iter().any(|&face| of.area_face[face as usize] > 0.0);
                    if open && !of.parted_cell[cell] && !lone(of, cell) {
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
        for (n, volume_m3) in of.drops.volume_m3.iter().enumerate() {
            drops.kinetic += volume_m3 * of.drops.v[n].length_squared() as f64;
            drops.potential -= volume_m3 * gravity.dot(of.drops.x[n].as_dvec3() - floor);
        }
        let report = StepReport {
            cells: parts.iter().map(|p| p.cells).sum(),
            particles: of.particles + of.drops.len(),
            liquid_volume_m3: volume.volume_m3,
            inflow_m3: volume.inflow_m3,
            outflow_m3: volume.outflow_m3,
            volume_error: volume.error(),
            raw_volume_error: volume.error(),
            kinetic_energy_j: 0.5
                * density
                * (ordered_sum(parts.len(), |n| parts[n].kinetic).max(0.0) + drops.kinetic),
            potential_energy_j: density
                * (ordered_sum(parts.len(), |n| parts[n].potential) + drops.potential),
            max_speed_m_s: max(|p| p.speed),
            max_divergence_1_s: max(|p| p.divergence),
            ..Default::default()
        };
        let limits = Limits {
            speed_m_s: report.max_speed_m_s,
            cells_1_s: max(|p| p.cells_1_s),
            surface_dx: -max(|p| -p.surface_dx),
        };
        (report, limits)
    }
}

/// Fastest solid or active source, m/s.
pub(crate) fn boundary_speed_m_s(setup: &Setup, state: &State) -> f64 {
    let (tree, u) = (&state.fields.tree, &state.boundaries.u_solid);
    let solids_m_s = if setup.has_moving_solids() {
        let fastest = |axis| u[tree.faces(axis)].iter().fold(0.0f32, |m, v| m.max(v.abs())) as f64;
        AXES.iter().map(|&a| fastest(a).powi(2)).sum::<f64>().sqrt()
    } else {
        0.0
    };
    setup.boundary_speed_m_s(state.time_s, solids_m_s)
}

impl OctreeSolver {
    /// The largest step that transport, gravity waves and capillary waves allow, as in `uniform`, cell by
    /// cell:
    /// - transport: `u dt + g dt^2 / 2 <= cfl dx`, films and drops twice as far;
    /// - gravity waves of two of the smallest cells at the surface: half of their limit omega dt < 2;
    /// - capillary waves: `dt <= capillary_cfl sqrt(rho dx^3 / (4 pi sigma))` [brackbill-1992].
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let (setup, limits) = (&self.model.setup, &self.state.limits);
        let liquid = setup.liquid;
        let finest = self.model.shape.dx as f64;
        let dx = if limits.surface_dx.is_finite() { limits.surface_dx } else { finest };
        let gravity = liquid.gravity.length() as f64;
        let rate = limits.cells_1_s.max(boundary_speed_m_s(setup, &self.state) / finest);
        let cfl = setup.cfl as f64;
        let mut dt = SuggestedDt::UNLIMITED;
        if rate > 0.0 {
            dt.limit(2.0 * cfl / (rate + (rate * rate + 2.0 * gravity * cfl / dx).sqrt()), DtLimiter::Cfl);
        }
        dt.ends_at_s = setup.next_key_s(self.state.time_s);
        dt.limit_gravity_waves(gravity, dx);
        if liquid.surface_tension > 0.0 {
            let sigma = liquid.surface_tension as f64 / liquid.density as f64;
            let explicit = (dx.powi(3) / (4.0 * PI * sigma)).sqrt();
            let capillary_cfl = self.model.params.capillary_cfl as f64;
            let times = if capillary_cfl > 0.0 { capillary_cfl } else { 1.0 };
            dt.limit(times * explicit, DtLimiter::SurfaceTension);
        }
        dt
    }

    /// Height of the highest surface crossing on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let (fields, bounds, dx) = (&self.state.fields, self.model.shape.bounds(), self.model.shape.dx);
        let sampler = self.model.sampler(&fields.tree);
        let height = |j: usize| bounds.min.y + (j as f32 + 0.5) * dx;
        let phi_at = |j: usize| sampler.cells(&fields.phi_cell, Vec3::new(x, height(j), z));
        let top = self.model.shape.cells(0)[1] - 1;
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

    /// Pressure at a point: that of the cell there (at the surface, of its deepest neighbour), continued by
    /// the cell's own gradient, so that a hydrostatic pressure is exact up to walls and surface.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let fields = &self.state.fields;
        let tree = &*fields.tree;
        let bounds = self.model.shape.bounds();
        if self.state.pushed_s == 0.0 || !bounds.contains(x) {
            return 0.0;
        }
        if self.model.sampler(tree).cells(&fields.phi_cell, x) >= 0.0 {
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
        let params = GradientParams { form: self.model.params.form(), ..GradientParams::default() };
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
        (fields.impulse_cell[cell] + offset) * self.model.setup.liquid.density as f64 / self.state.pushed_s
    }

    /// Liquid volume inside a shape, drops included; what a cell holds, and is owed, counts as spread over it.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let (tree, finest_m) = (&*self.state.fields.tree, self.model.setup.domain.grid.dx);
        let (fields, drops) = (&self.state.fields, &self.state.drops);
        let held =
            |cell: usize| fields.fraction_cell[cell] + fields.residual_cell.get(cell).copied().unwrap_or(0.0);
        let count = fields.fraction_cell.len();
        let in_drops = (0..drops.len()).filter(|&n| shape.distance(drops.x[n]) < 0.0);
        let bodies_m3 = ordered_sum(chunk_count(count, CHUNK), |n| {
            let cells = chunk_range(n, CHUNK, count).filter(|&cell| held(cell) != 0.0);
            cells
                .map(|cell| {
                    let dx = tree.cell_dx(cell);
                    let share = shape.share_of_cube(tree.cell_center(cell), dx, finest_m);
                    (held(cell) * share) as f64 * (dx as f64).powi(3)
                })
                .sum()
        });
        bodies_m3 + in_drops.map(|n| drops.volume_m3[n]).sum::<f64>()
    }
}

/// Sums and maxima over a chunk of cells, or over the drops.
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

/// The mean square of the speed of the liquid in a cell, m2/s2. Along each axis both faces count by their open part over
/// the larger one of the two, as in `fluvial_mac::Openings::mean_square_speed`.
fn mean_square_speed(of: &Liquid, cell: usize) -> f32 {
    let faces = of.tree.cell_faces()[cell].map(|face| face as usize);
    let along = |axis: usize| {
        let pair = [faces[2 * axis], faces[2 * axis + 1]];
        let larger = of.area_face[pair[0]].max(of.area_face[pair[1]]);
        let square = |face: usize| {
            let part = if larger > 0.0 { of.area_face[face] / larger } else { 0.0 };
            part * of.u_face[face].powi(2) + (1.0 - part) * of.u_boundary[face].powi(2)
        };
        0.5 * (square(pair[0]) + square(pair[1]))
    };
    along(0) + along(1) + along(2)
}

/// Net flux out of a cell, m3/s, open and solid parts of its faces together, less what sources let in.
fn outflow(of: &Liquid, cell: usize) -> f64 {
    let dx = of.tree.cell_dx(cell) as f64;
    let mut sum = 0.0;
    for (side, &face) in of.tree.cell_faces()[cell].iter().enumerate() {
        let (face, area) = (face as usize, of.area_face[face as usize]);
        let u = area * of.u_face[face] + (1.0 - area) * of.u_boundary[face];
        sum -= signed_area(dx, side) * u as f64;
    }
    let flows = of.flow_into_cell;
    let first = flows.partition_point(|(other, _)| *other < cell);
    sum - flows[first..].iter().take_while(|(other, _)| *other == cell).map(|(_, flow)| flow).sum::<f64>()
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
