//! Liquid that touches nothing keeps its momentum.
//!
//! Neither transport by back-traces nor pressures clamped at degenerate junctions conserve it to the last digit, and a body in free
//! fall would slowly set off. While no liquid touches a wall, a solid or a source, gravity alone changes its mean velocity:
//! the difference is taken off all of it, a uniform velocity, which changes no shape and no divergence.

use crate::OctreeSolver;
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_grids::Octree;
use fluvial_octree::volume::liquid_fractions;

impl OctreeSolver {
    /// Makes the mean velocity of free liquid what it was, and gravity's part.
    pub(crate) fn keep_momentum(&mut self, dt_s: f64) {
        let work = &mut self.work;
        let (tree, phi, area) = (&work.fields.tree, &work.fields.phi_cell, &work.sources.area_face);
        let (mean, free) = mean_velocity(tree, phi, &work.fraction_cell, &work.fields.u_face, |cell| {
            tree.cell_faces()[cell].iter().all(|&face| area[face as usize] == 1.0)
        });
        work.mean_velocity = mean;
        // Drops come and go with momentum of their own, and sinks take it along.
        if !free || work.particles.particles.len() > 0 || !self.setup.sinks.is_empty() {
            return;
        }
        let gravity = self.setup.liquid.gravity;
        let wanted = [0, 1, 2].map(|a| self.state.mean_velocity[a] + dt_s * gravity[a] as f64);
        let missing = [0, 1, 2].map(|a| (wanted[a] - mean[a]) as f32);
        parallel::for_each_chunk_mut(&mut work.fields.u_face, CHUNK, |n, u| {
            for (i, u) in u.iter_mut().enumerate() {
                let face = n * CHUNK + i;
                if tree.cells_beside(face).any(|cell| phi[cell] < 0.0) {
                    *u += missing[tree.face_axis(face)];
                }
            }
        });
        work.mean_velocity = wanted;
    }

    /// Mean velocity of the state's liquid.
    pub(crate) fn mean_velocity_of_state(&self) -> [f64; 3] {
        let (fields, mut fractions) = (&self.state.fields, vec![]);
        liquid_fractions(&mut fractions, &fields.tree, &fields.phi_cell, self.open(&self.state.boundaries));
        mean_velocity(&fields.tree, &fields.phi_cell, &fractions, &fields.u_face, |_| true).0
    }
}

/// Mean velocity of the liquid, and whether all cells with any of it are free. Cells whose centres are in the air do not speak: some of
/// their faces are the air's.
fn mean_velocity(
    tree: &Octree,
    phi_cell: &[f32],
    fraction_cell: &[f32],
    u_face: &[f32],
    is_free: impl Fn(usize) -> bool + Sync + Send,
) -> ([f64; 3], bool) {
    let cells = tree.cell_count();
    let parts = map_indices(chunk_count(cells, CHUNK), |n| {
        let mut part = (0.0f64, [0.0f64; 3], true);
        for cell in chunk_range(n, CHUNK, cells).filter(|&cell| fraction_cell[cell] > 0.0) {
            let mass = fraction_cell[cell] as f64 * (tree.cell_dx(cell) as f64).powi(3);
            let faces = tree.cell_faces()[cell].map(|face| u_face[face as usize] as f64);
            part.2 &= is_free(cell);
            if phi_cell[cell] >= 0.0 {
                continue;
            }
            part.0 += mass;
            for (axis, sum) in part.1.iter_mut().enumerate() {
                *sum += 0.5 * mass * (faces[2 * axis] + faces[2 * axis + 1]);
            }
        }
        part
    });
    let mass: f64 = parts.iter().map(|p| p.0).sum();
    let mean = [0, 1, 2].map(|a| parts.iter().map(|p| p.1[a]).sum::<f64>() / mass.max(f64::MIN_POSITIVE));
    (mean, mass > 0.0 && parts.iter().all(|p| p.2))
}
