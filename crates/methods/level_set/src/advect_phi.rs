//! The interface carried by the flow: phi at departure points.

use crate::cubic::CubicField;
use crate::trace::VelocitySampler;
use crate::{Scratch, fit};
use fluvial_foundation::parallel;
use fluvial_grids::{FaceField, UniformGrid};

/// How phi is looked up at departure points. All trace back with third-order Runge-Kutta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhiAdvection {
    /// Trilinear: first order in time steps, never creates extrema.
    SemiLagrangian,
    /// Trilinear forth and back, half the difference as correction, limited [Selle et al. 2008].
    MacCormack,
    /// Tricubic, limited to the range of the nearest samples: fourth order where phi is smooth.
    #[default]
    Cubic,
}

/// phi carried over `dt_s` by the face velocities: `phi_out(x) = phi(X)`, X the departure point of the
/// particle that arrives at x, by Ralston's RK3. Cells with `|phi| >= band_m` are copied.
///
/// phi must be a signed distance in the band and saturate at `+-band_m` outside; the interface must not
/// cross the band in one step (dt max|u| < band_m). Departure points are moved back to the walls; between
/// the outermost cell centres and the wall phi is continued linearly. Planes in uniform flow are carried
/// exactly (tests/advection.rs `planes_move_exactly`, `zalesak_*`, `enright_*`).
#[allow(clippy::too_many_arguments)]
pub fn advect_phi(
    phi_out: &mut [f32],
    phi: &[f32],
    u_face: &FaceField,
    grid: &UniformGrid,
    dt_s: f32,
    scheme: PhiAdvection,
    band_m: f32,
    scratch: &mut Scratch,
) {
    let sampler = VelocitySampler::new(u_face, grid);
    let field = CubicField::new(phi, &grid.cell_centers());
    let back = -dt_s / grid.dx;
    match scheme {
        PhiAdvection::SemiLagrangian => for_each_band_cell(phi_out, phi, grid, band_m, |_, cell, _| {
            field.linear_with_bounds(cell, departure(&sampler, grid, cell, back)).0
        }),
        PhiAdvection::Cubic => for_each_band_cell(phi_out, phi, grid, band_m, |_, cell, _| {
            let x = departure(&sampler, grid, cell, back);
            let (_, min, max) = field.linear_with_bounds(cell, x);
            field.value(cell, x).max(min).min(max)
        }),
        PhiAdvection::MacCormack => {
            fit(&mut scratch.phi_forward, phi.len());
            for_each_band_cell(&mut scratch.phi_forward, phi, grid, band_m, |_, cell, _| {
                field.linear_with_bounds(cell, departure(&sampler, grid, cell, back)).0
            });
            let forward = &scratch.phi_forward;
            let forward_field = CubicField::new(forward, &grid.cell_centers());
            for_each_band_cell(phi_out, phi, grid, band_m, |index, cell, value| {
                let (_, min, max) = field.linear_with_bounds(cell, departure(&sampler, grid, cell, back));
                let returned =
                    forward_field.linear_with_bounds(cell, departure(&sampler, grid, cell, -back)).0;
                (forward[index] + 0.5 * (value - returned)).max(min).min(max)
            });
        }
    }
}

/// Offset from the cell's centre of the particle that reaches it, in cells, kept inside the walls.
#[inline]
fn departure(
    sampler: &VelocitySampler,
    grid: &UniformGrid,
    cell: [usize; 3],
    cells_per_speed: f32,
) -> [f32; 3] {
    let start = [0.5; 3];
    let x = sampler.trace(cell, start, sampler.at(cell, start), cells_per_speed);
    std::array::from_fn(|a| x[a].max(-(cell[a] as f32)).min((grid.cells[a] - cell[a]) as f32) - 0.5)
}

/// `out = value(index, cell, phi)` where `|phi| < band_m`, a copy elsewhere.
fn for_each_band_cell(
    out: &mut [f32],
    phi: &[f32],
    grid: &UniformGrid,
    band_m: f32,
    value: impl Fn(usize, [usize; 3], f32) -> f32 + Sync + Send,
) {
    let [nx, ny, _] = grid.cells;
    assert_eq!(out.len(), grid.cell_count());
    parallel::for_each_chunk_mut(out, nx * ny, |k, slab| {
        for j in 0..ny {
            let start = nx * (j + ny * k);
            let row_in = &phi[start..start + nx];
            let row = &mut slab[nx * j..nx * (j + 1)];
            row.copy_from_slice(row_in);
            if row_in.iter().fold(f32::INFINITY, |m, v| m.min(v.abs())) >= band_m {
                continue;
            }
            for i in 0..nx {
                if row_in[i].abs() < band_m {
                    row[i] = value(start + i, [i, j, k], row_in[i]);
                }
            }
        }
    });
}
