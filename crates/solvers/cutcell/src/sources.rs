//! Sources and sinks.
//!
//! A source emits particles with what flows in during a step, in all: section times speed times time. They enter at the step's
//! end, spread over the length that the liquid has moved in it from the shape's far end on, and run at its velocity until they
//! have left it. The level set is united with what has come in.

use crate::CutCellSolver;
use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_solids::Nozzle;

/// Columns at the rim with less than this share of a full section are left to the others.
const LEAST_SHARE: f32 = 0.25;

impl CutCellSolver {
    /// Begins a step: takes over the state, empties sinks, and liquid in sources runs at their velocity.
    pub(crate) fn open_sources_and_sinks(&mut self, dt_s: f64) {
        let (state, work) = (&self.state, &mut self.work);
        work.fields.phi_node.clone_from(&state.fields.phi_node);
        work.fields.returned_m3 = state.fields.returned_m3;
        work.fields.population.copy_from(&state.fields.population);
        work.account = state.account;
        self.empty_sinks();
        self.work.nozzles.clear();
        for n in self.flowing_sources(dt_s) {
            let nozzle = self.setup.nozzle_among(n, self.state.time_s, dt_s);
            self.prescribe(&nozzle);
            self.work.nozzles.push(nozzle);
        }
    }

    fn flowing_sources(&self, dt_s: f64) -> Vec<usize> {
        self.setup.sources_flowing(self.state.time_s, dt_s).map(|(n, _)| n).collect()
    }

    fn empty_sinks(&mut self) {
        let (nodes, time_s) = (self.nodes, self.state.time_s);
        for (_, sink) in self.setup.active_sinks(time_s) {
            let fields = &mut self.work.fields;
            let x = &fields.population.particles.x;
            let leaves: Vec<bool> = x.iter().map(|x| sink.shape.distance(*x) <= 0.0).collect();
            let out_m3 = fields.population.remove(&leaves);
            nodes.for_each_mut(&mut fields.phi_node, |_, [i, j, k], phi| {
                if *phi < 0.0 {
                    *phi = phi.max(-sink.shape.distance(nodes.position(i, j, k)));
                }
            });
            self.work.account.book_sources_and_sinks(0.0, out_m3);
        }
    }

    /// Ends the way of a step: what flowed in fills the room that the liquid in front has left by moving. Let in before, it would fill the room
    /// that this step leaves, not the last one: with every change of the step, particles overlapped or left a gap, and the
    /// level set, which knows no steps, differed from them by a step's inflow.
    pub(crate) fn fill_sources(&mut self, dt_s: f64) {
        let (time_s, bounds, nodes) = (self.state.time_s, self.setup.domain.bounds(), self.nodes);
        let nozzles = std::mem::take(&mut self.work.nozzles);
        for (n, nozzle) in self.flowing_sources(dt_s).into_iter().zip(&nozzles) {
            let source = &self.setup.sources[n];
            let until_s = (time_s + dt_s).min(source.active_s[1]);
            let since_s = until_s - source.active_s[0];
            self.emit(n, nozzle, dt_s);
            let near = nozzle.bounds().expand(2.0 * self.grid.dx);
            nodes.for_each_mut(&mut self.work.fields.phi_node, |_, [i, j, k], phi| {
                let x = nodes.position(i, j, k);
                if near.contains(x) && bounds.contains(x) {
                    *phi = phi.min(nozzle.filled_distance(x, since_s));
                }
            });
        }
        self.work.nozzles = nozzles;
    }

    /// The velocity of a source at a place in it. Nothing else carries liquid there: with a step's gravity added it left 9 %
    /// faster than it came in, and the surface had 9 % more volume than the flow.
    pub(crate) fn prescribed(nozzles: &[Nozzle], x: Vec3) -> Option<DVec3> {
        Self::prescribed_within(nozzles, x, 0.0)
    }

    /// As [`Self::prescribed`], and so far around the source.
    pub(crate) fn prescribed_within(nozzles: &[Nozzle], x: Vec3, within_m: f32) -> Option<DVec3> {
        let nozzle = nozzles.iter().find(|nozzle| nozzle.distance(x) < within_m);
        nozzle.map(|nozzle| nozzle.velocity(x).as_dvec3())
    }

    /// Particles in a source run at its velocity.
    fn prescribe(&mut self, nozzle: &Nozzle) {
        let particles = &mut self.work.fields.population.particles;
        for (x, v) in particles.x.iter().zip(&mut particles.v) {
            if nozzle.distance(*x) < 0.0 {
                *v = nozzle.velocity(*x);
            }
        }
    }

    /// Adds what flows in during a step: columns as wide as particles, each with the particles of the length that the
    /// liquid moves.
    fn emit(&mut self, n: usize, nozzle: &Nozzle, dt_s: f64) {
        let (time_s, dx) = (self.state.time_s, self.grid.dx);
        let source = &self.setup.sources[n];
        let spacing = dx / self.params.particles_per_axis() as f32;
        let solids = self.setup.solids_at(time_s);
        let speed = f64::from(nozzle.outflow().length());
        let columns = nozzle.columns_among((spacing, LEAST_SHARE), &solids, dx);
        let sections: f64 = columns.iter().map(|column| column.section_m2).sum();
        let flow_m3 = nozzle.section_among(&solids, dx) * speed * source.flows_for_s(time_s, dt_s);
        let reach = speed * source.flows_for_s(time_s, dt_s);
        let count = (reach / f64::from(spacing)).ceil().max(1.0) as usize;
        let mut in_m3 = 0.0;
        for (c, column) in columns.iter().enumerate() {
            let share_m3 = flow_m3 * column.section_m2 / sections / count as f64;
            for m in 0..count {
                let v = nozzle.velocity(column.entry);
                // Spread within the length: layers would enter at once.
                let part = (m as f32 + unit_f32(self.state.steps, (c * count + m) as u64)) / count as f32;
                let x = column.entry + part * reach as f32 * v.normalize_or_zero();
                let bounds = self.setup.domain.bounds();
                let margin = 1e-3 * dx;
                let x = x.clamp(bounds.min + margin, bounds.max - margin);
                self.work.fields.population.push(x, v, share_m3 as f32, self.is_affine());
                in_m3 += f64::from(share_m3 as f32);
            }
        }
        self.work.account.book_sources_and_sinks(in_m3, 0.0);
    }
}
