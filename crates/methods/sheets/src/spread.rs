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
