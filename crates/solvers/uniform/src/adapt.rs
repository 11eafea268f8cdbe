//! The grid is fixed; what adapts to the scene are the boundaries (solids, sources) and the band of particles
//! below the surface.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::{Boundaries, Fields, ParticleWork, Solids, Work};
use fluvial_level_set as level_set;
use fluvial_mac::find_closed_cells;
use fluvial_particles::{self as particles, Flight, Liquid, Occasion};
use fluvial_solids::{Motion, Shape, rasterize};
use std::sync::Arc;

impl UniformSolver {
    /// Brings solids to a moment.
    fn rasterize_solids(&self, solids: &mut Solids, time_s: f64) {
        let shapes: Vec<(&Shape, &Motion)> =
            self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        rasterize(&mut solids.fields, &shapes, self.setup.open_walls(), &self.grid, time_s);
        solids.closed_cell.resize(self.grid.cell_count(), false);
        find_closed_cells(&mut solids.closed_cell, &solids.fields.open_area, &self.grid);
    }

    /// Places the boundaries of the state as they are at its time, no source flowing.
    pub(crate) fn place_boundaries_of_state(&mut self) {
        self.work.boundaries = Boundaries::default();
        let mut solids = std::mem::take(&mut self.state.boundaries).solids;
        self.rasterize_solids(Arc::make_mut(&mut solids), self.state.time_s);
        self.work.boundaries.solids = solids.clone();
        self.state.boundaries.solids = solids;
    }

    /// Open areas and boundary velocities at the end of the step, the sources' faces on top of the solids'.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let mut solids = std::mem::take(&mut self.work.boundaries.solids);
        if self.setup.has_moving_solids() {
            // Two copies take turns: the state's and the step's. The first step makes the second one.
            self.rasterize_solids(Arc::make_mut(&mut solids), self.state.time_s + dt_s);
        } else {
            solids = self.state.boundaries.solids.clone();
        }
        let Work { boundaries, cover, .. } = &mut self.work;
        boundaries.sources.cover(cover, &solids.fields.open_area, &solids.fields.u_solid);
        self.work.boundaries.solids = solids;
    }

    /// Particles receive the change of the grid's velocity, and the band below the surface is refilled: over
    /// the particles of the state, which the step has no more use for.
    pub(crate) fn update_particles(&mut self, dt_s: f64) {
        if !self.params.has_particles() {
            return;
        }
        let transfer = self.transfer();
        let (state, work) = (&mut self.state, &mut self.work);
        let Fields { phi_cell, u_face, .. } = &work.fields;
        let moving = &mut work.particles;
        let before = &mut moving.u_before_forces;
        let push = dt_s as f32 * self.setup.liquid.gravity;
        let flight = Flight { near_cell: &moving.near_cell, flown: moving.scratch.flown(), push };
        particles::faces_to_particles(&mut moving.moved, u_face, before, &self.grid, &transfer, &flight);
        let open_before = &state.boundaries.solids.fields.open_volume;
        let liquid = Liquid {
            phi_cell,
            fraction_cell: &work.fraction_cell,
            open_volume: [open_before, &work.boundaries.solids.fields.open_volume],
            u_face,
            is_new_cell: &[],
            band_m: self.params.narrow_band * self.grid.dx,
            transfer,
            step_seed: state.steps + 1,
            occasion: Occasion::Step,
        };
        let around = surroundings(&self.setup, &work.boundaries.solids.fields, &self.grid);
        let ParticleWork { moved, cell_ranges, reserve, scratch, .. } = moving;
        particles::resample(&mut state.particles, cell_ranges, moved, reserve, &liquid, &around, scratch);
    }

    /// Makes phi a distance to the same surface again, inside solids too.
    pub(crate) fn redistance(&mut self) {
        let (cells, band_cells, band_m) = (self.grid.cell_centers(), self.band_cells(), self.band_m());
        let (phi, scratch) = (&mut self.work.fields.phi_cell, &mut self.work.level_set);
        if !self.setup.solids.is_empty() {
            let closed = &self.work.boundaries.solids.closed_cell;
            level_set::extend_into_solids(phi, closed, &cells, band_cells, scratch);
        }
        level_set::redistance(phi, &cells, band_m, scratch);
    }
}
