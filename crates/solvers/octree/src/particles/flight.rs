//! Particles on their way with the liquid, and out of it.

use super::{GONE, MARGIN_CELLS, Particles, Swarm};
use crate::mass::{MassScratch, Settled};
use crate::state::{Ground, Start, Step};
use fluvial_octree::particles::flight::{Surroundings, carry, sample_phi};
use fluvial_octree::particles::surface::{Sorted, pull_surface};
use fluvial_particles::Average;
use fluvial_solver_interface::Clamps;

/// A particle farther outside the surface than this becomes a drop, cells: farther than drops arrive at.
const FLIES_AT_CELLS: f32 = 0.75;
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
            dx,
            margin_m: MARGIN_CELLS * dx,
        };
        let Particles { x, .. } = &mut *self.particles;
        let sampler = model.sampler(&step.old.fields.tree);
        let info = carry(x, (&sampler, &start.u_face), &around, step.dt_s as f32);
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

    /// Marks particles that are trapped in solids or have left the domain as gone: the cells hold their volume.
    fn remove_outside(&mut self, step: &Step) {
        let bounds = step.model.shape.bounds();
        let Particles { x, heat, .. } = &mut *self.particles;
        for (x, heat) in x.iter_mut().zip(heat) {
            if x.is_nan() {
                (*x, *heat) = (bounds.min, GONE);
            } else if *x != x.clamp(bounds.min, bounds.max) {
                *heat = GONE;
            }
        }
    }

    /// With the surface in its place: particles outside of it become drops, with volume that their cells give.
    pub fn release_drops(
        &mut self,
        step: &Step,
        liquid: &mut Settled,
        mass: &mut MassScratch,
        ground: Ground,
    ) {
        let (tree, sides, model) = (ground.tree, ground.boundaries.sides(), step.model);
        if !model.has_particles() {
            return;
        }
        let (particles, c) = (&mut *self.particles, &mut *self.scratch);
        sample_phi(&mut c.phi, &particles.x, (tree, &model.sampler(tree), sides), liquid.phi);
        let (dx, volume_m3) = (model.shape.dx, model.particle_m3());
        let push = step.forces.push_s as f32 * model.setup.liquid.gravity;
        for p in (0..particles.len()).filter(|&p| c.phi[p] > FLIES_AT_CELLS * dx) {
            let (x, cell) = (particles.x[p], tree.locate(particles.x[p]).cell as usize);
            particles.heat[p] = GONE;
            if model.conserves_volume() {
                mass.volume_cell[cell] -= (volume_m3 / f64::from(tree.cell_dx(cell)).powi(3)) as f32;
            }
            liquid.drops.push(x, particles.v[p] + push, volume_m3);
        }
        self.sort(tree);
    }
}
