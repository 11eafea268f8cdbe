//! Where particles are born: in the finest cells under a surface that asks for smaller ones.

use super::{Bins, for_around};
use crate::interpolate::Sampler;
use crate::sides::TreeSides;
use fluvial_foundation::{Vec3, parallel, random};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// A cell with fewer particles gets new ones.
const FEWEST: usize = 4;
/// New particles keep this far below the surface, cells: half of their spacing where there were none, and
/// more where particles already mark how far the liquid reaches.
const FRESH_DEPTH_CELLS: f32 = 0.25;
const REFILL_DEPTH_CELLS: f32 = 0.6;

/// The band of particles under the surface.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    /// Its depth, finest cells.
    pub depth_cells: f32,
    /// It begins where the surface asks for cells smaller than this, 1/m.
    pub least_size_1_m: f32,
    /// Particles keep this far from solids and closed walls, cells.
    pub margin_cells: f32,
}

impl Band {
    /// Depth in metres.
    pub fn depth_m(&self, tree: &Octree) -> f32 {
        self.depth_cells * tree.shape().dx
    }
}

/// Memory of [`find_hot_cells`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct SeedingScratch {
    /// Hot cells before the last spreading.
    was_hot: Vec<bool>,
}

/// Marks the finest cells of the band: those at the surface that ask for smaller ones, then their neighbours
/// as far down as the band is deep. Verified by `seeds_fill_the_band_under_an_eventful_surface`.
pub fn find_hot_cells(
    hot_cell: &mut Vec<bool>,
    tree: &Octree,
    (phi_cell, size_cell): (&[f32], &[f32]),
    band: &Band,
    scratch: &mut SeedingScratch,
) {
    let (dx, band_m, was_hot) = (tree.shape().dx, band.depth_m(tree), &mut scratch.was_hot);
    hot_cell.clear();
    let asks = |cell: usize| size_cell[cell] > band.least_size_1_m && phi_cell[cell].abs() < 2.0 * dx;
    hot_cell.extend(tree.cells_of(0).map(asks));
    for _ in 0..band.depth_cells.ceil() as usize {
        std::mem::swap(hot_cell, was_hot);
        hot_cell.resize(was_hot.len(), false);
        let was_hot = &was_hot[..];
        parallel::for_each_indexed_mut(hot_cell, |cell, hot| {
            let in_band = -band_m < phi_cell[cell] && phi_cell[cell] < dx;
            let was_hot_across = |side| {
                let other = tree.leaf_across(cell, side).unwrap_or(OUTSIDE) as usize;
                was_hot.get(other).is_some_and(|&hot| hot)
            };
            *hot = was_hot[cell] || (in_band && (0..6).any(was_hot_across));
        });
    }
}

/// The liquid that particles are born in.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    /// Its tree.
    pub tree: &'a Octree,
    /// Interpolates on the tree.
    pub sampler: &'a Sampler<'a>,
    /// Liquid level set.
    pub phi_cell: &'a [f32],
    /// Solids' distance; empty without solids.
    pub phi_solid_cell: &'a [f32],
    /// Velocity, m/s.
    pub u_face: &'a [f32],
    /// Sides of thin solids.
    pub sides: TreeSides<'a>,
}

/// Places and velocities of new particles: one in every empty octant of hot cells with few, where the liquid
/// is deep enough. `x` are the sorted particles of `bins`; `seed` makes the places differ from step to step.
/// Verified by `seeds_fill_the_band_under_an_eventful_surface`.
pub fn find_seeds(
    pool: &Pool,
    (x, bins): (&[Vec3], &Bins),
    hot_cell: &[bool],
    band: &Band,
    seed: u64,
) -> impl Iterator<Item = (Vec3, Vec3)> + use<> {
    let (dx, band_m) = (pool.tree.shape().dx, band.depth_m(pool.tree));
    let chunks = parallel::chunk_count(hot_cell.len(), parallel::CHUNK);
    let seeds = parallel::map_indices(chunks, |n| {
        let mut seeds = vec![];
        for cell in parallel::chunk_range(n, parallel::CHUNK, hot_cell.len()) {
            let phi = pool.phi_cell[cell];
            if hot_cell[cell] && bins.of(cell).len() < FEWEST && phi >= -band_m && phi <= 0.5 * dx {
                seed_cell(&mut seeds, pool, (x, bins), cell, band.margin_cells * dx, seed);
            }
        }
        seeds
    });
    seeds.into_iter().flatten()
}

/// The new particles of one cell between equal ones.
fn seed_cell(
    seeds: &mut Vec<(Vec3, Vec3)>,
    pool: &Pool,
    (x, bins): (&[Vec3], &Bins),
    cell: usize,
    margin_m: f32,
    seed: u64,
) {
    let (tree, sampler, solid) = (pool.tree, pool.sampler, pool.phi_solid_cell);
    let (dx, center) = (tree.shape().dx, tree.cell_center(cell));
    let located = tree.locate(center);
    if !located.uniform {
        return;
    }
    let mut any_around = 0;
    for_around(tree, located.at, |other| any_around += bins.of(other).len());
    let depth = if any_around == 0 { FRESH_DEPTH_CELLS } else { REFILL_DEPTH_CELLS };
    let octant_of = |x: Vec3| (0..3).fold(0, |o, a| o | (((x[a] > center[a]) as usize) << a));
    let taken = x[bins.of(cell)].iter().fold(0u8, |taken, &x| taken | 1 << octant_of(x));
    for octant in (0..8).filter(|o| taken & (1 << o) == 0) {
        let low = Vec3::from_array([0, 1, 2].map(|a| ((octant >> a) & 1) as f32 - 1.0));
        // Away from the octant's walls, so that particles do not clump.
        let jitter = random::unit_vec3((seed << 32) ^ cell as u64, octant as u64);
        let place = center + 0.5 * dx * (low + 0.25 + 0.5 * jitter);
        let clear = || solid.is_empty() || sampler.cells(solid, place) > margin_m;
        let seen = pool.sides.sample(tree, pool.phi_cell, place);
        if seen.unwrap_or_else(|| sampler.cells(pool.phi_cell, place)) < -depth * dx && clear() {
            seeds.push((place, sampler.velocity(pool.u_face, place)));
        }
    }
}
