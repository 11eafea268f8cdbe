//! Narrow-band particles on the finest level [octree §7.2; sato-2018].
//!
//! Where the surface asks for smaller cells than there are, particles are seeded in a band under it. They
//! carry velocity that the grid would smear (FLIP) and put back liquid that the level set loses. Each has a
//! heat, which decays: cold particles are removed, and the level set alone describes the liquid again. A
//! particle that leaves the liquid becomes a drop with its volume. The kernels are `fluvial_octree::particles`;
//! here is their order.

mod flight;

use crate::state::{Ground, Model, Start, Step};
use crate::thin::{FineSolids, ThinSolids};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_octree::particles::flight::{sample_phi, update_velocities};
use fluvial_octree::particles::seeding::{Band, Pool, SeedingScratch, find_hot_cells, find_seeds};
use fluvial_octree::particles::{Bins, to_faces};
use fluvial_octree::sides::TreeSides;
use fluvial_solver_interface::Tracker;
use std::sync::atomic::AtomicBool;

/// Particles in a full cell.
pub(crate) const PER_CELL: f64 = 8.0;
/// Particles keep this distance from solids and closed walls, cells.
const MARGIN_CELLS: f32 = 0.02;
/// A particle below this heat is removed.
const COLDEST: f32 = 0.1;
/// From this weight on, a full cell's, the velocity of a wet face is that of its particles alone; fewer give
/// it no more momentum than they have.
const FULL_WEIGHT: f32 = PER_CELL as f32;
/// Heat of a particle that is to be removed.
const GONE: f32 = -1.0;

/// Particles of equal volume, an eighth of a finest cell's.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Particles {
    pub x: Vec<Vec3>,
    pub v: Vec<Vec3>,
    /// 1 where something happens, decaying.
    pub heat: Vec<f32>,
    pub age_s: Vec<f32>,
    pub id: Vec<u64>,
    pub next_id: u64,
}

impl Particles {
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Puts the particles into an order and leaves out those that are gone.
    fn arrange(&mut self, order: &[u32], from: &mut Particles) {
        std::mem::swap(self, from);
        self.next_id = from.next_id;
        let keep = || order.iter().map(|&p| p as usize).filter(|&p| from.heat[p] >= 0.0);
        fn pick<T: Copy>(out: &mut Vec<T>, from: &[T], order: impl Iterator<Item = usize>) {
            out.clear();
            out.extend(order.map(|p| from[p]));
        }
        pick(&mut self.x, &from.x, keep());
        pick(&mut self.v, &from.v, keep());
        pick(&mut self.heat, &from.heat, keep());
        pick(&mut self.age_s, &from.age_s, keep());
        pick(&mut self.id, &from.id, keep());
    }

    fn push(&mut self, x: Vec3, v: Vec3) {
        self.x.push(x);
        self.v.push(v);
        self.heat.push(1.0);
        self.age_s.push(0.0);
        self.id.push(self.next_id);
        self.next_id += 1;
    }
}

/// The memory that the particles' stages work in.
#[derive(Default)]
pub(crate) struct ParticleScratch {
    /// Particles in their order before the last sort.
    unsorted: Particles,
    bins: Bins,
    /// Cells around particles.
    near_cell: Vec<AtomicBool>,
    /// Cells of the band under an eventful surface.
    hot_cell: Vec<bool>,
    seeding: SeedingScratch,
    /// phi at each particle.
    phi: Vec<f32>,
    /// Velocity that forces and pressure have yet to change.
    u_before_forces: Vec<f32>,
    /// The carried velocity, m/s.
    u_carried: Vec<f32>,
}

impl Model {
    pub fn has_particles(&self) -> bool {
        self.params.tracker == Tracker::Flip
    }

    /// Volume of one particle.
    pub fn particle_m3(&self) -> f64 {
        (self.shape.dx as f64).powi(3) / PER_CELL
    }

    /// Radius of the ball of that volume, metres.
    pub fn drop_radius_m(&self) -> f32 {
        (self.particle_m3() * 0.75 / std::f64::consts::PI).cbrt() as f32
    }

    fn band(&self) -> Band {
        Band {
            depth_cells: self.params.narrow_band,
            least_size_1_m: self.params.particle_detail / self.shape.dx,
            margin_cells: MARGIN_CELLS,
        }
    }
}

/// The next state's particles, with the memory that their stages work in. Without tracker `flip` the stages
/// do nothing.
pub(crate) struct Swarm<'a> {
    pub particles: &'a mut Particles,
    pub scratch: &'a mut ParticleScratch,
}

