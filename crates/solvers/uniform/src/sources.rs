//! Sources and sinks: shapes that add and take liquid.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::ParticleWork;
use fluvial_foundation::Vec3;
use fluvial_grids::FaceField;
use fluvial_mac::Outlet;
use fluvial_particles::{self as particles, Liquid, Occasion, Particles, Reserve};
use fluvial_solids::{Column, Nozzle, Shape};

/// Particles enter a source in columns of this width, cells: eight fill a cell.
const PARTICLE_CELLS: f32 = 0.5;
/// Columns at the rim with less than this share of a full section are left to the others.
const LEAST_SHARE: f32 = 0.25;

/// The sources and sinks of a step.
#[derive(Default)]
pub(crate) struct SourceWork {
    /// Outlets by source, with the columns in which particles enter, and the sources that they were measured for: kept from step to step
    /// while nothing moves.
    outlets: Vec<Option<(Outlet, Vec<Column>)>>,
    measured_for: Option<Vec<usize>>,
    /// What each source brings in, m3.
    pub inflow_m3: Vec<f64>,
    /// What sinks take of the level set, m3.
    pub taken_m3: f64,
    /// 1 in the cells whose centres lie in an active source; empty when none is active.
    pub inside_cell: Vec<u8>,
    /// Particles in sinks, and the volume of deep cells there, m3.
    pub drained_particles: usize,
    pub drained_deep_m3: f64,
}

impl UniformSolver {
    /// Puts the outlets of the sources that flow during the step on top of the solids.
    pub(crate) fn place_sources(&mut self, dt_s: f64) {
        let (time_s, setup, grid) = (self.state.time_s, &self.setup, &self.grid);
        let has_particles = self.params.has_particles();
        let (boundaries, work) = (&mut self.work.boundaries, &mut self.work.sources);
        let solids = &boundaries.solids.fields;
        let resting = setup.resting_sources(time_s, dt_s);
        if resting.is_none() || resting != work.measured_for {
            work.outlets.clear();
        }
        work.measured_for = resting;
        work.outlets.resize(setup.sources.len(), None);
        work.inflow_m3.clear();
        boundaries.sources.clear();
        for (n, source) in setup.sources_flowing(time_s, dt_s) {
            let outlet = work.outlets[n].take().unwrap_or_else(|| {
                let placed = setup.solids_at(time_s + dt_s);
                let nozzle = setup.nozzle_among(n, time_s, dt_s);
                let sizes = (PARTICLE_CELLS * grid.dx, LEAST_SHARE);
                let columns = match has_particles {
                    true => nozzle.columns_among(sizes, &placed, grid.dx),
                    false => vec![],
                };
                let section_m2 = nozzle.section_among(&placed, grid.dx);
                (Outlet::new(&nozzle, grid, &solids.open_area, section_m2), columns)
            });
            let flows_s = source.flows_for_s(time_s, dt_s);
            boundaries.sources.add(&outlet.0, (flows_s / dt_s) as f32);
            work.inflow_m3.push(outlet.0.flow_m3_s * flows_s);
            work.outlets[n] = Some(outlet);
        }
        boundaries.sources.cover(&mut self.work.cover, grid, &solids.open_area, &solids.u_solid);
    }

    /// Unites the carried liquid with what has come into active sources by the end of the step, and takes it
    /// out of active sinks.
    pub(crate) fn apply_sources_and_sinks(&mut self, dt_s: f64) {
        let (time_s, end_s) = (self.state.time_s, self.state.time_s + dt_s);
        self.work.sources.inside_cell.clear();
        let flowing = self.setup.sources_flowing(time_s, dt_s);
        let nozzles: Vec<(Nozzle, f64)> = flowing
            .map(|(_, source)| {
                let until_s = end_s.min(source.active_s[1]);
                (source.nozzle(until_s, self.grid.bounds()), until_s - source.active_s[0])
            })
            .collect();
        for (nozzle, since_s) in &nozzles {
            self.fill_source(nozzle, *since_s);
        }
        self.work.sources.taken_m3 = 0.0;
        (self.work.sources.drained_particles, self.work.sources.drained_deep_m3) = (0, 0.0);
        self.work.particles.reserve.clone_from(&self.state.reserve);
        let sinks: Vec<usize> = self.setup.active_sinks(time_s).map(|(n, _)| n).collect();
        for n in sinks {
            let shape = self.setup.sinks[n].shape.clone();
            self.empty_sink(&shape);
        }
    }

