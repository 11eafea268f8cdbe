//! The two kernels and the sums over them [sheets §3.1].

use crate::lanes::Lanes;
use crate::neighbours::{Neighbours, Walls, smooth_lanes};
use crate::particles::Particles;
use crate::sight::Seen;
use fluvial_foundation::Vec3;

/// Closest distance that the sharp kernel knows, as a share of its radius: nearer ones weigh as much.
pub(crate) const CLOSEST: f32 = 1e-3;

/// The kernel that resamples: `h^2 / r^2 - 1` inside `h`, given r^2 [sheets eq. 3]. It grows without bound
/// towards r = 0, so that the sum at a particle is the particle's own value; held at r = h / 1000.
#[inline]
pub fn w_sharp(r2: f32, h: f32) -> f32 {
    let h2 = h * h;
    (h2 / r2.max(CLOSEST * CLOSEST * h2) - 1.0).max(0.0)
}

/// The kernel that averages: `1 - r^2 / h^2` inside `h`, given r^2 [sheets eq. 4].
#[inline]
pub fn w_smooth(r2: f32, h: f32) -> f32 {
    (1.0 - r2 / (h * h)).max(0.0)
}

/// Density of small particles on a lattice with spacing `d0`, at one of them, for kernels that reach `reach`
/// spacings: the full density rho_0.
pub fn lattice_density(reach: f32) -> f32 {
    let n = reach.ceil() as i32;
    let line = || -n..=n;
    let mut sum = 0.0f64;
    for k in line() {
        for j in line() {
            for i in line() {
                let r2 = (i * i + j * j + k * k) as f64;
                sum += (1.0 - r2 / (reach as f64 * reach as f64)).max(0.0);
            }
        }
    }
    sum as f32
}

/// Distance from a flat surface, negative inside, in reaches of the kernel, of a place with this share of the
/// full density.
///
/// A plane through the kernel at s holds `15/16 (1 - s^2)^2` of it, so that `rho / rho_0 = 1/2 - 15/16 (s -
/// 2/3 s^3 + 1/5 s^5)`, which is solved for s; beyond 0.7, where the density says little, it is held. The
/// linear term alone is 4 % wrong at s = 1/4. Test: `density_tells_the_distance_from_a_flat_surface`.
pub fn distance_of_density(share: f32) -> f32 {
    let held = ((0.5 - share) * (16.0 / 15.0)).clamp(-0.5, 0.5);
    let mut s = held;
    for _ in 0..5 {
        let s2 = s * s;
        let slope = (1.0 - s2) * (1.0 - s2);
        s -= (s * (1.0 - s2 * (2.0 / 3.0 - 0.2 * s2)) - held) / slope;
    }
    s
}

/// Density of small particles on a lattice as [`Neighbours::bell_density`] measures it, for kernels that reach
/// `reach` spacings.
pub fn lattice_bell_density(reach: f32) -> f32 {
    let n = reach.ceil() as i32;
    let squares =
        (-n..=n).flat_map(|k| (-n..=n).flat_map(move |j| (-n..=n).map(move |i| i * i + j * j + k * k)));
    let w = |r2: i32| (1.0 - r2 as f64 / (reach as f64 * reach as f64)).max(0.0).powi(4);
    squares.map(w).sum::<f64>() as f32
}

/// As [`distance_of_density`], for the share of the full [`Neighbours::bell_density`].
///
/// A plane through the kernel at s holds a part of it in proportion to `(1 - s^2)^5`, so that `rho / rho_0 = 1/2 -
/// 693/512 (s - 5/3 s^3 + 2 s^5 - 10/7 s^7 + 5/9 s^9 - s^11 / 11)`; beyond 0.75 it is held.
/// Test: `bell_density_tells_the_distance_from_a_flat_surface`.
pub fn distance_of_bell_density(share: f32) -> f32 {
    const FARTHEST: f32 = 0.75;
    let integral = |s: f32| {
        let s2 = s * s;
        let tail = s2 * (2.0 + s2 * (-10.0 / 7.0 + s2 * (5.0 / 9.0 - s2 / 11.0)));
        s * (1.0 + s2 * (-5.0 / 3.0 + tail))
    };
    let farthest = integral(FARTHEST);
    let wanted = ((0.5 - share) * (512.0 / 693.0)).clamp(-farthest, farthest);
    let mut s = wanted;
    for _ in 0..8 {
        s -= (integral(s) - wanted) / (1.0 - s * s).powi(5);
        s = s.clamp(-FARTHEST, FARTHEST);
    }
    s
}

