//! The surface of the particles, where it lies farther out than the level set's.

use super::{Bins, for_around};
use crate::sides::TreeSides;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Where fewer particles are within reach of a cell they are drops too small for the grid, not liquid that it
/// has lost.
const FEWEST_FOR_SURFACE: usize = 4;
/// A difference between the surface of the particles and the grid's is noise up to the first of these, and
/// liquid from the second on, cells.
const DIFFERENCE_CELLS: [f32; 2] = [0.5, 1.0];

/// Sorted particles.
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a> {
    /// Which particles are in which finest cell.
    pub bins: &'a Bins,
    /// Places.
    pub x: &'a [Vec3],
    /// How much each counts, 0 to 1.
    pub heat: &'a [f32],
    /// phi at each.
    pub phi: &'a [f32],
    /// Sides of thin solids: cells do not see particles behind them.
    pub sides: TreeSides<'a>,
}

/// Puts back liquid that the level set has lost: where particles lie outside of it, phi moves to the
/// particles' own level set, as far as that lies farther out. `level_set` makes an empty sum over particles,
/// adds one by its offset from a cell's centre, and gives phi there. Verified by
/// `particles_pull_the_surface_out_to_themselves`.
pub fn pull_surface<A>(
    phi_cell: &mut [f32],
    tree: &Octree,
    particles: &Sorted,
    level_set: (impl Fn() -> A + Sync, impl Fn(&mut A, Vec3) + Sync, impl Fn(&A) -> f32 + Sync),
    near_cell: &mut Vec<AtomicBool>,
) {
    let (dx, Sorted { bins, x, heat, phi: phi_particle, sides }) = (tree.shape().dx, *particles);
    let (empty, add, phi_of) = (&level_set.0, &level_set.1, &level_set.2);
    let is_outside = |cell: usize| phi_particle[bins.of(cell)].iter().any(|&phi| phi > 0.0);
    bins.mark_around(near_cell, tree, is_outside);
    let near_cell = &near_cell[..];
    // The finest cells come first.
    parallel::for_each_indexed_mut(&mut phi_cell[tree.cells_of(0)], |cell, phi| {
        if !near_cell[cell].load(Relaxed) || *phi < -dx {
            return;
        }
        let center = tree.cell_center(cell);
        let (mut sum, mut count, mut hottest) = (empty(), 0, 0.0f32);
        for_around(tree, tree.cells()[cell].at.map(u32::from), |other| {
            if bins.of(other).is_empty() || !sides.sees(tree, cell, other) {
                return;
            }
            for p in bins.of(other) {
                add(&mut sum, x[p] - center);
                hottest = hottest.max(heat[p]);
                count += 1;
            }
        });
        let of_particles = phi_of(&sum);
        if count >= FEWEST_FOR_SURFACE && of_particles < *phi {
            let [from, to] = DIFFERENCE_CELLS.map(|cells| cells * dx);
            let t = ((*phi - of_particles - from) / (to - from)).clamp(0.0, 1.0);
            *phi += hottest * t * t * (3.0 - 2.0 * t) * (of_particles - *phi);
        }
    });
}
