//! Particles on their way: with the liquid or through the air, around solids, out of the liquid and back.

use super::{GONE, MARGIN_CELLS, ParticleWork, Particles};
use crate::OctreeSolver;
use crate::adapt::solids_at;
use crate::volume::body_of_cell;
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;
use fluvial_octree::particles::for_around;
use fluvial_particles::Average;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::Clamps;
use fluvial_volume::Flux;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A particle farther outside the surface than this flies, cells.
const FLIES_AT_CELLS: f32 = 0.25;
/// Liquid that the grid has lost counts as such where so many particles are within reach of its surface: fewer are drops
/// too small for the grid.
const FEWEST_FOR_SURFACE: usize = 4;
/// Differences between the surface of the particles and the grid's up to the first are noise, from the second on they are liquid, cells.
const DIFFERENCE_CELLS: [f32; 2] = [0.5, 1.0];

impl OctreeSolver {
    /// Moves the particles to where they are at the end of the step, and lets them put back what the advected level set has lost.
    pub(crate) fn advect_particles(&mut self, dt_s: f64, clamps: &mut Clamps) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        let dt = dt_s as f32;
        let sampler = self.sampler(&self.state.fields.tree);
        let u_face = &self.work.start.u_face;
        let around = Surroundings::new(self, dt_s);
        let [pushed, trapped] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let Particles { x, v, flies, heat, .. } = &mut work.particles;
        parallel::for_each_chunk_mut2((x, parallel::CHUNK), (v, parallel::CHUNK), |n, x, v| {
            for (i, (x, v)) in x.iter_mut().zip(v).enumerate() {
                let flies = flies[n * parallel::CHUNK + i] != 0;
                *x = if flies {
                    *x + dt * *v
                } else {
                    let middle = *x + 0.5 * dt * sampler.velocity(u_face, *x);
                    *x + dt * sampler.velocity(u_face, middle)
                };
                match around.hold(x, v, flies) {
                    Held::Free => {}
                    Held::Pushed => drop(pushed.fetch_add(1, Relaxed)),
                    Held::Trapped => drop(trapped.fetch_add(1, Relaxed)),
                }
            }
        });
        let bounds = self.shape.bounds();
        for p in 0..x.len() {
            if x[p].is_nan() {
                // In a solid without a way out: the liquid around has its volume.
                (x[p], heat[p]) = (bounds.min, GONE);
                if flies[p] != 0 {
                    work.flights.push((OUTSIDE, -self.particle_m3()));
                }
            } else if x[p] != x[p].clamp(bounds.min, bounds.max) {
                heat[p] = GONE;
                work.left_m3 += if flies[p] != 0 { self.particle_m3() } else { 0.0 };
            }
        }
        clamps.add("particles_pushed_out_of_solids", pushed.into_inner());
        clamps.add("particles_trapped", trapped.into_inner());
        let tree = self.work.fields.tree.clone();
        work.sort(&tree);
        let mut phi = std::mem::take(&mut self.work.fields.phi_cell);
        self.pull_surface(&mut phi, &tree, &mut work);
        self.work.fields.phi_cell = phi;
        self.work.particles = work;
    }

    /// phi goes over to the particles' own surface where theirs lies farther out than the grid's: liquid that the grid has lost.
    fn pull_surface(&self, phi_cell: &mut [f32], tree: &Octree, work: &mut ParticleWork) {
        let dx = self.shape.dx;
        work.sample_phi(&self.sampler(tree), phi_cell);
        let (bins, phi, particles) = (&work.bins, &work.phi, &work.particles);
        let is_outside = |cell: usize| phi[bins.of(cell)].iter().any(|&phi| phi > 0.0);
        bins.mark_around(&mut work.near_cell, tree, is_outside);
        let near_cell = &work.near_cell[..];
        parallel::for_each_chunk_mut(&mut phi_cell[tree.cells_of(0)], parallel::CHUNK, |n, phi| {
            for (i, phi) in phi.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                if !near_cell[cell].load(Relaxed) || *phi < -dx {
                    continue;
                }
                let center = tree.cell_center(cell);
                let (mut average, mut count, mut heat) = (Average::new(dx), 0, 0.0f32);
                for_around(tree, tree.cells()[cell].at.map(u32::from), |other| {
                    for p in bins.of(other) {
                        average.add(particles.x[p] - center);
                        heat = heat.max(particles.heat[p]);
                        count += 1;
                    }
                });
                let of_particles = average.phi();
                if count >= FEWEST_FOR_SURFACE && of_particles < *phi {
                    let [from, to] = DIFFERENCE_CELLS.map(|cells| cells * dx);
                    let t = ((*phi - of_particles - from) / (to - from)).clamp(0.0, 1.0);
                    *phi += heat * t * t * (3.0 - 2.0 * t) * (of_particles - *phi);
                }
            }
        });
    }

    /// With the surface in its place: who flies, who has fallen back in. `left_m3` and flights are ready to be booked afterwards.
    pub(crate) fn sort_flights(&mut self) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        let (tree, old) = (self.work.fields.tree.clone(), self.state.fields.tree.clone());
        work.sample_phi(&self.sampler(&tree), &self.work.fields.phi_cell);
        let (dx, volume_m3) = (self.shape.dx, self.particle_m3());
        let particles = &mut work.particles;
        for p in 0..particles.len() {
            let (x, phi, flew) = (particles.x[p], work.phi[p], particles.flies[p] != 0);
            let booked = if flew && phi < 0.0 {
                (particles.flies[p], particles.heat[p]) = (0, 1.0);
                if tree.locate(x).level > 0 {
                    work.absorbed.push((x, particles.v[p]));
                    particles.heat[p] = GONE;
                }
                -volume_m3
            } else if !flew && phi > FLIES_AT_CELLS * dx {
                (particles.flies[p], particles.heat[p]) = (1, 1.0);
                volume_m3
            } else {
                continue;
            };
            work.flights.push((old.locate(x).cell, booked));
        }
        work.sort(&tree);
        self.work.particles = work;
    }

    /// Adds what drops took from and gave back to the bodies of the old account; returns what no body knows of, m3.
    pub(crate) fn flights(&self, flux: &mut [Flux], old_labels: &[u32], dt_s: f64) -> f64 {
        let (tree, phi) = (&self.state.fields.tree, &self.work.start.phi_cell);
        let mut unknown_m3 = 0.0;
        for &(cell, volume_m3) in &self.work.particles.flights {
            let body = match (cell, old_labels.is_empty()) {
                (OUTSIDE, _) => usize::MAX,
                (_, true) => 0,
                _ => body_of_cell(tree, cell as usize, old_labels, phi) as usize,
            };
            match flux.get_mut(body) {
                Some(flux) => flux.flying_m3_s += volume_m3 / dt_s,
                None => unknown_m3 += volume_m3,
            }
        }
        unknown_m3
    }

    /// Drops that have left through walls and sinks, m3.
    pub(crate) fn drops_left_m3(&self) -> f64 {
        self.work.particles.left_m3
    }
}

