//! The studio: a sky with soft boxes, a tiled floor, one key light.

use fluvial_foundation::Vec3;

/// A rectangular light at infinity with soft edges.
#[derive(Clone, Copy, Debug)]
struct SoftBox {
    center: Vec3,
    across: Vec3,
    along: Vec3,
    /// Tangents of half its angular size.
    half_size: [f32; 2],
    softness: f32,
    radiance: Vec3,
}

impl SoftBox {
    /// At `azimuth` (degrees from the view direction, to the right) and `elevation` above the horizon.
    fn new(
        forward: Vec3,
        azimuth: f32,
        elevation: f32,
        half_size: [f32; 2],
        softness: f32,
        radiance: Vec3,
    ) -> Self {
        let center = direction_at(forward, azimuth, elevation);
        let across = center.cross(Vec3::Y).normalize_or(Vec3::X);
        SoftBox { center, across, along: across.cross(center), half_size, softness, radiance }
    }

    #[inline]
    fn radiance(&self, d: Vec3) -> Vec3 {
        let depth = d.dot(self.center);
        if depth <= 0.05 {
            return Vec3::ZERO;
        }
        let edge = |x: f32, half: f32| smoothstep((half - x.abs()) / self.softness);
        let (x, y) = (d.dot(self.across) / depth, d.dot(self.along) / depth);
        self.radiance * edge(x, self.half_size[0]) * edge(y, self.half_size[1])
    }
}

/// Everything around the liquid.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Sky at the horizon, and what the floor fades to.
    pub horizon: Vec3,
    /// Sky overhead.
    pub zenith: Vec3,
    boxes: [SoftBox; 3],
    /// Towards the key light.
    pub sun: Vec3,
    /// Irradiance of the key light across its direction, over pi.
    pub sun_color: Vec3,
    /// Irradiance of the sky on the floor, over pi.
    pub ambient: Vec3,
    /// Towards the light beside the camera that keeps solids from being silhouettes.
    pub fill: Vec3,
    /// Its irradiance over pi.
    pub fill_color: Vec3,
    tile: f32,
}

fn direction_at(forward: Vec3, azimuth: f32, elevation: f32) -> Vec3 {
    let flat = Vec3::new(forward.x, 0.0, forward.z).normalize_or(Vec3::NEG_Z);
    let right = flat.cross(Vec3::Y);
    let (sa, ca) = azimuth.to_radians().sin_cos();
    let (se, ce) = elevation.to_radians().sin_cos();
    ce * (ca * flat + sa * right) + se * Vec3::Y
}

