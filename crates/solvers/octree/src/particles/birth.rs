//! Where particles are born: in the finest cells under a surface that asks for smaller ones.

use super::{GONE, MARGIN_CELLS, ParticleWork};
use crate::OctreeSolver;
use fluvial_foundation::{Vec3, parallel, random};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;
use fluvial_octree::particles::for_around;

/// A cell with fewer gets new ones.
const FEWEST: usize = 4;
/// New particles keep this far from the surface, cells: half of their spacing where there were none, and more where the particles
/// themselves say how far the liquid reaches.
const FRESH_DEPTH_CELLS: f32 = 0.25;
const REFILL_DEPTH_CELLS: f32 = 0.6;

impl OctreeSolver {
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
    pub(super) fn band_m(&self) -> f32 {
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
}
