//! What the solver says about its liquid: step reports, time-step limits, probes.

use crate::TallSolver;
use crate::solids::SolidFields;
use crate::state::Fields;
use fluvial_foundation::parallel::{map_indices, ordered_max, ordered_sum};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;
use fluvial_solids::Shape;
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};
use fluvial_tall::field::{at, interpolate, nearest};
use fluvial_tall::pressure::projection::{Liquid, divergence};
use fluvial_tall::pressure::stencil::{SOLID_ABOVE, is_unknown};
use fluvial_tall::volume::share;
use fluvial_volume::{Account, liquid_center};

/// Sums over the columns of one row of z: unknowns, twice the kinetic energy over density, -g.x, largest speed
/// squared, largest divergence.
#[derive(Clone, Copy, Default)]
struct Sums {
    unknowns: usize,
    kinetic: f64,
    potential: f64,
    speed2: f32,
    divergence: f32,
}

/// Differences of phi over two cells below this, in cells, are rounding and have no direction.
const LEAST_SLOPE: f32 = 1e-3;

/// Velocity of the liquid in a cell: where its centre, with this phi, lies in the air, that of the neighbour deepest in the
/// liquid. The air's own is not known before the next step's extrapolation: there gravity has acted and no pressure.
fn liquid_velocity(fields: &Fields, solids: &SolidFields, [i, k]: [usize; 2], y: i32, phi: f32) -> [f32; 4] {
    let grid = &fields.grid;
    let (mut deepest, mut from) = (0.0f32, [i as i32, y, k as i32]);
    if phi > 0.0 {
        for [di, dy, dk] in [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]] {
            let cell = [i as i32 + di, y + dy, k as i32 + dk];
            if grid.holds(cell[0], cell[1], cell[2]) != Holds::Cell {
                continue;
            }
            let (column, height) = ([cell[0], cell[2]], cell[1] as f32);
            let there = nearest(grid, &fields.phi, column, height);
            if there < deepest && nearest(grid, &solids.fraction, column, height) <= SOLID_ABOVE {
                (deepest, from) = (there, cell);
            }
        }
    }
    nearest(grid, &fields.u, [from[0], from[2]], from[1] as f32)
}

fn max_or_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

/// Gradient of phi at a cell by central differences, of no certain length.
fn phi_gradient(grid: &TallGrid, phi: &[f32], [i, y, k]: [i32; 3]) -> Vec3 {
    let value = |di: i32, dy: i32, dk: i32| nearest(grid, phi, [i + di, k + dk], (y + dy) as f32);
    Vec3::new(
        value(1, 0, 0) - value(-1, 0, 0),
        value(0, 1, 0) - value(0, -1, 0),
        value(0, 0, 1) - value(0, 0, -1),
    )
}

impl TallSolver {
    /// The step's numbers; an error when anything in the liquid is not finite.
    pub(crate) fn measure(&mut self, pressure: PressureReport) -> Result<StepReport, StepError> {
        self.close_volume();
        let work = &self.work;
        let report = self.report(&work.fields, &work.solids, &work.volume);
        self.finish(StepReport { pressure, ..report })
    }

