//! Mean curvature of the interface.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// Cosines of the angles at which the interface meets the six walls, measured in the liquid; none at open walls.
pub type WallContact = [Option<f32>; 6];

/// The correction of a wall's slope for the distance from the contact line is limited to this part of it.
const LARGEST_CORRECTION: f32 = 0.5;
/// Least squared sine of a contact angle for which the interface's profile at the wall is looked at.
const LEAST_SINE2: f32 = 0.05;

/// kappa = div(grad phi / |grad phi|) at cell centres with `|phi| < band_m`, 0 elsewhere: the sum of both
/// principal curvatures of the level set through the cell centre (2/R for a ball of liquid), 1/m.
///
/// Central differences of [osher-2003 eq. 1.8]. Beyond a closed wall phi goes on so that the interface meets the wall at
/// its contact angle: with N the wall's normal out of the domain, `N . grad phi = -cos theta` at the contact line, and
/// `-cos theta (1 - kappa_p phi)` beside it, kappa_p the curvature of the interface's profile across the line
/// (phi of a ball: `N . grad phi = -c / (R + phi)`, c its centre's distance from the wall). A right angle mirrors phi.
/// Beyond an open wall phi goes on as a parabola. Limited to `|kappa| <= 2/dx`, what the grid
/// can carry; returns how many cells were limited. Second order for an exact or a redistanced sphere, and at a
/// wall that it meets at a right angle; first order at other angles (tests/curvature.rs).
pub fn curvature(
    kappa_cell: &mut [f32],
    phi: &[f32],
    lattice: &Lattice,
    band_m: f32,
    contact: &WallContact,
) -> usize {
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
                    row[i] = curvature_at(phi, lattice, [i, j, k], contact).clamp(-limit, limit);
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

fn curvature_at(phi: &[f32], lattice: &Lattice, c: [usize; 3], contact: &WallContact) -> f32 {
    let inside = |a: usize| c[a] > 0 && c[a] + 1 < lattice.size[a];
    if (0..3).all(inside) {
        let [sx, sy, sz] = [0, 1, 2].map(|a| lattice.stride(a));
        let low = lattice.index(c[0], c[1], c[2]) - sx - sy - sz;
        let value = |d: [usize; 3]| phi[low + d[0] * sx + d[1] * sy + d[2] * sz];
        return Differences::of(value).curvature(lattice.spacing);
    }
    let at = |d: [usize; 3]| std::array::from_fn(|a| (c[a] + d[a]) as isize - 1);
    let walled = Walled { phi, lattice, contact, profile: [0.0; 3] };
    let profile = walled.profile_curvatures(c);
    let walled = Walled { profile, ..walled };
    Differences::of(|d| walled.value(at(d))).curvature(lattice.spacing)
}

/// Central differences of phi, per cell.
struct Differences {
    gradient: [f32; 3],
    /// xx, yy, zz.
    second: [f32; 3],
    /// yz, xz, xy.
    mixed: [f32; 3],
}

impl Differences {
    /// From 3 x 3 x 3 values, the centre's at [1, 1, 1].
    #[inline(always)]
    fn of(value: impl Fn([usize; 3]) -> f32) -> Self {
        let along = |a: usize, to: usize| {
            let mut d = [1; 3];
            d[a] = to;
            value(d)
        };
        let mixed = |a: usize, b: usize| {
            let v = |to_a: usize, to_b: usize| {
                let mut d = [1; 3];
                (d[a], d[b]) = (to_a, to_b);
                value(d)
            };
            0.25 * ((v(2, 2) - v(2, 0)) - (v(0, 2) - v(0, 0)))
        };
        let centre = value([1; 3]);
        Differences {
            gradient: [0, 1, 2].map(|a| 0.5 * (along(a, 2) - along(a, 0))),
            second: [0, 1, 2].map(|a| (along(a, 0) + along(a, 2)) - 2.0 * centre),
            mixed: [mixed(1, 2), mixed(0, 2), mixed(0, 1)],
        }
    }

    fn curvature(&self, spacing: f32) -> f32 {
        let (g, h, [yz, xz, xy]) = (self.gradient, self.second, self.mixed);
        let square = g.map(|v| v * v);
        let g2 = square[0] + square[1] + square[2];
        if g2 < 1e-6 * spacing * spacing {
            return 0.0; // a ridge midway between interfaces: no normal, no interface here
        }
        let bend =
            h[0] * (square[1] + square[2]) + h[1] * (square[0] + square[2]) + h[2] * (square[0] + square[1])
                - 2.0 * (g[0] * g[1] * xy + g[0] * g[2] * xz + g[1] * g[2] * yz);
        bend / (g2 * g2.sqrt() * spacing)
    }

    /// Curvature along the direction in the interface that leads most towards `axis`, 1/m.
    fn curvature_towards(&self, axis: usize, spacing: f32) -> f32 {
        let (g, h, [yz, xz, xy]) = (self.gradient, self.second, self.mixed);
        let g2 = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
        let sine2 = 1.0 - g[axis] * g[axis] / g2;
        if g2 < 1e-6 * spacing * spacing || sine2 < LEAST_SINE2 {
            return 0.0;
        }
        let t: [f32; 3] = std::array::from_fn(|a| (a == axis) as u8 as f32 - g[axis] * g[a] / g2);
        let bend = h[0] * t[0] * t[0]
            + h[1] * t[1] * t[1]
            + h[2] * t[2] * t[2]
            + 2.0 * (yz * t[1] * t[2] + xz * t[0] * t[2] + xy * t[0] * t[1]);
        bend / (sine2 * g2.sqrt() * spacing)
    }
}

/// phi with its continuation beyond the walls.
struct Walled<'a> {
    phi: &'a [f32],
    lattice: &'a Lattice,
    contact: &'a WallContact,
    /// Curvature of the interface's profile across the contact line at the walls of each axis, 1/m.
    profile: [f32; 3],
}

