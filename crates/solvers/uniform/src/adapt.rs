//! The grid is fixed; what adapts to the scene are the boundaries (solids, sources, sinks) and the band of
//! particles below the surface.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::{FaceCells, for_each_face};
use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2};
use fluvial_foundation::{AXES, Vec3};
use fluvial_level_set as level_set;
use fluvial_particles::{self as particles, Liquid};
use fluvial_solids::{Motion, Shape, rasterize};

impl UniformSolver {
    /// Fills active sources and empties active sinks at the current moment.
    ///
    /// A source is liquid that leaves its shape at the given velocity: inside, faces carry that velocity; on
    /// its skin only the outward part (nothing is sucked in behind), so the flux is `sum max(v.n, 0) dx^2`.
    /// What the shapes add and take is measured on the level set and booked as inflow and outflow.
    pub(crate) fn apply_sources_and_sinks(&mut self) {
        let time_s = self.state.time_s;
        let active = |[from, to]: [f64; 2]| from <= time_s && time_s < to;
        if self.setup.sources.is_empty() && self.setup.sinks.is_empty() {
            return;
        }
        // Shapes that start now, or only drip (no velocity, hence no flux): what they add is inflow. Shapes that go
        // on flowing are booked by their flux; topping them up mends what transport lost and books nothing.
        let before_m3 = self.liquid_volume(&self.state.phi_cell);
        self.work.source_cell.fill(0);
        let (continuing, starting): (Vec<usize>, Vec<usize>) = (0..self.setup.sources.len())
            .filter(|&n| active(self.setup.sources[n].active_s))
            .partition(|&n| self.state.sources_flowing[n] && self.setup.sources[n].velocity != Vec3::ZERO);
        for &n in &continuing {
            self.fill_source(n);
        }
        let topped_up_m3 =
            if continuing.is_empty() { before_m3 } else { self.liquid_volume(&self.state.phi_cell) };
        for &n in &starting {
            self.fill_source(n);
        }
        let mut changed = !(continuing.is_empty() && starting.is_empty());
        for (n, source) in self.setup.sources.iter().enumerate() {
            self.state.sources_flowing[n] = active(source.active_s);
        }
        let filled_m3 =
            if starting.is_empty() { topped_up_m3 } else { self.liquid_volume(&self.state.phi_cell) };
        for sink in self.setup.sinks.iter().filter(|s| active(s.active_s)) {
            changed = true;
            let cells = self.grid.cell_centers();
            for_each_chunk_mut(&mut self.state.phi_cell, cells.slab(), |k, phi| {
                for (n, phi) in phi.iter_mut().enumerate() {
                    let x = cells.position(n % cells.size[0], n / cells.size[0], k);
                    *phi = phi.max(-sink.shape.distance(x));
                }
            });
            let x = self.state.particles.x.clone();
            particles::retain(&mut self.state.particles, |p| sink.shape.distance(x[p]) > 0.0);
        }
        if !changed {
            return;
        }
        let after_m3 = self.liquid_volume(&self.state.phi_cell);
        self.state.volume.book_sources_and_sinks(filled_m3 - topped_up_m3, filled_m3 - after_m3);
        self.prescribe_source_velocity();
        if self.params.has_particles() {
            self.refill_particle_band();
        }
        // The bodies of liquid have changed: their volumes are measured anew before the next transport.
        self.remeasure_regions(topped_up_m3 - before_m3);
    }

    /// Unites the liquid with a source's shape and tags the cells inside.
    fn fill_source(&mut self, index: usize) {
        let (cells, shape) = (self.grid.cell_centers(), &self.setup.sources[index].shape);
        for_each_chunk_mut2(
            (&mut self.state.phi_cell, cells.slab()),
            (&mut self.work.source_cell, cells.slab()),
            |k, phi, tags| {
                for (n, (phi, tag)) in phi.iter_mut().zip(tags).enumerate() {
                    let d = shape.distance(cells.position(n % cells.size[0], n / cells.size[0], k));
                    *phi = phi.min(d);
                    if d < 0.0 {
                        *tag = index as u8 + 1;
                    }
                }
            },
        );
    }

    fn prescribe_source_velocity(&mut self) {
        let (grid, tags, sources) = (self.grid, &self.work.source_cell, &self.setup.sources);
        for axis in AXES {
            for field in [&mut self.state.u_face, &mut self.state.u_transport] {
                for_each_face(&mut field[axis], &grid, axis, |_, cells, u| {
                    if let Some(v) = source_face_velocity(cells, tags, axis, |tag| sources[tag].velocity) {
                        *u = v;
                    }
                });
            }
        }
    }

