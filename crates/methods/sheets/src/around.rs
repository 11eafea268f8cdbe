//! Where there can be no surface: cells amid full ones, and amid nothing.

use crate::deposit::deposit;
use crate::neighbours::Neighbours;
use crate::params::SheetParams;
use crate::particles::Particles;
use fluvial_foundation::parallel;

/// Cells with less than this share of their full mass may hold surface.
const HALF_FULL: f32 = 0.5;

/// What a cell and its surroundings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    Mixed,
    Full,
}

/// For every cell of the search: is there anything within the kernel's reach, and is all of it at least half full?
pub(crate) fn cells_around(
    particles: &Particles,
    neighbours: &Neighbours,
    params: &SheetParams,
    reach: f32,
) -> Vec<Around> {
    let bins = neighbours.bins();
    let cells = bins.count();
    let full = (bins.cell_m / params.d0).powi(3);
    let mut mass = vec![0.0; cells];
    deposit(&mut mass, particles, neighbours, params.d0, |i| particles.weight(i));
    let mut around: Vec<Around> = parallel::map_indices(cells, |cell| {
        let mass = mass[cell];
        if mass == 0.0 {
            Around::Nothing
        } else if mass >= HALF_FULL * full {
            Around::Full
        } else {
            Around::Mixed
        }
    });
    let width = (reach.max(params.reach_m()) / bins.cell_m).ceil() as usize;
    let strides = [1, bins.size[0], bins.size[0] * bins.size[1]];
    for axis in 0..3 {
        let n = bins.size[axis];
        around = parallel::map_indices(cells, |cell| {
            let at = cell / strides[axis] % n;
            let (low, high) = (at.saturating_sub(width), (at + width).min(n - 1));
            let first = cell - (at - low) * strides[axis];
            let mut seen = around[first];
            for s in 1..=high - low {
                let other = around[first + s * strides[axis]];
                if other != seen {
                    seen = Around::Mixed;
                }
            }
            seen
        });
    }
    around
}
