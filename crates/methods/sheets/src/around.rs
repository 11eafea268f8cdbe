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

/// Cells whose particles are below the surface for sure: [`DEEP`] holds.
///
/// Test: `whoever_is_called_deep_is_dense`.
pub(crate) fn cells_below_surface(mass: &[f32], bins: &Bins, params: &SheetParams) -> Vec<bool> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::lattice_density;
    use crate::{Families, Neighbours, Particles, Walls, deposit};
    use fluvial_foundation::Vec3;

    #[test]
    fn whoever_is_called_deep_is_dense() {
        // Slabs, columns and balls of all sizes, at any place in the cells, are deep only where the density
        // is beyond the surface's.
        let (n, d0) = (20, 0.025f32);
        let bins = Bins { min: Vec3::ZERO, cell_m: 2.0 * d0, size: [n; 3] };
        let params = SheetParams::new(d0);
        let rho0 = lattice_density(params.density_reach);
        let mut deep = 0;
        for half in 2..12 {
            for shift in 0..4 {
                let (half, center) = (half as f32 * d0, 0.5 + 0.25 * shift as f32 * d0);
                for shape in 0..3 {
                    let mut particles = Particles::default();
                    for index in 0..(2 * n).pow(3) {
                        let at = [index % (2 * n), index / (2 * n) % (2 * n), index / (4 * n * n)];
                        let x = d0 * (Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) + 0.5);
                        let d = x - center;
                        let inside = [d.y.abs(), d.truncate().length(), d.length()][shape] < half;
                        if inside {
                            particles.push_small(x, Vec3::ZERO);
                        }
                    }
                    let mut neighbours = Neighbours::new(bins);
                    neighbours.sort(&mut particles, &mut Families::default());
                    let mut mass = vec![0.0; bins.count()];
                    deposit(&mut mass, &particles, &neighbours, d0, |i| particles.weight(i));
                    let below = cells_below_surface(&mass, &bins, &params);
                    let walls = Walls { low: [0.0; 3], high: [1.0; 3], solid: None };
                    for &x in particles.x.iter().filter(|x| below[bins.index(bins.coordinates(**x))]) {
                        let rho = neighbours.density(x, params.reach_m(), &walls) / rho0;
                        assert!(rho > params.surface_density, "{rho} in shape {shape} of {half} at {x}");
                        deep += 1;
                    }
                }
            }
        }
        assert!(deep > 100_000, "{deep}");
    }
}