/// What became of a particle at walls and solids.
enum Held {
    Free,
    Pushed,
    /// In a solid without a way out; its place is NaN.
    Trapped,
}

/// Walls and solids at the end of a step.
struct Surroundings<'a> {
    solids: PlacedSolids<'a>,
    open_walls: [bool; 6],
    low: Vec3,
    high: Vec3,
    dx: f32,
}

impl<'a> Surroundings<'a> {
    fn new(solver: &'a OctreeSolver, dt_s: f64) -> Self {
        let (bounds, dx) = (solver.shape.bounds(), solver.shape.dx);
        Surroundings {
            solids: solids_at(&solver.setup, solver.state.time_s + dt_s),
            open_walls: solver.open_walls,
            low: bounds.min + MARGIN_CELLS * dx,
            high: bounds.max - MARGIN_CELLS * dx,
            dx,
        }
    }

    /// Keeps a particle off closed walls and solids; a drop loses the speed with which it meets them.
    fn hold(&self, x: &mut Vec3, v: &mut Vec3, flies: bool) -> Held {
        for axis in AXES {
            let [low, high] = [0, 1].map(|side| !self.open_walls[2 * axis + side]);
            if (low && x[axis] < self.low[axis]) || (high && x[axis] > self.high[axis]) {
                x[axis] = x[axis].clamp(self.low[axis], self.high[axis]);
                v[axis] = if flies { 0.0 } else { v[axis] };
            }
        }
        if self.solids.is_empty() {
            return Held::Free;
        }
        let (margin, band) = (MARGIN_CELLS * self.dx, 4.0 * self.dx);
        let distance = |x: Vec3| self.solids.distance(x, band);
        let mut held = Held::Free;
        // One projection is exact for a flat solid; corners need more.
        for _ in 0..4 {
            let d = distance(*x);
            if d >= margin {
                return held;
            }
            let h = 0.1 * self.dx;
            let along = |axis: Vec3| distance(*x + h * axis) - distance(*x - h * axis);
            let normal = Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize_or_zero();
            *x += (1.01 * margin - d) * normal;
            *x = x.clamp(self.low, self.high);
            if flies {
                let relative = *v - self.solids.velocity(*x, band);
                *v -= normal.dot(relative).min(0.0) * normal;
            }
            held = Held::Pushed;
        }
        if distance(*x) >= 0.0 {
            return held;
        }
        *x = Vec3::NAN;
        Held::Trapped
    }
}
