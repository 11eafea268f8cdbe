//! Face velocities carried along themselves.

use crate::Scratch;
use crate::trace::{Cells, LANES, Lanes, Offsets, VelocitySampler};
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::{FaceField, UniformGrid};
use std::ops::Range;

/// How velocity is looked up at departure points. Both trace back with third-order Runge-Kutta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdvectionScheme {
    /// Trilinear: unconditionally stable, first order.
    SemiLagrangian,
    /// Trilinear forth and back, half the difference as correction: second order [Selle et al. 2008].
    #[default]
    MacCormack,
}

/// `u_out(x) = u(X)`, X the departure point of the particle that arrives at face centre x over `dt_s`.
/// Faces whose mean phi of both cells is `band_m` or more are set to 0 and skipped; `u_face` must be
/// extended that far plus the distance travelled.
///
/// MacCormack [Selle et al. 2008 §3]: u^ = A(u), u~ = A^-1(u^), u_out = u^ + (u - u~)/2; u^ where that
/// leaves the range of the samples u^ was made of, where a stencil reaches faces outside the liquid, and where
/// the particle leaves through a wall.
/// Constant fields keep their bits, linear fields are exact away from walls
/// (tests/level_set/advection.rs `uniform_velocity_keeps_its_bits`, `velocity_order`).
#[allow(clippy::too_many_arguments)]
pub fn advect_velocity(
    u_out: &mut FaceField,
    u_face: &FaceField,
    phi_cell: &[f32],
    grid: &UniformGrid,
    dt_s: f32,
    scheme: AdvectionScheme,
    band_m: f32,
    scratch: &mut Scratch,
) {
    assert_eq!(phi_cell.len(), grid.cell_count());
    let sampler = VelocitySampler::new(u_face, grid);
    let back = -dt_s / grid.dx;
    for axis in AXES {
        let band = FaceBand { phi_cell, grid, axis, band_m };
        crate::fit(&mut u_out[axis], grid.faces(axis).len());
        match scheme {
            AdvectionScheme::SemiLagrangian => semi_lagrangian(&mut u_out[axis], &sampler, &band, back),
            AdvectionScheme::MacCormack => {
                crate::fit(&mut scratch.u_forward, u_out[axis].len());
                crate::fit(&mut scratch.stencil, u_out[axis].len());
                estimate(&mut scratch.u_forward, &mut scratch.stencil, &sampler, &band, back);
                correct(
                    &mut u_out[axis],
                    &u_face[axis],
                    &scratch.u_forward,
                    &scratch.stencil,
                    &sampler,
                    &band,
                    back,
                );
            }
        }
    }
}

/// Marks a face that keeps its first estimate.
const NOT_LIQUID: i32 = -1;

/// u^ = A(u).
fn semi_lagrangian(out: &mut [f32], sampler: &VelocitySampler, band: &FaceBand, back: f32) {
    let axis = band.axis;
    parallel::for_each_chunk_mut(out, band.slab(), |k, out| {
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => out[row].fill(0.0),
            Block::Band(row, phi_m) => {
                let from = sampler.stencils(axis, at, &destinations(sampler, axis, at, back));
                store(&mut out[row], phi_m, band.band_m, &sampler.component(axis, &from));
            }
        });
    });
}

/// u^ = A(u), and the low corners of its stencils where they are all liquid.
fn estimate(out: &mut [f32], stencil: &mut [i32], sampler: &VelocitySampler, band: &FaceBand, back: f32) {
    let axis = band.axis;
    let liquid = band.liquid();
    parallel::for_each_chunk_mut2((out, band.slab()), (stencil, band.slab()), |k, out, stencil| {
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => out[row].fill(0.0),
            Block::Band(row, phi_m) => {
                let from = sampler.stencils(axis, at, &destinations(sampler, axis, at, back));
                store(&mut out[row.clone()], phi_m, band.band_m, &sampler.component(axis, &from));
                let bases = sampler.bases(axis, &from);
                for (l, base) in stencil[row].iter_mut().enumerate() {
                    let inside = phi_m[l] < 0.0 && liquid.surround(axis, from.low(l));
                    *base = if inside { bases[l] } else { NOT_LIQUID };
                }
            }
        });
    });
}

