//! The grid is fixed; what adapts to the scene are the boundaries (solids, sources) and the band of particles below the
//! surface.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::SourceFace;
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_level_set as level_set;
use fluvial_particles::{self as particles, Liquid};
use fluvial_solids::{Motion, Shape, rasterize};

impl UniformSolver {
    /// Boundaries as they are at the present time, no source flowing.
    pub(crate) fn place_boundaries_anew(&mut self) {
        self.work.source_cell.fill(0);
        self.work.source_faces.clear();
        self.boundaries_placed = false;
        self.place_boundaries(0.0);
    }

    /// Open areas and boundary velocities at the end of the step.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let has_sources = !self.work.source_faces.is_empty();
        let moving = self.setup.solids.iter().any(|s| !s.motion.is_static());
        if self.boundaries_placed && !moving && !has_sources && !self.had_sources {
            return;
        }
        if moving || !self.boundaries_placed {
            let solids: Vec<(&Shape, &Motion)> =
                self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
            rasterize(&mut self.solids, &solids, self.open_walls, &self.grid, self.state.time_s + dt_s);
        }
        let grid = self.grid;
        self.work.area_face.copy_from(&self.solids.open_area);
        self.work.u_boundary.copy_from(&self.solids.u_solid);
        for &SourceFace { axis, face, u_source, .. } in &self.work.source_faces {
            let (area, u) = (&mut self.work.area_face[axis][face], &mut self.work.u_boundary[axis][face]);
            *u = *area * u_source + (1.0 - *area) * *u;
            *area = 0.0;
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
