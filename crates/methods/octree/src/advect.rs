//! Transport straight from the tree that a step begins on to the next one [octree §3.2]: nothing is resampled
//! between.
//!
//! A sample of the new tree takes the value at its departure point `x - u dt` on the old tree. MacCormack's
//! correction carries the result back to the samples of the old tree, takes half of what is missing there as
//! the error of one passage, and carries that error along the same path; so the two trees need not agree.

use crate::interpolate::{Interpolation, Sampler, Stencils, Tracing};
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
/// phi changes by no more than this times the way, so that cells far from the surface are told apart without a look.
const STEEPEST: f32 = 1.5;
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
    /// Of every [`PIECE`] samples of the new tree.
    pieces: Vec<Piece>,
    /// Error of one passage at the samples of the old tree.
    error_old: Vec<f32>,
}

/// Samples of the new tree that one task carries.
const PIECE: usize = 1024;

/// What is carried to a piece of the new tree's samples, and where it was when the step began: whatever is read there
/// shares the search for the samples around.
#[derive(Clone, Debug, Default)]
struct Piece {
    /// The samples that something is carried to, counted in the piece.
    carried: Vec<u32>,
    /// Where it was, in the same order.
    departure: Stencils,
    /// Least and largest velocity around there; empty for phi.
    range: Vec<[f32; 2]>,
}

impl Piece {
    fn clear(&mut self) {
        self.carried.clear();
        self.departure.clear();
        self.range.clear();
    }
}

/// Room for pieces of so many samples.
fn pieces_of(pieces: &mut Vec<Piece>, samples: usize) -> &mut [Piece] {
    pieces.resize_with(parallel::chunk_count(samples, PIECE), Piece::default);
    pieces
}

