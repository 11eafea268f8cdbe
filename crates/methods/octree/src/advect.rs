//! Transport straight from the tree that a step begins on to the next one [octree §3.2]: nothing is resampled
//! between.
//!
//! A sample of the new tree takes the value at its departure point `x - u dt` on the old tree. MacCormack's
//! correction carries the result back to the samples of the old tree, takes half of what is missing there as
//! the error of one passage, and carries that error along the same path; so the two trees need not agree.

use crate::interpolate::{Interpolation, Sampler, Tracing};
use crate::sides::TreeSides;
use crate::slope::slopes;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use std::ops::{Add, Mul};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A correction of phi beyond this many cells is no interpolation error but a crease or a film.
const LARGEST_PHI_CORRECTION_CELLS: f32 = 0.25;
/// phi is interpolated where the surface is nearer than what a step can cross plus this many cells: half a
/// diagonal of the cell whose distance is read, and the width of the stencils.
const STENCIL_CELLS: f32 = 3.0;
/// Within this many cells of the surface phi moves with the surface point next to it: as far as fits to it reach.
const NEXT_TO_SURFACE_CELLS: f32 = 2.0;
/// The error of phi is found at the old cells within this many of the surface.
const PHI_ERROR_CELLS: f32 = 2.0;
/// Velocity is carried to second order on faces this near to the liquid, cells: those that the pressure sets at a
/// surface lie up to half a cell outside, and their stencils reach one farther.
const SMOOTH_CELLS: f32 = 1.5;
/// Faces deeper than this are carried to second order however far they move in a step, cells.
const DEEP_CELLS: f32 = 1.5;

/// From the tree that a step begins on to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Transport<'a> {
    /// The tree that the step begins on.
    pub old: &'a Octree,
    /// The tree that it ends on; may be the same one.
    pub new: &'a Octree,
    /// Velocity on the old tree, for tracing.
    pub tracing: &'a Tracing,
    /// How fields are interpolated.
    pub interpolation: Interpolation,
    /// Thin solids: paths end at them, and phi is looked up on their side.
    pub sides: TreeSides<'a>,
    /// Does phi near the surface move with the surface point next to it?
    pub with_surface: bool,
    /// The step, seconds.
    pub dt_s: f32,
}

/// Memory of this module's functions, to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct AdvectScratch {
    /// Where what is at a sample of the new tree was when the step began; NaN where nothing is carried.
    departure: Vec<Vec3>,
    /// Error of one passage at the samples of the old tree.
    error_old: Vec<f32>,
}

impl Transport<'_> {
    fn is_same_tree(&self) -> bool {
        std::ptr::eq(self.old, self.new)
    }

    fn old_cell(&self, new_cell: usize) -> usize {
        if self.is_same_tree() {
            new_cell
        } else {
            self.old.locate(self.new.cell_center(new_cell)).cell as usize
        }
    }
}

/// `phi(x) = phi_old(x - u dt)`, u that of the surface point next to x, and sizes with it. Nothing of the old level set moves farther than
/// `reach_m`: beyond that distance from the surface the sign is all that counts, and redistancing does the
/// rest. Verified by `a_ball_is_carried_in_second_order`.
pub fn advect_surface(
    (phi_new, size_new): (&mut Vec<f32>, &mut Vec<f32>),
    transport: &Transport,
    (phi_old, size_old): (&[f32], &[f32]),
    reach_m: f32,
    scratch: &mut AdvectScratch,
) {
    let Transport { old, new, tracing, interpolation, sides, dt_s, .. } = *transport;
    let near = |old_cell: usize, dx: f32| {
        phi_old[old_cell].abs() < reach_m + STENCIL_CELLS * dx.max(old.cell_dx(old_cell))
    };
    let departure = &mut scratch.departure;
    let sampler = Sampler::new(old, interpolation);
    departure.resize(new.cell_count(), Vec3::NAN);
    parallel::for_each_indexed_mut(departure, |cell, departure| {
        let there = transport.old_cell(cell);
        *departure = if near(there, new.cell_dx(cell)) {
            let x = new.cell_center(cell);
            let straight = tracing.trace(old, x, tracing.v_cell[there], -dt_s);
            let phi = sampler.cells(phi_old, straight);
            let middle = x - 0.5 * dt_s * tracing.v_cell[there] + to_surface(transport, phi_old, there, phi);
            sides.walk(x, x - dt_s * tracing.at(old, middle))
        } else {
            Vec3::NAN
        };
    });
    let departure = &departure[..];
    phi_new.resize(new.cell_count(), 0.0);
    size_new.resize(new.cell_count(), 0.0);
    parallel::for_each_indexed_mut2(phi_new, size_new, |cell, phi, size| {
        let from = departure[cell];
        (*phi, *size) = if from.is_nan() {
            (phi_old[transport.old_cell(cell)], 0.0)
        } else {
            let seen = sides.sample(old, phi_old, from);
            let phi = seen.unwrap_or_else(|| sampler.cells(phi_old, from));
            (phi, sampler.cells(size_old, from).max(0.0))
        };
    });
}

