//! What a particle's neighbourhood looks like: its density, its stretch, and whether it is a sheet [sheets
//! §4.1].

use crate::around::cells_below_surface;
use crate::cells::dilate;
use crate::eigen::{Eigen, Symmetric, eigen};
use crate::kernels::{density_and_mean, lattice_density};
use crate::lanes::Lanes;
use crate::neighbours::{Neighbours, Walls, smooth_lanes};
use crate::params::SheetParams;
use crate::particles::Particles;
use crate::sight::Seen;
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
fn covariance(neighbours: &Neighbours, mean: Vec3, h: f32, seen: Option<&Seen>) -> Symmetric {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bins, Families, deposit};
    use fluvial_foundation::random::unit_vec3;

    const D0: f32 = 0.01;

    fn shapes(particles: &mut Particles, params: &SheetParams) -> (Shapes, Neighbours) {
        let bins = Bins { min: Vec3::splat(-0.5), cell_m: 2.0 * D0, size: [50; 3] };
        let mut neighbours = Neighbours::new(bins);
        neighbours.sort(particles, &mut Families::default());
        let mut shapes = Shapes::default();
        let mut mass = vec![0.0; bins.count()];
        deposit(&mut mass, particles, &neighbours, D0, |i| particles.weight(i));
        shapes.measure(particles, &neighbours, &mass, &Walls::NONE, params);
        (shapes, neighbours)
    }

    /// A patch of the lattice `n` particles wide, placed by `at`.
    fn patch(particles: &mut Particles, n: [i32; 3], at: impl Fn(Vec3) -> Vec3) {
        for k in 0..n[2] {
            for j in 0..n[1] {
                for i in 0..n[0] {
                    particles.push_small(at(D0 * Vec3::new(i as f32, j as f32, k as f32)), Vec3::ZERO);
                }
            }
        }
    }

    #[test]
    fn covariance_is_that_of_a_plain_sum() {
        let mut particles = Particles::default();
        (0..4000).for_each(|i| particles.push_small(0.2 * unit_vec3(i, 1), Vec3::ZERO));
        let (_, neighbours) = shapes(&mut particles, &SheetParams::new(D0));
        let h = 0.04f64;
        for i in (0..4000).step_by(97) {
            let x = particles.x[i].as_dvec3();
            let w = |d: fluvial_foundation::DVec3| (1.0 - d.length_squared() / (h * h)).max(0.0);
            let all = || particles.x.iter().map(|p| p.as_dvec3());
            let total: f64 = all().map(|p| w(p - x)).sum();
            let mean = all().map(|p| w(p - x) * p).sum::<fluvial_foundation::DVec3>() / total;
            let total: f64 = all().map(|p| w(p - mean)).sum();
            let c = |a: usize, b: usize| {
                all().map(|p| w(p - mean) * (p - mean)[a] * (p - mean)[b]).sum::<f64>() / total
            };
            let exact = [c(0, 0), c(1, 1), c(2, 2), c(0, 1), c(0, 2), c(1, 2)].map(|v| v * 7.0 / (h * h));
            let (_, offset) = density_and_mean(&neighbours, particles.x[i], h as f32, &Walls::NONE);
            let found = covariance(&neighbours, particles.x[i] + offset, h as f32, None);
            assert!((offset.as_dvec3() + x - mean).length() < 1e-6);
            for k in 0..6 {
                assert!((found[k] as f64 - exact[k]).abs() < 1e-4, "{found:?} {exact:?}");
            }
        }
    }

    #[test]
    fn a_sheet_is_thin_and_a_pool_is_not() {
        let params = SheetParams { junction_rounds: 0, ..SheetParams::new(D0) };
        for (layers, thin) in [(1, true), (2, true), (3, false), (12, false)] {
            let mut particles = Particles::default();
            patch(&mut particles, [24, 24, layers], |x| x);
            let (shapes, _) = shapes(&mut particles, &params);
            let middle: Vec<usize> = (0..particles.len())
                .filter(|&i| (particles.x[i] - 0.115).abs().truncate().max_element() < 0.05)
                .collect();
            assert!(!middle.is_empty());
            assert!(middle.iter().all(|&i| shapes.thin[i] == thin), "{layers} layers");
        }
        // Inside the pool the density is full and nothing is measured; a flat surface has about half of it.
        let mut particles = Particles::default();
        patch(&mut particles, [24, 24, 24], |x| x);
        let (shapes, _) = shapes(&mut particles, &params);
        for i in 0..particles.len() {
            let inside = (particles.x[i] - 0.115).abs().max_element() < 0.07;
            assert!(!inside || (shapes.density[i] - 1.0).abs() < 1e-5 && shapes.stretch_of(i).is_none());
        }
        let top =
            (0..particles.len()).find(|&i| (particles.x[i] - Vec3::new(0.11, 0.11, 0.23)).length() < 1e-3);
        let rho = shapes.density[top.unwrap()];
        assert!(rho > 0.5 && rho < 0.65, "{rho}");
    }

    #[test]
    fn the_normal_of_a_sheet_is_its_shortest_axis() {
        let normal = Vec3::new(1.0, 2.0, 3.0).normalize();
        let (a, b) = normal.any_orthonormal_pair();
        let mut particles = Particles::default();
        patch(&mut particles, [24, 24, 2], |x| x.x * a + x.y * b + x.z * normal);
        let center = 0.115 * (a + b);
        let (shapes, _) = shapes(&mut particles, &SheetParams::new(D0));
        let i = (0..particles.len()).find(|&i| (particles.x[i] - center).length() < D0).unwrap();
        let stretch = shapes.stretch_of(i).unwrap();
        assert!(stretch.vectors[2].dot(normal).abs() > 0.999, "{stretch:?}");
        // In the plane, 7/6 of a ball; across, a quarter of d0^2.
        assert!((stretch.values[0] - 7.0 / 6.0).abs() < 0.05, "{stretch:?}");
        assert!((stretch.values[2] - 0.25 * 7.0 / 16.0).abs() < 0.01, "{stretch:?}");
    }

    #[test]
    fn joints_of_sheets_are_thin() {
        // A T: a plate with another standing on it. A V: two plates that meet at 70 degrees.
        let t = |particles: &mut Particles| {
            patch(particles, [30, 30, 1], |x| x);
            patch(particles, [30, 1, 15], |x| x + Vec3::new(0.0, 0.145, D0));
        };
        let v = |particles: &mut Particles| {
            patch(particles, [30, 1, 15], |x| x);
            let (sin, cos) = 70f32.to_radians().sin_cos();
            patch(particles, [30, 1, 14], |x| {
                let s = x.z + D0;
                Vec3::new(x.x, s * sin, s * cos)
            });
        };
        for (name, make, line) in
            [("T", &t as &dyn Fn(&mut Particles), Vec3::new(0.0, 0.145, 0.0)), ("V", &v, Vec3::ZERO)]
        {
            let unlabelled = |rounds: u32| {
                let mut particles = Particles::default();
                make(&mut particles);
                let (shapes, _) =
                    shapes(&mut particles, &SheetParams { junction_rounds: rounds, ..SheetParams::new(D0) });
                (0..particles.len())
                    .filter(|&i| {
                        let mut across = particles.x[i] - line;
                        across.x = 0.0;
                        across.length() < 3.0 * D0
                            && (particles.x[i].x - 0.145).abs() < 0.1
                            && !shapes.thin[i]
                    })
                    .count()
            };
            assert!(unlabelled(0) > 20, "{name}: eq. 11 alone is enough, nothing is tested");
            assert_eq!(unlabelled(2), 0, "{name}");
        }
        // A sheet that rises from a pool does not make the pool's surface thin.
        let mut particles = Particles::default();
        patch(&mut particles, [24, 24, 12], |x| x);
        patch(&mut particles, [24, 1, 12], |x| x + Vec3::new(0.0, 0.115, 12.0 * D0));
        let (shapes, _) = shapes(&mut particles, &SheetParams::new(D0));
        let labelled = (0..particles.len())
            .filter(|&i| (particles.x[i] - 0.115).abs().truncate().max_element() < 0.06 && shapes.thin[i])
            .filter(|&i| particles.x[i].z < 11.5 * D0)
            .count();
        assert_eq!(labelled, 0);
    }
}