impl Transport<'_> {
    fn is_same_tree(&self) -> bool {
        std::ptr::eq(self.old, self.new)
    }

    fn old_cell(&self, new_cell: usize) -> usize {
        if self.is_same_tree() {
            new_cell
        } else {
            let level = self.new.cells()[new_cell].level as usize;
            self.old.locate_near(self.new.cell_center(new_cell), level).cell as usize
        }
    }

    /// Where phi at a new cell that lies in an old one comes from.
    fn surface_departure(&self, sampler: &Sampler, phi_old: &[f32], cell: usize, there: usize) -> Vec3 {
        let Transport { old, new, tracing, sides, dt_s, .. } = *self;
        let (x, v, level) = (new.cell_center(cell), tracing.v_cell[there], old.cells()[there].level as usize);
        let mut middle = x - 0.5 * dt_s * v;
        if self.with_surface && !sides.is_near(old, there) {
            let straight = tracing.trace_near(old, x, (v, level), -dt_s);
            // Nearer to the surface than the old cell's centre by the way there at most.
            let way_m = STEEPEST * straight.distance(old.cell_center(there));
            if phi_old[there].abs() - way_m < NEXT_TO_SURFACE_CELLS * old.cell_dx(there) {
                let phi = sampler.cells_at(phi_old, &sampler.spot(straight, level));
                middle += to_surface(self, phi_old, there, phi);
            }
        }
        sides.walk(x, x - dt_s * tracing.at_near(old, middle, level))
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
    let Transport { old, new, interpolation, sides, .. } = *transport;
    let near = |old_cell: usize, dx: f32| {
        phi_old[old_cell].abs() < reach_m + STENCIL_CELLS * dx.max(old.cell_dx(old_cell))
    };
    let sampler = Sampler::new(old, interpolation);
    phi_new.resize(new.cell_count(), 0.0);
    size_new.resize(new.cell_count(), 0.0);
    let pieces = pieces_of(&mut scratch.pieces, new.cell_count());
    parallel::for_each_chunk_mut2((pieces, 1), (phi_new, PIECE), |n, piece, phi| {
        let piece = &mut piece[0];
        piece.clear();
        for (m, phi) in phi.iter_mut().enumerate() {
            let cell = n * PIECE + m;
            let there = transport.old_cell(cell);
            if !near(there, new.cell_dx(cell)) {
                *phi = phi_old[there];
                continue;
            }
            let from = transport.surface_departure(&sampler, phi_old, cell, there);
            piece.departure.add_cells(&sampler, &sampler.spot(from, old.cells()[there].level as usize));
            let seen = sides.sample(old, phi_old, from);
            *phi = seen.unwrap_or_else(|| piece.departure.read(piece.carried.len(), phi_old));
            piece.carried.push(m as u32);
        }
    });
    let pieces = &scratch.pieces;
    parallel::for_each_chunk_mut(size_new, PIECE, |n, size| {
        size.fill(0.0);
        for (point, &m) in pieces[n].carried.iter().enumerate() {
            size[m as usize] = pieces[n].departure.read(point, size_old).max(0.0);
        }
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
    let AdvectScratch { pieces, error_old } = scratch;
    let (ignored, to) = (AtomicUsize::new(0), Sampler::new(new, interpolation));
    error_old.resize(old.cell_count(), 0.0);
    let carried = &*phi_new;
    parallel::for_each_indexed_mut(error_old, |cell, error| {
        let (phi, dx) = (phi_old[cell], old.cell_dx(cell));
        *error = 0.0;
        // Beside thin solids what comes back comes from another side.
        if phi.abs() < PHI_ERROR_CELLS * dx && !sides.is_near(old, cell) {
            let (from, level) = (old.cell_center(cell), old.cells()[cell].level as usize);
            let middle = from + 0.5 * dt_s * tracing.v_cell[cell] + to_surface(transport, phi_old, cell, phi);
            let x = from + dt_s * tracing.at_near(old, middle, level);
            let half = 0.5 * (phi - to.cells_at(carried, &to.spot(x, level)));
            if half.abs() < LARGEST_PHI_CORRECTION_CELLS * dx {
                *error = half;
            } else {
                ignored.fetch_add(1, Relaxed);
            }
        }
    });
    let (error_old, pieces) = (&error_old[..], &*pieces);
    parallel::for_each_chunk_mut(phi_new, PIECE, |n, phi| {
        for (point, &m) in pieces[n].carried.iter().enumerate() {
            if !sides.is_near(new, n * PIECE + m as usize) {
                phi[m as usize] += pieces[n].departure.read(point, error_old);
            }
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
    u_new.resize(new.face_count(), 0.0);
    let pieces = pieces_of(&mut scratch.pieces, new.face_count());
    parallel::for_each_chunk_mut2((pieces, 1), (u_new, PIECE), |n, piece, u| {
        let piece = &mut piece[0];
        piece.clear();
        for (m, u) in u.iter_mut().enumerate() {
            let face = n * PIECE + m;
            let band_m = band_cells * new.face_dx(face);
            *u = 0.0;
            if !new.cells_beside(face).any(|cell| phi_new[cell] < band_m) {
                continue;
            }
            let (axis, level) = (new.face_axis(face), new.face_places()[face].level as usize);
            let x = new.face_center(face, axis);
            let here =
                if same { mean_beside(old, &tracing.v_cell, face) } else { tracing.at_near(old, x, level) };
            let spot = sampler.spot(tracing.trace_near(old, x, (here, level), -dt_s), level);
            let point = piece.carried.len();
            piece.departure.add_component(&sampler, axis, &spot);
            piece.carried.push(m as u32);
            let range = piece.departure.range(point, u_old);
            piece.range.push(range.unwrap_or_else(|| sampler.component_range(u_old, axis, &spot)));
            *u = piece.departure.read(point, u_old);
        }
    });
}

/// MacCormack's correction of what [`advect_velocity`] has just carried; it is held in the range of the
/// samples around the departure point. Returns at how many faces it was held back.
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
) -> usize {
    let Transport { old, new, tracing, interpolation, dt_s, .. } = *transport;
    let AdvectScratch { pieces, error_old } = scratch;
    let to = Sampler::new(new, interpolation);
    error_old.resize(old.face_count(), 0.0);
    let carried = &*u_new;
    parallel::for_each_indexed_mut(error_old, |face, error| {
        *error = 0.0;
        let (phi, dx) = (mean_beside(old, phi_old, face), old.face_dx(face));
        if phi < SMOOTH_CELLS * dx {
            let (axis, level) = (old.face_axis(face), old.face_places()[face].level as usize);
            let u = mean_beside(old, &tracing.v_cell, face);
            let at_surface = (DEEP_CELLS + phi / dx).clamp(0.0, 1.0);
            let part = 1.0 - at_surface * (u.length() * dt_s / dx).min(1.0);
            let x = tracing.trace_near(old, old.face_center(face, axis), (u, level), dt_s);
            // Carried velocities end beyond the surface: what comes back from there is no error.
            let spot = to.spot(x, level);
            if phi_new[spot.cell()] < SMOOTH_CELLS * new.cell_dx(spot.cell()) {
                *error = 0.5 * part * (u_old[face] - to.component_at(carried, axis, &spot));
            }
        }
    });
    let (error_old, pieces, held) = (&error_old[..], &*pieces, AtomicUsize::new(0));
    parallel::for_each_chunk_mut(u_new, PIECE, |n, u| {
        let Piece { carried, departure, range } = &pieces[n];
        let mut held_here = 0;
        for (point, (&m, &[least, most])) in carried.iter().zip(range).enumerate() {
            let u = &mut u[m as usize];
            let corrected = *u + departure.read(point, error_old);
            *u = corrected.clamp(least.min(*u), most.max(*u));
            held_here += (*u != corrected) as usize;
        }
        held.fetch_add(held_here, Relaxed);
    });
    held.into_inner()
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
