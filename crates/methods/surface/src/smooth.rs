//! Volume-preserving smoothing: Taubin's lambda | mu filter, walls and contact lines kept.

use crate::place::WallFlags;
use fluvial_foundation::{DVec3, Vec3, parallel};

/// Taubin 1995: lambda > 0 shrinks noise, mu < -lambda inflates back; pass band 1/lambda + 1/mu = 0.1.
const LAMBDA: f32 = 0.5;
const MU: f32 = -0.526;

/// Smooths in place. A vertex only follows neighbours that lie on all of its own walls (and on the contact
/// line, if it does), so walls stay flat and their edges sharp. The volume that the filter takes away is
/// restored by moving the free surface along its normals.
pub fn smooth(positions: &mut Vec<Vec3>, flags: &[WallFlags], triangles: &[[u32; 3]], rounds: usize) {
    let before = volume(positions, triangles);
    let neighbours = Neighbours::build(flags, triangles);
    let mut other = vec![Vec3::ZERO; positions.len()];
    for _ in 0..rounds {
        for weight in [LAMBDA, MU] {
            neighbours.blend(&mut other, positions, weight);
            std::mem::swap(positions, &mut other);
        }
    }
    for _ in 0..2 {
        let missing = before - volume(positions, triangles);
        offset_free_surface(positions, flags, triangles, missing);
    }
}

/// Filters values at vertices as [`smooth`] does their places, where a vertex `is_free`.
pub fn filter(
    values: &mut Vec<Vec3>,
    triangles: &[[u32; 3]],
    is_free: impl Fn(usize) -> bool,
    rounds: usize,
) {
    let flags = vec![0; values.len()];
    let mut neighbours = Neighbours::build(&flags, triangles);
    neighbours.hold(|v| !is_free(v));
    let mut other = vec![Vec3::ZERO; values.len()];
    for _ in 0..rounds {
        for weight in [LAMBDA, MU] {
            neighbours.blend(&mut other, values, weight);
            std::mem::swap(values, &mut other);
        }
    }
}

/// Neighbours of each vertex that it may follow, in the order of the triangles.
struct Neighbours {
    first: Vec<u32>,
    list: Vec<u32>,
    /// Vertices that stay, not 0; empty where there is none.
    held: Vec<u8>,
}

impl Neighbours {
    fn build(flags: &[WallFlags], triangles: &[[u32; 3]]) -> Neighbours {
        // In a closed oriented mesh every directed edge appears once: a -> b makes b a neighbour of a.
        let follows = |a: u32, b: u32| flags[a as usize] & !flags[b as usize] == 0;
        let edges = || triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]);
        let mut first = vec![0u32; flags.len() + 1];
        edges().filter(|&(a, b)| follows(a, b)).for_each(|(a, _)| first[a as usize + 1] += 1);
        for v in 0..flags.len() {
            first[v + 1] += first[v];
        }
        let mut list = vec![0u32; first[flags.len()] as usize];
        let mut next = first.clone();
        for (a, b) in edges().filter(|&(a, b)| follows(a, b)) {
            list[next[a as usize] as usize] = b;
            next[a as usize] += 1;
        }
        Neighbours { first, list, held: vec![] }
    }

    /// Vertices that stay.
    fn hold(&mut self, is_held: impl Fn(usize) -> bool) {
        self.held = (0..self.first.len() - 1).map(|v| is_held(v) as u8).collect();
    }

    /// out = x + weight (mean of neighbours - x)
    fn blend(&self, out: &mut [Vec3], positions: &[Vec3], weight: f32) {
        const CHUNK: usize = 4096;
        parallel::for_each_chunk_mut(out, CHUNK, |chunk, out| {
            for (n, out) in out.iter_mut().enumerate() {
                let v = chunk * CHUNK + n;
                let list = &self.list[self.first[v] as usize..self.first[v + 1] as usize];
                let x = positions[v];
                if self.held.get(v).is_some_and(|held| *held != 0) {
                    *out = x;
                    continue;
                }
                let sum: Vec3 = list.iter().map(|&b| positions[b as usize] - x).sum();
                *out = x + weight * sum / list.len().max(1) as f32;
            }
        });
    }
}

fn volume(positions: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    parallel::ordered_sum(parallel::chunk_count(triangles.len(), parallel::CHUNK), |c| {
        triangles[parallel::chunk_range(c, parallel::CHUNK, triangles.len())]
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| positions[v as usize].as_dvec3());
                a.dot(b.cross(c)) / 6.0
            })
            .sum()
    })
}

/// Moves vertices off the walls along their normals so that the volume grows by `missing` to first order:
/// the volume's derivative by a vertex is a third of its area vector.
fn offset_free_surface(positions: &mut [Vec3], flags: &[WallFlags], triangles: &[[u32; 3]], missing: f64) {
    let mut derivative = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize].as_dvec3());
        let area = (b - a).cross(c - a) / 6.0;
        t.iter().for_each(|&v| derivative[v as usize] += area);
    }
    let free = |v: usize| flags[v] == 0;
    let rate: f64 = (0..positions.len()).filter(|&v| free(v)).map(|v| derivative[v].length()).sum();
    if rate <= 0.0 {
        return; // All vertices lie on walls: nothing has moved, and no volume is missing.
    }
    for v in (0..positions.len()).filter(|&v| free(v)) {
        positions[v] += (missing / rate * derivative[v].normalize_or_zero()).as_vec3();
    }
}
