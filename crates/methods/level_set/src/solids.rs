//! phi continued into closed cells, so that the interface meets solids as if they were not there.

use crate::Scratch;
use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// phi in closed cells from open ones, `layers` layers deep, linearly: the mean over all directions (axes,
/// then diagonals) along which two known cells in line end at the cell of 2 phi_1 - phi_2; a cell that
/// has no such line takes the mean of its known neighbours. A plane stays the same plane
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
    let slabs = lattice.size[2];
    if scratch.layer.len() < slabs {
        scratch.layer.resize(slabs, Vec::new());
    }
    let unknown = &mut scratch.unknown;
    crate::fit(unknown, phi.len());
    parallel::for_each_chunk_mut(unknown, slab, |k, part| {
        for (out, &closed) in part.iter_mut().zip(&closed_cell[k * slab..]) {
            *out = closed as u8;
        }
    });
    for _ in 0..layers {
        let (phi_known, unknown_now): (&[f32], &[u8]) = (phi, unknown);
        parallel::for_each_chunk_mut(&mut scratch.layer[..slabs], 1, |k, found| {
            found[0].clear();
            for index in k * slab..(k + 1) * slab {
                if unknown_now[index] != 0
                    && let Some(value) = continued(phi_known, unknown_now, lattice, index)
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
fn continued(phi: &[f32], unknown: &[u8], lattice: &Lattice, index: usize) -> Option<f32> {
    let c = lattice.coordinates(index);
    let at = |d: [isize; 3], n: isize| -> Option<usize> {
        let mut p = [0; 3];
        for a in 0..3 {
            p[a] = c[a].checked_add_signed(n * d[a]).filter(|&v| v < lattice.size[a])?;
        }
        Some(lattice.index(p[0], p[1], p[2])).filter(|&i| unknown[i] == 0)
    };
    let axes = (0..6).map(|n| {
        let mut d = [0isize; 3];
        d[n / 2] = if n % 2 == 0 { -1 } else { 1 };
        d
    });
    let (mut known, mut known_count) = (0.0f32, 0);
    let (mut lines, mut line_count) = (0.0f32, 0);
    for d in axes {
        let Some(first) = at(d, 1) else { continue };
        known += phi[first];
        known_count += 1;
        if let Some(second) = at(d, 2) {
            lines += 2.0 * phi[first] - phi[second];
            line_count += 1;
        }
    }
    if known_count == 0 {
        return None;
    }
    if line_count == 0 {
        for n in 0..27 {
            let d = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            if let (Some(first), Some(second)) = (at(d, 1), at(d, 2)) {
                lines += 2.0 * phi[first] - phi[second];
                line_count += 1;
            }
        }
    }
    Some(if line_count > 0 { lines / line_count as f32 } else { known / known_count as f32 })
}
