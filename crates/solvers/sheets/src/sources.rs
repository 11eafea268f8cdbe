//! Sources and sinks: what flows in is section times speed times time, in particles.
//!
//! The liquid of a source is columns a spacing wide along its flow ([`fluvial_solids::Nozzle::columns`]). In
//! each, particles follow one another at a spacing and carry the liquid of that length: columns at the rim are
//! cut by the shape and have lighter ones. All columns together have the section of the source, so that the
//! mass is right whatever its size and direction. The columns do not begin at once: their particles enter one
//! after the other, so that at any time the mass is right to about a particle, not to a layer of them.

use crate::SheetsSolver;
use crate::adapt::surroundings;
use crate::state::{Carriers, Inlet, Work};
use fluvial_mac::Outlet;
use fluvial_sheets::{Kind, UNIT_MASS};

/// Columns at the rim with less than this share of a full section are left to the others.
const LEAST_SHARE: f32 = 0.25;

impl SheetsSolver {
    /// Puts the outlets of the sources that flow during the step on top of the solids.
    pub(crate) fn place_sources(&mut self, dt_s: f64) {
        let (time_s, setup, grid) = (self.state.time_s, &self.setup, &self.grid);
        let (end_s, d0) = (time_s + dt_s, self.params.radius_m(self.grid.dx));
        let Work { boundaries, cover, inlets, inlets_for, .. } = &mut self.work;
        let solids = &boundaries.solids.fields;
        let resting = setup.resting_sources(time_s, dt_s);
        if resting.is_none() || resting != *inlets_for {
            inlets.clear();
        }
        *inlets_for = resting;
        inlets.resize_with(setup.sources.len(), || None);
        boundaries.sources.clear();
        for (n, source) in setup.sources_flowing(time_s, dt_s) {
            let inlet = inlets[n].take().unwrap_or_else(|| {
                let placed = setup.solids_at(end_s);
                let nozzle = setup.nozzle_among(n, time_s, dt_s);
                let section_m2 = nozzle.section_among(&placed, grid.dx);
                let outlet = Outlet::new(&nozzle, grid, &solids.open_area, section_m2);
                let columns = nozzle.columns_among((d0, LEAST_SHARE), &placed, grid.dx);
                Inlet { outlet, columns }
            });
            boundaries.sources.add(&inlet.outlet, (source.flows_for_s(time_s, dt_s) / dt_s) as f32);
            inlets[n] = Some(inlet);
        }
        boundaries.sources.cover(cover, grid, &solids.open_area, &solids.u_solid);
    }

    /// Empties active sinks at the current moment.
    pub(crate) fn apply_sinks(&mut self) {
        let mut removed = 0;
        for (_, sink) in self.setup.active_sinks(self.state.time_s) {
            let population = &mut self.work.population;
            let leaves: Vec<bool> =
                population.particles.x.iter().map(|&x| sink.shape.distance(x) <= 0.0).collect();
            removed += population.remove(&leaves);
        }
        if removed > 0 {
            let out_m3 = self.volume_of(removed);
            self.work.account.book_sources_and_sinks(0.0, out_m3);
            self.work.population.sort();
            self.work.population.measure();
        }
    }

    /// Adds what the sources let in during the step, where it is at its end.
    ///
    /// Test: `inflow_is_section_times_speed_at_any_size_and_angle`.
    pub(crate) fn emit(&mut self, dt_s: f64) {
        let (time_s, grid, d0) = (self.state.time_s, self.grid, self.params.radius_m(self.grid.dx) as f64);
        let mut added = 0;
        for (n, source) in self.setup.sources_flowing(time_s, dt_s) {
            let Some(Inlet { outlet, columns }) = &self.work.inlets[n] else { continue };
            let nozzle = source.nozzle(time_s + dt_s, grid.bounds());
            let around = surroundings(&self.setup, &self.work.boundaries.solids.fields, &grid);
            let speed = nozzle.outflow().length() as f64;
            let sections: f64 = columns.iter().map(|column| column.section_m2).sum();
            let scale = outlet.flow_m3_s / (speed * sections).max(f64::MIN_POSITIVE);
            // What has come in before the step and up to its end, in spacings along the flow.
            let until_s = (time_s + dt_s).min(source.active_s[1]) - source.active_s[0];
            let from_s = (time_s - source.active_s[0]).max(0.0);
            let [from, until] = [from_s, until_s].map(|since_s| speed * since_s / d0);
            let late_s = time_s + dt_s - source.active_s[0] - until_s;
            for column in columns {
                let mass = (scale * column.section_m2 / (d0 * d0) * UNIT_MASS as f64).round() as u32;
                for number in column.entering(from, until) {
                    let since_s = late_s + (until - number) * d0 / speed;
                    let v = nozzle.velocity(column.entry);
                    let x = around.walk(column.entry, column.entry + since_s as f32 * v);
                    self.work.population.particles.push(x, v, mass, 1, Kind::Small);
                    added += mass as u64;
                }
            }
        }
        let in_m3 = self.volume_of(added);
        self.work.account.book_sources_and_sinks(in_m3, 0.0);
    }

    /// Inside a source all particles run at its velocity, up to its skin, where the grid's velocity has no
    /// values to interpolate.
    pub(crate) fn carry_through_sources(&mut self, dt_s: f32) {
        let Carriers { before, after, .. } = &self.work.carriers;
        let particles = &mut self.work.population.particles;
        for (_, source) in self.setup.active_sources(self.state.time_s) {
            let nozzle = source.nozzle(self.state.time_s, self.grid.bounds());
            for (n, &i) in after.id.iter().enumerate() {
                let from = before.x[i as usize];
                if nozzle.distance(from) < 0.0 {
                    let velocity = nozzle.velocity(from);
                    (particles.x[n], particles.v[n]) = (from + dt_s * velocity, velocity);
                }
            }
        }
    }

    /// Gives particles in sources the velocity of their liquid.
    pub(crate) fn prescribe_in_sources(&mut self) {
        let particles = &mut self.work.population.particles;
        for (_, source) in self.setup.active_sources(self.state.time_s) {
            let nozzle = source.nozzle(self.state.time_s, self.grid.bounds());
            for (x, v) in particles.x.iter().zip(&mut particles.v) {
                if nozzle.distance(*x) < 0.0 {
                    *v = nozzle.velocity(*x);
                }
            }
        }
    }
}