impl Neighbours {
    /// As [`Self::density`] with the kernel `(1 - r^2 / h^2)^4`.
    ///
    /// The transform of `(1 - r^2 / h^2)^n`, in proportion to `J(kh) / (kh)^(n + 3/2)` with the Bessel function of
    /// order n + 3/2, is negative beyond kh = 5.8 for n = 1 and beyond 9.4 for n = 4. Where it is, a crest counts as
    /// a trough: pressure pushes it up, and it grows, by 2 a second for waves of two cells with h of two cells
    /// (kh = 6.3, along a diagonal 8.9). Test: `every_wave_of_the_grid_is_felt_with_its_own_sign`.
    #[inline]
    pub fn bell_density(&self, x: Vec3, h: f32, walls: &Walls) -> f32 {
        let (inverse_h2, seen) = (1.0 / (h * h), walls.seen_from(x));
        let mut total = 0.0;
        walls.for_each_image(x, h, |x| {
            let [sum] = self.sums(x, h, seen.as_ref(), |sums: &mut [Lanes; 1], d, m| {
                let w = smooth_lanes(&d, inverse_h2);
                let w2 = w * w;
                sums[0] = m.mul_add(w2 * w2, sums[0]);
            });
            total += sum;
        });
        total
    }

    /// `rho(x) = sum m_i W_smooth(p_i - x, h)` over the particles and their images in walls and solids
    /// [sheets eq. 2], in masses of a small particle.
    ///
    /// All particles have the same reach, h = alpha_rho d0. With the paper's alpha_rho d_i a region of merged
    /// particles would weigh n times too much, because the kernel's integral grows with d_i^3 and the
    /// mass with it. Test: `density_is_that_of_a_plain_sum`.
    #[inline]
    pub fn density(&self, x: Vec3, h: f32, walls: &Walls) -> f32 {
        let seen = walls.seen_from(x);
        let mut total = 0.0;
        walls.for_each_image(x, h, |x| total += self.density_of_particles(x, h, seen.as_ref()));
        total
    }

    /// The same without images.
    #[inline]
    pub(crate) fn density_of_particles(&self, x: Vec3, h: f32, seen: Option<&Seen>) -> f32 {
        let inverse_h2 = 1.0 / (h * h);
        let [sum] = self.sums(x, h, seen, |sums: &mut [Lanes; 1], d, m| {
            sums[0] = m.mul_add(smooth_lanes(&d, inverse_h2), sums[0]);
        });
        sum
    }
}

/// [`Neighbours::density`] and, of the particles alone, without images, the weighted mean of the offsets from
/// the place [sheets eq. 9], in one go.
pub(crate) fn density_and_mean(neighbours: &Neighbours, x: Vec3, h: f32, walls: &Walls) -> (f32, Vec3) {
    let (inverse_h2, seen) = (1.0 / (h * h), walls.seen_from(x));
    let [own, w, sx, sy, sz] = neighbours.sums(x, h, seen.as_ref(), |sums: &mut [Lanes; 5], d, m| {
        let w = smooth_lanes(&d, inverse_h2);
        sums[0] = m.mul_add(w, sums[0]);
        sums[1] += w;
        sums[2] = w.mul_add(d[0], sums[2]);
        sums[3] = w.mul_add(d[1], sums[3]);
        sums[4] = w.mul_add(d[2], sums[4]);
    });
    let mut total = own;
    let mut first = true;
    walls.for_each_image(x, h, |image| {
        // The place itself comes first.
        total += if first { 0.0 } else { neighbours.density_of_particles(image, h, seen.as_ref()) };
        first = false;
    });
    (total, Vec3::new(sx, sy, sz) / w.max(f32::MIN_POSITIVE))
}

