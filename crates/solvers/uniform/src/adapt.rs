//! The grid is fixed; what adapts to the scene are the boundaries (solids, sources) and the band of particles
//! below the surface.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::{BeginMut, Boundaries, Fields, ParticleWork, Solids};
use fluvial_foundation::{AXES, Vec3};
use fluvial_level_set::{self as level_set, SolidsAround};
use fluvial_mac::{find_closed_cells, find_parting_cells, find_rough_patches};
use fluvial_particles::{self as particles, Flight, Liquid, Members, Occasion, Transfer};
use fluvial_solids::{Motion, Shape, SideChange, SolidFields, rasterize, side_changes};
use std::sync::Arc;

impl UniformSolver {
    /// Brings solids to a moment.
    fn rasterize_solids(&self, solids: &mut Solids, time_s: f64) {
        let shapes: Vec<(&Shape, &Motion)> =
            self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        rasterize(&mut solids.fields, &shapes, self.setup.open_walls(), &self.grid, time_s);
        solids.closed_cell.resize(self.grid.cell_count(), false);
        find_closed_cells(&mut solids.closed_cell, &solids.fields.open_area, &self.grid);
        solids.may_part_cell.resize(self.grid.cell_count(), false);
        let (sticky_walls, sticky) = (self.setup.sticky_walls(), self.setup.sticky_solids_at(time_s));
        let dx = self.grid.dx;
        let holds = |x: Vec3| sticky.distance(x, dx) < dx;
        find_parting_cells(
            &mut solids.may_part_cell,
            &self.grid,
            &solids.fields.open_area,
            sticky_walls,
            holds,
        );
        if self.setup.has_friction() {
            let (placed, walls) = (self.setup.solids_at(time_s), self.setup.wall_friction());
            let solid = |x: Vec3| self.setup.rough_solid(&placed, x, 2.0 * dx);
            solids.rough = find_rough_patches(&self.grid, &solids.fields, walls, solid);
        }
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
        self.work.boundaries.solids = solids;
        self.place_sources(dt_s);
        self.start.is_changed = false;
        self.work.side_changes.clear();
        if self.setup.has_moving_solids() {
            self.change_sides(dt_s);
        }
    }

    /// Cells that a thin solid passes in the step begin it with what is on their new side; particles stay on
    /// theirs.
    fn change_sides(&mut self, dt_s: f64) {
        let shapes: Vec<(&Shape, &Motion)> =
            self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        let time_s = self.state.time_s;
        let (old, new) = (&self.state.boundaries.solids.fields, &self.work.boundaries.solids.fields);
        let changes = side_changes([old, new], &shapes, [time_s, time_s + dt_s], &self.grid);
        if changes.is_empty() {
            return;
        }
        self.start.copy(&self.state);
        let cells = self.grid.cell_centers();
        let BeginMut { phi_cell, u_face, u_transport, particles } = self.start.changed();
        for &SideChange { cell, donor, .. } in &changes {
            let (cell, Some(donor)) = (cell as usize, donor) else { continue };
            let donor = donor as usize;
            phi_cell[cell] = phi_cell[donor];
            for axis in AXES {
                let faces = self.grid.faces(axis);
                let low = |cell: usize| {
                    let [i, j, k] = cells.coordinates(cell);
                    faces.index(i, j, k)
                };
                for up in [false, true] {
                    let step = if up { faces.stride(axis) } else { 0 };
                    let (face, from) = (low(cell) + step, low(donor) + step);
                    let barred = new.sides.is_barred(cell, axis, up);
                    for u in [&mut *u_face, &mut *u_transport] {
                        u[axis][face] = if barred { new.u_solid[axis][face] } else { u[axis][from] };
                    }
                }
            }
        }
        let refuge = |cell: usize| {
            let found = changes.binary_search_by_key(&(cell as u32), |change| change.cell).ok()?;
            changes[found].refuge.map(|cell| cell as usize)
        };
        particles::flee(&mut particles.x, &new.sides, &self.grid, refuge);
        self.work.side_changes = changes;
    }