impl Swarm<'_> {
    pub fn is_empty(&self) -> bool {
        self.particles.len() == 0
    }

    /// Copies the state's particles, removes those in active sinks, heats those where something happens, and
    /// seeds new ones there.
    pub fn begin(&mut self, step: &Step, start: &Start, size_cell: &[f32], thin: &ThinSolids) {
        let (model, old) = (step.model, step.old);
        if !model.has_particles() {
            return;
        }
        let tree = &*old.fields.tree;
        self.particles.clone_from(&old.particles);
        thin.drive(&mut self.particles.x);
        self.drain(step);
        self.sort(tree);
        let (particles, c, band) = (&mut *self.particles, &mut *self.scratch, model.band());
        find_hot_cells(&mut c.hot_cell, tree, (&start.phi_cell, size_cell), &band, &mut c.seeding);
        for (cell, _) in c.hot_cell.iter().enumerate().filter(|(_, hot)| **hot) {
            particles.heat[c.bins.of(cell)].fill(1.0);
        }
        let pool = Pool {
            tree,
            sampler: &model.sampler(tree),
            phi_cell: &start.phi_cell,
            phi_solid_cell: &old.boundaries.phi_solid_cell,
            u_face: &start.u_face,
            sides: thin.fine.as_deref().map_or(TreeSides::NONE, FineSolids::sides),
        };
        for (x, v) in find_seeds(&pool, (&particles.x, &c.bins), &c.hot_cell, &band, old.steps) {
            particles.push(x, v);
        }
    }

    /// Active sinks take particles.
    fn drain(&mut self, step: &Step) {
        let particles = &mut *self.particles;
        for (_, sink) in step.model.setup.active_sinks(step.old.time_s) {
            for p in 0..particles.len() {
                if particles.heat[p] >= 0.0 && sink.shape.distance(particles.x[p]) < 0.0 {
                    particles.heat[p] = GONE;
                }
            }
        }
    }

    /// Particles deposit their velocity on the faces around them.
    ///
    /// Their mean is the velocity of where they are: at the surface and at the band's lower edge they are on one side of a face. A drop's
    /// outermost faces lagged by 5 % of a velocity that grows with the radius, those below the band were ahead by as much, and the drop
    /// oscillated slower by 0.6 %. What the carried velocity changes by from there to the face is added, so that linear fields
    /// come back whatever particles there are.
    pub fn deposit(&mut self, step: &Step, u_face: &mut [f32], phi_cell: &[f32], ground: Ground) {
        if !step.model.has_particles() {
            return;
        }
        let (particles, c, tree) = (&*self.particles, &mut *self.scratch, ground.tree);
        let (sampler, sides) = (step.model.sampler(tree), ground.boundaries.sides());
        c.bins.mark_around(&mut c.near_cell, tree, |_| true);
        c.u_carried.clear();
        c.u_carried.extend_from_slice(u_face);
        let u_carried = &c.u_carried[..];
        let (near, carried) = ((&c.bins, &c.near_cell[..]), (&particles.x[..], &particles.v[..]));
        to_faces(u_face, tree, near, carried, sides, |face, mean| {
            // Around spray the grid has nothing better to offer.
            if !tree.cells_beside(face).any(|cell| phi_cell[cell] < 0.0) {
                return mean.u;
            }
            let at_thin_solid = || tree.cells_beside(face).any(|cell| sides.is_near(tree, cell));
            let there = match at_thin_solid() {
                true => u_carried[face],
                false => sampler.component(u_carried, tree.face_axis(face), mean.x),
            };
            let share = (mean.weight / FULL_WEIGHT).min(1.0);
            u_carried[face] + share * (mean.u - there)
        });
        c.u_before_forces.clear();
        c.u_before_forces.extend_from_slice(u_face);
    }

    /// Particles receive the change that forces and pressure made to the grid's velocity. Heat decays; particles that are
    /// cold, deep or outside the finest cells are removed.
    pub fn update(&mut self, step: &Step, u_face: &[f32], phi_cell: &[f32], ground: Ground) {
        let (model, tree) = (step.model, ground.tree);
        if !model.has_particles() {
            return;
        }
        let (sampler, dt) = (model.sampler(tree), step.dt_s as f32);
        let Particles { x, v, heat, age_s, .. } = &mut *self.particles;
        let c = &mut *self.scratch;
        let sight = (&**tree, &sampler, ground.boundaries.sides());
        sample_phi(&mut c.phi, x, sight, phi_cell);
        update_velocities(v, x, &sampler, (u_face, &c.u_before_forces), model.params.flip_ratio);
        let remaining = model.params.sizing(model.shape.dx).remaining(dt);
        let deepest_m = -model.band().depth_m(tree) - model.shape.dx;
        // Sorting has put particles that are in no finest cell behind the others.
        let in_finest_cells = c.bins.count();
        for p in 0..x.len() {
            age_s[p] += dt;
            heat[p] *= remaining;
            if heat[p] < COLDEST || c.phi[p] < deepest_m || p >= in_finest_cells {
                heat[p] = GONE;
            }
        }
        self.sort(tree);
    }

    /// Sorts by finest cell; those that are gone are left out.
    fn sort(&mut self, tree: &Octree) {
        let Particles { x, heat, .. } = &*self.particles;
        let bins = &mut self.scratch.bins;
        bins.sort(tree, x, |p| heat[p] >= 0.0);
        self.particles.arrange(bins.order(), &mut self.scratch.unsorted);
    }
}
