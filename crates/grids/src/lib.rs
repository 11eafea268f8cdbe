//! Geometry and connectivity only: where samples lie and what is next to what. No physics.

pub mod curvature;
pub mod cut;
pub mod lattice;
pub mod octree;
pub mod paged;
pub mod patch;
pub mod pyramid;
pub mod sides;
pub mod tall;
pub mod triangles;
pub mod uniform;

pub use lattice::Lattice;
pub use octree::Octree;
pub use sides::Sides;
pub use tall::TallGrid;
pub use triangles::TriangleMesh;
pub use uniform::{FaceField, UniformGrid};

/// Smallest distance, in cells, from a liquid sample to the surface that pressure operators work with; shorter
/// ones are raised to it. That moves the surface by up to the floor, an error of first order: with 1e-2 it
/// dominates the error of a free surface from 128 cells on, with 1e-3 it does not.
pub const GHOST_DISTANCE_FLOOR: f32 = 1e-3;

/// The level set of a sample as pressure operators with a floor see it, `phi` and the edge `dx` of the cell in the same unit: liquid is no
/// nearer to the surface than the floor.
///
/// At rest one pressure answers the gravity on all faces of a cell that the surface crosses, `p / theta = g n`, with
/// distances along the axes of `theta = d / n`. Were each theta floored alone, those of a cell with the surface at its centre would be
/// equal, no pressure could hold all of its faces, and still water there moved by half of `g dt` in every step. With the cell's distance
/// floored their ratios stay, and what is left is the floor's part of `g dt`.
/// Test: `a_surface_through_the_centre_of_a_cell_rests` of the solvers.
#[inline]
pub fn floored_distance(phi: f32, dx: f32, floor: f32) -> f32 {
    // At this distance theta towards air a cell beyond is the floor.
    let least = floor / (1.0 - floor) * dx;
    if phi < 0.0 { phi.min(-least) } else { phi }
}

/// What the pressure gives a column beyond this many times `g dt` throws it. The distance of all faces of a cell grows with that of one, which takes up to
/// `g dt` from a face that holds the liquid's weight: where water flows by its weight alone the remedy would be worse than
/// what it is for.
const THROWN_BY_WEIGHTS: f32 = 4.0;
/// A column that moves by less than so many times its length in a step, by what it gains in it, is long.
const LONG_COLUMN: f32 = 2.0;
/// Columns that grow by less than this part are taken as they are: another solve of the pressure would change little.
const LEAST_GROWTH: f32 = 0.1;

/// The level set as pressure operators see it where a step throws liquid out of the surface, `phi` and the edge `dx` in the same unit, `None` where it is `phi`.
///
/// Between the centre of a cell and a surface at a distance of `d` cells the ghost-fluid method accelerates a column of that
/// length: with `q = p dt / (rho dx)` it gains `w = q / d` in a step, however short it is. Once it has moved by more
/// than its length it is gone, and what follows was pushed for a part of the step only. The column that a step sets in
/// motion is what was there at first and what has followed, `d' = d + w' dt / (2 dx)` with `w' = q / d'`:
///
/// `d' = (d + sqrt(d^2 + 2 d w dt / dx)) / 2`.
///
/// Only what is gained beyond the speed at which the column moves by twice its length counts, so that nothing changes for long columns, and nothing
/// jumps. For short ones `w' = sqrt(2 p / rho)`, Bernoulli's speed, where `w` has no bound: a
/// body that falls into water at 2 m/s threw single cells at its side at 16 m/s. `gained` is `w`, the change of velocity by all forces in the
/// step, `fall` is `g dt`, and `cells_a_speed` is `dt / dx` in metres: water that rests, flies or flows by its weight is left alone. A cell's distance changes as a whole, as in [`floored_distance`]. Test:
/// `short_columns_are_thrown_at_the_speed_of_bernoulli`.
#[inline]
pub fn thrown_distance(phi: f32, dx: f32, gained: f32, fall: f32, cells_a_speed: f32) -> Option<f32> {
    let d = -phi / dx;
    let moved = (gained - THROWN_BY_WEIGHTS * fall) * cells_a_speed - 2.0 * LONG_COLUMN * d;
    let grown = 0.5 * (d + (d * d + 2.0 * d * moved.max(0.0)).sqrt());
    (grown > (1.0 + LEAST_GROWTH) * d).then_some(-grown * dx)
}

/// Fraction of the way from a liquid sample to an air sample at which the surface lies,
/// `phi_liquid / (phi_liquid - phi_air)`, and whether [`GHOST_DISTANCE_FLOOR`] had to replace it. NaN stays
/// NaN.
#[inline]
pub fn ghost_theta(phi_liquid: f32, phi_air: f32) -> (f32, bool) {
    let theta = phi_liquid / (phi_liquid - phi_air);
    if theta < GHOST_DISTANCE_FLOOR { (GHOST_DISTANCE_FLOOR, true) } else { (theta, false) }
}