    /// Particles receive the change of the grid's velocity, and the band below the surface is refilled: over
    /// the particles of the state, which the step has no more use for.
    pub(crate) fn update_particles(&mut self, dt_s: f64) {
        if !self.params.has_particles() {
            return;
        }
        let transfer = self.transfer();
        let mut buffer = std::mem::take(&mut self.work.u_free);
        let u_face = std::mem::take(&mut self.work.fields.u_face);
        let carrier = self.carrier(&mut buffer, &u_face, &self.work.boundaries);
        let work = &mut self.work;
        let moving = &mut work.particles;
        let before = &mut moving.u_before_forces;
        let sides = &work.boundaries.solids.fields.sides;
        let push = work.centring.push_s as f32 * self.setup.liquid.gravity;
        let flight = Flight { near_cell: &moving.near_cell, flown: moving.scratch.flown(), push };
        particles::faces_to_particles(
            &mut moving.moved,
            carrier,
            before,
            &self.grid,
            sides,
            &transfer,
            &flight,
        );
        if matches!(transfer, Transfer::Flip { .. }) {
            let ranges = &moving.cell_ranges;
            let near_cell = &moving.near_cell;
            let members = Members { of_cell: |cell| ranges.of_cell(cell), weight: |_| 1.0, near_cell };
            let (moved, collisions) = (&mut moving.moved, &mut moving.collisions);
            particles::collide(moved, carrier, (&self.grid, sides), &members, dt_s as f32, collisions);
        }
        (work.u_free, work.fields.u_face) = (buffer, u_face);
        self.exchange_particles(dt_s);
        self.resample_step(Occasion::Step);
        self.prescribe_in_sources();
    }

    /// Moves mass between the particles that the step has moved and the reserve, over the particles of the
    /// state.
    pub(crate) fn resample_step(&mut self, occasion: Occasion) {
        let transfer = self.transfer();
        let (state, work) = (&mut self.state, &mut self.work);
        let Fields { phi_cell, u_face, .. } = &work.fields;
        let before = &state.boundaries.solids.fields.open_volume[..];
        let now = &work.boundaries.solids.fields.open_volume[..];
        let ParticleWork { moved, cell_ranges, reserve, scratch, from_deep_cell, .. } = &mut work.particles;
        let liquid = Liquid {
            phi_cell,
            fraction_cell: &work.fields.fraction_cell,
            open_volume: [before, if occasion == Occasion::Step { now } else { before }],
            from_deep_cell,
            u_face,
            band_m: self.params.narrow_band * self.grid.dx,
            transfer,
            step_seed: state.steps + 1,
            occasion,
        };
        let around = surroundings(&self.setup, &work.boundaries.solids.fields, &self.grid);
        particles::resample(&mut state.particles, cell_ranges, moved, reserve, &liquid, &around, scratch);
    }

    /// Makes phi a distance to the same surface again, inside solids too.
    pub(crate) fn redistance(&mut self) {
        self.extend_phi_into_solids();
        let (cells, band_m) = (self.grid.cell_centers(), self.band_m());
        let (phi, scratch) = (&mut self.work.fields.phi_cell, &mut self.work.level_set);
        let solids = &self.work.boundaries.solids;
        let SolidFields { phi_node, sides, .. } = &solids.fields;
        let closed_cell: &[bool] = if self.setup.solids.is_empty() { &[] } else { &solids.closed_cell };
        let solids = SolidsAround { closed_cell, phi_solid_node: phi_node, sides };
        match self.params.has_particles() {
            // Their surface tears on a floor of closed cells where distances do not spread through them: not understood.
            true => level_set::redistance_among_solids(phi, &cells, band_m, solids, scratch),
            false => level_set::redistance_before_solids(phi, &cells, band_m, solids, scratch),
        }
    }

    /// Continues phi into closed cells, so that the surface meets solids as if they were not there.
    pub(crate) fn extend_phi_into_solids(&mut self) {
        let (cells, band_cells) = (self.grid.cell_centers(), self.band_cells());
        let (phi, scratch) = (&mut self.work.fields.phi_cell, &mut self.work.level_set);
        if !self.setup.solids.is_empty() {
            let solids = &self.work.boundaries.solids;
            let away = |cell: usize| solids.away(&self.grid, cell);
            level_set::extend_into_solids(phi, &solids.closed_cell, &cells, band_cells, away, scratch);
            level_set::extend_on_sides(phi, &solids.closed_cell, &cells, &solids.fields.sides, scratch);
        }
    }
}
