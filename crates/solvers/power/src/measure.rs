//! What the solver says about its liquid: volume, step reports, time-step limits, probes.

use crate::mass::Settled;
use crate::pressure::fastest;
use crate::state::{Model, State, Step, Tree};
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_power::band::{Band, Voxel};
use fluvial_power::channels::{CENTER_VELOCITY, PHI};
use fluvial_power::content;
use fluvial_power::view::Place;
use fluvial_solids::{PlacedSolids, Shape};
use fluvial_solver_interface::{DtLimiter, PressureReport, StepError, StepReport, SuggestedDt};

struct Sums<const K: usize>([f64; K]);

impl<const K: usize> Default for Sums<K> {
    fn default() -> Self {
        Sums([0.0; K])
    }
}

/// The part of a leaf that solids leave, by so many points along each of its sides.
pub(crate) fn open_part(solids: &PlacedSolids, center: Vec3, dx: f32, points: usize) -> f32 {
    let distance = solids.distance(center, 2.0 * dx);
    if solids.is_empty() || distance.abs() > 0.87 * dx {
        return f32::from(u8::from(distance > 0.0));
    }
    let small = dx / points as f32;
    let part = |n: usize| {
        let at = [n % points, n / points % points, n / (points * points)].map(|v| v as f32 + 0.5);
        let x = center + small * Vec3::from_array(at) - 0.5 * dx;
        (0.5 + solids.distance(x, dx) / small).clamp(0.0, 1.0)
    };
    (0..points.pow(3)).map(part).sum::<f32>() / points.pow(3) as f32
}

impl Model {
    /// Sums over the liquid of `weigh(x, leaf)`: over whole leaves, and over voxels what they differ from their leaf.
    pub fn sums<const K: usize>(
        &self,
        tree: &Tree,
        band: &Band,
        time_s: f64,
        weigh: impl Fn(Vec3, f32, Place) -> [f64; K] + Sync,
    ) -> [f64; K] {
        let (view, solids) = (tree.view(), self.setup.solids_at(time_s));
        let leaves = view.leaves();
        let of_leaf = |n: usize| {
            let (leaf, dx) = (leaves[n], view.level(leaves[n].level).dx);
            let x = view.center(leaf);
            if view.value(leaf, PHI) >= 0.0 || self.beyond_open_walls(x) > 0.0 {
                return [0.0; K];
            }
            let volume = f64::from(dx).powi(3) * f64::from(open_part(&solids, x, dx, 4));
            weigh(x, dx, leaf).map(|w| volume * w)
        };
        let mut sums = [0.0; K];
        for terms in parallel::map_indices(leaves.len(), of_leaf) {
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        let cube = f64::from(band.dx).powi(3);
        let differences =
            content::differing(view, band, !solids.is_empty(), |sums: &mut Sums<K>, found, voxel| {
                let Voxel { center, part, open, .. } = voxel;
                if part != found.whole && self.beyond_open_walls(center) <= 0.0 {
                    let volume = f64::from((part - found.whole) * open) * cube;
                    let terms = weigh(center, band.dx, found.leaf);
                    sums.0.iter_mut().zip(terms).for_each(|(sum, term)| *sum += volume * term);
                }
            });
        for terms in differences {
            sums.iter_mut().zip(terms.0).for_each(|(sum, term)| *sum += term);
        }
        sums
    }

    pub fn volume_m3(&self, tree: &Tree, band: &Band, time_s: f64) -> f64 {
        let [volume] = self.sums(tree, band, time_s, |_, _, _| [1.0]);
        volume
    }

    pub fn report(&self, state: &State) -> StepReport {
        let (view, liquid) = (state.tree.view(), self.setup.liquid);
        let (gravity, floor) = (liquid.gravity.as_dvec3(), self.bounds.min.as_dvec3());
        let [kinetic, potential] = self.sums(&state.tree, &state.band, state.time_s, |x, _, leaf| {
            let v = view.vector(leaf, CENTER_VELOCITY).as_dvec3();
            [0.5 * v.length_squared(), -gravity.dot(DVec3::from(x) - floor)]
        });
        let (mut kinetic, mut potential) = (kinetic, potential);
        for (n, volume_m3) in state.drops.volume_m3.iter().enumerate() {
            kinetic += 0.5 * volume_m3 * f64::from(state.drops.v[n].length_squared());
            potential -= volume_m3 * gravity.dot(state.drops.x[n].as_dvec3() - floor);
        }
        let density = f64::from(liquid.density);
        let account = &state.volume;
        let wet = |leaf: &Place| view.value(*leaf, PHI) < 0.0;
        StepReport {
            cells: view.leaves().iter().filter(|leaf| wet(leaf)).count(),
            liquid_volume_m3: account.volume_m3,
            inflow_m3: account.inflow_m3,
            outflow_m3: account.outflow_m3,
            volume_error: account.error(),
            raw_volume_error: account.error(),
            displaced_m3: Some(state.corrected_m3),
            kinetic_energy_j: density * kinetic,
            potential_energy_j: density * potential,
            particles: state.drops.len(),
            max_speed_m_s: fastest(&view).max(f64::from(state.drops.fastest_m_s())),
            ..StepReport::default()
        }
    }
}

impl Step<'_> {
    /// The state after the step and its report; an error when anything in the liquid is not finite.
    pub fn measure(
        &self,
        tree: Tree,
        band: Band,
        settled: Settled,
        (pressure, divergence): (PressureReport, f64),
    ) -> Result<(State, StepReport), StepError> {
        let mut next = State {
            tree,
            band,
            held: settled.held,
            drops: settled.drops,
            volume: settled.account,
            corrected_m3: settled.corrected_m3,
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            lead_s: self.forces.lead_s,
            time_s: self.old.time_s + self.dt_s,
            steps: self.old.steps + 1,
        };
        let mut report = self.model.report(&next);
        report.pressure = pressure;
        report.max_divergence_1_s = divergence;
        if !(report.max_speed_m_s.is_finite() && report.kinetic_energy_j.is_finite()) {
            return Err(StepError::NotFinite { field: "velocity", stage: "pressure" });
        }
        if !report.liquid_volume_m3.is_finite() {
            return Err(StepError::NotFinite { field: "level set", stage: "advect_surface" });
        }
        next.limiting_speed_m_s = report.max_speed_m_s;
        next.kinetic_energy_j = report.kinetic_energy_j;
        // Velocity stands half a step ahead of the surface that it carries next (leapfrog): as in `uniform`.
        report.kinetic_energy_j =
            self.forces.kinetic_at_surface(self.old.kinetic_energy_j, report.kinetic_energy_j);
        Ok((next, report))
    }
}

