//! Narrow-band particles on the finest level [octree §7.2; Sato, Wojtan, Thuerey, Igarashi, Ando 2018, "Extended Narrow Band
//! FLIP for Liquid Simulations"].
//!
//! Where the surface asks for smaller cells than there are, particles are born in a band under it. They carry velocity that
//! the grid would smear (FLIP) and put back liquid that the level set loses. Each has a heat, which decays: cold ones go, and the
//! level set alone speaks again. A particle that leaves the liquid flies as a drop of its own until it falls back in; its
//! volume is booked, so that nothing is lost on the way.

use crate::OctreeSolver;
use crate::adapt::{cells_beside, solids_at};
use crate::advect::trace;
use crate::params::Tracker;
use crate::step::Clamps;
use crate::volume::body_of_cell;
use fluvial_foundation::{AXES, Vec3, parallel, random};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;
use fluvial_particles::Average;
use fluvial_solids::PlacedSolids;
use fluvial_tree::interpolate::Sampler;
use fluvial_tree::particles::{Bins, for_around, to_faces};
use fluvial_volume::Flux;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Particles in a full cell.
pub(crate) const PER_CELL: f64 = 8.0;
/// A cell with fewer gets new ones.
const FEWEST: usize = 4;
/// New particles keep this far from the surface, cells: half of their spacing where there were none, and more where the particles
/// themselves say how far the liquid reaches.
const FRESH_DEPTH_CELLS: f32 = 0.25;
const REFILL_DEPTH_CELLS: f32 = 0.6;
/// Particles keep this distance from solids and closed walls, cells.
const MARGIN_CELLS: f32 = 0.02;
/// Below this heat a particle goes.
const COLDEST: f32 = 0.1;
/// A particle farther outside the surface than this flies, cells.
const FLIES_AT_CELLS: f32 = 0.5;
/// Liquid that the grid has lost counts as such where so many particles are within reach of its surface: fewer are drops
/// too small for the grid.
const FEWEST_FOR_SURFACE: usize = 4;
/// Differences between the surface of the particles and the grid's up to the first are noise, from the second on they are liquid, cells.
const DIFFERENCE_CELLS: [f32; 2] = [0.5, 1.0];
/// From this weight on (half of a full cell's) particles alone say what the velocity of a wet face is.
const FULL_WEIGHT: f32 = 4.0;
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

    /// Copies the state's particles, heats those where something happens, and lets new ones be born there.
    pub(crate) fn begin_with_particles(&mut self) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        work.particles.clone_from(&self.state.particles);
        work.absorbed.clear();
        work.flights.clear();
        work.left_m3 = 0.0;
        self.drain_particles(&mut work);
        let tree = self.state.fields.tree.clone();
        work.sort(&tree);
        self.heat_cells(&mut work, &tree);
        let (particles, hot) = (&mut work.particles, &work.hot_cell);
        for cell in 0..hot.len() {
            if hot[cell] {
                particles.heat[work.bins.of(cell)].fill(1.0);
            }
        }
        self.seed(&mut work, &tree);
        self.work.particles = work;
    }

    /// Active sinks take particles; those that fly have their volume booked.
    fn drain_particles(&self, work: &mut ParticleWork) {
        let time_s = self.state.time_s;
        let particles = &mut work.particles;
        for sink in self.setup.sinks.iter().filter(|s| s.active_s[0] <= time_s && time_s < s.active_s[1]) {
            for p in 0..particles.len() {
                if particles.heat[p] >= 0.0 && sink.shape.distance(particles.x[p]) < 0.0 {
                    particles.heat[p] = GONE;
                    work.left_m3 += if particles.flies[p] != 0 { self.particle_m3() } else { 0.0 };
                }
            }
        }
    }

    /// Finest cells of the band under a surface that asks for smaller ones.
    fn heat_cells(&self, work: &mut ParticleWork, tree: &Octree) {
        let (phi, size) = (&self.work.start.phi_cell, &self.work.size_cell);
        let (dx, band_m) = (self.shape.dx, self.band_m());
        let ParticleWork { hot_cell: hot, was_hot_cell: was, .. } = work;
        let least = self.params.particle_detail / dx;
        hot.clear();
        hot.extend(tree.cells_of(0).map(|cell| size[cell] > least && phi[cell].abs() < 2.0 * dx));
        for _ in 0..self.params.narrow_band.ceil() as usize {
            std::mem::swap(hot, was);
            hot.resize(was.len(), false);
            let was = &was[..];
            parallel::for_each_chunk_mut(hot, parallel::CHUNK, |n, hot| {
                for (i, hot) in hot.iter_mut().enumerate() {
                    let cell = n * parallel::CHUNK + i;
                    let in_band = -band_m < phi[cell] && phi[cell] < dx;
                    let warm = |side| {
                        let other = tree.leaf_across(cell, side).unwrap_or(OUTSIDE) as usize;
                        was.get(other).is_some_and(|&hot| hot)
                    };
                    *hot = was[cell] || (in_band && (0..6).any(warm));
                }
            });
        }
    }

    /// Depth of the band that particles fill.
    fn band_m(&self) -> f32 {
        self.params.narrow_band * self.shape.dx
    }

    /// One particle in every empty octant of hot cells with few, where the liquid is deep enough.
    fn seed(&self, work: &mut ParticleWork, tree: &Octree) {
        let (dx, band_m) = (self.shape.dx, self.band_m());
        let start = &self.work.start;
        let sampler = self.sampler(tree);
        let solid = &self.state.boundaries.phi_solid_cell;
        let ParticleWork { particles, bins, hot_cell: hot, .. } = work;
        let (x, step) = (&particles.x, self.state.steps);
        let seeds = parallel::map_indices(parallel::chunk_count(hot.len(), parallel::CHUNK), |n| {
            let mut seeds = vec![];
            for cell in parallel::chunk_range(n, parallel::CHUNK, hot.len()) {
                let phi = start.phi_cell[cell];
                if !hot[cell] || bins.of(cell).len() >= FEWEST || phi < -band_m || phi > 0.5 * dx {
                    continue;
                }
                let center = tree.cell_center(cell);
                let located = tree.locate(center);
                if !located.uniform {
                    continue;
                }
                let mut any_around = 0;
                for_around(tree, located.at, |other| any_around += bins.of(other).len());
                let depth = if any_around == 0 { FRESH_DEPTH_CELLS } else { REFILL_DEPTH_CELLS };
                let octant_of = |x: Vec3| (0..3).fold(0, |o, a| o | (((x[a] > center[a]) as usize) << a));
                let taken = x[bins.of(cell)].iter().fold(0u8, |taken, &x| taken | 1 << octant_of(x));
                for octant in (0..8).filter(|o| taken & (1 << o) == 0) {
                    let low = Vec3::from_array([0, 1, 2].map(|a| ((octant >> a) & 1) as f32 - 1.0));
                    // Away from the octant's walls, so that particles do not clump.
                    let jitter = random::unit_vec3((step << 32) ^ cell as u64, octant as u64);
                    let place = center + 0.5 * dx * (low + 0.25 + 0.5 * jitter);
                    let clear = || solid.is_empty() || sampler.cells(solid, place) > MARGIN_CELLS * dx;
                    if sampler.cells(&start.phi_cell, place) < -depth * dx && clear() {
                        seeds.push((place, sampler.velocity(&start.u_face, place)));
                    }
                }
            }
            seeds
        });
        for (x, v) in seeds.into_iter().flatten() {
            particles.push(x, v);
        }
    }

    /// Moves the particles to where they are at the end of the step, and lets them put back what the advected level set has lost.
    pub(crate) fn advect_particles(&mut self, dt_s: f64, clamps: &mut Clamps) {
        if !self.has_particles() {
            return;
        }
        let mut work = std::mem::take(&mut self.work.particles);
        let dt = dt_s as f32;
        let sampler = self.sampler(&self.state.fields.tree);
        let v_cell = &self.work.start.v_cell;
        let around = Surroundings::new(self, dt_s);
        let [pushed, trapped] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let Particles { x, v, flies, heat, .. } = &mut work.particles;
        parallel::for_each_chunk_mut2((x, parallel::CHUNK), (v, parallel::CHUNK), |n, x, v| {
            for (i, (x, v)) in x.iter_mut().zip(v).enumerate() {
                let flies = flies[n * parallel::CHUNK + i] != 0;
                *x = if flies {
                    *x + dt * *v
                } else {
                    trace(&sampler, v_cell, *x, sampler.cell_vectors(v_cell, *x), dt)
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
        let is_wet = |face: usize| cells_beside(tree, face).any(|cell| phi[cell] < 0.0);
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
            let share = (self.particle_m3() / (tree.cell_dx(cell) as f64).powi(3)) as f32;
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
