//! Face velocities carried along themselves.

use crate::Scratch;
use crate::face_blocks::{Block, FaceBand, Needs};
use crate::trace::{Cells, LANES, Lanes, Offsets, VelocitySampler};
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::{FaceField, UniformGrid};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How velocity is looked up at departure points. Both trace back with third-order Runge-Kutta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdvectionScheme {
    /// Trilinear: unconditionally stable, first order.
    SemiLagrangian,
    /// Trilinear forth and back, half the difference as correction: second order [selle-2008].
    #[default]
    MacCormack,
}

/// Velocity on its way through a step.
#[derive(Clone, Copy, Debug)]
pub struct VelocityTransport<'a> {
    /// Velocity at the start, extended past the band by the distance travelled.
    pub u_face: &'a FaceField,
    /// The liquid at the end of the step: signed distance at cell centres, metres.
    pub phi_cell: &'a [f32],
    /// Where all of it lives.
    pub grid: &'a UniformGrid,
    /// Length of the step.
    pub dt_s: f32,
    /// How velocity is looked up.
    pub scheme: AdvectionScheme,
    /// Faces whose mean phi of both cells is this or more are set to 0 and skipped.
    pub band_m: f32,
    /// Faces whose mean phi is below this are carried to second order, where their stencils stay below it too.
    pub smooth_m: f32,
    /// Faces that need no advection.
    pub known: Option<KnownFaces<'a>>,
}

/// Faces whose new velocity is known from elsewhere (particles) and already stands in the output.
#[derive(Clone, Copy, Debug)]
pub struct KnownFaces<'a> {
    /// How well it is known.
    pub weight_face: &'a FaceField,
    /// From this weight on it stands alone; below, the advected velocity takes the rest.
    pub full_weight: f32,
    /// Faces that travel farther than this in the step, in cells, get no second-order correction.
    pub reach_cells: usize,
}

/// `u_out(x) = u(X)`, X the departure point of the particle that arrives at face centre x over `dt_s`.
///
/// MacCormack [selle-2008 §3]: u^ = A(u), u~ = A^-1(u^), u_out = u^ + (u - u~)/2, held in the range of the samples
/// u^ was made of; u^ alone where a stencil reaches faces beyond `smooth_m` and where the particle leaves through a
/// wall. Held, not given up: a correction that goes from all to nothing at the end of the range turns rounding errors
/// into differences that grow (conformance, `a_mirrored_scene_gives_the_mirrored_result`).
///
/// `smooth_m` must reach beyond the surface, where u is constant along the normal. With c = |w| dt / dx the topmost face,
/// D above the one below it, becomes `u - c D + c (1 - c) D / 2` where it rises; u^ alone is `u - c D`, while falling gives
/// nothing back, and a wave of 32 cells loses 5 % of its amplitude in 4 periods (0.15 % with the correction).
/// Returns how many corrections were held back. Constant fields keep their bits, linear fields are exact away from walls
/// (tests/advection.rs `uniform_velocity_keeps_its_bits`, `velocity_order`,
/// `known_faces_are_kept_and_the_others_do_not_notice`,
/// `the_topmost_faces_are_carried_to_second_order`).
pub fn advect_velocity(u_out: &mut FaceField, transport: &VelocityTransport, scratch: &mut Scratch) -> usize {
    let VelocityTransport { u_face, phi_cell, grid, dt_s, scheme, band_m, smooth_m, known } = *transport;
    assert_eq!(phi_cell.len(), grid.cell_count());
    let sampler = VelocitySampler::new(u_face, grid);
    let back = -dt_s / grid.dx;
    let mut held = 0;
    for axis in AXES {
        crate::fit(&mut u_out[axis], grid.faces(axis).len());
        let known = known.as_ref().map(|known| (&known.weight_face[axis][..], known));
        let band = FaceBand { phi_cell, grid, axis, band_m, smooth_m, known };
        let needs = Needs::find(&band, &mut scratch.block_needs);
        match scheme {
            AdvectionScheme::SemiLagrangian => {
                semi_lagrangian(&mut u_out[axis], &sampler, &band, &needs, back)
            }
            AdvectionScheme::MacCormack => {
                crate::fit(&mut scratch.u_forward, u_out[axis].len());
                crate::fit(&mut scratch.stencil, u_out[axis].len());
                estimate(&mut scratch.u_forward, &mut scratch.stencil, &sampler, &band, &needs, back);
                let first = Estimate { u: &scratch.u_forward, stencil: &scratch.stencil };
                held += correct(&mut u_out[axis], &u_face[axis], first, &sampler, &band, &needs, back);
            }
        }
    }
    held
}

/// Marks a face that keeps its first estimate.
const NOT_SMOOTH: i32 = -1;

/// The first estimate of MacCormack's scheme.
struct Estimate<'a> {
    u: &'a [f32],
    /// Low corners of the stencils it was made of, or [`NOT_SMOOTH`].
    stencil: &'a [i32],
}

