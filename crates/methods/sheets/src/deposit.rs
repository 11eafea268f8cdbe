//! What the cells hold of the particles.

use crate::neighbours::{Bins, Neighbours, Walls};
use crate::particles::Particles;
use fluvial_foundation::parallel;

/// Adds up `share(i)`, e.g. the mass, of the particles in every cell of the search. A particle is the cube of
/// its volume, dealt out to the cells that it touches. Counted at its centre instead, a merged one, as large
/// as a cell, would leave cells in deep water empty, and a small one that crosses a face would make the
/// surface jump. What would lie behind a thin solid stays in the particle's own cell.
///
/// Tests: `cells_hold_what_the_particles_are`, `nothing_is_held_behind_a_thin_solid`.
pub fn deposit(
    out: &mut [f32],
    particles: &Particles,
    neighbours: &Neighbours,
    walls: &Walls,
    d0: f32,
    share: impl Fn(usize) -> f32 + Sync + Send,
) {
    let bins = neighbours.bins();
    let slab = bins.size[0] * bins.size[1];
    // The particles of a slab of cells reach into the slabs before and after: three slabs of their own, added
    // in order.
    let slabs = parallel::map_indices(bins.size[2], |k| {
        let range = neighbours.of_cells(k * slab..(k + 1) * slab);
        let mut held = vec![0.0f32; if range.is_empty() { 0 } else { 3 * slab }];
        range.for_each(|i| deal_out(&mut held, particles, (bins, walls), k, i, d0, share(i)));
        held
    });
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        out.fill(0.0);
        for (from, part) in [(k.wrapping_sub(1), 2), (k, 1), (k + 1, 0)] {
            if let Some(held) = slabs.get(from).filter(|held| !held.is_empty()) {
                out.iter_mut().zip(&held[part * slab..]).for_each(|(out, held)| *out += held);
            }
        }
    });
}

/// Deals out a particle of slab `k` to three slabs around.
#[inline]
fn deal_out(
    held: &mut [f32],
    particles: &Particles,
    (bins, walls): (&Bins, &Walls),
    k: usize,
    i: usize,
    d0: f32,
    value: f32,
) {
    let seen = walls.seen_from(particles.x[i]);
    let edge = (particles.radius(i, d0) / bins.cell_m).min(1.0);
    let center = (particles.x[i] - bins.min) / bins.cell_m;
    // Per axis: the first cell, and the parts of the edge in it and in the next. Beyond the walls it counts
    // to the last.
    let part = |axis: usize| {
        let low = center[axis] - 0.5 * edge;
        let first = low.floor();
        let inside = (first + 1.0 - low).min(edge) / edge;
        let last = bins.size[axis] as isize - 1;
        let cell = |c: isize| c.clamp(0, last) as usize;
        ([cell(first as isize), cell(first as isize + 1)], [inside, 1.0 - inside])
    };
    let [x, y, z] = [part(0), part(1), part(2)];
    // Its own cell is in the middle of the three slabs.
    let own = bins.coordinates(particles.x[i]);
    let own = [own[0], own[1], 1];
    for c in 0..2 {
        // Particles outside the box are filed under its last cells: they may be more than a slab away.
        let near = (z.0[c] + 1).clamp(k, k + 2) - k;
        for b in 0..2 {
            for a in 0..2 {
                let weight = x.1[a] * y.1[b] * z.1[c];
                if weight > 0.0 {
                    let is_seen = seen.is_none_or(|seen| seen.sees([x.0[a], y.0[b], z.0[c]]));
                    let [i, j, near] = if is_seen { [x.0[a], y.0[b], near] } else { own };
                    held[i + bins.size[0] * (j + bins.size[1] * near)] += weight * value;
                }
            }
        }
    }
}
