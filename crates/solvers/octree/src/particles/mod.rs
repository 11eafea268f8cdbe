//! Narrow-band particles on the finest level [octree §7.2; Sato, Wojtan, Thuerey, Igarashi, Ando 2018, "Extended Narrow Band
//! FLIP for Liquid Simulations"].
//!
//! Where the surface asks for smaller cells than there are, particles are born in a band under it. They carry velocity that
//! the grid would smear (FLIP) and put back liquid that the level set loses. Each has a heat, which decays: cold ones go, and the
//! level set alone speaks again. A particle that leaves the liquid flies as a drop of its own until it falls back in; its
//! volume is booked, so that nothing is lost on the way.

mod birth;
mod flight;

use crate::OctreeSolver;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_octree::interpolate::Sampler;
use fluvial_octree::particles::{Bins, to_faces};
use fluvial_solver_interface::Tracker;
use std::sync::atomic::AtomicBool;

/// Particles in a full cell.
pub(crate) const PER_CELL: f64 = 8.0;
/// Particles keep this distance from solids and closed walls, cells.
const MARGIN_CELLS: f32 = 0.02;
/// Below this heat a particle goes.
const COLDEST: f32 = 0.1;
/// From this weight on, a full cell's, particles alone say what the velocity of a wet face is; fewer give it no more momentum than
/// they have.
const FULL_WEIGHT: f32 = PER_CELL as f32;
/// Gone: heat of a particle that is to be removed.
const GONE: f32 = -1.0;

/// Particles of equal volume, an eighth of a finest cell's.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Particles {
    pub x: Vec<Vec3>,
    pub v: Vec<Vec3>,
    /// 1 where something happens, decaying.
    pub heat: Vec<f32>,
    /// 1: outside the liquid, subject to gravity alone.
    pub flies: Vec<u8>,
    pub age_s: Vec<f32>,
    pub id: Vec<u64>,
    pub next_id: u64,
}

impl Particles {
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Puts the particles into an order, of which those that are gone are left out.
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
        pick(&mut self.flies, &from.flies, keep());
        pick(&mut self.age_s, &from.age_s, keep());
        pick(&mut self.id, &from.id, keep());
    }

    fn push(&mut self, x: Vec3, v: Vec3) {
        self.x.push(x);
        self.v.push(v);
        self.heat.push(1.0);
        self.flies.push(0);
        self.age_s.push(0.0);
        self.id.push(self.next_id);
        self.next_id += 1;
    }
}

/// What particles need besides themselves.
#[derive(Default)]
pub(crate) struct ParticleWork {
    pub particles: Particles,
    spare: Particles,
    bins: Bins,
    /// Cells around particles.
    near_cell: Vec<AtomicBool>,
    /// Cells of the band under an eventful surface, and those before the last spreading.
    hot_cell: Vec<bool>,
    was_hot_cell: Vec<bool>,
    phi: Vec<f32>,
    /// Drops that fell into larger cells in this step, with their velocity.
    absorbed: Vec<(Vec3, Vec3)>,
    /// Torn off (positive) or fallen back into the body of a cell of the old tree, m3.
    flights: Vec<(u32, f64)>,
    /// Flown through an open wall, m3.
    left_m3: f64,
    u_before_forces: Vec<f32>,
}

impl OctreeSolver {
    pub(crate) fn has_particles(&self) -> bool {
        self.params.tracker == Tracker::Flip
    }

    /// Volume of one particle.
    pub(crate) fn particle_m3(&self) -> f64 {
        (self.shape.dx as f64).powi(3) / PER_CELL
    }

    /// Radius of the ball of that volume, metres.
    pub(crate) fn drop_radius_m(&self) -> f32 {
        (self.particle_m3() * 0.75 / std::f64::consts::PI).cbrt() as f32
    }