    /// Unites the liquid with what has come into a source and marks the cells inside.
    fn fill_source(&mut self, nozzle: &Nozzle, since_s: f64) {
        let (cells, reach_m, work) = (self.grid.cell_centers(), self.band_m(), &mut self.work);
        let inside_cell = &mut work.sources.inside_cell;
        inside_cell.resize(self.grid.cell_count(), 0);
        let bounds = nozzle.bounds().expand(reach_m);
        cells.for_each_mut2(&mut work.fields.phi_cell, inside_cell, |_, [i, j, k], phi, inside| {
            let x = cells.position(i, j, k);
            if bounds.contains(x) {
                let distance = nozzle.filled_distance(x, since_s);
                *phi = phi.min(distance);
                *inside |= (distance < 0.0) as u8;
            }
        });
    }

    /// Takes the liquid out of a sink's shape.
    fn empty_sink(&mut self, shape: &Shape) {
        let cells = self.grid.cell_centers();
        let solids = self.work.boundaries.solids.clone();
        let before_m3 = self.liquid_volume(&self.work.fields.phi_cell, &solids.fields);
        cells.for_each_mut(&mut self.work.fields.phi_cell, |_, [i, j, k], phi| {
            *phi = phi.max(-shape.distance(cells.position(i, j, k)));
        });
        let left_m3 = self.liquid_volume(&self.work.fields.phi_cell, &solids.fields);
        self.work.sources.taken_m3 += before_m3 - left_m3;
        self.drain_particles(shape);
    }

    /// Takes deep cells out of a sink's shape and counts the particles in it, which go when the step succeeds.
    fn drain_particles(&mut self, shape: &Shape) {
        if !self.params.has_particles() {
            return;
        }
        let (cells, open_volume) =
            (self.grid.cell_centers(), &self.work.boundaries.solids.fields.open_volume);
        let ParticleWork { moved, reserve, .. } = &mut self.work.particles;
        let sources = &mut self.work.sources;
        sources.drained_particles += moved.x.iter().filter(|&&x| shape.distance(x) <= 0.0).count();
        for (cell, deep) in reserve.deep_cell.iter_mut().enumerate().filter(|(_, deep)| **deep != 0) {
            let [i, j, k] = cells.coordinates(cell);
            if shape.distance(cells.position(i, j, k)) <= 0.0 {
                *deep = 0;
                sources.drained_deep_m3 += f64::from(open_volume[cell]) * f64::from(self.grid.dx).powi(3);
            }
        }
    }

    /// Removes the particles in active sinks and adds those that sources let in, once the step has succeeded.
    pub(crate) fn exchange_particles(&mut self, dt_s: f64) {
        let time_s = self.state.time_s;
        let ParticleWork { moved, .. } = &mut self.work.particles;
        let has_drained = self.work.sources.drained_particles > 0;
        if has_drained {
            let sinks: Vec<&Shape> = self.setup.active_sinks(time_s).map(|(_, sink)| &sink.shape).collect();
            particles::retain(moved, |all, p| sinks.iter().all(|shape| shape.distance(all.x[p]) > 0.0));
        }
        let has_come = self.emit(dt_s);
        if has_drained || has_come {
            let ParticleWork { moved, cell_ranges, scratch, .. } = &mut self.work.particles;
            moved.sort_by_cell(&self.grid, cell_ranges, scratch);
        }
    }

