//! Where air is mixed in: the potentials of trapped air, wave crests and kinetic energy at the cells of the surface.
//!
//! The potentials are those of [ihmsen-2012 §3.1], posed on a grid. Their sums over neighbouring particles become means over
//! neighbouring cells, so that they have units that do not depend on the resolution: metres per second, 1/m, and J/kg.

use crate::field::{BLOCK, Field};
use crate::{Params, Ramp};
use fluvial_foundation::Vec3;

/// The surface moves along its normal at least so much of its speed at a crest [ihmsen-2012 eq. 7].
const CREST_COSINE: f32 = 0.6;
/// Reach of the mean of velocity differences, cells.
const REACH: i32 = 2;

/// A cell at the surface that makes whitewater.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Which cell.
    pub cell: [i32; 3],
    /// Particles of trapped air per second.
    pub air_1_s: f32,
    /// Particles from the crest per second.
    pub crest_1_s: f32,
    /// Direction out of the liquid.
    pub normal: Vec3,
    /// The liquid's velocity, m/s.
    pub u: Vec3,
}

impl Ramp {
    /// Phi of [ihmsen-2012 eq. 1]: 0 below `min`, 1 above `max`.
    #[inline]
    pub fn at(&self, value: f32) -> f32 {
        ((value - self.min) / (self.max - self.min)).clamp(0.0, 1.0)
    }
}

/// The cells of a moment that make whitewater, block by block.
///
/// A cell with the surface area A in it makes `A I_k (k_ta I_ta + k_wc I_wc)` particles per second [ihmsen-2012 eq. 9]; the rates k
/// are per area, so that the sum over cells is the integral over the surface whatever the resolution.
/// Test: `emission_is_the_integral_over_the_surface`.
pub fn find_sites(field: &Field, params: &Params) -> Vec<Site> {
    let blocks = field.map_blocks(|origin| {
        let mut sites = vec![];
        for n in 0..(BLOCK * BLOCK * BLOCK) as i32 {
            let b = BLOCK as i32;
            let cell = [origin[0] + n % b, origin[1] + n / b % b, origin[2] + n / (b * b)];
            sites.extend(site(field, params, cell));
        }
        sites
    });
    blocks.concat()
}

fn site(field: &Field, params: &Params, cell: [i32; 3]) -> Option<Site> {
    let grid = field.grid();
    if (0..3).any(|a| cell[a] >= grid.cells[a] as i32) || field.cell(cell)[3].abs() > 1.8 * grid.dx {
        return None;
    }
    let (normal, slope) = field.cell_slope(cell);
    let area = area(field.cell(cell)[3], normal, slope, grid.dx);
    let u = field.cell_velocity(cell)?;
    let energy = params.energy.at(0.5 * u.length_squared());
    if area <= 0.0 || energy <= 0.0 {
        return None;
    }
    let air = params.trapped_air.at(velocity_difference(field, cell, u));
    let is_crest = normal.dot(u) >= CREST_COSINE * u.length();
    let crest = if is_crest { params.crest.at(mean_curvature(field, cell)) } else { 0.0 };
    let air_1_s = area * energy * params.air_rate_1_m2_s * air;
    let crest_1_s = area * energy * params.crest_rate_1_m2_s * crest;
    (air_1_s + crest_1_s > 0.0).then_some(Site { cell, air_1_s, crest_1_s, normal, u })
}

/// Area of the surface that a cell stands for, m2: `delta(phi) |grad phi| dx^3` with a hat as wide as
/// `dx (|n_x| + |n_y| + |n_z|)`, which sums to the area of a plane at any angle [engquist-2005 §2.3].
pub fn area(phi: f32, normal: Vec3, slope: f32, dx: f32) -> f32 {
    let width = dx * normal.abs().element_sum();
    if width <= 0.0 || phi.abs() >= width {
        return 0.0;
    }
    // Near places where phi is cut off its slope is no longer 1; it never is more but for kinks.
    (1.0 - phi.abs() / width) / width * slope.min(1.0) * dx * dx * dx
}

/// Trapped air: the mean of `|v_ij| (1 - v_ij/|v_ij| . x_ij/|x_ij|)` over neighbours with weights `1 - r/h` [ihmsen-2012 eq. 2],
/// m/s: 0 where the liquid moves as one or apart, twice the speed at which two fronts meet. Under refinement smooth flow has
/// none of it and only fronts remain.
pub fn velocity_difference(field: &Field, cell: [i32; 3], u: Vec3) -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    let range = -REACH..=REACH;
    for k in range.clone() {
        for j in range.clone() {
            for i in range.clone() {
                let offset = Vec3::new(i as f32, j as f32, k as f32);
                let weight = 1.0 - offset.length() / (REACH as f32 + 0.5);
                if weight <= 0.0 || [i, j, k] == [0; 3] {
                    continue;
                }
                let Some(other) = field.cell_velocity([cell[0] + i, cell[1] + j, cell[2] + k]) else {
                    continue;
                };
                let (difference, toward) = (u - other, -offset.normalize());
                sum += weight * (difference.length() - difference.dot(toward));
                weights += weight;
            }
        }
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Curvature of the surface near a cell, 1/m, positive for a drop: the mean of the divergence of the normals over the cells
/// around whose centres lie within a cell of the surface, where phi is a distance as far as the differences reach; nearer
/// ones count more.
pub fn mean_curvature(field: &Field, cell: [i32; 3]) -> f32 {
    let dx = field.grid().dx;
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in 0..27 {
        let at = [cell[0] + n % 3 - 1, cell[1] + n / 3 % 3 - 1, cell[2] + n / 9 - 1];
        let weight = 1.0 - field.cell(at)[3].abs() / dx;
        if weight <= 0.0 {
            continue;
        }
        let along = |a: usize| {
            let (mut low, mut high) = (at, at);
            (low[a], high[a]) = (at[a] - 1, at[a] + 1);
            field.cell_slope(high).0[a] - field.cell_slope(low).0[a]
        };
        sum += weight * (along(0) + along(1) + along(2)) / (2.0 * dx);
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}