/// The way from a point with a value of phi to the surface, with the normal at a cell; none far from the surface.
///
/// Near the surface phi moves with the velocity of the surface point next to it, not with its own. Cells above a surface
/// that waves move faster than those below, redistancing takes the mean of the two, and what the pressure sees of a wave
/// lags behind what moves it: waves of two cells grew by 1.1 a second at 16 cells per metre, out of rounding errors.
/// With one velocity along the normal phi stays a distance and redistancing has nothing to mend. On the surface itself
/// nothing changes. Verified by `still_water_rests_for_long` of the solver.
/// Near a thin solid phi moves with its own velocity: neighbours lie on other sides.
fn to_surface(transport: &Transport, phi_cell: &[f32], cell: usize, phi: f32) -> Vec3 {
    let (tree, sides) = (transport.old, transport.sides);
    let is_far = phi.abs() > NEXT_TO_SURFACE_CELLS * tree.cell_dx(cell);
    if !transport.with_surface || is_far || sides.is_near(tree, cell) {
        return Vec3::ZERO;
    }
    let [slope] = slopes(tree, cell, |_| true, |cell| [phi_cell[cell]]);
    -phi * slope.as_vec3().normalize_or_zero()
}

/// MacCormack's correction of what [`advect_surface`] has just carried. Returns at how many old cells the
/// error was too large for one of interpolation, and was ignored. Verified by
/// `a_ball_is_carried_in_second_order`.
pub fn correct_surface(
    phi_new: &mut [f32],
    transport: &Transport,
    phi_old: &[f32],
    scratch: &mut AdvectScratch,
) -> usize {
    let Transport { old, new, tracing, interpolation, sides, dt_s, .. } = *transport;
    let AdvectScratch { departure, error_old } = scratch;
    let (ignored, to) = (AtomicUsize::new(0), Sampler::new(new, interpolation));
    error_old.resize(old.cell_count(), 0.0);
    let carried = &*phi_new;
    parallel::for_each_indexed_mut(error_old, |cell, error| {
        let (phi, dx) = (phi_old[cell], old.cell_dx(cell));
        *error = 0.0;
        // Beside thin solids what comes back comes from another side.
        if phi.abs() < PHI_ERROR_CELLS * dx && !sides.is_near(old, cell) {
            let from = old.cell_center(cell);
            let middle = from + 0.5 * dt_s * tracing.v_cell[cell] + to_surface(transport, phi_old, cell, phi);
            let x = from + dt_s * tracing.at(old, middle);
            let half = 0.5 * (phi - to.cells(carried, x));
            if half.abs() < LARGEST_PHI_CORRECTION_CELLS * dx {
                *error = half;
            } else {
                ignored.fetch_add(1, Relaxed);
            }
        }
    });
    let (error_old, departure, sampler) = (&error_old[..], &departure[..], Sampler::new(old, interpolation));
    parallel::for_each_indexed_mut(phi_new, |cell, phi| {
        if !departure[cell].is_nan() && !sides.is_near(new, cell) {
            *phi += sampler.cells(error_old, departure[cell]);
        }
    });
    ignored.into_inner()
}

/// `u(x) = u_old(x - u dt)` on the faces of the new tree with liquid nearer than `band_cells`; zero
/// elsewhere. Verified by `a_linear_velocity_is_carried_exactly`.
pub fn advect_velocity(
    u_new: &mut Vec<f32>,
    transport: &Transport,
    u_old: &[f32],
    (phi_new, band_cells): (&[f32], f32),
    scratch: &mut AdvectScratch,
) {
    let Transport { old, new, tracing, interpolation, dt_s, .. } = *transport;
    let (sampler, same) = (Sampler::new(old, interpolation), transport.is_same_tree());
    let departure = &mut scratch.departure;
    departure.resize(new.face_count(), Vec3::NAN);
    u_new.resize(new.face_count(), 0.0);
    parallel::for_each_indexed_mut2(departure, u_new, |face, departure, u| {
        let band_m = band_cells * new.face_dx(face);
        (*departure, *u) = (Vec3::NAN, 0.0);
        if new.cells_beside(face).any(|cell| phi_new[cell] < band_m) {
            let axis = new.face_axis(face);
            let x = new.face_center(face, axis);
            let here = if same { mean_beside(old, &tracing.v_cell, face) } else { tracing.at(old, x) };
            *departure = tracing.trace(old, x, here, -dt_s);
            *u = sampler.component(u_old, axis, *departure);
        }
    });
}

