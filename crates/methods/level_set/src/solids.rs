//! phi continued into closed cells, so that the interface meets solids as if they were not there.

use crate::Scratch;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Lattice;
use fluvial_grids::patch::continued;

/// Continues phi linearly from open cells into closed ones, `layers` layers deep.
///
/// A closed cell gets the mean of `2 phi_1 - phi_2` over all directions (axes, then diagonals) in which two
/// known cells lie in line with it. Lines on which phi saturates count only where there are no others; a cell
/// without any line takes the mean of its known neighbours. A plane stays the same plane
/// (tests/extrapolation.rs `a_plane_continues_into_solids`). `away_from_solid` is the gradient of the solids' distance at
/// a cell, or zero: a cell inside a wall is continued from the side that it is nearer to, or liquid on one side would
/// appear on the other when the wall moves on (`both_sides_of_a_wall_continue_to_its_middle`).
pub fn extend_into_solids(
    phi: &mut [f32],
    closed_cell: &[bool],
    lattice: &Lattice,
    layers: usize,
    away_from_solid: impl Fn(usize) -> Vec3 + Sync + Send,
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
                    && let Some(value) =
                        continued(phi_known, unknown_now, lattice, saturated, away_from_solid(index), index)
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
