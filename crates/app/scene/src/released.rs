//! How much energy a scene sets free, and from it how much whitewater it may make.

use fluvial_foundation::Vec3;
use fluvial_solver_interface::Setup;
use fluvial_whitewater::Params;

/// Points along the longest side of the domain at which it is looked at, and layers of its height.
const POINTS: usize = 40;
const LAYERS: usize = 80;
/// Surface times time that makes whitewater at full potentials, `c E / (g L^2) sqrt(L / g)` with the energy E that is set free per
/// density: c for trapped air and for spray. Fitted to FLIP runs of `breaking-wave` (80 and 112 cells); a short dam break made a quarter
/// of it, and runs with a level set make up to four times as much.
const AIR_SHARE: f64 = 2.1;
const SPRAY_SHARE: f64 = 0.6;
/// Particles in the mean over a run, as a part of the most that there are at one time.
const MEAN_OF_MOST: f64 = 0.55;

/// Particles of spray, foam and bubbles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WhiteCount {
    /// At one time, at most.
    pub most: f64,
    /// In the mean over the frames.
    pub mean: f64,
}

/// About how many particles a scene of this length will have. What is set free makes them while it lasts; they are gone a foam's
/// lifetime later, so that of a scene that is stirred throughout only the last of them are there.
pub(crate) fn whitewater(setup: &Setup, params: &Params, end_s: f64) -> WhiteCount {
    let g = f64::from(params.gravity.length());
    // By default energies of 0.4 g L make all that they can.
    let length_m = f64::from(params.energy.max) / (0.4 * g);
    let per_energy = (length_m / g).sqrt() / (g * length_m * length_m);
    let lasting_s = f64::from(params.foam_lifetime_s).min(end_s);
    let energy = of_fills(setup) + power_of_sources(setup) * lasting_s;
    let rate =
        AIR_SHARE * f64::from(params.air_rate_1_m2_s) + SPRAY_SHARE * f64::from(params.crest_rate_1_m2_s);
    let most = (rate * per_energy * energy).min(params.most as f64);
    let mean = if most < params.most as f64 { MEAN_OF_MOST * most } else { most };
    WhiteCount { most, mean }
}

/// Energy per density, m5/s2, that the liquid at the start has over the same liquid at rest, level, at the bottom of the domain.
fn of_fills(setup: &Setup) -> f64 {
    let (gravity, bounds) = (setup.liquid.gravity, setup.domain.bounds());
    let up = -gravity.normalize_or_zero();
    let step = bounds.size().max_element() / POINTS as f32;
    let counts = bounds.size().to_array().map(|side| (side / step).round().max(1.0) as usize);
    let spacing = bounds.size() / Vec3::from_array(counts.map(|n| n as f32));
    let volume = f64::from(spacing.element_product());
    let heights = (up.min(Vec3::ZERO) * bounds.size()).element_sum();
    let (lowest, tall) = (bounds.min.dot(up) + heights, bounds.size().dot(up.abs()));
    let mut open = [0.0; LAYERS];
    let (mut liquid, mut moment, mut kinetic) = (0.0, 0.0, 0.0);
    for n in 0..counts.iter().product() {
        let place = [n % counts[0], n / counts[0] % counts[1], n / (counts[0] * counts[1])];
        let x = bounds.min + spacing * Vec3::from_array(place.map(|v| v as f32 + 0.5));
        let in_solid = |s: &fluvial_solver_interface::Solid| {
            s.free.is_none() && s.shape.distance(s.motion.pose(0.0).body_from_world(x)) < 0.0
        };
        if setup.solids.iter().any(in_solid) {
            continue;
        }
        let height = x.dot(up) - lowest;
        open[((height / tall * LAYERS as f32) as usize).min(LAYERS - 1)] += volume;
        if let Some(fill) = setup.fills.iter().find(|fill| fill.shape.distance(x) < 0.0) {
            liquid += volume;
            moment += volume * f64::from(height);
            kinetic += 0.5 * volume * f64::from(fill.velocity.length_squared());
        }
    }
    let mut left = liquid;
    for (layer, volume) in open.into_iter().enumerate() {
        let part = volume.min(left);
        left -= part;
        moment -= part * f64::from(tall) * (layer as f64 + 0.5 * part / volume.max(f64::MIN_POSITIVE))
            / LAYERS as f64;
    }
    f64::from(gravity.length()) * moment.max(0.0) + kinetic
}

/// Energy per density and second that sources bring in, m5/s3, the fall to the bottom included.
fn power_of_sources(setup: &Setup) -> f64 {
    let bounds = setup.domain.bounds();
    let gravity = setup.liquid.gravity;
    let power = |source: &fluvial_solver_interface::Source| {
        let nozzle = source.nozzle(source.active_s[0], bounds);
        let v = nozzle.outflow();
        let deepest = if gravity.element_sum() < 0.0 { bounds.min } else { bounds.max };
        let fall = gravity.dot(deepest - nozzle.bounds().center()).max(0.0);
        let flow = f64::from(v.length()) * nozzle.section_m2(|_| false);
        flow * f64::from(0.5 * v.length_squared() + fall)
    };
    setup.sources.iter().map(power).sum()
}
