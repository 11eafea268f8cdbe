//! Even spacing without thickening sheets [sheets §5.2, Alg. 4].

use crate::cells::dilate;
use crate::kernels::{velocity_at, w_smooth};
use crate::neighbours::Neighbours;
use crate::particles::Particles;
use crate::shapes::Shapes;
use fluvial_foundation::eigen::{Symmetric, apply};
use fluvial_foundation::{Vec3, parallel};

/// Particles that one task takes.
const CHUNK: usize = 1 << 11;
/// Stretch is held above this, so that its inverse stays moderate: with less, two particles of a sheet's
/// layer would no longer see each other as soon as one lies a quarter of a radius higher.
const LEAST_STRETCH: f32 = 0.5;
/// Particles push each other when they are closer than this share of their mean radius. With 1, a merged
/// particle amid a lattice of small ones pushes those that it left there, and they push on, up to the
/// surface: still water would stir.
const SLACK: f32 = 0.9;
const ROUND: Symmetric = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

/// How particles push each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stiffness {
    /// Share of its radius that a particle moves away from one at its own place, gamma_s dt.
    pub per_step: f32,
    /// Follow the stretch of the neighbourhood (eq. 21); otherwise push alike in all directions (eq. 18).
    pub anisotropic: bool,
    /// Radius of a small particle, metres.
    pub d0: f32,
    /// Radius of the largest particle there is, metres.
    pub largest: f32,
    /// Reach of the velocity kernel in radii, alpha_u.
    pub velocity_reach: f32,
    /// Move those below the surface in cells with merged particles and beside such, too.
    pub merged: bool,
}

/// What a correction did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correction {
    /// Longest move, metres.
    pub longest_m: f32,
    /// Particles whose move was held at half a radius.
    pub held: usize,
}

/// Moves particles apart and gives them the velocity of the place that they come to:
///
/// `dp_i = - gamma_s dt d sum_j r / |r| W_smooth(r, d)`, `r = (M_i + M_j) / 2 (p_j - p_i)`, `d = (d_i + d_j)
/// / 2` [sheets eq. 21, 22], where M = (k_s C)^-1 with the eigenvalues of k_s C held between 0.5 and 1, the
/// identity below the surface; then `u_i = u(p_i + dp_i)` by eq. 1.
///
/// What is pushed along a sheet's normal is left out of the move (the normal is the direction of least
/// stretch, as far as it is below 1): r points along it wherever the layer is not exactly flat, and pushing
/// along r then thickens the sheet. Nor is anything pushed out of the surface: the outermost particles have
/// nobody on the other side, and the liquid would swell by a fifth in 250 steps. `confine(from, to)` keeps
/// particles out of solids and on their side of them. New positions and velocities replace the old ones. Tests: `random_particles_spread_evenly`,
/// `a_free_sheet_keeps_its_thickness`.
pub fn correct_positions(
    particles: &mut Particles,
    shapes: &Shapes,
    neighbours: &Neighbours,
    stiffness: &Stiffness,
    confine: impl Fn(Vec3, Vec3) -> Vec3 + Sync + Send,
) -> Correction {
    let n = particles.len();
    let near_merged = cells_near_merged(particles, neighbours);
    let inverse = if stiffness.anisotropic { inverse_stretch(shapes) } else { vec![] };
    let chunks = parallel::map_indices(parallel::chunk_count(n, CHUNK), |c| {
        let mut report = Correction::default();
        let moved: Vec<(Vec3, Vec3)> = parallel::chunk_range(c, CHUNK, n)
            .map(|i| {
                let bins = neighbours.bins();
                let merged = near_merged[bins.index(bins.coordinates(particles.x[i]))];
                if merged && !stiffness.merged && shapes.place[i] == Shapes::ROUND {
                    return (particles.x[i], particles.v[i]);
                }
                let largest = if merged { stiffness.largest } else { stiffness.d0 };
                let mut push = displacement(i, particles, shapes, neighbours, (stiffness, largest), &inverse);
                let most = 0.5 * stiffness.d0;
                if push.length() > most {
                    push *= most / push.length();
                    report.held += 1;
                }
                if push == Vec3::ZERO {
                    return (particles.x[i], particles.v[i]);
                }
                report.longest_m = report.longest_m.max(push.length());
                let x = confine(particles.x[i], particles.x[i] + push);
                let kernel = (stiffness.d0, largest, stiffness.velocity_reach);
                let v = velocity_at(x, particles, neighbours, kernel, stiffness.d0).unwrap_or(particles.v[i]);
                (x, v)
            })
            .collect();
        (moved, report)
    });
    let mut report = Correction::default();
    let mut at = 0;
    for (moved, part) in chunks {
        for (x, v) in moved {
            (particles.x[at], particles.v[at]) = (x, v);
            at += 1;
        }
        report.longest_m = report.longest_m.max(part.longest_m);
        report.held += part.held;
    }
    report
}