/// u^ + (u - A^-1(u^))/2 where it is allowed, u^ elsewhere.
fn correct(
    out: &mut [f32],
    u: &[f32],
    forward: &[f32],
    stencil: &[i32],
    sampler: &VelocitySampler,
    band: &FaceBand,
    back: f32,
) {
    let axis = band.axis;
    let liquid = band.liquid();
    let mut estimates: [&[f32]; 3] = [&[]; 3];
    estimates[axis] = forward;
    let estimates = VelocitySampler::from_slices(estimates, band.grid);
    parallel::for_each_chunk_mut(out, band.slab(), |k, out| {
        let start = k * band.slab();
        band.for_each_block(k, |at, block| match block {
            Block::Outside(row) => out[row].fill(0.0),
            Block::Band(row, _) => {
                let all = start + row.start..start + row.end;
                let (out, u, stencil) = (&mut out[row], &u[all.clone()], &stencil[all.clone()]);
                out.copy_from_slice(&forward[all]);
                if stencil.iter().all(|&base| base == NOT_LIQUID) {
                    return;
                }
                let x = destinations(sampler, axis, at, -back);
                let to = sampler.stencils(axis, at, &x);
                let returned = estimates.component(axis, &to);
                let bases = std::array::from_fn(|l| stencil.get(l).map_or(0, |&base| base.max(0)));
                let (low, high) = sampler.bounds(axis, &bases);
                for (l, out) in out.iter_mut().enumerate() {
                    let corrected = *out + 0.5 * (u[l] - returned[l]);
                    let in_range = corrected >= low[l] && corrected <= high[l];
                    if stencil[l] != NOT_LIQUID
                        && in_range
                        && liquid.surround(axis, to.low(l))
                        && sampler.inside_walls(at, &x, l)
                    {
                        *out = corrected;
                    }
                }
            }
        });
    });
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
fn store(out: &mut [f32], phi_m: &Lanes, band_m: f32, values: &Lanes) {
    for (l, out) in out.iter_mut().enumerate() {
        *out = if phi_m[l] < band_m { values[l] } else { 0.0 };
    }
}

/// Which faces lie in the liquid (mean phi of their two cells negative).
struct LiquidFaces<'a> {
    phi_cell: &'a [f32],
    cells: [usize; 3],
    /// Where phi is below this, every face of a stencil next to the cell is in the liquid.
    safe_m: f32,
}

impl LiquidFaces<'_> {
    #[inline]
    fn phi(&self, c: [usize; 3]) -> f32 {
        let c: [usize; 3] = std::array::from_fn(|a| c[a].min(self.cells[a] - 1));
        self.phi_cell[c[0] + self.cells[0] * (c[1] + self.cells[1] * c[2])]
    }

    /// Are all eight faces of the interpolation stencil with this low corner in the liquid?
    #[inline]
    fn surround(&self, axis: Axis, low: [usize; 3]) -> bool {
        self.phi(low) < self.safe_m || self.all_liquid(axis, low)
    }

    fn all_liquid(&self, axis: Axis, low: [usize; 3]) -> bool {
        (0..8).all(|corner| {
            let mut cell: [usize; 3] = std::array::from_fn(|a| low[a] + (corner >> a & 1));
            let high = self.phi(cell);
            cell[axis] = cell[axis].saturating_sub(1);
            high + self.phi(cell) < 0.0
        })
    }
}

/// Faces of one axis by their distance from the liquid.
struct FaceBand<'a> {
    phi_cell: &'a [f32],
    grid: &'a UniformGrid,
    axis: Axis,
    band_m: f32,
}

/// Consecutive faces of a row, by their range in the slab.
enum Block<'a> {
    /// All farther from the liquid than the band.
    Outside(Range<usize>),
    /// At most eight, some in the band, with the mean phi of their cells.
    Band(Range<usize>, &'a Lanes),
}

impl FaceBand<'_> {
    /// Faces in one z-slab.
    fn slab(&self) -> usize {
        self.grid.faces(self.axis).slab()
    }

    fn liquid(&self) -> LiquidFaces<'_> {
        // No cell of a stencil's faces is more than sqrt(3) dx from the cell at its low corner.
        LiquidFaces { phi_cell: self.phi_cell, cells: self.grid.cells, safe_m: -1.8 * self.grid.dx }
    }

    /// Cuts slab k of the faces into blocks.
    #[inline]
    fn for_each_block(&self, k: usize, mut body: impl FnMut(Cells, Block)) {
        let [nx, ny, nz] = self.grid.cells;
        let [fx, fy, _] = self.grid.faces(self.axis).size;
        for j in 0..fy {
            let cells = |j: usize, k: usize| {
                let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
                &self.phi_cell[start..start + nx]
            };
            let high = cells(j, k);
            let low = match self.axis {
                0 => high,
                1 => cells(j.saturating_sub(1), k),
                _ => cells(j, k.saturating_sub(1)),
            };
            let mut i = 0;
            while i < fx {
                let end = (i + LANES).min(fx);
                let phi_m: Lanes = std::array::from_fn(|l| {
                    let face = (i + l).min(fx - 1);
                    let below = if self.axis == 0 { face.saturating_sub(1) } else { face };
                    0.5 * (low[below] + high[face.min(nx - 1)])
                });
                let row = fx * j + i..fx * j + end;
                let near = phi_m.iter().any(|&v| v < self.band_m);
                body(Cells { i, j, k }, if near { Block::Band(row, &phi_m) } else { Block::Outside(row) });
                i = end;
            }
        }
    }
}
