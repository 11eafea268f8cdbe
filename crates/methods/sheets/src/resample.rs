//! Fewer particles in deep liquid, all of them near the surface [sheets §5.1, Alg. 3].

use crate::families::Families;
use crate::neighbours::Neighbours;
use crate::particles::{Kind, Particles, radius_of};
use fluvial_foundation::{Vec3, parallel, random};

/// Particles that one task takes.
const CHUNK: usize = 1 << 12;
/// Draws for a place that is allowed, before the centre is taken.
const DRAWS: u64 = 8;
/// No partner.
const NONE: u32 = u32::MAX;

/// How deep a cell lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// No liquid.
    #[default]
    Empty,
    /// Near the surface: only small particles.
    Surface,
    /// Between the two: whatever comes stays as it is, so that nothing is merged and split again.
    Neutral,
    /// Away from the surface: particles may merge.
    Deep,
}

/// What merging and splitting did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Pairs that became one.
    pub merged: usize,
    /// Merged particles that became small ones again.
    pub split: usize,
}

/// Merges pairs of deep particles that are closer than their mean radius and each other's nearest among those
/// with whom they hold at most `most` small ones (eq. 17 says 8 for a cell of two radii). One round; returns
/// how many pairs merged, after which the particles want sorting. Inserted particles, and parents to whom
/// somebody owes, stay as they are.
///
/// The new particle has the sum of the masses and stands at their centre of mass with their mean velocity
/// (the paper takes the midpoint, which would move mass where sizes differ), d_n = n^(1/3) d0 (eq. 16).
/// Tests: `merging_keeps_mass_and_momentum`, `mass_is_conserved_through_any_history`.
pub fn merge(
    particles: &mut Particles,
    families: &mut Families,
    neighbours: &Neighbours,
    depth: &[Depth],
    (d0, most): (f32, u8),
    sees: impl Fn(Vec3, Vec3) -> bool + Sync,
) -> usize {
    let bins = neighbours.bins();
    let n = particles.len();
    let may = |i: usize| {
        particles.kind[i] != Kind::Inserted
            && particles.count[i] < most
            && depth[bins.index(bins.coordinates(particles.x[i]))] == Depth::Deep
            && !families.is_owed(particles, i)
    };
    let may: Vec<bool> = parallel::map_indices(parallel::chunk_count(n, CHUNK), |c| {
        parallel::chunk_range(c, CHUNK, n).map(may).collect::<Vec<_>>()
    })
    .concat();
    // Distances that differ by less than a hundredth count as equal, and chance decides, the same for both:
    // on the lattice that particles are seeded on, rows would otherwise wait for each other.
    let steps = 50.0 / (d0 * d0);
    let chance = |i: usize, j: usize| random::splitmix64(((i.min(j) as u64) << 32) | i.max(j) as u64);
    let nearest: Vec<u32> = parallel::map_indices(parallel::chunk_count(n, CHUNK), |c| {
        let nearest = |i: usize| {
            let mut best: Option<(u32, u64, u32, f32)> = None;
            if may[i] {
                let d = particles.radius(i, d0);
                let largest = radius_of(most - particles.count[i], d0);
                neighbours.for_each_within(particles.x[i], 0.5 * (d + largest), |j, _, r2| {
                    let fit = j != i && may[j] && particles.count[i] + particles.count[j] <= most;
                    if fit && sees(particles.x[i], particles.x[j]) {
                        let key = ((r2 * steps) as u32, chance(i, j), j as u32, r2);
                        if best.is_none_or(|b| key < b) {
                            best = Some(key);
                        }
                    }
                });
                let near = |j: u32| 0.5 * (d + particles.radius(j as usize, d0));
                best = best.filter(|&(_, _, j, r2)| r2.sqrt() <= near(j));
            }
            best.map_or(NONE, |(_, _, j, _)| j)
        };
        parallel::chunk_range(c, CHUNK, n).map(nearest).collect::<Vec<_>>()
    })
    .concat();
    let mut gone = vec![false; n];
    let mut merged = 0;
    for i in 0..n {
        let j = nearest[i] as usize;
        if nearest[i] == NONE || j < i || nearest[j] as usize != i {
            continue;
        }
        let (a, b) = (particles.mass[i] as f32, particles.mass[j] as f32);
        let share = b / (a + b);
        particles.x[i] = particles.x[i].lerp(particles.x[j], share);
        particles.v[i] = particles.v[i].lerp(particles.v[j], share);
        particles.mass[i] += particles.mass[j];
        particles.count[i] += particles.count[j];
        particles.kind[i] = Kind::Merged;
        gone[j] = true;
        merged += 1;
    }
    if merged > 0 {
        let kept: Vec<u32> = (0..n as u32).filter(|&i| !gone[i as usize]).collect();
        particles.rearrange(&kept);
        families.follow(particles);
    }
    merged
}

/// Splits merged particles that have come near the surface into the small ones they hold, at random places
/// within their radius [sheets §5.1.2]. The mass is dealt out evenly, the velocity copied. Returns how many
/// were split; the particles then want sorting. `allowed(from, x)` says where a particle may go.
pub fn split(
    particles: &mut Particles,
    neighbours: &Neighbours,
    depth: &[Depth],
    d0: f32,
    allowed: impl Fn(Vec3, Vec3) -> bool,
) -> usize {
    let bins = *neighbours.bins();
    let mut split = 0;
    for i in 0..particles.len() {
        let near_surface = || {
            let depth = depth[bins.index(bins.coordinates(particles.x[i]))];
            matches!(depth, Depth::Surface | Depth::Empty)
        };
        if particles.kind[i] != Kind::Merged || !near_surface() {
            continue;
        }
        let (center, v, radius) = (particles.x[i], particles.v[i], particles.radius(i, d0));
        let (count, mass, id) = (particles.count[i] as u32, particles.mass[i], particles.id[i]);
        let place = |part: u32| place_within(center, radius, id, part as u64, |x| allowed(center, x));
        let share = |part: u32| mass / count + (part < mass % count) as u32;
        particles.x[i] = place(0);
        particles.mass[i] = share(0);
        (particles.count[i], particles.kind[i]) = (1, Kind::Small);
        let age_s = particles.age_s[i];
        for part in 1..count {
            particles.push(place(part), v, share(part), 1, Kind::Small);
            *particles.age_s.last_mut().expect("just pushed") = age_s;
        }
        split += 1;
    }
    split
}

/// An allowed place in a ball, uniform; its centre where none is found.
fn place_within(center: Vec3, radius: f32, id: u64, part: u64, allowed: impl Fn(Vec3) -> bool) -> Vec3 {
    for draw in 0..4 * DRAWS {
        let at = 2.0 * random::unit_vec3(id, (part * 4 * DRAWS + draw) ^ 0x5417) - 1.0;
        let x = center + radius * at;
        if at.length_squared() <= 1.0 && allowed(x) {
            return x;
        }
    }
    center
}