fn smoothstep(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

// A dark room with bright lamps: against it foam and spray are light, and the water has its colour from its depth.
const HORIZON: Vec3 = Vec3::new(0.075, 0.095, 0.12);
const ZENITH: Vec3 = Vec3::new(0.02, 0.03, 0.045);
const FLOOR: Vec3 = Vec3::new(0.062, 0.065, 0.072);

impl Environment {
    /// Lights placed for a camera that looks along `forward` at something of `size` metres: the key light
    /// stands behind the water, where highlights and caustics turn towards the camera.
    pub fn studio(forward: Vec3, size: f32) -> Environment {
        let white = Vec3::new(1.0, 0.97, 0.92);
        let cool = Vec3::new(0.82, 0.92, 1.0);
        Environment {
            horizon: HORIZON,
            zenith: ZENITH,
            boxes: [
                SoftBox::new(forward, -34.0, 52.0, [0.44, 0.32], 0.36, 11.0 * white),
                SoftBox::new(forward, 34.0, 27.0, [0.2, 0.4], 0.28, 5.0 * cool),
                SoftBox::new(forward, 168.0, 40.0, [0.64, 0.24], 0.16, 3.0 * cool),
            ],
            sun: direction_at(forward, -34.0, 52.0),
            sun_color: 3.4 * white,
            ambient: Vec3::new(0.36, 0.40, 0.46),
            fill: direction_at(forward, 150.0, 35.0),
            fill_color: 0.45 * cool,
            tile: tile_size(size),
        }
    }

    /// Light that arrives from a direction above the floor.
    pub fn sky(&self, d: Vec3) -> Vec3 {
        self.boxes.iter().fold(self.backdrop(d), |light, b| light + b.radiance(d))
    }

    /// The backdrop as the camera sees it: the sky without its lamps.
    pub fn backdrop(&self, d: Vec3) -> Vec3 {
        self.zenith.lerp(self.horizon, (1.0 - d.y.max(0.0)).powi(5))
    }

    /// Colour of the floor at (x, z), averaged over a footprint of `width` metres.
    pub fn floor_albedo(&self, x: f32, z: f32, width: f32) -> Vec3 {
        let w = (width / self.tile).max(1e-4);
        let line = grout(x / self.tile, w).max(grout(z / self.tile, w));
        let shade = 1.0 - 0.025 * checker(x / self.tile, z / self.tile, w);
        FLOOR * shade * (1.0 - 0.28 * line)
    }

    /// How much of the floor's colour is left at `distance`, for a scene of `size`.
    pub fn floor_fade(&self, distance: f32, size: f32) -> f32 {
        let d = distance / (2.6 * size);
        1.0 / (1.0 + d * d * d * d).sqrt()
    }

    /// The same light from everywhere, without lamps: for checks that light is neither lost nor made.
    #[cfg(test)]
    pub fn furnace() -> Environment {
        let mut e = Environment::studio(Vec3::X, 1.0);
        (e.horizon, e.zenith) = (Vec3::ONE, Vec3::ONE);
        e.boxes.iter_mut().for_each(|b| b.radiance = Vec3::ZERO);
        e
    }
}

/// 1, 2 or 5 times a power of ten metres, about five tiles along the scene.
fn tile_size(size: f32) -> f32 {
    let wanted = size.max(1e-9) / 5.0;
    let power = 10f32.powf(wanted.log10().floor());
    let off = |step: &f32| (wanted / (power * step)).ln().abs();
    power * [1.0, 2.0, 5.0, 10.0].into_iter().fold(1.0, |best, s| if off(&s) < off(&best) { s } else { best })
}

/// Share of a footprint of width `w` around `x` that lies on a grout line (lines of width 0.022 at integers).
fn grout(x: f32, w: f32) -> f32 {
    const LINE: f32 = 0.022;
    let integral = |v: f32| v.floor() * LINE + (v - v.floor()).min(LINE);
    let x = x + 0.5 * LINE;
    (integral(x + 0.5 * w) - integral(x - 0.5 * w)) / w
}

/// +-1 on alternate tiles, box-filtered over a footprint.
fn checker(x: f32, z: f32, w: f32) -> f32 {
    let triangle = |v: f32| {
        let f = (0.5 * v - (0.5 * v).floor()) * 2.0;
        if f < 1.0 { f } else { 2.0 - f }
    };
    let wave = |v: f32| (triangle(v + 0.5 * w) - triangle(v - 0.5 * w)) / w;
    wave(x) * wave(z)
}

/// Filmic curve: Hill's fit of the ACES reference and output transforms; linear in, linear display out.
pub fn tone_map(c: Vec3) -> Vec3 {
    let m = |r: [Vec3; 3], c: Vec3| Vec3::new(r[0].dot(c), r[1].dot(c), r[2].dot(c));
    let rrt = [
        Vec3::new(0.59719, 0.35458, 0.04823),
        Vec3::new(0.07600, 0.90834, 0.01566),
        Vec3::new(0.02840, 0.13383, 0.83777),
    ];
    let odt = [
        Vec3::new(1.60475, -0.53108, -0.07367),
        Vec3::new(-0.10208, 1.10813, -0.00605),
        Vec3::new(-0.00327, -0.07276, 1.07602),
    ];
    let v = m(rrt, 1.35 * c);
    let a = v * (v + 0.0245786) - 0.000090537;
    let b = v * (0.983729 * v + 0.432951) + 0.238081;
    m(odt, a / b).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Linear display value to an 8-bit sRGB code.
pub fn srgb8(v: f32) -> u8 {
    let v = v.clamp(0.0, 1.0);
    let s = if v <= 0.0031308 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
    (255.0 * s + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_average_to_their_mean_and_lines_keep_their_share() {
        let n = 2000;
        let mean: f32 = (0..n).map(|i| grout(i as f32 * 0.0137, 0.01)).sum::<f32>() / n as f32;
        assert!((mean - 0.022).abs() < 0.01, "{mean}");
        assert!((grout(0.0, 50.0) - 0.022).abs() < 1e-3);
        assert!(checker(0.3, 0.4, 40.0).abs() < 0.01);
        assert!((checker(0.5, 0.5, 0.01) - 1.0).abs() < 1e-3 && (checker(1.5, 0.5, 0.01) + 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_film_curve_rises_and_stays_in_range() {
        let mut last = -1.0;
        for n in 0..400 {
            let out = tone_map(Vec3::splat(1e-3 * 1.05f32.powi(n)));
            assert!(out.y >= last && out.max_element() <= 1.0 && out.min_element() >= 0.0);
            last = out.y;
        }
        assert!(last > 0.99);
        assert_eq!((srgb8(0.0), srgb8(1.0), srgb8(0.2140)), (0, 255, 127));
    }
}