    /// Adds the particles that enter sources during the step, where they are at its end. In each column of a source they follow
    /// one another at the distance in which its section holds one, so that what they bring is section times speed times time at any
    /// resolution; filled cell by cell, a jet of five cells got four fifths of its liquid, and the rest went elsewhere.
    fn emit(&mut self, dt_s: f64) -> bool {
        let (time_s, grid, particle_m3) = (self.state.time_s, self.grid, self.particle_m3());
        let bounds = grid.bounds();
        let solids = self.work.boundaries.solids.clone();
        let around = surroundings(&self.setup, &solids.fields, &grid);
        let ParticleWork { moved, reserve, .. } = &mut self.work.particles;
        let before = moved.len();
        for (n, source) in self.setup.sources_flowing(time_s, dt_s) {
            let Some((outlet, columns)) = &self.work.sources.outlets[n] else { continue };
            let nozzle = source.nozzle(time_s + dt_s, grid.bounds());
            let speed = f64::from(nozzle.outflow().length());
            let sections: f64 = columns.iter().map(|column| column.section_m2).sum();
            let scale = outlet.flow_m3_s / (speed * sections).max(f64::MIN_POSITIVE);
            let until_s = (time_s + dt_s).min(source.active_s[1]) - source.active_s[0];
            let from_s = (time_s - source.active_s[0]).max(0.0);
            let late_s = time_s + dt_s - source.active_s[0] - until_s;
            for column in columns {
                let a_second = scale * column.section_m2 * speed / particle_m3;
                for number in column.entering(a_second * from_s, a_second * until_s) {
                    let since_s = late_s + until_s - number / a_second;
                    let v = nozzle.velocity(column.entry);
                    let x = around.walk(column.entry, column.entry + since_s as f32 * v);
                    moved.push(x.clamp(bounds.min, bounds.max), v, None);
                }
            }
        }
        reserve.inflow_m3 -= particle_m3 * (moved.len() - before) as f64;
        moved.len() > before
    }

    /// Gives particles in sources the velocity of their liquid: behind a source the grid has none of it to interpolate, and what begins there
    /// would leave the mouth with half of its speed.
    pub(crate) fn prescribe_in_sources(&mut self) {
        let Particles { x, v, affine, .. } = &mut self.state.particles;
        for (_, source) in self.setup.active_sources(self.state.time_s) {
            let nozzle = source.nozzle(self.state.time_s, self.grid.bounds());
            let bounds = nozzle.bounds();
            for n in (0..x.len()).filter(|&n| bounds.contains(x[n]) && nozzle.distance(x[n]) < 0.0) {
                v[n] = nozzle.velocity(x[n]);
                affine.iter_mut().filter(|rows| !rows.is_empty()).for_each(|rows| rows[n] = Vec3::ZERO);
            }
        }
    }

    /// Fills the band of particles below the surface at the start.
    pub(crate) fn resample_particles(
        &mut self,
        particles: &mut Particles,
        reserve: &mut Reserve,
        phi_cell: &[f32],
        u_face: &FaceField,
        occasion: Occasion,
    ) {
        let open_volume = &self.state.boundaries.solids.fields.open_volume[..];
        let liquid = Liquid {
            from_deep_cell: &[],
            phi_cell,
            fraction_cell: &self.work.fields.fraction_cell,
            open_volume: [open_volume; 2],
            u_face,
            band_m: self.params.narrow_band * self.grid.dx,
            transfer: self.transfer(),
            step_seed: self.state.steps,
            occasion,
        };
        let around = surroundings(&self.setup, &self.state.boundaries.solids.fields, &self.grid);
        let ParticleWork { moved, cell_ranges, scratch, .. } = &mut self.work.particles;
        particles.sort_by_cell(&self.grid, cell_ranges, scratch);
        particles::resample(moved, cell_ranges, particles, reserve, &liquid, &around, scratch);
        std::mem::swap(particles, moved);
    }
}
