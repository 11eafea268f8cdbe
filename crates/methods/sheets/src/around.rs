//! Where there can be no surface: cells amid full ones, and amid nothing.

use crate::cells::dilate;
use crate::deposit::deposit;
use crate::neighbours::Neighbours;
use crate::params::SheetParams;
use crate::particles::Particles;

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
    let width = (reach.max(params.reach_m()) / bins.cell_m).ceil() as usize;
    let any = dilate(&mass.iter().map(|&m| m > 0.0).collect::<Vec<_>>(), bins.size, width);
    let lacking = dilate(&mass.iter().map(|&m| m < HALF_FULL * full).collect::<Vec<_>>(), bins.size, width);
    let kind = |(any, lacking): (&bool, &bool)| match (any, lacking) {
        (false, _) => Around::Nothing,
        (true, true) => Around::Mixed,
        (true, false) => Around::Full,
    };
    any.iter().zip(&lacking).map(kind).collect()
}