/// Cells with merged particles, and those around them: elsewhere nobody is larger than a small one.
pub fn cells_near_merged(particles: &Particles, neighbours: &Neighbours) -> Vec<bool> {
    let bins = neighbours.bins();
    let mut merged = vec![false; bins.count()];
    for (x, _) in particles.x.iter().zip(&particles.count).filter(|(_, count)| **count > 1) {
        merged[bins.index(bins.coordinates(*x))] = true;
    }
    dilate(&merged, bins.size, 1)
}

/// `(k_s C)^-1` for the particles at the surface.
fn inverse_stretch(shapes: &Shapes) -> Vec<Symmetric> {
    let stretch = &shapes.stretch;
    parallel::map_indices(stretch.len(), |s| {
        let values = stretch[s].values.map(|v| 1.0 / v.clamp(LEAST_STRETCH, 1.0));
        stretch[s].with_values(values)
    })
}

#[inline]
fn displacement(
    i: usize,
    particles: &Particles,
    shapes: &Shapes,
    neighbours: &Neighbours,
    (stiffness, largest): (&Stiffness, f32),
    inverse: &[Symmetric],
) -> Vec3 {
    let d0 = stiffness.d0;
    let own_radius = particles.radius(i, d0);
    // What a particle holds of its full mass; particles of sheets have shared theirs, and stay as far apart as others.
    let filled =
        |j: usize| if shapes.thin[j] { 1.0 } else { particles.weight(j) / particles.count[j] as f32 };
    let own_filled = filled(i);
    let matrix = |j: usize| match inverse.get(shapes.place[j] as usize) {
        Some(m) => *m,
        None => ROUND,
    };
    let (own, is_round) = (matrix(i), shapes.place[i] == Shapes::ROUND);
    let mut push = Vec3::ZERO;
    neighbours.for_each_within(particles.x[i], SLACK * 0.5 * (own_radius + largest), |j, offset, r2| {
        // At the end of a fill the lighter of two is a slab of the other's cube, and as much nearer to it.
        let ratio = filled(j) / own_filled;
        let other_radius = particles.radius(j, d0);
        let d = SLACK * 0.5 * (own_radius * ratio.recip().min(1.0) + other_radius * ratio.min(1.0));
        if j == i || r2 >= d * d {
            return;
        }
        let r = if inverse.is_empty() || is_round && shapes.place[j] == Shapes::ROUND {
            offset
        } else {
            let other = matrix(j);
            0.5 * (apply(&own, offset) + apply(&other, offset))
        };
        let length = r.length();
        if length > 1e-6 * d {
            push -= d * w_smooth(length * length, d) / length * r;
        } else {
            // Two at one place: apart along x, the first one down.
            push.x -= if i < j { d } else { -d };
        }
    });
    if let (false, Some(stretch)) = (inverse.is_empty(), shapes.stretch_of(i)) {
        // Nothing in a sheet: what thickens again would carry it far out.
        let flatness = stretch.values[2] / stretch.values[1].max(f32::MIN_POSITIVE);
        let across = if shapes.thin[i] { 1.0 } else { 1.0 - flatness.clamp(0.0, 1.0) };
        push -= across * stretch.vectors[2].dot(push) * stretch.vectors[2];
        let outward = shapes.outward_of(i);
        push -= outward.dot(push).max(0.0) * outward;
    }
    stiffness.per_step * push
}