    /// Where there are particles they say better what velocity was carried along; drops that fell into larger cells give theirs away.
    pub(crate) fn particles_to_faces(&mut self) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        let mut u_face = std::mem::take(&mut self.work.fields.u_face);
        let (tree, phi) = (&self.work.fields.tree, &self.work.fields.phi_cell);
        work.bins.mark_around(&mut work.near_cell, tree, |_| true);
        let particles = &work.particles;
        let on_grid = u_face.clone();
        let is_wet = |face: usize| tree.cells_beside(face).any(|cell| phi[cell] < 0.0);
        to_faces(
            &mut u_face,
            tree,
            (&work.bins, &work.near_cell),
            (&particles.x, &particles.v),
            |face, u, weight| {
                // Around spray the grid knows nothing better.
                let share = if is_wet(face) { (weight / FULL_WEIGHT).min(1.0) } else { 1.0 };
                on_grid[face] + share * (u - on_grid[face])
            },
        );
        for &(x, v) in &work.absorbed {
            let cell = tree.locate(x).cell as usize;
            // A face speaks for half of the cells on either side.
            let share = 0.5 * (self.particle_m3() / (tree.cell_dx(cell) as f64).powi(3)) as f32;
            for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
                let u = &mut u_face[face as usize];
                *u += share * (v[side / 2] - *u);
            }
        }
        work.u_before_forces.clone_from(&u_face);
        self.work.fields.u_face = u_face;
        self.work.particles = work;
    }

    /// Particles take up the change of the grid's velocity, v += u^{n+1} - u* with a little of u^{n+1} itself; drops take up gravity. Heat
    /// decays, and those that are cold, deep or out of the finest cells go.
    pub(crate) fn update_particles(&mut self, dt_s: f64) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        let tree = self.work.fields.tree.clone();
        let sampler = self.sampler(&tree);
        work.sample_phi(&sampler, &self.work.fields.phi_cell);
        let (u_new, u_old) = (&self.work.fields.u_face, &work.u_before_forces);
        let push = dt_s as f32 * self.setup.liquid.gravity;
        let ratio = self.params.flip_ratio;
        let Particles { x, v, flies, heat, age_s, .. } = &mut work.particles;
        parallel::for_each_chunk_mut(v, parallel::CHUNK, |n, v| {
            for (i, v) in v.iter_mut().enumerate() {
                let p = n * parallel::CHUNK + i;
                *v = if flies[p] != 0 {
                    *v + push
                } else {
                    sampler.velocity(u_new, x[p]) + ratio * (*v - sampler.velocity(u_old, x[p]))
                };
            }
        });
        let remaining = self.params.sizing(self.shape.dx).remaining(dt_s as f32);
        let deepest_m = -self.band_m() - self.shape.dx;
        let bound = work.bins.count();
        for p in 0..x.len() {
            age_s[p] += dt_s as f32;
            if flies[p] == 0 {
                heat[p] *= remaining;
                // Behind the sorted ones are those that are in no finest cell.
                if heat[p] < COLDEST || work.phi[p] < deepest_m || p >= bound {
                    heat[p] = GONE;
                }
            }
        }
        work.sort(&tree);
        self.work.particles = work;
    }
}

impl ParticleWork {
    /// Sorts by finest cell, drops last; those that are gone are left out.
    fn sort(&mut self, tree: &Octree) {
        let Particles { x, flies, heat, .. } = &self.particles;
        self.bins.sort(tree, x, |p| flies[p] == 0 && heat[p] >= 0.0);
        self.particles.arrange(self.bins.order(), &mut self.spare);
    }

    fn sample_phi(&mut self, sampler: &Sampler, phi_cell: &[f32]) {
        let x = &self.particles.x;
        self.phi.resize(x.len(), 0.0);
        parallel::for_each_chunk_mut(&mut self.phi, parallel::CHUNK, |n, phi| {
            for (i, phi) in phi.iter_mut().enumerate() {
                *phi = sampler.cells(phi_cell, x[n * parallel::CHUNK + i]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use fluvial_conformance::tank;
    use fluvial_solver_interface::Solver;

    /// A drop in the air keeps to its parabola; when it has fallen in, its volume is the pool's again and its momentum too.
    #[test]
    fn a_drop_flies_and_falls_in() {
        let params = Params { tracker: Tracker::Flip, ..Params::default() };
        let mut solver = OctreeSolver::new(tank(32, 0.25), params).unwrap();
        let (x, v) = (Vec3::new(0.3, 0.5, 0.5), Vec3::new(0.5, 1.0, 0.0));
        solver.state.particles.push(x, v);
        solver.state.particles.flies[0] = 1;
        let volume_m3 = solver.particle_m3();
        solver.state.volume.flying_m3 = volume_m3;
        solver.state.volume.start_m3 += volume_m3;
        let (g, dt_s) = (solver.setup.liquid.gravity, 2e-3f32);
        while solver.state.particles.flies.contains(&1) {
            let report = solver.step(dt_s as f64).unwrap();
            // In the step in which it falls in, the pool owes its volume.
            assert!(report.volume_error.abs() < 1.001 * volume_m3 / 0.25, "{}", report.volume_error);
            let t = solver.time_s() as f32;
            assert!(t < 0.5, "it falls in");
            if let [flies] = solver.state.particles.flies[..]
                && flies == 1
            {
                // Velocity stands half a step ahead: x = x0 + v t + g t (t - dt) / 2.
                let exact = x + t * v + 0.5 * t * (t - dt_s) * g;
                assert!((solver.state.particles.x[0] - exact).length() < 1e-5, "t = {t}");
            }
        }
        assert_eq!(solver.state.volume.flying_m3, 0.0);
        let momentum: f64 = (0..solver.tree().cell_count())
            .filter(|&cell| solver.state.fields.phi_cell[cell] < 0.0)
            .map(|cell| {
                let faces = solver.tree().cell_faces()[cell];
                let u = 0.5
                    * (solver.state.fields.u_face[faces[0] as usize]
                        + solver.state.fields.u_face[faces[1] as usize]);
                u as f64 * (solver.tree().cell_dx(cell) as f64).powi(3)
            })
            .sum();
        // What walls do not take at once.
        assert!(momentum > 0.0 && momentum < 1.2 * volume_m3 * v.x as f64, "{momentum}");
        for _ in 0..40 {
            solver.step(dt_s as f64).unwrap();
        }
        assert!(
            solver.state.volume.error().abs() < 0.5 * volume_m3 / 0.25,
            "{}",
            solver.state.volume.error()
        );
    }
}