/// MacCormack's correction of what [`advect_velocity`] has just carried; it is held in the range of the
/// samples around the departure point.
///
/// It must reach beyond the surface, where u is constant along the normal. With c = |w| dt / dx the topmost face,
/// D above the one below it, becomes `u - c D + c (1 - c)^2 D / 2` where it rises; first order alone is `u - c D`, while
/// falling gives nothing back, and a wave of 32 cells loses 5 % of its amplitude in 4 periods.
///
/// At the surface it fades out where a step is as long as a cell: waves on a stream of speed U are carried by the velocity
/// that was found at the start of the step, half a step's way `U dt / 2` off their phase, and grow. At 2 cells a step the
/// tongue of a dam break breaks up without that first-order damping; at half a cell it is smooth with and without.
/// Verified by `a_linear_velocity_is_carried_exactly` and `the_topmost_faces_are_carried_to_second_order`.
pub fn correct_velocity(
    u_new: &mut [f32],
    transport: &Transport,
    u_old: &[f32],
    (phi_old, phi_new): (&[f32], &[f32]),
    scratch: &mut AdvectScratch,
) {
    let Transport { old, new, tracing, interpolation, dt_s, .. } = *transport;
    let AdvectScratch { departure, error_old } = scratch;
    let (to, bounds) = (Sampler::new(new, interpolation), new.shape().bounds());
    error_old.resize(old.face_count(), 0.0);
    let carried = &*u_new;
    parallel::for_each_indexed_mut(error_old, |face, error| {
        *error = 0.0;
        let (phi, dx) = (mean_beside(old, phi_old, face), old.face_dx(face));
        if phi < SMOOTH_CELLS * dx {
            let axis = old.face_axis(face);
            let u = mean_beside(old, &tracing.v_cell, face);
            let at_surface = (DEEP_CELLS + phi / dx).clamp(0.0, 1.0);
            let part = 1.0 - at_surface * (u.length() * dt_s / dx).min(1.0);
            let x = tracing.trace(old, old.face_center(face, axis), u, dt_s);
            // Carried velocities end beyond the surface: what comes back from there is no error.
            let there = new.locate(x.clamp(bounds.min, bounds.max)).cell as usize;
            if phi_new[there] < SMOOTH_CELLS * new.cell_dx(there) {
                *error = 0.5 * part * (u_old[face] - to.component(carried, axis, x));
            }
        }
    });
    let (error_old, departure, sampler) = (&error_old[..], &departure[..], Sampler::new(old, interpolation));
    parallel::for_each_indexed_mut(u_new, |face, u| {
        if !departure[face].is_nan() {
            let axis = new.face_axis(face);
            let corrected = *u + sampler.component(error_old, axis, departure[face]);
            let [least, most] = sampler.component_range(u_old, axis, departure[face]);
            *u = corrected.clamp(least.min(*u), most.max(*u));
        }
    });
}

/// An upper bound of all speeds, m/s.
pub fn largest_speed(tree: &Octree, u_face: &[f32]) -> f32 {
    let fastest = |axis: usize| {
        let u = &u_face[tree.faces(axis)];
        parallel::ordered_max(parallel::chunk_count(u.len(), parallel::CHUNK), |n| {
            let range = parallel::chunk_range(n, parallel::CHUNK, u.len());
            u[range].iter().fold(0.0f32, |most, u| most.max(u.abs())) as f64
        })
    };
    let [x, y, z] = [0, 1, 2].map(fastest);
    (x * x + y * y + z * z).sqrt() as f32
}

/// The value at a face of a field at cell centres: the mean of both sides.
#[inline]
fn mean_beside<T>(tree: &Octree, q_cell: &[T], face: usize) -> T
where
    T: Copy + Default + Add<Output = T>,
    f32: Mul<T, Output = T>,
{
    let mean = |side: Side| match side {
        Side::Outside => None,
        Side::Cell(cell) => Some(q_cell[cell as usize]),
        Side::Quad(cells) => {
            let [a, b, c, d] = cells.map(|cell| q_cell[cell as usize]);
            Some(0.25 * ((a + b) + (c + d)))
        }
    };
    match tree.sides(face).map(mean) {
        [Some(low), Some(high)] => 0.5 * (low + high),
        [one, other] => one.or(other).unwrap_or_default(),
    }
}
