//! Where there can be no surface: cells amid full ones, and amid nothing.

use crate::cells::{box_sums, dilate};
use crate::neighbours::Bins;
use crate::params::SheetParams;
use fluvial_foundation::parallel;

/// Cells with less than this share of their full mass may hold surface.
const HALF_FULL: f32 = 0.5;

/// Below the surface the 3^3 and the 5^3 cells around hold at least these shares of what fits. Under a flat
/// surface they do from a depth of 1.2 spacings, where the density is 0.78 of the full one. Single cells
/// would not do: between merged particles, as large as a cell, some are less than half full in the deepest
/// water.
const DEEP: [f32; 2] = [0.75, 0.72];

/// What a cell and its surroundings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    Mixed,
    Full,
}

/// For every cell of the search, given the masses in all: is there anything within the kernel's reach, and is
/// all of it at least half full?
pub(crate) fn cells_around(mass: &[f32], bins: &Bins, params: &SheetParams, reach: f32) -> Vec<Around> {
    let full = (bins.cell_m / params.d0).powi(3);
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

/// Cells whose particles are below the surface for sure: the 3^3 and the 5^3 cells around them hold at least
/// 75 and 72 % of the mass that fits.
///
/// Test: `whoever_is_called_deep_is_dense`.
pub fn cells_below_surface(mass: &[f32], bins: &Bins, params: &SheetParams) -> Vec<bool> {
    let full = (bins.cell_m / params.d0).powi(3);
    let mut below = vec![true; mass.len()];
    for (width, share) in [1, 2].into_iter().zip(DEEP) {
        let sums = box_sums(mass, bins.size, width);
        // Per axis: how many cells exist around each.
        let count = |n: usize, i: usize| ((i + width).min(n - 1) + 1 - i.saturating_sub(width)) as f32;
        let counts = bins.size.map(|n| (0..n).map(|i| count(n, i)).collect::<Vec<_>>());
        let slab = bins.size[0] * bins.size[1];
        parallel::for_each_chunk_mut(&mut below, slab, |k, below| {
            for (j, below) in below.chunks_mut(bins.size[0]).enumerate() {
                let enough = share * full * counts[1][j] * counts[2][k];
                let sums = &sums[bins.index([0, j, k])..];
                let row = below.iter_mut().zip(sums).zip(&counts[0]);
                row.for_each(|((below, sum), x)| *below &= *sum >= enough * x);
            }
        });
    }
    below
}
