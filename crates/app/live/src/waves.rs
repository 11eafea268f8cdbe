//! Waves too short for the simulation's cells: slopes of a square tile of sea that repeats, from a spectrum whose waves each run at their own speed
//! [tessendorf-2001]. Every moment is one inverse Fourier transform.

use fluvial_foundation::random::{splitmix64, unit_f32};
use std::f32::consts::TAU;

/// Samples along a side of the tile.
pub const SIDE: usize = 64;
/// The waves are as long as from an eighth of the tile down to its samples' limit: longer ones are the simulation's.
const LONGEST: f32 = 8.0;
/// Root of the mean square of the slopes.
const SLOPE: f32 = 0.07;

/// A complex number.
type Complex = [f32; 2];

fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

fn plus([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a + c, b + d]
}

fn turned(angle: f32) -> Complex {
    [angle.cos(), angle.sin()]
}

/// `out[x] = sum over k of values[k] e^(i 2 pi k x / n)` in place, n a power of two.
pub fn inverse_fourier(values: &mut [Complex]) {
    let n = values.len();
    assert!(n.is_power_of_two());
    for x in 1..n {
        let mirrored = x.reverse_bits() >> (usize::BITS - n.trailing_zeros());
        if x < mirrored {
            values.swap(x, mirrored);
        }
    }
    let mut half = 1;
    while half < n {
        for first in (0..n).step_by(2 * half) {
            for k in 0..half {
                let odd = times(turned(TAU * k as f32 / (2 * half) as f32), values[first + half + k]);
                let even = values[first + k];
                values[first + k] = plus(even, odd);
                values[first + half + k] = plus(even, [-odd[0], -odd[1]]);
            }
        }
        half *= 2;
    }
}

/// Both directions of a square.
fn inverse_fourier_2d(values: &mut [Complex]) {
    let mut line = [[0.0; 2]; SIDE];
    values.chunks_exact_mut(SIDE).for_each(inverse_fourier);
    for x in 0..SIDE {
        (0..SIDE).for_each(|z| line[z] = values[x + SIDE * z]);
        inverse_fourier(&mut line);
        (0..SIDE).for_each(|z| values[x + SIDE * z] = line[z]);
    }
}

/// A tile of sea.
pub struct Waves {
    /// Edge of the tile, metres.
    pub tile_m: f32,
    /// Height of each wave at the start, and how fast its phase turns, rad/s.
    spectrum: Vec<(Complex, f32)>,
}

/// The wave number of a place in the transform, 1/m: the upper half are negative ones.
fn number(n: usize, tile_m: f32) -> f32 {
    let signed = if n < SIDE / 2 { n as f32 } else { n as f32 - SIDE as f32 };
    TAU * signed / tile_m
}

impl Waves {
    /// Waves on a tile under gravity, g in m/s2.
    pub fn new(tile_m: f32, g: f32) -> Waves {
        let wave = |n: usize| {
            let (kx, kz) = (number(n % SIDE, tile_m), number(n / SIDE, tile_m));
            let k = kx.hypot(kz);
            // The last frequency has no partner of the other sign, and its slope could not be told from that of its opposite.
            let is_last = n % SIDE == SIDE / 2 || n / SIDE == SIDE / 2;
            if k < LONGEST * TAU / tile_m || is_last {
                return ([0.0; 2], 0.0);
            }
            // Slopes of all lengths alike up to the limit of the cells (heights as k^-2), more along the wind than across.
            let along = 0.3 + 0.7 * (kx * 0.8 + kz * 0.6).powi(2) / (k * k);
            let size = along / (k * k);
            let seed = splitmix64(n as u64);
            let angle = TAU * unit_f32(seed, 0);
            let size = size * (-2.0 * (1.0 - unit_f32(seed, 1)).ln()).sqrt();
            (turned(angle).map(|v| size * v), (g * k).sqrt())
        };
        let mut waves = Waves { tile_m, spectrum: (0..SIDE * SIDE).map(wave).collect() };
        let mut slopes = vec![];
        waves.slopes(&mut slopes, 0.0);
        let mean = slopes.iter().map(|[x, z]| x * x + z * z).sum::<f32>() / slopes.len() as f32;
        let scale = SLOPE / mean.sqrt();
        waves.spectrum.iter_mut().for_each(|(h, _)| *h = h.map(|v| scale * v));
        waves
    }

