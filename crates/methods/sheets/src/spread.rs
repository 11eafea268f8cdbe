//! The particles' velocities on a lattice: as [`velocity_at`](crate::velocity_at) at each of its points, by
//! going through the particles instead of the points. A merged particle reaches a few points and looks at no
//! others, where every point near it would search for particles as far as the largest reaches: half to a
//! quarter of the work.

use crate::kernels::CLOSEST;
use crate::neighbours::Neighbours;
use crate::particles::Particles;
use fluvial_foundation::{Vec3, parallel};

/// Slabs of cells whose particles one task takes, at least.
const BLOCK: usize = 4;

/// A lattice of points whose spacing is the edge of the search's cells, no more than a cell off their
/// corners.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// The first point.
    pub origin: Vec3,
    /// Points along each axis.
    pub size: [usize; 3],
}

/// `sum = sum m_i u_i W_sharp(p_i - x, alpha d_i)` of one component of the velocity and `weight = sum m_i
/// W_sharp` at the points [sheets eq. 1]. Wants sorted particles; the same bits for any number of threads.
///
/// Test: `spread_velocities_are_those_of_the_points`.
pub fn spread_velocity(
    (sum, weight): (&mut [f32], &mut [f32]),
    points: &Points,
    axis: usize,
    particles: &Particles,
    neighbours: &Neighbours,
    (d0, largest, alpha): (f32, f32, f32),
) {
    let bins = *neighbours.bins();
    let (cells, slab) = (bins.size[0] * bins.size[1], points.size[0] * points.size[1]);
    let halo = (alpha * largest / bins.cell_m).ceil() as usize;
    let block = BLOCK.max(2 * halo + 1);
    parallel::for_each_chunk_mut(sum, slab, |_, sum| sum.fill(0.0));
    parallel::for_each_chunk_mut(weight, slab, |_, weight| weight.fill(0.0));
    // The particles of a block of slabs reach into those beside it: every other block at once, then the rest.
    let blocks = bins.size[2].div_ceil(block);
    for parity in 0..2 {
        let reach: Vec<[usize; 2]> = (parity..blocks)
            .step_by(2)
            .map(|b| {
                [(b * block).saturating_sub(halo), ((b + 1) * block + halo + 1)]
                    .map(|k| k.min(points.size[2]))
            })
            .collect();
        let parts = split(sum, &reach, slab).into_iter().zip(split(weight, &reach, slab));
        let mut tasks: Vec<_> = parts.collect();
        parallel::for_each_chunk_mut(&mut tasks, 1, |task, part| {
            let b = 2 * task + parity;
            let (sum, weight) = (&mut *part[0].0, &mut *part[0].1);
            let slabs = b * block..((b + 1) * block).min(bins.size[2]);
            for i in neighbours.of_cells(slabs.start * cells..slabs.end * cells) {
                let at = (particles.x[i] - points.origin) / bins.cell_m;
                let reach_cells = alpha * particles.radius(i, d0) / bins.cell_m;
                let (m, u) = (particles.weight(i), particles.v[i][axis]);
                for_each_point(points, reach[task], at, reach_cells, |point, w| {
                    sum[point] += m * w * u;
                    weight[point] += m * w;
                });
            }
        });
    }
}

/// Calls `found(index, W_sharp)` for the points around a place, all in cells; only slabs in `window`, counted
/// from its first.
#[inline(always)]
fn for_each_point(
    points: &Points,
    window: [usize; 2],
    at: Vec3,
    reach: f32,
    mut found: impl FnMut(usize, f32),
) {
    let (h2, size) = (reach * reach, points.size);
    let range = |x: f32, from: usize, to: usize| {
        let first = (x - reach).ceil().max(from as f32) as usize;
        let last = (x + reach).floor().min(to as f32 - 1.0);
        first..if last < 0.0 { 0 } else { last as usize + 1 }
    };
    for k in range(at.z, window[0], window[1]) {
        let z2 = (k as f32 - at.z).powi(2);
        for j in range(at.y, 0, size[1]) {
            let yz2 = (j as f32 - at.y).powi(2) + z2;
            for i in range(at.x, 0, size[0]) {
                let r2 = (i as f32 - at.x).powi(2) + yz2;
                if r2 < h2 {
                    let w = h2 / r2.max(CLOSEST * CLOSEST * h2) - 1.0;
                    found(i + size[0] * (j + size[1] * (k - window[0])), w);
                }
            }
        }
    }
}

/// Disjoint windows of slabs, in order.
fn split<'a>(mut values: &'a mut [f32], windows: &[[usize; 2]], slab: usize) -> Vec<&'a mut [f32]> {
    let mut passed = 0;
    let mut parts = Vec::with_capacity(windows.len());
    for &[from, to] in windows {
        let (part, rest) = values.split_at_mut((to - passed) * slab);
        parts.push(&mut part[(from - passed) * slab..]);
        (values, passed) = (rest, to);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bins, Families, Kind, UNIT_MASS, velocity_at};
    use fluvial_foundation::random::unit_vec3;

    #[test]
    fn spread_velocities_are_those_of_the_points() {
        let bins = Bins { min: Vec3::splat(-0.1), cell_m: 0.1, size: [9, 8, 21] };
        let mut particles = Particles::default();
        for n in 0..3000u64 {
            let x = bins.min + bins.cell_m * Vec3::new(9.0, 8.0, 21.0) * unit_vec3(n, 4);
            let count = if n % 3 == 0 { 1 + (n % 8) as u8 } else { 1 };
            particles.push(x, unit_vec3(n, 5), count as u32 * UNIT_MASS, count, Kind::Small);
        }
        let mut neighbours = Neighbours::new(bins);
        neighbours.sort(&mut particles, &mut Families::default());
        let d0 = 0.05;
        for (axis, alpha) in [(0, 1.0), (1, 1.4), (2, 0.8), (2, 2.5)] {
            let mut points = Points { origin: bins.min + 0.5 * bins.cell_m, size: bins.size };
            points.origin[axis] -= 0.5 * bins.cell_m;
            points.size[axis] += 1;
            let n = points.size.iter().product();
            let (mut sum, mut weight) = (vec![1.0; n], vec![1.0; n]);
            let kernel = (d0, 2.0 * d0, alpha);
            spread_velocity((&mut sum, &mut weight), &points, axis, &particles, &neighbours, kernel);
            let mut reached = 0;
            for point in 0..n {
                let [a, b, _] = points.size;
                let at = Vec3::new((point % a) as f32, (point / a % b) as f32, (point / (a * b)) as f32);
                let x = points.origin + bins.cell_m * at;
                let plain = velocity_at(x, &particles, &neighbours, kernel, 0.0);
                if weight[point] > 1e-3 {
                    let plain = plain.expect("somebody is near")[axis];
                    assert!((sum[point] / weight[point] - plain).abs() < 1e-4, "{axis} {alpha} {at}");
                    reached += 1;
                } else if weight[point] == 0.0 {
                    assert_eq!(plain, None, "{axis} {alpha} {at}");
                }
            }
            assert!(reached > n / 2, "{reached} of {n}");
        }
    }
}