/// u^ = A(u).
fn semi_lagrangian(out: &mut [f32], sampler: &VelocitySampler, band: &FaceBand, needs: &Needs, back: f32) {
    let axis = band.axis;
    parallel::for_each_chunk_mut(out, band.slab(), |k, out| {
        let start = k * band.slab();
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => band.blend(&mut out[row.clone()], &[0.0; LANES], start + row.start),
            Block::Band(row, phi_m) if needs.value(at) => {
                let from = sampler.stencils(axis, at, &destinations(sampler, axis, at, back));
                let values = within(phi_m, band.band_m, &sampler.component(axis, &from));
                band.blend(&mut out[row.clone()], &values, start + row.start);
            }
            Block::Band(row, phi_m) => band.fade(&mut out[row.clone()], phi_m, start + row.start),
        });
    });
}

/// u^ = A(u), and the low corners of its stencils where they are all smooth.
fn estimate(
    out: &mut [f32],
    stencil: &mut [i32],
    sampler: &VelocitySampler,
    band: &FaceBand,
    needs: &Needs,
    back: f32,
) {
    let axis = band.axis;
    let smooth = band.smooth();
    parallel::for_each_chunk_mut2((out, band.slab()), (stencil, band.slab()), |k, out, stencil| {
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => out[row].fill(0.0),
            Block::Band(row, phi_m) if needs.estimate(at) => {
                let from = sampler.stencils(axis, at, &destinations(sampler, axis, at, back));
                let values = within(phi_m, band.band_m, &sampler.component(axis, &from));
                let count = row.len();
                out[row.clone()].copy_from_slice(&values[..count]);
                let bases = sampler.bases(axis, &from);
                for (l, base) in stencil[row].iter_mut().enumerate() {
                    let inside = phi_m[l] < band.smooth_m && smooth.surround(axis, from.low(l));
                    *base = if inside { bases[l] } else { NOT_SMOOTH };
                }
            }
            Block::Band(..) => {}
        });
    });
}

/// u^ + (u - A^-1(u^))/2 where it is allowed, u^ elsewhere. Returns how many corrections were held back.
fn correct(
    out: &mut [f32],
    u: &[f32],
    first: Estimate,
    sampler: &VelocitySampler,
    band: &FaceBand,
    needs: &Needs,
    back: f32,
) -> usize {
    let axis = band.axis;
    let smooth = band.smooth();
    let mut estimates: [&[f32]; 3] = [&[]; 3];
    estimates[axis] = first.u;
    let estimates = VelocitySampler::from_slices(estimates, band.grid);
    let held = AtomicUsize::new(0);
    let correction = |at: Cells, values: &mut Lanes, u: &[f32], stencil: &[i32]| {
        let x = destinations(sampler, axis, at, -back);
        let to = sampler.stencils(axis, at, &x);
        let returned = estimates.component(axis, &to);
        let bases = std::array::from_fn(|l| stencil.get(l).map_or(0, |&base| base.max(0)));
        let (low, high) = sampler.bounds(axis, &bases);
        let mut held_here = 0;
        for l in 0..stencil.len() {
            let corrected = values[l] + 0.5 * (u[l] - returned[l]);
            if stencil[l] != NOT_SMOOTH
                && smooth.surround(axis, to.low(l))
                && sampler.inside_walls(at, &x, l)
                && band.within_reach(&x, l)
            {
                // Not `clamp`, which panics where a velocity is not finite; the step reports it.
                values[l] = corrected.max(low[l]).min(high[l]);
                held_here += (values[l] != corrected) as usize;
            }
        }
        held.fetch_add(held_here, Relaxed);
    };
    parallel::for_each_chunk_mut(out, band.slab(), |k, out| {
        let start = k * band.slab();
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => band.blend(&mut out[row.clone()], &[0.0; LANES], start + row.start),
            Block::Band(row, _) if needs.value(at) => {
                let all = start + row.start..start + row.end;
                let mut values = [0.0; LANES];
                values[..row.len()].copy_from_slice(&first.u[all.clone()]);
                let stencil = &first.stencil[all.clone()];
                if needs.correction(at) && stencil.iter().any(|&base| base != NOT_SMOOTH) {
                    correction(at, &mut values, &u[all.clone()], stencil);
                }
                band.blend(&mut out[row], &values, all.start);
            }
            Block::Band(row, phi_m) => band.fade(&mut out[row.clone()], phi_m, start + row.start),
        });
    });
    held.into_inner()
}

/// Where particles at eight face centres go to (or come from, for negative `cells_per_speed`).
#[inline]
fn destinations(sampler: &VelocitySampler, axis: Axis, at: Cells, cells_per_speed: f32) -> Offsets {
    let start = std::array::from_fn(|a| if a == axis { 0.0 } else { 0.5 });
    let u0 = sampler.at(at, &start.map(|v| [v; LANES]));
    sampler.trace(at, start, &u0, cells_per_speed)
}

/// Values of the faces in the band, 0 on the others.
#[inline]
fn within(phi_m: &Lanes, band_m: f32, values: &Lanes) -> Lanes {
    std::array::from_fn(|l| if phi_m[l] < band_m { values[l] } else { 0.0 })
}
