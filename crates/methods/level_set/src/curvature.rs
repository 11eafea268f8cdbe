//! Mean curvature of the interface.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;
use fluvial_grids::curvature::{Curvature, Derivatives};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Cosines of the angles at which the interface meets the six walls, measured in the liquid; none at open walls.
pub type WallContact = [Option<f32>; 6];

/// The correction of a wall's slope for the distance from the contact line is limited to this part of it.
const LARGEST_CORRECTION: f32 = 0.5;
/// Least squared sine of a contact angle for which the interface's profile at the wall is looked at.
const LEAST_SINE2: f64 = 0.05;

/// kappa of the surface at its point nearest to each cell centre with `|phi| < band_m`, 0 elsewhere: the sum of both
/// principal curvatures (2/R for a ball of liquid), 1/m.
///
/// [`Derivatives`] of the fourth order, of the second at open walls and at walls that the surface does not meet at a right
/// angle. Beyond a closed wall phi goes on so that the interface meets the wall at
/// its contact angle: with N the wall's normal out of the domain, `N . grad phi = -cos theta` at the contact line, and
/// `-cos theta (1 - kappa_p phi)` beside it, kappa_p the curvature of the interface's profile across the line
/// (phi of a ball: `N . grad phi = -c / (R + phi)`, c its centre's distance from the wall). A right angle mirrors phi.
/// Beyond an open wall phi goes on as a parabola. Limited to `|kappa| <= 2/dx`, what the grid
/// can carry; returns how many cells were limited. Fourth order for an exact sphere, second for a redistanced one and at a
/// wall that it meets at a right angle; first order at other angles (tests/curvature.rs).
pub fn curvature(
    kappa_cell: &mut [f32],
    phi: &[f32],
    lattice: &Lattice,
    band_m: f32,
    contact: &WallContact,
) -> usize {
    for_each_near(kappa_cell, phi, lattice, band_m, |c| curvature_at(phi, lattice, c, contact))
}

/// The same of the level set through each cell centre, from differences of the second order: for fields that are a distance in a mean only.
pub fn level_curvature(
    kappa_cell: &mut [f32],
    phi: &[f32],
    lattice: &Lattice,
    band_m: f32,
    contact: &WallContact,
) -> usize {
    for_each_near(kappa_cell, phi, lattice, band_m, |c| {
        Walled::new(phi, lattice, contact).differences(c).curvature_at_surface(0.0)
    })
}

/// Fills the cells with `|phi| < band_m`; returns how many were limited.
fn for_each_near(
    kappa_cell: &mut [f32],
    phi: &[f32],
    lattice: &Lattice,
    band_m: f32,
    curvature: impl Fn([usize; 3]) -> Curvature + Sync + Send,
) -> usize {
    assert!(phi.len() == lattice.len() && kappa_cell.len() == lattice.len());
    let slab = lattice.slab();
    let [nx, ny, _] = lattice.size;
    let limited = AtomicUsize::new(0);
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
                    let found = curvature([i, j, k]);
                    row[i] = found.kappa as f32 / lattice.spacing;
                    limited.fetch_add(found.is_limited as usize, Relaxed);
                }
            }
        }
    });
    limited.into_inner()
}

/// A cell value, e.g. the curvature, where phi changes sign between two neighbour cells: linear in the
/// position of the crossing, second order as phi is a distance.
pub fn value_at_crossing(value_cell: &[f32], phi: &[f32], cell_a: usize, cell_b: usize) -> f32 {
    let (a, b) = (phi[cell_a], phi[cell_b]);
    let theta = if a != b { (a / (a - b)).clamp(0.0, 1.0) } else { 0.5 };
    value_cell[cell_a] + theta * (value_cell[cell_b] - value_cell[cell_a])
}

fn curvature_at(phi: &[f32], lattice: &Lattice, c: [usize; 3], contact: &WallContact) -> Curvature {
    let unit = 1.0 / f64::from(lattice.spacing);
    let here = f64::from(phi[lattice.index(c[0], c[1], c[2])]) * unit;
    let place = |d: [isize; 3]| -> [isize; 3] { std::array::from_fn(|a| c[a] as isize + d[a]) };
    if (0..3).all(|a| c[a] > 1 && c[a] + 2 < lattice.size[a]) {
        let strides = [0, 1, 2].map(|a| lattice.stride(a) as isize);
        let cell = lattice.index(c[0], c[1], c[2]) as isize;
        let value = |d: [isize; 3]| {
            f64::from(phi[(cell + d[0] * strides[0] + d[1] * strides[1] + d[2] * strides[2]) as usize]) * unit
        };
        return Derivatives::fourth_order(value).curvature_at_surface(here);
    }
    let walled = Walled::new(phi, lattice, contact);
    if walled.is_mirrored_around(c) {
        let value = |d: [isize; 3]| f64::from(walled.mirrored(place(d))) * unit;
        return Derivatives::fourth_order(value).curvature_at_surface(here);
    }
    walled.differences(c).curvature_at_surface(here)
}

/// phi with its continuation beyond the walls.
struct Walled<'a> {
    phi: &'a [f32],
    lattice: &'a Lattice,
    contact: &'a WallContact,
    /// Curvature of the interface's profile across the contact line at the walls of each axis, 1/m.
    profile: [f32; 3],
}

impl<'a> Walled<'a> {
    fn new(phi: &'a [f32], lattice: &'a Lattice, contact: &'a WallContact) -> Self {
        Walled { phi, lattice, contact, profile: [0.0; 3] }
    }

    /// Differences of the second order at a cell.
    fn differences(mut self, c: [usize; 3]) -> Derivatives {
        self.profile = self.profile_curvatures(c);
        let unit = 1.0 / f64::from(self.lattice.spacing);
        let place = |d: [isize; 3]| std::array::from_fn(|a| c[a] as isize + d[a]);
        Derivatives::central(1, |d| f64::from(self.value(place(d))) * unit)
    }

    /// Do the walls within two cells mirror phi?
    fn is_mirrored_around(&self, c: [usize; 3]) -> bool {
        let is_right = |wall: usize| self.contact[wall].is_some_and(|cosine| cosine.abs() < 1e-6);
        (0..3).all(|a| {
            let size = self.lattice.size[a];
            size > 2 && (c[a] > 1 || is_right(2 * a)) && (c[a] + 2 < size || is_right(2 * a + 1))
        })
    }

    /// phi at a cell at most two beyond walls that mirror it.
    fn mirrored(&self, at: [isize; 3]) -> f32 {
        let [i, j, k] = std::array::from_fn(|a| {
            let (at, size) = (at[a], self.lattice.size[a] as isize);
            (if at < 0 { -1 - at } else { at.min(2 * size - 1 - at) }) as usize
        });
        self.phi[self.lattice.index(i, j, k)]
    }

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
            let unit = 1.0 / f64::from(self.lattice.spacing);
            let at = |d: [isize; 3]| std::array::from_fn(|a| off_wall[a] as isize + d[a]);
            let profile = Derivatives::central(1, |d| f64::from(self.value(at(d))) * unit);
            profile.curvature_towards(axis, LEAST_SINE2) as f32 / self.lattice.spacing
        })
    }
}
