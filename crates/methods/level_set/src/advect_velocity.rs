//! Face velocities carried along themselves.

use crate::Scratch;
use crate::trace::VelocitySampler;
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::{FaceField, UniformGrid};

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
/// leaves the range of the samples u^ was made of, or where a stencil reaches faces outside the liquid.
/// Constant fields keep their bits, linear fields are exact away from walls
/// (tests/advection.rs `uniform_velocity_keeps_its_bits`, `velocity_order`).
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
    let forward = match scheme {
        AdvectionScheme::SemiLagrangian => &mut *u_out,
        AdvectionScheme::MacCormack => &mut scratch.u_forward,
    };
    for axis in AXES {
        crate::fit(&mut forward[axis], grid.faces(axis).len());
        for_each_band_face(&mut forward[axis], phi_cell, grid, axis, band_m, |_, face, _| {
            let start = face_offset(axis);
            let x = sampler.trace(face, start, sampler.at(face, start), back);
            sampler.component(axis, face, x)
        });
    }
    if scheme == AdvectionScheme::SemiLagrangian {
        return;
    }
    let forward = &scratch.u_forward;
    let forward_sampler = VelocitySampler::new(forward, grid);
    let liquid = LiquidFaces { phi_cell, cells: grid.cells, safe_m: -2.0 * grid.dx };
    for axis in AXES {
        crate::fit(&mut u_out[axis], grid.faces(axis).len());
        let (u, u_hat) = (&u_face[axis], &forward[axis]);
        for_each_band_face(&mut u_out[axis], phi_cell, grid, axis, band_m, |index, face, phi_m| {
            let estimate = u_hat[index];
            if phi_m >= 0.0 {
                return estimate;
            }
            let start = face_offset(axis);
            let u0 = sampler.at(face, start);
            let from = sampler.trace(face, start, u0, back);
            let to = sampler.trace(face, start, u0, -back);
            if !liquid.surround(axis, &sampler, face, from) || !liquid.surround(axis, &sampler, face, to) {
                return estimate;
            }
            let (_, min, max) = sampler.component_with_bounds(axis, face, from);
            let corrected = estimate + 0.5 * (u[index] - forward_sampler.component(axis, face, to));
            if corrected >= min && corrected <= max { corrected } else { estimate }
        });
    }
}

/// A face's centre relative to the low corner of the cell with the same index, in cells.
#[inline]
fn face_offset(axis: Axis) -> [f32; 3] {
    std::array::from_fn(|a| if a == axis { 0.0 } else { 0.5 })
}

/// Which faces lie in the liquid (mean phi of their two cells negative).
struct LiquidFaces<'a> {
    phi_cell: &'a [f32],
    cells: [usize; 3],
    /// Where phi is below this, every face of a stencil is in the liquid.
    safe_m: f32,
}

impl LiquidFaces<'_> {
    #[inline]
    fn phi(&self, c: [usize; 3]) -> f32 {
        self.phi_cell[c[0] + self.cells[0] * (c[1] + self.cells[1] * c[2])]
    }

    /// Are all eight faces of the interpolation stencil at the point in the liquid?
    #[inline]
    fn surround(&self, axis: Axis, sampler: &VelocitySampler, cell: [usize; 3], offset: [f32; 3]) -> bool {
        let nearest = std::array::from_fn(|a| {
            (cell[a] as i32 + offset[a].floor() as i32).clamp(0, self.cells[a] as i32 - 1) as usize
        });
        self.phi(nearest) < self.safe_m || self.all_liquid(axis, sampler.stencil_base(axis, cell, offset))
    }

    fn all_liquid(&self, axis: Axis, base: [usize; 3]) -> bool {
        (0..8).all(|corner| {
            let face: [usize; 3] = std::array::from_fn(|a| base[a] + (corner >> a & 1));
            let mut high: [usize; 3] = std::array::from_fn(|a| face[a].min(self.cells[a] - 1));
            let phi_high = self.phi(high);
            high[axis] = face[axis].saturating_sub(1);
            phi_high + self.phi(high) < 0.0
        })
    }
}

/// `out = value(index, face, mean phi)` on faces with mean phi below `band_m`, 0 elsewhere.
fn for_each_band_face(
    out: &mut [f32],
    phi_cell: &[f32],
    grid: &UniformGrid,
    axis: Axis,
    band_m: f32,
    value: impl Fn(usize, [usize; 3], f32) -> f32 + Sync + Send,
) {
    let [nx, ny, nz] = grid.cells;
    let [fx, fy, _] = grid.faces(axis).size;
    parallel::for_each_chunk_mut(out, fx * fy, |k, slab| {
        for j in 0..fy {
            let row = &mut slab[fx * j..fx * (j + 1)];
            let cells = |j: usize, k: usize| {
                let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
                &phi_cell[start..start + nx]
            };
            let high = cells(j, k);
            let low = match axis {
                0 => high,
                1 => cells(j.saturating_sub(1), k),
                _ => cells(j, k.saturating_sub(1)),
            };
            if high.iter().chain(low).fold(f32::INFINITY, |m, &v| m.min(v)) >= band_m {
                row.fill(0.0);
                continue;
            }
            let start = fx * (j + fy * k);
            for i in 0..fx {
                let below = if axis == 0 { i.saturating_sub(1) } else { i };
                let phi_m = 0.5 * (low[below] + high[i.min(nx - 1)]);
                row[i] = if phi_m < band_m { value(start + i, [i, j, k], phi_m) } else { 0.0 };
            }
        }
    });
}
