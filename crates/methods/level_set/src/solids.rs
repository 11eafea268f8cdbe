//! phi continued into closed cells, so that the interface meets solids as if they were not there.

use crate::Scratch;
use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// phi in closed cells from open ones, `layers` layers deep, linearly: the mean over all directions (axes,
/// then diagonals) along which two known cells in line end at the cell of 2 phi_1 - phi_2, those where phi
/// saturates only for want of others; a cell that has no such line takes the mean of its known neighbours. A
/// plane stays the same plane
/// (tests/extrapolation.rs `a_plane_continues_into_solids`).
pub fn extend_into_solids(
    phi: &mut [f32],
    closed_cell: &[bool],
    lattice: &Lattice,
    layers: usize,
    scratch: &mut Scratch,
) {
    assert!(phi.len() == lattice.len() && closed_cell.len() == lattice.len());
    let slab = lattice.slab();
    // Where phi saturates it is no distance: such lines count only where there are no others.
    let saturated = parallel::ordered_max(lattice.size[2], |k| {
        let (phi, closed) = (&phi[k * slab..(k + 1) * slab], &closed_cell[k * slab..(k + 1) * slab]);
        phi.iter().zip(closed).fold(0.0f32, |m, (v, &c)| if c { m } else { m.max(v.abs()) }) as f64
    }) as f32;
    let slabs = lattice.size[2];
    if scratch.layer.len() < slabs {
        scratch.layer.resize(slabs, Vec::new());
    }
    let unknown = &mut scratch.unknown;
    crate::fit(unknown, phi.len());
    parallel::for_each_beside_mut(unknown, closed_cell, |unknown, &closed| *unknown = closed as u8);
    for _ in 0..layers {
        let (phi_known, unknown_now): (&[f32], &[u8]) = (phi, unknown);
        parallel::for_each_chunk_mut(&mut scratch.layer[..slabs], 1, |k, found| {
            found[0].clear();
            for index in k * slab..(k + 1) * slab {
                if unknown_now[index] != 0
                    && let Some(value) = continued(phi_known, unknown_now, lattice, saturated, index)
                {
                    found[0].push((index as u32, value));
                }
            }
        });
        let found = &scratch.layer;
        parallel::for_each_chunk_mut2((phi, slab), (unknown, slab), |k, phi, unknown| {
            for &(index, value) in &found[k] {
                let at = index as usize - k * slab;
                (phi[at], unknown[at]) = (value, 0);
            }
        });
    }
}

/// Linear continuation into a cell from its known surroundings; None if no neighbour by face is known.
pub(crate) fn continued(
    phi: &[f32],
    unknown: &[u8],
    lattice: &Lattice,
    saturated: f32,
    index: usize,
) -> Option<f32> {
    let c = lattice.coordinates(index);
    let at = |d: [isize; 3], n: isize| -> Option<usize> {
        let mut p = [0; 3];
        for a in 0..3 {
            p[a] = c[a].checked_add_signed(n * d[a]).filter(|&v| v < lattice.size[a])?;
        }
        Some(lattice.index(p[0], p[1], p[2])).filter(|&i| unknown[i] == 0)
    };
    let mut neighbours = Mean::default();
    let mut means = [Mean::default(), Mean::default()]; // of lines where phi is a distance, and of others
    let line = |[lines, flat]: &mut [Mean; 2], d: [isize; 3]| {
        let (Some(first), Some(second)) = (at(d, 1), at(d, 2)) else { return };
        let mean = if phi[second].abs() < saturated { lines } else { flat };
        mean.add(2.0 * phi[first] - phi[second]);
    };
    for n in 0..6 {
        let mut d = [0isize; 3];
        d[n / 2] = if n % 2 == 0 { -1 } else { 1 };
        line(&mut means, d);
        if let Some(first) = at(d, 1) {
            neighbours.add(phi[first]);
        }
    }
    neighbours.value()?;
    if means[0].value().is_none() {
        (0..27).filter(|&n| n != 13).for_each(|n| line(&mut means, [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]));
    }
    means[0].value().or(means[1].value()).or(neighbours.value())
}

#[derive(Default)]
struct Mean {
    sum: f32,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f32) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f32> {
        (self.count > 0).then(|| self.sum / self.count as f32)
    }
}