    /// Open areas and boundary velocities at the end of the step.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let has_sources = self.work.source_cell.iter().any(|&t| t != 0);
        let moving = self.setup.solids.iter().any(|s| !s.motion.is_static());
        if self.boundaries_placed && !moving && !has_sources && !self.had_sources {
            return;
        }
        if moving || !self.boundaries_placed {
            let solids: Vec<(&Shape, &Motion)> =
                self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
            rasterize(&mut self.solids, &solids, self.open_walls, &self.grid, self.state.time_s + dt_s);
        }
        let (grid, tags, sources) = (self.grid, &self.work.source_cell, &self.setup.sources);
        self.work.area_face.copy_from(&self.solids.open_area);
        self.work.u_boundary.copy_from(&self.solids.u_solid);
        if has_sources {
            for axis in AXES {
                let open = &self.solids.open_area[axis];
                for_each_face(&mut self.work.u_boundary[axis], &grid, axis, |face, cells, u| {
                    if let Some(v) = source_face_velocity(cells, tags, axis, |tag| sources[tag].velocity) {
                        *u = open[face] * v + (1.0 - open[face]) * *u;
                    }
                });
                for_each_face(&mut self.work.area_face[axis], &grid, axis, |_, cells, area| {
                    if [cells.low, cells.high].iter().flatten().any(|&c| tags[c] != 0) {
                        *area = 0.0;
                    }
                });
            }
        }
        let open = &self.solids.open_area;
        let strides = AXES.map(|axis| (grid.faces(axis), grid.faces(axis).stride(axis)));
        for_each_chunk_mut(&mut self.work.closed_cell, grid.cell_centers().slab(), |k, closed| {
            for (n, closed) in closed.iter_mut().enumerate() {
                let [i, j] = [n % grid.cells[0], n / grid.cells[0]];
                *closed = AXES.iter().all(|&axis| {
                    let (lattice, stride) = strides[axis];
                    let face = lattice.index(i, j, k);
                    open[axis][face] == 0.0 && open[axis][face + stride] == 0.0
                });
            }
        });
        self.boundaries_placed = true;
        self.had_sources = has_sources;
    }

    /// Particles take up the change of the grid's velocity, and the band below the surface is refilled.
    pub(crate) fn update_particles(&mut self) {
        if !self.params.has_particles() {
            return;
        }
        let transfer = self.transfer();
        let (state, work) = (&mut self.state, &mut self.work);
        particles::faces_to_particles(
            &mut work.particles,
            &work.u_face,
            &mut work.u_before_forces,
            &self.grid,
            &transfer,
        );
        let liquid = Liquid {
            phi_cell: &work.phi_cell,
            u_face: &work.u_face,
            is_new_cell: &[],
            band_m: self.params.narrow_band * self.grid.dx,
            transfer,
            step_seed: state.steps + 1,
        };
        let around = surroundings(&self.setup, &self.solids, &self.grid, self.open_walls);
        let (ranges, scratch) = (&mut work.cell_ranges, &mut work.particle_scratch);
        particles::resample(&mut state.particles, ranges, &work.particles, &liquid, &around, scratch);
    }

    /// Fills the band from the committed state: at the start and where sources act.
    pub(crate) fn refill_particle_band(&mut self) {
        let transfer = self.transfer();
        let (state, work) = (&mut self.state, &mut self.work);
        let liquid = Liquid {
            phi_cell: &state.phi_cell,
            u_face: &state.u_face,
            is_new_cell: &work.source_cell,
            band_m: self.params.narrow_band * self.grid.dx,
            transfer,
            step_seed: state.steps,
        };
        let around = surroundings(&self.setup, &self.solids, &self.grid, self.open_walls);
        let (ranges, scratch) = (&mut work.cell_ranges, &mut work.particle_scratch);
        state.particles.sort_by_cell(&self.grid, ranges, scratch);
        particles::resample(&mut work.particles, ranges, &state.particles, &liquid, &around, scratch);
        std::mem::swap(&mut state.particles, &mut work.particles);
    }

    /// Makes phi a distance to the same surface again, inside solids too.
    pub(crate) fn redistance(&mut self) {
        let (cells, band_cells, band_m) = (self.grid.cell_centers(), self.band_cells(), self.band_m());
        let (phi, scratch) = (&mut self.work.phi_cell, &mut self.work.level_set);
        if !self.setup.solids.is_empty() {
            level_set::extend_into_solids(phi, &self.work.closed_cell, &cells, band_cells, scratch);
        }
        level_set::redistance(phi, &cells, band_m, scratch);
    }
}

/// The velocity that an active source gives a face; none where it touches no source.
fn source_face_velocity(
    cells: FaceCells,
    tags: &[u8],
    axis: usize,
    velocity: impl Fn(usize) -> Vec3,
) -> Option<f32> {
    let tag = |cell: Option<usize>| cell.map_or(0, |c| tags[c]);
    match (tag(cells.low), tag(cells.high)) {
        (0, 0) => None,
        (low, 0) => Some(velocity(low as usize - 1)[axis].max(0.0)),
        (0, high) => Some(velocity(high as usize - 1)[axis].min(0.0)),
        (low, _) => Some(velocity(low as usize - 1)[axis]),
    }
}