impl Model {
    /// The largest step that transport and gravity waves allow.
    pub fn largest_dt(&self, state: &State) -> SuggestedDt {
        let (dx, gravity) = (f64::from(self.shape.dx), f64::from(self.setup.liquid.gravity.length()));
        let speed = state.limiting_speed_m_s.max(self.boundary_speed_m_s(state.time_s));
        let reach = f64::from(self.setup.cfl) * dx;
        let mut dt = SuggestedDt::UNLIMITED;
        if speed > 0.0 {
            dt.limit(2.0 * reach / (speed + (speed * speed + 2.0 * gravity * reach).sqrt()), DtLimiter::Cfl);
        }
        dt.ends_at_s = self.setup.next_key_s(state.time_s);
        dt.limit_gravity_waves(gravity, dx);
        dt
    }

    /// Distance at a point: the band's, or what the leaf knows.
    pub fn phi_at(&self, state: &State, x: Vec3) -> f32 {
        state.band.linear(x).unwrap_or_else(|| state.tree.phi(x))
    }

    /// Height of the highest surface on the vertical through (x, z), above the domain's floor.
    pub fn height_at(&self, state: &State, x: f32, z: f32) -> f64 {
        let (floor, top, h) = (self.bounds.min.y, self.bounds.max.y, state.band.dx);
        let at = |y: f32| self.phi_at(state, Vec3::new(x, y, z));
        let count = ((top - floor) / h).round() as usize;
        let mut above = at(top);
        if above <= 0.0 {
            return f64::from(top - floor);
        }
        for n in (0..count).rev() {
            let below = at(floor + n as f32 * h);
            if below <= 0.0 {
                return f64::from(h * (n as f32 + below / (below - above)));
            }
            above = below;
        }
        0.0
    }

    pub fn volume_in(&self, state: &State, shape: &Shape) -> f64 {
        let [volume] = self.sums(&state.tree, &state.band, state.time_s, |x, dx, _| {
            [f64::from(shape.share_of_cube(x, dx, dx))]
        });
        let drops = &state.drops;
        let in_drops = (0..drops.len()).filter(|&n| shape.distance(drops.x[n]) < 0.0);
        volume + state.residual_in(shape) + in_drops.map(|n| drops.volume_m3[n]).sum::<f64>()
    }
}