/// `u(x) = sum m_i u_i W_sharp(p_i - x, alpha d_i) / sum m_i W_sharp` [sheets eq. 1]; the nearest particle's
/// velocity where nothing weighs, none beyond `farthest`. `largest` is the largest radius d_i around.
///
/// Tests: `velocity_is_that_of_a_plain_sum`, `velocity_at_a_particle_is_its_own`,
/// `linear_velocity_comes_back_on_average`.
#[inline]
pub fn velocity_at(
    x: Vec3,
    particles: &Particles,
    neighbours: &Neighbours,
    (d0, largest, alpha): (f32, f32, f32),
    farthest: f32,
) -> Option<Vec3> {
    let (mut sum, mut weight) = (Vec3::ZERO, 0.0f32);
    neighbours.for_each_sharp(x, alpha * largest, alpha * d0, |i, w| {
        sum += w * particles.v[i];
        weight += w;
    });
    if weight > 1e-6 {
        return Some(sum / weight);
    }
    neighbours.nearest(x, farthest).map(|(i, _)| particles.v[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bins, Families};
    use fluvial_foundation::random::unit_vec3;

    fn cloud(n: u64) -> (Particles, Neighbours) {
        let mut particles = Particles::default();
        for i in 0..n {
            let x = unit_vec3(i, 3);
            particles.push_small(x, Vec3::new(x.y, 2.0 - x.z, x.x));
        }
        let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.1, size: [10; 3] });
        neighbours.sort(&mut particles, &mut Families::default());
        (particles, neighbours)
    }

    #[test]
    fn kernels_have_their_values() {
        assert_eq!(w_smooth(0.0, 2.0), 1.0);
        assert_eq!(w_smooth(1.0, 2.0), 0.75);
        assert_eq!((w_smooth(5.0, 2.0), w_sharp(5.0, 2.0)), (0.0, 0.0));
        assert_eq!(w_sharp(1.0, 2.0), 3.0);
        assert!(w_sharp(0.0, 2.0) > 9e5 && w_sharp(0.0, 2.0).is_finite());
        // The integral of the smooth kernel is 8 pi h^3 / 15; the lattice sum comes near.
        let exact = 8.0 * std::f32::consts::PI * 64.0 / 15.0;
        assert!((lattice_density(4.0) / exact - 1.0).abs() < 0.01, "{}", lattice_density(4.0));
    }

    #[test]
    fn density_tells_the_distance_from_a_flat_surface() {
        // Closed form there and back.
        for n in -13..=13 {
            let s = n as f32 * 0.05;
            let share = 0.5 - 15.0 / 16.0 * (s - 2.0 / 3.0 * s.powi(3) + 0.2 * s.powi(5));
            assert!((distance_of_density(share) - s).abs() < 2e-5, "{s} {}", distance_of_density(share));
        }
        assert!(distance_of_density(0.0) < 0.72 && distance_of_density(1.0) > -0.72);
        // Particles on a lattice below a plane.
        let (d0, h) = (0.025, 0.1);
        let mut particles = Particles::default();
        for n in 0..40 * 20 * 40 {
            let at = [n % 40, n / 40 % 20, n / 800].map(|v| v as f32 + 0.5);
            particles.push_small(d0 * Vec3::from_array(at), Vec3::ZERO);
        }
        let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.05, size: [20; 3] });
        neighbours.sort(&mut particles, &mut Families::default());
        for n in -24..=24 {
            let s = n as f32 * 0.025;
            let share =
                neighbours.density(Vec3::new(0.5, 0.5 + s * h, 0.5), h, &Walls::NONE) / lattice_density(4.0);
            assert!((distance_of_density(share) - s).abs() < 0.02, "{s} {}", distance_of_density(share));
        }
    }

    /// Particles on a lattice below y = 0.5, displaced by `amplitude` times a product of waves.
    fn pool(d0: f32, amplitude: f32, k: [f32; 2]) -> Neighbours {
        let mut particles = Particles::default();
        for n in 0..40 * 20 * 40 {
            let at = [n % 40, n / 40 % 20, n / 800].map(|v| v as f32 + 0.5);
            let x = d0 * Vec3::from_array(at);
            let wave = amplitude * (k[0] * x.x).cos() * (k[1] * x.z).cos();
            particles.push_small(x + wave * Vec3::Y, Vec3::ZERO);
        }
        let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.05, size: [20; 3] });
        neighbours.sort(&mut particles, &mut Families::default());
        neighbours
    }

    #[test]
    fn bell_density_tells_the_distance_from_a_flat_surface() {
        let (d0, h) = (0.025, 0.1);
        let neighbours = pool(d0, 0.0, [0.0; 2]);
        for n in -16..=16 {
            let s = n as f32 * 0.025;
            let rho = neighbours.bell_density(Vec3::new(0.5, 0.5 + s * h, 0.5), h, &Walls::NONE);
            let found = distance_of_bell_density(rho / lattice_bell_density(4.0));
            assert!((found - s).abs() < 0.02, "{s} {found}");
        }
        for (share, held) in [(0.0, 0.75), (1.0, -0.75)] {
            assert!(
                (distance_of_bell_density(share) - held).abs() < 1e-3,
                "{}",
                distance_of_bell_density(share)
            );
        }
    }

    /// Waves of 2 to 16 cells along the grid, and of 2.5 to 16 that cross: a crest is higher than a trough. (Of 2 cells
    /// that cross the lattice of the particles itself leaves nothing.) The smooth kernel sees the shortest upside down.
    #[test]
    fn every_wave_of_the_grid_is_felt_with_its_own_sign() {
        let (d0, h, cell) = (0.025f32, 0.1, 0.05);
        for cells in [2.0f32, 2.5, 4.0, 8.0, 16.0] {
            let k = std::f32::consts::TAU / (cells * cell);
            for k in [[k, 0.0], [k, k]].into_iter().filter(|k| cells > 2.0 || k[1] == 0.0) {
                let neighbours = pool(d0, 0.1 * d0, k);
                let crest =
                    |shift: f32| Vec3::new((0.5 / cell / cells).round() * cells * cell + shift, 0.5, 0.5);
                let crest =
                    |shift: f32| if k[1] == 0.0 { crest(shift) } else { crest(shift).with_z(crest(0.0).x) };
                let half = 0.5 * cells * cell;
                let bell = |x: Vec3| neighbours.bell_density(x, h, &Walls::NONE) / lattice_bell_density(4.0);
                let felt = bell(crest(0.0)) - bell(crest(half));
                assert!(felt > 1e-4, "{cells} cells, {k:?}: {felt}");
                if cells == 2.0 && k[1] == 0.0 {
                    let smooth = |x: Vec3| neighbours.density(x, h, &Walls::NONE);
                    assert!(smooth(crest(0.0)) < smooth(crest(half)), "the smooth kernel is as good");
                }
            }
        }
    }

    #[test]
    fn density_is_that_of_a_plain_sum() {
        let (particles, neighbours) = cloud(3000);
        let walls = Walls { low: [0.0; 3], high: [1.0; 3], solid: None };
        for n in 0..200 {
            let x = unit_vec3(n, 8);
            let mut exact = 0.0f64;
            for p in &particles.x {
                for image in 0..27 {
                    let mirror = |v: f32, which: usize| [v, -v, 2.0 - v][which];
                    let q =
                        Vec3::new(mirror(p.x, image % 3), mirror(p.y, image / 3 % 3), mirror(p.z, image / 9));
                    exact += w_smooth((q - x).length_squared(), 0.15) as f64;
                }
            }
            let found = neighbours.density(x, 0.15, &walls) as f64;
            assert!((found - exact).abs() < 1e-4 * exact, "{found} {exact}");
        }
    }

    #[test]
    fn velocity_is_that_of_a_plain_sum() {
        let (mut particles, mut neighbours) = cloud(3000);
        for i in 0..particles.len() {
            particles.count[i] = 1 + (i % 8) as u8;
            particles.mass[i] *= particles.count[i] as u32;
        }
        neighbours.weigh(&particles);
        for n in 0..200 {
            let (x, d0) = (unit_vec3(n, 9), 0.04);
            let (mut sum, mut weight) = (Vec3::ZERO, 0.0);
            for i in 0..particles.len() {
                let r2 = (particles.x[i] - x).length_squared();
                let w = particles.weight(i) * w_sharp(r2, 1.2 * particles.radius(i, d0));
                sum += w * particles.v[i];
                weight += w;
            }
            let found = velocity_at(x, &particles, &neighbours, (d0, 2.0 * d0, 1.2), 0.2).unwrap();
            assert!((found - sum / weight).length() < 1e-5, "{found} {}", sum / weight);
        }
    }

    #[test]
    fn velocity_at_a_particle_is_its_own() {
        let (particles, neighbours) = cloud(3000);
        for i in 0..500 {
            let v = velocity_at(particles.x[i], &particles, &neighbours, (0.08, 0.08, 1.0), 0.2).unwrap();
            assert!((v - particles.v[i]).length() < 1e-3, "{v} {}", particles.v[i]);
        }
    }

    #[test]
    fn linear_velocity_comes_back_on_average() {
        let (particles, neighbours) = cloud(20_000);
        let mut error = Vec3::ZERO;
        for n in 0..2000 {
            let x = 0.2 + 0.6 * unit_vec3(n, 4);
            let v = velocity_at(x, &particles, &neighbours, (0.06, 0.06, 1.0), 0.2).unwrap();
            error += v - Vec3::new(x.y, 2.0 - x.z, x.x);
        }
        assert!((error / 2000.0).length() < 1e-3, "{}", error / 2000.0);
    }

    #[test]
    fn where_nothing_weighs_the_nearest_speaks_and_far_away_nobody() {
        let mut particles = Particles::default();
        particles.push_small(Vec3::splat(0.5), Vec3::X);
        particles.push_small(Vec3::splat(0.9), Vec3::Y);
        let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.1, size: [10; 3] });
        neighbours.sort(&mut particles, &mut Families::default());
        let at =
            |x: f32| velocity_at(Vec3::new(x, 0.5, 0.5), &particles, &neighbours, (0.05, 0.05, 1.0), 0.2);
        assert_eq!(at(0.6), Some(Vec3::X));
        assert_eq!(at(0.2), None);
    }
}
