//! Particles on their way: with the liquid or through the air, out of the liquid and back.

use super::{GONE, MARGIN_CELLS, Particles, Swarm};
use crate::state::{Ground, Start, Step};
use fluvial_octree::particles::flight::{Surroundings, carry, sample_phi};
use fluvial_octree::particles::surface::{Sorted, pull_surface};
use fluvial_particles::Average;
use fluvial_solver_interface::Clamps;

/// A particle farther outside the surface than this flies, cells.
const FLIES_AT_CELLS: f32 = 0.25;
/// Solids' distances are true up to this many cells.
const SOLID_BAND_CELLS: f32 = 4.0;

impl Swarm<'_> {
    /// Moves the particles to where they are at the end of the step, and lets them put back what the advected
    /// level set has lost.
    pub fn advect(
        &mut self,
        step: &Step,
        phi_cell: &mut [f32],
        ground: Ground,
        start: &Start,
        clamps: &mut Clamps,
    ) {
        let model = step.model;
        if !model.has_particles() {
            return;
        }
        let (dx, tree, sides) = (model.shape.dx, ground.tree, ground.boundaries.sides());
        let (solids, reach) = (model.setup.solids_at(step.old.time_s + step.dt_s), SOLID_BAND_CELLS * dx);
        let around = Surroundings {
            sides,
            bounds: model.shape.bounds(),
            open_walls: model.setup.open_walls(),
            has_solids: !solids.is_empty(),
            solid_distance: |x| solids.distance(x, reach),
            solid_velocity: |x| solids.velocity(x, reach),
            dx,
            margin_m: MARGIN_CELLS * dx,
        };
        let Particles { x, v, flies, .. } = &mut *self.particles;
        let sampler = model.sampler(&step.old.fields.tree);
        let info = carry((x, v), flies, (&sampler, &start.u_face), &around, step.dt_s as f32);
        clamps.add("particles_pushed_out_of_solids", info.pushed);
        clamps.add("particles_trapped", info.trapped);
        self.remove_outside(step);
        self.sort(tree);
        let (Particles { x, heat, .. }, c) = (&*self.particles, &mut *self.scratch);
        sample_phi(&mut c.phi, x, (tree, &model.sampler(tree), sides), phi_cell);
        let sorted = Sorted { bins: &c.bins, x, heat, phi: &c.phi, sides };
        let level_set = (|| Average::new(dx), Average::add, Average::phi);
        pull_surface(phi_cell, tree, &sorted, level_set, &mut c.near_cell);
    }

    /// Marks particles that are trapped in solids or have left the domain as gone; those that flew have their
    /// volume booked.
    fn remove_outside(&mut self, step: &Step) {
        let (bounds, particle_m3) = (step.model.shape.bounds(), step.model.particle_m3());
        let Particles { x, flies, heat, .. } = &mut *self.particles;
        let flights = &mut self.scratch.flights;
        for p in 0..x.len() {
            if x[p].is_nan() {
                // In a solid without a way out: the liquid around has its volume.
                (x[p], heat[p]) = (bounds.min, GONE);
                if flies[p] != 0 {
                    flights.booked.push((None, -particle_m3));
                }
            } else if x[p] != x[p].clamp(bounds.min, bounds.max) {
                heat[p] = GONE;
                flights.left_m3 += if flies[p] != 0 { particle_m3 } else { 0.0 };
            }
        }
    }

    /// With the surface in its place: finds which particles have begun to fly and which have fallen back in,
    /// and books their volume.
    pub fn sort_flights(&mut self, step: &Step, phi_cell: &[f32], ground: Ground) {
        let (tree, sides) = (ground.tree, ground.boundaries.sides());
        let (model, old_tree) = (step.model, &step.old.fields.tree);
        if !model.has_particles() {
            return;
        }
        let (particles, c) = (&mut *self.particles, &mut *self.scratch);
        sample_phi(&mut c.phi, &particles.x, (tree, &model.sampler(tree), sides), phi_cell);
        let (dx, volume_m3) = (model.shape.dx, model.particle_m3());
        for p in 0..particles.len() {
            let (x, phi, flew) = (particles.x[p], c.phi[p], particles.flies[p] != 0);
            let booked_m3 = if flew && phi < 0.0 {
                (particles.flies[p], particles.heat[p]) = (0, 1.0);
                if tree.locate(x).level > 0 {
                    c.flights.absorbed.push((x, particles.v[p]));
                    particles.heat[p] = GONE;
                }
                -volume_m3
            } else if !flew && phi > FLIES_AT_CELLS * dx {
                (particles.flies[p], particles.heat[p]) = (1, 1.0);
                volume_m3
            } else {
                continue;
            };
            c.flights.booked.push((Some(old_tree.locate(x).cell), booked_m3));
        }
        self.sort(tree);
    }
}
