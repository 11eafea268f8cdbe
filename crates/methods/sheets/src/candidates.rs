//! Where a sheet is about to tear [sheets §4.2].

use crate::kernels::lattice_density;
use crate::neighbours::{Neighbours, Walls};
use crate::params::SheetParams;
use crate::particles::{Kind, Particles};
use crate::shapes::Shapes;
use fluvial_foundation::{Vec3, parallel};

/// Particles that one task takes.
const CHUNK: usize = 1 << 10;

/// A place for a new particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Between the two parents.
    pub x: Vec3,
    /// Density there over the full density.
    pub density: f32,
    /// The pair that it bridges; the lower index first.
    pub parents: [u32; 2],
}

/// All midpoints of pairs of thin particles that satisfy eq. 12: a gap of beta_min to beta_max radii, nobody
/// within beta_min radii of the midpoint, and the pair drawing apart. Merged particles are not split [sheets
/// §4.3]; `allowed(from, x)` says whether a particle may come to x (outside solids, and not behind one).
///
/// Nobody within beta_min radii of the midpoint, the pair included, makes pairs nearer than twice that fail
/// without a search. Test: `candidates_are_those_of_the_definition`.
pub fn find_candidates(
    particles: &Particles,
    shapes: &Shapes,
    neighbours: &Neighbours,
    walls: &Walls,
    params: &SheetParams,
    allowed: impl Fn(Vec3, Vec3) -> bool + Sync + Send,
) -> Vec<Candidate> {
    let (near, far, h) = (params.insert_min * params.d0, params.insert_max * params.d0, params.reach_m());
    let inverse_rho0 = 1.0 / lattice_density(params.density_reach);
    let splits = |i: usize| shapes.thin[i] && particles.kind[i] != Kind::Merged;
    let chunks = parallel::map_indices(parallel::chunk_count(particles.len(), CHUNK), |c| {
        let mut found = vec![];
        for i in parallel::chunk_range(c, CHUNK, particles.len()).filter(|&i| splits(i)) {
            let (x, v) = (particles.x[i], particles.v[i]);
            neighbours.for_each_within(x, far, |j, d, r2| {
                let apart = j > i && r2 >= 4.0 * near * near && splits(j) && d.dot(particles.v[j] - v) > 0.0;
                let middle = x + 0.5 * d;
                if apart && neighbours.is_empty_within(middle, near) && allowed(particles.x[i], middle) {
                    let density = neighbours.density(middle, h, walls) * inverse_rho0;
                    if density >= params.thinnest_density {
                        found.push(Candidate { x: middle, density, parents: [i as u32, j as u32] });
                    }
                }
            });
        }
        found
    });
    chunks.concat()
}
