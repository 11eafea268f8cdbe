//! What a particle's neighbourhood looks like: its density, its stretch, and whether it is a sheet [sheets
//! §4.1].

use crate::around::cells_below_surface;
use crate::cells::dilate;
use crate::kernels::{density_and_mean, lattice_density};
use crate::lanes::Lanes;
use crate::neighbours::{Neighbours, Walls, smooth_lanes};
use crate::params::SheetParams;
use crate::particles::Particles;
use crate::sight::Seen;
use fluvial_foundation::eigen::{Eigen, Symmetric, eigen};
use fluvial_foundation::{Vec3, parallel};

/// Particles that one task takes.
const CHUNK: usize = 1 << 11;
/// A particle takes over the label of its neighbours when more than this share of them is thin. At the root
/// of a sheet that rises from a pool a fifth is; where three sheets meet, the labels must cross two widths of
/// the kernel.
const THIN_SHARE: f32 = 0.3;

/// Drops of fewer than about five particles have less than this share of the full density.
const LONELY: f32 = 0.05;

/// Shapes of the neighbourhoods, by particle.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// Density over the full density, rho / rho_0.
    pub density: Vec<f32>,
    /// Is the particle part of something thin [sheets eq. 11], or of a joint of such?
    pub thin: Vec<bool>,
    /// Place in [`Self::stretch`]; [`Shapes::ROUND`] below the surface, where nothing is stretched.
    pub place: Vec<u32>,
    /// Covariance of the neighbourhood [sheets eq. 8 to 10] of each particle at the surface, over that of a
    /// ball full of liquid: eigenvalues of 1 are round.
    pub stretch: Vec<Eigen>,
    /// From each particle at the surface to the mean of its neighbourhood [sheets eq. 9], in reaches of the
    /// kernel.
    pub offset: Vec<Vec3>,
}

impl Shapes {
    /// No stretch was measured.
    pub const ROUND: u32 = u32::MAX;

    /// Measures all particles: density everywhere, stretch where density is below `surface_density`.
    ///
    /// `mass_cell` is what [`deposit`](crate::deposit) says of the masses. Below the surface
    /// (`around::cells_below_surface`) nothing is summed up: there the density counts as full.
    /// Tests: `a_sheet_is_thin_and_a_pool_is_not`, `covariance_is_that_of_a_plain_sum`,
    /// `joints_of_sheets_are_thin`.
    pub fn measure(
        &mut self,
        particles: &Particles,
        neighbours: &Neighbours,
        mass_cell: &[f32],
        walls: &Walls,
        params: &SheetParams,
    ) {
        let (n, h) = (particles.len(), params.reach_m());
        let inverse_rho0 = 1.0 / lattice_density(params.density_reach);
        let (bins, below) = (neighbours.bins(), cells_below_surface(mass_cell, neighbours.bins(), params));
        let chunks = parallel::map_indices(parallel::chunk_count(n, CHUNK), |c| {
            let range = parallel::chunk_range(c, CHUNK, n);
            let mut density = Vec::with_capacity(range.len());
            let (mut stretch, mut offsets) = (vec![], vec![]);
            for i in range {
                let x = particles.x[i];
                if below[bins.index(bins.coordinates(x))] {
                    density.push(1.0);
                    continue;
                }
                let (rho, offset) = density_and_mean(neighbours, x, h, walls);
                let rho = rho * inverse_rho0;
                density.push(rho);
                if rho < params.surface_density {
                    stretch.push(eigen(&covariance(neighbours, x + offset, h, walls.seen_from(x).as_ref())));
                    offsets.push(offset / h);
                }
            }
            (density, stretch, offsets)
        });
        self.density.clear();
        self.stretch.clear();
        self.offset.clear();
        for (density, stretch, offset) in chunks {
            self.density.extend(density);
            self.stretch.extend(stretch);
            self.offset.extend(offset);
        }
        self.place.clear();
        let mut next = 0;
        self.place.extend(self.density.iter().map(|&rho| {
            if rho < params.surface_density {
                next += 1;
                next - 1
            } else {
                Shapes::ROUND
            }
        }));
        self.thin.clear();
        self.thin.extend(self.place.iter().map(|&place| {
            place != Shapes::ROUND && {
                let [largest, _, smallest] = self.stretch[place as usize].values;
                largest > 0.0 && smallest <= params.thin_ratio * largest
            }
        }));
        for _ in 0..params.junction_rounds {
            self.spread_to_joints(particles, neighbours, params);
        }
    }

    /// Is a particle by itself, or in a drop of a few? Such have no common surface: each is a ball.
    pub fn is_lonely(&self, i: usize) -> bool {
        self.density[i] < LONELY && !self.thin[i]
    }

