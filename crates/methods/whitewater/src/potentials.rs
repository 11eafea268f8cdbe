//! Where air is mixed in: the potentials of trapped air, wave crests and kinetic energy at the cells of the surface.
//!
//! The potentials are those of [ihmsen-2012 §3.1], posed on a grid. Their sums over neighbouring particles become means over
//! a ball whose radius is a length of the scene, so that neither the resolution nor noise from cell to cell matters; they
//! have units: metres per second, 1/m, and J/kg.

use crate::field::{BLOCK, Field, Moment};
use crate::{Params, Ramp};
use fluvial_foundation::Vec3;

/// The surface moves along its normal at least so much of its speed at a crest [ihmsen-2012 eq. 7].
const CREST_COSINE: f32 = 0.6;
/// Points of a ball on either side of its middle, and its radius in their spacing. They lie no closer than cells.
const RINGS: i32 = 2;
const RADIUS: f32 = RINGS as f32 + 0.5;

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
    let ball = Ball::new(params.reach_m, field.grid().dx);
    let blocks = field.map_blocks(|origin| {
        let mut sites = vec![];
        for n in 0..(BLOCK * BLOCK * BLOCK) as i32 {
            let b = BLOCK as i32;
            let cell = [origin[0] + n % b, origin[1] + n / b % b, origin[2] + n / (b * b)];
            sites.extend(site(field, params, &ball, cell));
        }
        sites
    });
    blocks.concat()
}

fn site(field: &Field, params: &Params, ball: &Ball, cell: [i32; 3]) -> Option<Site> {
    let grid = field.grid();
    let phi = field.cell(cell)[3];
    if (0..3).any(|a| cell[a] >= grid.cells[a] as i32) || phi.abs() > 1.8 * grid.dx {
        return None;
    }
    let (normal, slope) = field.cell_slope(cell);
    let area = area(phi, normal, slope, grid.dx);
    if area <= 0.0 {
        return None;
    }
    let [i, j, k] = cell.map(|v| v as usize);
    let x = grid.cell_centers().position(i, j, k) - phi * normal;
    let u = field.sample(x).u?;
    let energy = params.energy.at(0.5 * u.length_squared());
    if energy <= 0.0 {
        return None;
    }
    let around = ball.look_around(field, x, u);
    if around.is_drop {
        return None;
    }
    let air = params.trapped_air.at(around.velocity_difference);
    let is_crest = normal.dot(u) >= CREST_COSINE * u.length();
    let crest = if is_crest { params.crest.at(around.curvature) } else { 0.0 };
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

/// What the liquid around a place on the surface is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surroundings {
    /// Trapped air, m/s.
    pub velocity_difference: f32,
    /// Sum of the principal curvatures of the surface, 1/m, positive for a drop.
    pub curvature: f32,
    /// Does the liquid end within reach on all sides? A drop so small is spray itself and makes none.
    pub is_drop: bool,
}

/// A point of a ball, from its middle.
struct Point {
    offset: Vec3,
    direction: Vec3,
    weight: f32,
    is_outermost: bool,
}

/// The ball of points at which the liquid around a place is looked at.
pub struct Ball {
    points: Vec<Point>,
    /// Sums of w and of w r.
    weights: f32,
    moment_m: f32,
    /// Between neighbouring points.
    spacing_m: f32,
}

impl Ball {
    /// A ball of a radius; points lie no closer than cells.
    pub fn new(reach_m: f32, dx_m: f32) -> Ball {
        let spacing_m = (reach_m / RADIUS).max(dx_m);
        let along = -RINGS..=RINGS;
        let places = along
            .clone()
            .flat_map(|k| along.clone().flat_map(move |j| (-RINGS..=RINGS).map(move |i| [i, j, k])));
        let point = |place: [i32; 3]| {
            let at = Vec3::from_array(place.map(|v| v as f32));
            let offset = spacing_m * at;
            let is_outermost = at.length() >= RINGS as f32;
            Point {
                offset,
                direction: at.normalize_or_zero(),
                weight: 1.0 - at.length() / RADIUS,
                is_outermost,
            }
        };
        let points: Vec<Point> =
            places.map(point).filter(|p| p.weight > 0.0 && p.direction != Vec3::ZERO).collect();
        let weights = points.iter().map(|p| p.weight).sum();
        let moment_m = points.iter().map(|p| p.weight * p.offset.length()).sum();
        Ball { points, weights, moment_m, spacing_m }
    }

    /// Looks at the liquid around a place x on the surface that moves with `u`.
    ///
    /// Trapped air is the mean of `|v_ij| (1 - v_ij/|v_ij| . x_ij/|x_ij|)` by the weights `w = 1 - r/R` [ihmsen-2012 eq. 2]: 0 where
    /// the liquid moves as one or apart, twice the speed at which two fronts meet.
    ///
    /// Curvature follows from what of the ball is liquid. The surface `z = -(k_1 x^2 + k_2 y^2) / 2` over its tangent plane takes
    /// `sum w delta(n.r) (k_1 + k_2) (r^2 - (n.r)^2) / 4` off one half of the weights, and in the mean over the normals n, where
    /// `delta(n.r)` is `1 / (2 r)`, `(k_1 + k_2) sum w r / 8`. A plane has exactly the half, because the points lie in pairs; what
    /// is much thinner than R has the most that can be told, about `20 / (3 R)`. The divergence of normals from cell to cell, which
    /// was asked before, finds a crest in every bump that particles make and in every drop: four times as much spray with steps a
    /// quarter as long. Tests: `curvature_is_that_of_a_ball_and_crests_move_outwards`, `neither_bumps_of_a_cell_nor_drops_are_crests`.
    pub fn look_around(&self, field: &Field, x: Vec3, u: Vec3) -> Surroundings {
        let (mut difference, mut known, mut liquid) = (0.0, 0.0, 0.0);
        let mut is_drop = true;
        for Point { offset, direction, weight, is_outermost } in &self.points {
            let there = field.sample(x + *offset);
            liquid += weight * (0.5 - there.phi / self.spacing_m).clamp(0.0, 1.0);
            is_drop &= !is_outermost || there.phi >= 0.0;
            if let Some(other) = there.u {
                let apart = other - u;
                difference += weight * (apart.length() - apart.dot(*direction));
                known += weight;
            }
        }
        Surroundings {
            velocity_difference: if known > 0.0 { difference / known } else { 0.0 },
            curvature: 8.0 * (0.5 * self.weights - liquid) / self.moment_m,
            is_drop,
        }
    }
}