    /// Keeps what the next step needs of a report; an error when anything in the liquid is not finite.
    pub(crate) fn finish(&mut self, mut report: StepReport) -> Result<StepReport, StepError> {
        if !(report.max_speed_m_s.is_finite() && report.kinetic_energy_j.is_finite()) {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.liquid_volume_m3.is_finite() {
            return Err(StepError::NotFinite { field: "level set", stage: "advect" });
        }
        self.work.limiting_speed_m_s = report.max_speed_m_s;
        // Velocity stands half a step ahead of the surface that it carries next: the energy that this scheme
        // keeps has v^{n-1} v^n / 2 for the kinetic part.
        self.work.kinetic_energy_j = report.kinetic_energy_j;
        report.kinetic_energy_j =
            self.work.centring.kinetic_at_surface(self.state.kinetic_energy_j, report.kinetic_energy_j);
        Ok(report)
    }

    pub(crate) fn report(&self, fields: &Fields, solids: &SolidFields, volume: &Account) -> StepReport {
        let (grid, liquid, frame) = (&fields.grid, self.setup.liquid, &self.frame);
        let seen = Liquid {
            phi: &fields.phi,
            fraction: &solids.fraction,
            u_solid: &solids.u_solid,
            density_kg_m3: liquid.density,
            dt_s: 1.0,
        };
        let mut diverges = vec![0.0; grid.samples()];
        divergence(&mut diverges, grid, &fields.u, &seen);
        let (gravity, open) = (liquid.gravity.as_dvec3(), solids.open());
        let floor = self.setup.domain.bounds().min.as_dvec3();
        let slabs = map_indices(grid.nz, |k| {
            let mut sums = Sums::default();
            for i in 0..grid.nx {
                for y in grid.column(i, k)[0]..grid.above(i, k) {
                    let place = grid.locate(i, k, y as f32);
                    let phi = at(&fields.phi, place);
                    let part = share(phi / frame.dx) * open.part(grid, [i, k], y);
                    if part == 0.0 {
                        continue;
                    }
                    let u = liquid_velocity(fields, solids, [i, k], y, phi);
                    let mut x = frame.center(i, y, k).as_dvec3() - floor;
                    if part < 1.0 {
                        let out = phi_gradient(grid, &fields.phi, [i as i32, y, k as i32]);
                        let is_slope = out.length() > LEAST_SLOPE * frame.dx;
                        let out = if is_slope { out.normalize().as_dvec3() } else { DVec3::ZERO };
                        x += f64::from(frame.dx) * liquid_center(f64::from(part), 1.0, out, DVec3::ZERO);
                    }
                    sums.kinetic += f64::from(part * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
                    sums.potential -= f64::from(part) * gravity.dot(x);
                }
                for j in 0..grid.rows() {
                    let n = grid.index(i, j, k);
                    if is_unknown(fields.phi[n], solids.fraction[n]) {
                        let u = fields.u[n];
                        sums.unknowns += 1;
                        sums.speed2 = max_or_nan(sums.speed2, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
                        sums.divergence = max_or_nan(sums.divergence, diverges[n].abs());
                    }
                }
            }
            sums
        });
        let mass = f64::from(liquid.density) * frame.cell_m3();
        StepReport {
            cells: slabs.iter().map(|s| s.unknowns).sum(),
            liquid_volume_m3: volume.volume_m3,
            inflow_m3: volume.inflow_m3,
            outflow_m3: volume.outflow_m3,
            volume_error: volume.error(),
            raw_volume_error: volume.error(),
            kinetic_energy_j: 0.5 * mass * ordered_sum(slabs.len(), |k| slabs[k].kinetic),
            potential_energy_j: mass * ordered_sum(slabs.len(), |k| slabs[k].potential),
            max_speed_m_s: ordered_max(slabs.len(), |k| f64::from(slabs[k].speed2)).sqrt(),
            max_divergence_1_s: ordered_max(slabs.len(), |k| f64::from(slabs[k].divergence)),
            ..StepReport::default()
        }
    }

    /// The largest step that transport and gravity waves allow: `u dt + g dt^2 / 2 <= cfl dx`, and half of what
    /// keeps waves of two cells' length stable.
    pub(crate) fn largest_dt(&self) -> SuggestedDt {
        let (dx, gravity) = (f64::from(self.frame.dx), f64::from(self.setup.liquid.gravity.length()));
        let moving = self.setup.solids.iter().filter(|s| !s.motion.is_static());
        let time_s = self.state.time_s;
        let fastest = moving.map(|s| {
            let twist = s.motion.twist(time_s);
            let bounds = s.motion.pose(time_s).world_bounds(s.shape.bounds());
            let corner = |n: usize| {
                Vec3::from_array(std::array::from_fn(|a| {
                    if n >> a & 1 == 1 { bounds.max[a] } else { bounds.min[a] }
                }))
            };
            (0..8).map(|n| f64::from(twist.at(corner(n)).length())).fold(0.0, f64::max)
        });
        let solids_m_s = fastest.fold(0.0, f64::max);
        let speed = self.state.limiting_speed_m_s.max(self.setup.boundary_speed_m_s(time_s, solids_m_s));
        let reach = f64::from(self.setup.cfl) * dx;
        let mut dt = SuggestedDt::UNLIMITED;
        if speed > 0.0 {
            dt.limit(2.0 * reach / (speed + (speed * speed + 2.0 * gravity * reach).sqrt()), DtLimiter::Cfl);
        }
        dt.ends_at_s = self.setup.next_key_s(time_s);
        dt.limit_gravity_waves(gravity, dx);
        dt
    }

    /// Height of the highest surface on the vertical through (x, z), above the domain's floor.
    pub(crate) fn column_height(&self, x: f32, z: f32) -> f64 {
        let (Fields { grid, phi, .. }, frame) = (&self.state.fields, &self.frame);
        let [i, k] = frame.column_at(x, z);
        let [terrain, _] = grid.column(i, k);
        let [at_x, _, at_z] = frame.in_cells(Vec3::new(x, 0.0, z));
        let phi_at = |y: i32| interpolate(grid, phi, [at_x, y as f32, at_z]);
        let top = frame.height() - 1;
        let mut above = phi_at(top);
        if above <= 0.0 {
            return f64::from(frame.dx) * f64::from(frame.height());
        }
        for y in (terrain..top).rev() {
            let below = phi_at(y);
            if below <= 0.0 {
                return f64::from(frame.dx * (y as f32 + 0.5 + below / (below - above)));
            }
            above = below;
        }
        // Liquid shallower than half a cell has its centre in the air.
        let film = (0.5 - above / frame.dx).max(0.0);
        if film > 0.0 { f64::from(frame.dx * (terrain as f32 + film)) } else { 0.0 }
    }

    /// Pressure at a point, Pa; of the samples around it those in liquid count.
    pub(crate) fn pressure_at_point(&self, x: Vec3) -> f64 {
        let (Fields { grid, phi, pressure, .. }, frame) = (&self.state.fields, &self.frame);
        let point = frame.in_cells(x);
        if interpolate(grid, phi, point) >= 0.0 {
            return 0.0;
        }
        let around = fluvial_tall::field::around(grid, point);
        let (mut sum, mut total) = (0.0, 0.0);
        for (n, place) in around.places.iter().enumerate() {
            let wx = if n % 2 == 1 { around.wx } else { 1.0 - around.wx };
            let wz = if n / 2 == 1 { around.wz } else { 1.0 - around.wz };
            for (sample, wy) in [(place.low, 1.0 - place.weight), (place.high, place.weight)] {
                if is_unknown(phi[sample], self.state.solids.fraction[sample]) {
                    sum += f64::from(wx * wy * wz * pressure[sample]);
                    total += f64::from(wx * wy * wz);
                }
            }
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    /// Liquid volume inside a shape; liquid counts as spread over its cell. What a column holds
    /// beyond phi is where its liquid is.
    pub(crate) fn volume_inside(&self, shape: &Shape) -> f64 {
        let (fields, frame) = (&self.state.fields, &self.frame);
        let (grid, open) = (&fields.grid, self.state.solids.open());
        let sum = ordered_sum(grid.nz, |k| {
            let mut sum = 0.0;
            for i in 0..grid.nx {
                let (held, owed) =
                    (self.state.held[i + grid.nx * k].volume, fields.residual[i + grid.nx * k]);
                let scale = if held > 0.0 { (held + owed).max(0.0) / held } else { 1.0 };
                let mut shown = 0.0;
                for y in grid.column(i, k)[0]..grid.above(i, k) {
                    let part = share(at(&fields.phi, grid.locate(i, k, y as f32)) / frame.dx);
                    if part > 0.0 {
                        let volume = scale * part * open.part(grid, [i, k], y);
                        shown += volume;
                        sum += f64::from(
                            volume * shape.share_of_cube(frame.center(i, y, k), frame.dx, frame.dx),
                        );
                    }
                }
                // What a column without any surface is owed lies on its ground.
                if shown == 0.0 && held + owed > 0.0 {
                    let ground = frame.center(i, grid.column(i, k)[0], k);
                    sum += f64::from((held + owed) * shape.share_of_cube(ground, frame.dx, frame.dx));
                }
            }
            sum
        });
        sum * frame.cell_m3()
    }

    /// Velocity at a point, m/s.
    pub(crate) fn velocity_at_point(&self, x: Vec3) -> Vec3 {
        let [u, v, w, _] = interpolate(&self.state.fields.grid, &self.state.fields.u, self.frame.in_cells(x));
        Vec3::new(u, v, w)
    }
}