impl Walled<'_> {
    /// phi at a cell at most one beyond the walls.
    fn value(&self, at: [isize; 3]) -> f32 {
        let size = self.lattice.size;
        let Some(axis) = (0..3).find(|&a| at[a] < 0 || at[a] >= size[a] as isize) else {
            return self.phi[self.lattice.index(at[0] as usize, at[1] as usize, at[2] as usize)];
        };
        let up = at[axis] >= 0;
        let inward = |cells: isize| {
            let mut at = at;
            at[axis] += if up { -cells } else { cells };
            self.value(at)
        };
        match self.contact[2 * axis + up as usize] {
            Some(cosine) => {
                let (beside, dx) = (inward(1), self.lattice.spacing);
                let off = (self.profile[axis] * (beside - 0.5 * dx * cosine))
                    .clamp(-LARGEST_CORRECTION, LARGEST_CORRECTION);
                beside - dx * cosine * (1.0 - off)
            }
            None if size[axis] < 3 => inward(1),
            None => 3.0 * (inward(1) - inward(2)) + inward(3),
        }
    }

    /// The profile's curvatures at the walls beside a cell, from one cell off the walls; none are needed at right angles.
    fn profile_curvatures(&self, c: [usize; 3]) -> [f32; 3] {
        let size = self.lattice.size;
        std::array::from_fn(|axis| {
            let wall = if c[axis] == 0 { 2 * axis } else { 2 * axis + 1 };
            let is_beside = c[axis] == 0 || c[axis] + 1 == size[axis];
            if !is_beside || size[axis] < 3 || self.contact[wall].is_none_or(|cosine| cosine.abs() < 1e-6) {
                return 0.0;
            }
            let mut off_wall = c;
            off_wall[axis] = c[axis].clamp(1, size[axis] - 2);
            let at = |d: [usize; 3]| std::array::from_fn(|a| (off_wall[a] + d[a]) as isize - 1);
            Differences::of(|d| self.value(at(d))).curvature_towards(axis, self.lattice.spacing)
        })
    }
}
