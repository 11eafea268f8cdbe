//! New particles: how many, when and where.

use crate::field::{Field, Moment};
use crate::potentials::Site;
use crate::{Kind, Params, Particle};
use fluvial_foundation::Vec3;
use fluvial_foundation::random::{splitmix64, unit_f32, unit_vec3};

/// Trapped air is born no deeper than this many layers below the surface.
const AIR_LAYERS: f32 = 3.0;
/// Draws of a particle: place, depth, moment, lifetime, size.
const PLACE: u64 = 0;
const DEPTH: u64 = 3;
const MOMENT: u64 = 4;
const LIFE: u64 = 5;
const SIZE: u64 = 6;

/// A stretch of time before or after a frame in which the cells of that frame make particles.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Number of the frame.
    pub frame: u32,
    /// From the frame's moment to the stretch's start, seconds; negative before it.
    pub from_s: f32,
    /// Its length, seconds.
    pub length_s: f32,
    /// From the start of the interval to the stretch's start, seconds.
    pub after_s: f32,
}

/// A particle with the time that it has left to move in the interval in which it was born.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Birth {
    /// The particle, without its number.
    pub particle: Particle,
    /// Its place in the liquid of the frame that makes it.
    pub from: Vec3,
    /// When that frame is, since the start of the interval, seconds.
    pub from_s: f32,
    /// Since the start of the interval, seconds.
    pub at_s: f32,
}

/// Appends the particles that the cells of a frame make in a stretch of time.
///
/// A cell's number is its rate times the length, rounded up or down by chance so that its mean is exact: the same expected
/// counts at any frame rate. Each is born at a moment of its own, at a place in its cell that has moved with the liquid from the
/// frame to that moment (the cylinder of [ihmsen-2012 §3.2]). Crests throw particles off outside the surface (spray);
/// air is trapped inside it, as foam next to the surface and as bubbles below.
pub fn emit(births: &mut Vec<Birth>, field: &Field, sites: &[Site], stretch: Stretch, params: &Params) {
    let grid = field.grid();
    let centers = grid.cell_centers();
    for site in sites {
        let [i, j, k] = site.cell.map(|v| v as usize);
        // Before and after a frame its cells draw different numbers.
        let half = u64::from(stretch.from_s >= 0.0);
        let when = splitmix64(params.seed ^ splitmix64(2 * u64::from(stretch.frame) + half));
        let counter = splitmix64(when ^ centers.index(i, j, k) as u64);
        for (rate, is_crest) in [(site.air_1_s, false), (site.crest_1_s, true)] {
            let chance = unit_f32(counter, u64::from(is_crest));
            let count = (rate * stretch.length_s + chance).floor() as u64;
            for n in 0..count {
                let seed =
                    splitmix64(counter ^ (2 * n + u64::from(is_crest)).wrapping_mul(0x9E6D_62D0_6F6A_02B7));
                births.push(birth(field, site, stretch, params, seed, is_crest));
            }
        }
    }
}

fn birth(field: &Field, site: &Site, stretch: Stretch, params: &Params, seed: u64, is_crest: bool) -> Birth {
    let grid = field.grid();
    let [i, j, k] = site.cell.map(|v| v as usize);
    let place = grid.cell_centers().position(i, j, k) + grid.dx * (unit_vec3(seed, PLACE) - 0.5);
    let depth = unit_f32(seed, DEPTH);
    let phi = if is_crest { depth * params.layer_m } else { -AIR_LAYERS * depth * params.layer_m };
    let on_time = place + (phi - field.sample(place).phi) * site.normal;
    let u = field.sample(on_time).u.unwrap_or(site.u);
    let moment_s = unit_f32(seed, MOMENT) * stretch.length_s;
    let kind = match is_crest {
        true => Kind::Spray,
        false if phi < -params.layer_m => Kind::Bubble,
        false => Kind::Foam,
    };
    let particle = Particle {
        x: on_time + (stretch.from_s + moment_s) * u,
        v: u,
        id: 0,
        age_s: 0.0,
        foam_left_s: params.foam_lifetime_s * (0.5 + unit_f32(seed, LIFE)),
        // From half to twice the size, as many in each octave.
        radius_m: params.radius_m * (2.0 * unit_f32(seed, SIZE) - 1.0).exp2(),
        kind,
    };
    let from_s = stretch.after_s - stretch.from_s;
    Birth { particle, from: on_time, from_s, at_s: stretch.after_s + moment_s }
}

/// Keeps `most` of the births, evenly spread over their order, and returns how many were refused.
pub fn thin_out(births: &mut Vec<Birth>, most: usize) -> usize {
    let count = births.len();
    if count <= most {
        return 0;
    }
    let mut n = 0;
    births.retain(|_| {
        n += 1;
        n * most / count > (n - 1) * most / count
    });
    count - most
}

/// Numbers the births from `next` on.
pub(crate) fn number(births: &mut [Birth], next: &mut u64) {
    for birth in births {
        birth.particle.id = *next;
        *next += 1;
    }
}

/// Is a place inside the box of a grid?
pub(crate) fn is_inside(field: &Field, x: Vec3) -> bool {
    let bounds = field.grid().bounds();
    x == x.clamp(bounds.min, bounds.max)
}
