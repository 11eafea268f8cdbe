//! Sources, sinks and open walls.
//!
//! A source's shape is liquid that moves at its velocity and closes what it covers of power faces; what leaves it is
//! pushed into the leaves around it ([`Step::pushed_in`]), so that a source under water displaces what it lets in.

use crate::state::{Model, Step, Tree};
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_power::band::{Band, Voxel};
use fluvial_power::view::Place;
use fluvial_solids::Nozzle;

/// What came and went during a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    pub in_m3: f64,
    pub out_m3: f64,
}

/// What moving solids and sources push into leaves, m3/s, by leaves in the order of places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pushed {
    pub by_solids: Vec<(Place, f64)>,
    pub by_sources: Vec<(Place, f64)>,
}

impl Model {
    /// Speed of what moves liquid at a moment, m/s.
    pub fn boundary_speed_m_s(&self, time_s: f64) -> f64 {
        let moving = self.setup.solids.iter().filter(|s| !s.motion.is_static());
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
        self.setup.boundary_speed_m_s(time_s, fastest.fold(0.0, f64::max))
    }
}

impl Step<'_> {
    /// The sources that flow during the step as they are at its end, and for how long they have flowed, s.
    pub fn filled_nozzles(&self) -> Vec<(Nozzle, f64)> {
        let time_s = self.old.time_s;
        let flowing = self.model.setup.sources_flowing(time_s, self.dt_s);
        let placed = flowing.map(|(_, source)| {
            let until_s = source.active_s[1].min(time_s + self.dt_s);
            (source.nozzle(until_s, self.model.bounds), until_s - source.active_s[0])
        });
        placed.collect()
    }

    /// Where surface may appear that was not there.
    pub fn forced_boxes(&self) -> Vec<Aabb> {
        let margin = 2.0 * self.model.shape.dx;
        let sources = self.filled_nozzles().into_iter().map(|(nozzle, _)| nozzle.bounds());
        let sinks = self.model.setup.active_sinks(self.old.time_s).map(|(_, sink)| sink.shape.bounds());
        let whole = self.model.shape.bounds();
        let clip = |b: Aabb| Aabb {
            min: (b.min - margin).clamp(whole.min, whole.max),
            max: (b.max + margin).clamp(whole.min, whole.max),
        };
        sources.chain(sinks).map(clip).collect()
    }

    /// Books what sources let in, takes out what sinks hold and what is beyond open walls, and books that.
    pub fn exchange(&self, band: &mut Band) -> Exchange {
        let (setup, time_s) = (&self.model.setup, self.old.time_s);
        let mut exchange = Exchange::default();
        let placed = setup.solids_at(time_s + self.dt_s);
        for (n, source) in setup.sources_flowing(time_s, self.dt_s) {
            exchange.in_m3 += self.flow_m3_s(n, &placed) * source.flows_for_s(time_s, self.dt_s);
        }
        let sinks: Vec<_> = setup.active_sinks(time_s).map(|(_, sink)| &sink.shape).collect();
        if sinks.is_empty() && !self.model.has_open_walls() {
            return exchange;
        }
        let has_solids = self.model.has_solids();
        let volume = |band: &Band| {
            let voxel = f64::from(band.dx).powi(3);
            let [parts] = band.sums(has_solids, |_: &mut (), v: Voxel| [f64::from(v.part * v.open)]);
            voxel * parts
        };
        let is_measured = !self.model.conserves_volume();
        let before = if is_measured { volume(band) } else { 0.0 };
        band.change(|x, phi| {
            let phi = phi.max(self.model.beyond_open_walls(x));
            sinks.iter().fold(phi, |phi, sink| phi.max(-sink.distance(x)))
        });
        exchange.out_m3 = if is_measured { before - volume(band) } else { 0.0 };
        exchange
    }

    /// What a source lets in, m3/s: measured once while sources and solids rest.
    fn flow_m3_s(&self, n: usize, solids: &fluvial_solids::PlacedSolids) -> f64 {
        let Some(resting) = self.model.setup.resting_sources(self.old.time_s, self.dt_s) else {
            return self.measured_flow_m3_s(n, solids);
        };
        let mut known = self.model.flows_m3_s.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.0 != resting {
            *known = (resting, vec![None; self.model.setup.sources.len()]);
        }
        *known.1[n].get_or_insert_with(|| self.measured_flow_m3_s(n, solids))
    }

    fn measured_flow_m3_s(&self, n: usize, solids: &fluvial_solids::PlacedSolids) -> f64 {
        let nozzle = self.model.setup.nozzle_among(n, self.old.time_s, self.dt_s);
        nozzle.section_among(solids, self.model.shape.dx) * f64::from(nozzle.outflow().length())
    }

    /// What moving solids and sources push into leaves.
    pub fn pushed_in(&self, tree: &Tree) -> Pushed {
        let (setup, end_s) = (&self.model.setup, self.old.time_s + self.dt_s);
        let view = tree.view();
        let leaves = view.leaves();
        let near = |distance: &(dyn Fn(Vec3) -> f32 + Sync)| -> Vec<Place> {
            let is_near = |n: usize| {
                let dx = view.level(leaves[n].level).dx;
                distance(view.center(leaves[n])).abs() < 1.5 * dx
            };
            let near = parallel::map_indices(leaves.len(), is_near);
            leaves.iter().zip(near).filter(|(_, near)| *near).map(|(leaf, _)| *leaf).collect()
        };
        let mut pushed = Pushed::default();
        if setup.has_moving_solids() {
            let solids = setup.solids_at(end_s);
            let reach = 4.0 * self.model.shape.dx_of(self.model.shape.levels - 1);
            let at = |x: [f64; 3]| Vec3::from_array(x.map(|v| v as f32));
            let distance = |x: [f64; 3]| f64::from(solids.distance(at(x), reach));
            let velocity = |x: [f64; 3]| solids.velocity(at(x), reach).to_array().map(f64::from);
            let near = near(&|x| solids.distance(x, reach));
            let flows = parallel::map_indices(near.len(), |n| view.pushed_in(near[n], &distance, velocity));
            pushed.by_solids.extend(near.into_iter().zip(flows).filter(|(_, flow)| *flow != 0.0));
        }
        let placed = setup.solids_at(end_s);
        for (n, source) in setup.sources_flowing(self.old.time_s, self.dt_s) {
            let nozzle = setup.nozzle_among(n, self.old.time_s, self.dt_s);
            let outflow = nozzle.outflow().to_array().map(f64::from);
            let at = |x: [f64; 3]| Vec3::from_array(x.map(|v| v as f32));
            let distance = |x: [f64; 3]| f64::from(nozzle.cover_distance(at(x), self.model.shape.dx));
            let near = near(&|x| nozzle.distance(x));
            let flows = parallel::map_indices(near.len(), |n| {
                let share = nozzle.own_share(view.center(near[n]), view.level(near[n].level).dx);
                // Nothing is sucked in where the surface faces back.
                f64::from(share) * view.pushed_in(near[n], &distance, |_| outflow).max(0.0)
            });
            let part = source.flows_for_s(self.old.time_s, self.dt_s) / self.dt_s;
            let (seen, flow) = (flows.iter().sum::<f64>(), self.flow_m3_s(n, &placed));
            // What the grid sees of a curved mouth is a few percent off.
            let scale = if seen > 0.5 * flow { part * flow / seen } else { part };
            let found = near.into_iter().zip(flows).filter(|(_, flow)| *flow != 0.0);
            pushed.by_sources.extend(found.map(|(leaf, flow)| (leaf, scale * flow)));
        }
        pushed
    }
}