    /// Surface particles of whose neighbours many within the insertion distance are thin become thin.
    ///
    /// Where sheets meet in a T or V the covariance sees a solid corner and eq. 11 says no, so that nothing
    /// would be inserted there and sheets would tear off along their joints [sheets §7].
    fn spread_to_joints(&mut self, particles: &Particles, neighbours: &Neighbours, params: &SheetParams) {
        let reach = params.insert_max * params.d0;
        let (place, thin) = (&self.place, &self.thin);
        let bins = neighbours.bins();
        let cell = |i: usize| bins.index(bins.coordinates(particles.x[i]));
        let mut near_thin = vec![false; bins.count()];
        (0..thin.len()).filter(|&i| thin[i]).for_each(|i| near_thin[cell(i)] = true);
        let near_thin = dilate(&near_thin, bins.size, (reach / bins.cell_m).ceil() as usize);
        let chunks = parallel::map_indices(parallel::chunk_count(thin.len(), CHUNK), |c| {
            let range = parallel::chunk_range(c, CHUNK, thin.len());
            let joint = |&i: &usize| {
                if thin[i] || place[i] == Shapes::ROUND || !near_thin[cell(i)] {
                    return false;
                }
                let (mut all, mut labelled) = (0, 0);
                neighbours.for_each_within(particles.x[i], reach, |j, _, _| {
                    all += 1;
                    labelled += thin[j] as usize;
                });
                // The particle itself is among them, without a label.
                labelled as f32 > THIN_SHARE * (all - 1).max(1) as f32
            };
            range.filter(joint).collect::<Vec<_>>()
        });
        chunks.into_iter().flatten().for_each(|i| self.thin[i] = true);
    }

    /// The stretch of a particle's neighbourhood, if it is at the surface.
    pub fn stretch_of(&self, i: usize) -> Option<&Eigen> {
        (self.place[i] != Shapes::ROUND).then(|| &self.stretch[self.place[i] as usize])
    }

    /// From the particle to the mean of its neighbourhood, in reaches of the kernel; zero below the surface.
    pub fn offset_of(&self, i: usize) -> Vec3 {
        if self.place[i] == Shapes::ROUND { Vec3::ZERO } else { self.offset[self.place[i] as usize] }
    }

    /// Where the air is: a unit vector away from the mean of the neighbourhood, zero below the surface and in
    /// the middle of sheets and drops.
    pub fn outward_of(&self, i: usize) -> Vec3 {
        let offset = self.offset_of(i);
        if offset.length() > ONE_SIDED { -offset.normalize() } else { Vec3::ZERO }
    }

    /// Particle `i` becomes the old particle `order[i]`.
    pub fn rearrange(&mut self, order: &[u32]) {
        self.density = order.iter().map(|&i| self.density[i as usize]).collect();
        self.thin = order.iter().map(|&i| self.thin[i as usize]).collect();
        self.place = order.iter().map(|&i| self.place[i as usize]).collect();
    }
}

/// Air on one side puts the mean of a neighbourhood this far off, in reaches of the kernel; above a flat
/// surface it is 5/16.
const ONE_SIDED: f32 = 0.15;

/// Covariance of a ball full of liquid: the mean of x^2 under the smooth kernel is h^2 / 7.
const BALL: f32 = 1.0 / 7.0;

/// `C_i = sum (p_j - q)(p_j - q)^T W(p_j - q) / sum W(p_j - q)`, q the weighted mean around the particle
/// [sheets eq. 8, 9], over the covariance of a ball.
///
/// `seen` leaves out cells behind thin solids. Test: `covariance_is_that_of_a_plain_sum`.
pub fn covariance(neighbours: &Neighbours, mean: Vec3, h: f32, seen: Option<&Seen>) -> Symmetric {
    let inverse_h2 = 1.0 / (h * h);
    let [w, xx, yy, zz, xy, xz, yz] = neighbours.sums(mean, h, seen, |sums: &mut [Lanes; 7], d, _| {
        let w = smooth_lanes(&d, inverse_h2);
        let wd = [w * d[0], w * d[1], w * d[2]];
        sums[0] += w;
        sums[1] = wd[0].mul_add(d[0], sums[1]);
        sums[2] = wd[1].mul_add(d[1], sums[2]);
        sums[3] = wd[2].mul_add(d[2], sums[3]);
        sums[4] = wd[0].mul_add(d[1], sums[4]);
        sums[5] = wd[0].mul_add(d[2], sums[5]);
        sums[6] = wd[1].mul_add(d[2], sums[6]);
    });
    let scale = 1.0 / (w.max(f32::MIN_POSITIVE) * BALL * h * h);
    [xx, yy, zz, xy, xz, yz].map(|c| c * scale)
}