    /// Slopes along x and z at a moment.
    ///
    /// Height is `h(k) e^(i w t) + conj(h(-k)) e^(-i w t)`: real, and waves of both signs of k run their ways. Its slope along x is
    /// i kx times that, along z i kz times; both are real, so that one transform of `x + i z` gives the two.
    pub fn slopes(&self, out: &mut Vec<[f32; 2]>, time_s: f32) {
        out.clear();
        out.resize(SIDE * SIDE, [0.0; 2]);
        for (n, out) in out.iter_mut().enumerate() {
            let (i, k) = (n % SIDE, n / SIDE);
            let opposite = (SIDE - i) % SIDE + SIDE * ((SIDE - k) % SIDE);
            let ((h, turns), (other, _)) = (self.spectrum[n], self.spectrum[opposite]);
            let height =
                plus(times(h, turned(turns * time_s)), times([other[0], -other[1]], turned(-turns * time_s)));
            let (kx, kz) = (number(i, self.tile_m), number(k, self.tile_m));
            // (i kx) h + i (i kz) h
            *out = times(height, [-kz, kx]);
        }
        inverse_fourier_2d(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_the_sum_that_it_stands_for() {
        let values: Vec<Complex> = (0..16).map(|n| [unit_f32(n, 0) - 0.5, unit_f32(n, 1) - 0.5]).collect();
        let mut fast = values.clone();
        inverse_fourier(&mut fast);
        for (x, fast) in fast.iter().enumerate() {
            let term = |k: usize| times(values[k], turned(TAU * (k * x) as f32 / 16.0));
            let slow = (0..16).map(term).fold([0.0; 2], plus);
            assert!((fast[0] - slow[0]).abs() < 1e-5 && (fast[1] - slow[1]).abs() < 1e-5, "{x}");
        }
    }

    /// One wave comes back as the slope of its cosine, a quarter of its turn later as that of the cosine that has moved on.
    #[test]
    fn a_wave_runs_with_its_own_speed() {
        let (tile_m, g) = (2.0, 9.81);
        let mut waves = Waves { tile_m, spectrum: vec![([0.0; 2], 0.0); SIDE * SIDE] };
        let (kx, kz) = (number(9, tile_m), number(4, tile_m));
        let turns = (g * kx.hypot(kz)).sqrt();
        // The same turns stand at both signs, as the spectrum has them.
        waves.spectrum[9 + SIDE * 4] = ([0.01, 0.0], turns);
        waves.spectrum[(SIDE - 9) + SIDE * (SIDE - 4)].1 = turns;
        let mut slopes = vec![];
        for time_s in [0.0, 0.1, 0.37] {
            waves.slopes(&mut slopes, time_s);
            for n in [0, 5, 700, 2049] {
                let (x, z) = (n % SIDE, n / SIDE);
                let at = tile_m / SIDE as f32;
                let phase = kx * at * x as f32 + kz * at * z as f32 + turns * time_s;
                let exact = [-0.02 * kx * phase.sin(), -0.02 * kz * phase.sin()];
                let off = (slopes[n][0] - exact[0]).abs().max((slopes[n][1] - exact[1]).abs());
                assert!(off < 2e-4 * kx * 0.02 * 10.0, "{time_s} {n}: {:?} {exact:?}", slopes[n]);
            }
        }
    }

    #[test]
    fn waves_are_as_steep_as_they_shall_be_and_short() {
        let waves = Waves::new(3.0, 9.81);
        let mut slopes = vec![];
        waves.slopes(&mut slopes, 0.0);
        let mean = slopes.iter().map(|[x, z]| x * x + z * z).sum::<f32>() / slopes.len() as f32;
        assert!((mean.sqrt() / SLOPE - 1.0).abs() < 1e-3, "{}", mean.sqrt());
        // Later they are others, as steep.
        waves.slopes(&mut slopes, 5.0);
        let later = slopes.iter().map(|[x, z]| x * x + z * z).sum::<f32>() / slopes.len() as f32;
        assert!((later / mean - 1.0).abs() < 0.3, "{later} {mean}");
        // Nothing longer than an eighth of the tile: means over a quarter of it are nearly nothing.
        let block = |x0: usize, z0: usize| {
            let cells = (0..256).map(|n| slopes[x0 + n % 16 + SIDE * (z0 + n / 16)]);
            cells.fold([0.0f32; 2], plus).map(|v| v / 256.0)
        };
        assert!(block(0, 0)[0].abs() < 0.3 * SLOPE && block(32, 16)[1].abs() < 0.3 * SLOPE);
    }
}
