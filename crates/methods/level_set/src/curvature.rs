//! Mean curvature of the interface.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// kappa = div(grad phi / |grad phi|) at cell centres with `|phi| < band_m`, 0 elsewhere: the sum of both
/// principal curvatures of the level set through the cell centre (2/R for a ball of liquid), 1/m.
///
/// Central differences of [osher-2003 eq. 1.8]; at the walls first derivatives are one-sided
/// (second order) and second derivatives those of the next cell. Limited to `|kappa| <= 2/dx`, what the grid
/// can carry; returns how many cells were limited. Second order for an exact or a redistanced sphere
/// (tests/curvature.rs).
pub fn curvature(kappa_cell: &mut [f32], phi: &[f32], lattice: &Lattice, band_m: f32) -> usize {
    assert!(phi.len() == lattice.len() && kappa_cell.len() == lattice.len());
    let slab = lattice.slab();
    let [nx, ny, _] = lattice.size;
    let limit = 2.0 / lattice.spacing;
    parallel::for_each_chunk_mut(kappa_cell, slab, |k, out| {
        for j in 0..ny {
            let start = nx * j + slab * k;
            let row_in = &phi[start..start + nx];
            let row = &mut out[nx * j..nx * (j + 1)];
            row.fill(0.0);
            if row_in.iter().fold(f32::INFINITY, |m, v| m.min(v.abs())) >= band_m {
                continue;
            }
            for i in 0..nx {
                if row_in[i].abs() < band_m {
                    row[i] = curvature_at(phi, lattice, [i, j, k]).clamp(-limit, limit);
                }
            }
        }
    });
    let kappa_cell = &*kappa_cell;
    parallel::map_indices(lattice.size[2], |k| {
        kappa_cell[k * slab..(k + 1) * slab].iter().filter(|v| v.abs() >= limit).count()
    })
    .into_iter()
    .sum()
}

/// A cell value, e.g. the curvature, where phi changes sign between two neighbour cells: linear in the
/// position of the crossing, second order as phi is a distance.
pub fn value_at_crossing(value_cell: &[f32], phi: &[f32], cell_a: usize, cell_b: usize) -> f32 {
    let (a, b) = (phi[cell_a], phi[cell_b]);
    let theta = if a != b { (a / (a - b)).clamp(0.0, 1.0) } else { 0.5 };
    value_cell[cell_a] + theta * (value_cell[cell_b] - value_cell[cell_a])
}

fn curvature_at(phi: &[f32], lattice: &Lattice, c: [usize; 3]) -> f32 {
    // Centre of the difference stencil, moved off the walls; an axis with one sample has no derivatives.
    let m: [usize; 3] = std::array::from_fn(|a| c[a].clamp(1, lattice.size[a].max(3) - 2));
    let mut g = [0.0; 3];
    let mut h = [0.0; 3];
    let index = lattice.index(c[0], c[1], c[2]);
    for a in 0..3 {
        let (n, s) = (lattice.size[a], lattice.stride(a));
        if n < 3 {
            if n == 2 {
                let low = index - c[a] * s;
                g[a] = phi[low + s] - phi[low];
            }
            continue;
        }
        let center = index + s * m[a] - s * c[a];
        let (low, mid, high) = (phi[center - s], phi[center], phi[center + s]);
        h[a] = (low + high) - 2.0 * mid;
        g[a] = 0.5 * (high - low) + (c[a] as f32 - m[a] as f32) * h[a];
    }
    let mixed = |a: usize, b: usize| {
        let (na, nb) = (lattice.size[a], lattice.size[b]);
        if na < 3 || nb < 3 {
            return 0.0;
        }
        let (sa, sb) = (lattice.stride(a), lattice.stride(b));
        let center = index + sa * m[a] + sb * m[b] - sa * c[a] - sb * c[b];
        let v = |da: usize, db: usize| phi[center + sa * da + sb * db - sa - sb];
        0.25 * ((v(2, 2) - v(2, 0)) - (v(0, 2) - v(0, 0)))
    };
    let g2 = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
    if g2 < 1e-6 * lattice.spacing * lattice.spacing {
        return 0.0; // a ridge midway between interfaces: no normal, no interface here
    }
    let square = g.map(|v| v * v);
    let bend =
        h[0] * (square[1] + square[2]) + h[1] * (square[0] + square[2]) + h[2] * (square[0] + square[1])
            - 2.0 * (g[0] * g[1] * mixed(0, 1) + g[0] * g[2] * mixed(0, 2) + g[1] * g[2] * mixed(1, 2));
    bend / (g2 * g2.sqrt() * lattice.spacing)
}
