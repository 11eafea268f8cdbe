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
pub fn density_and_mean(neighbours: &Neighbours, x: Vec3, h: f32, walls: &Walls) -> (f32, Vec3) {
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
