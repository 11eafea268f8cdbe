//! Forces: gravity, and the pressure that acts on the surface itself.
//!
//! Two things press on the surface: tension, and a drag on waves that the grid cannot carry. With s the pressure over
//! density, the ghost value of a face between liquid and air becomes s instead of 0, which is the same as
//! `u -= n dt s / (dx theta)` before the projection, n from liquid to air [octree paper §4.6, eq. 32].
//!
//! Why a drag: surface and pressure meet the grid's staircase in different ways (the ghost value acts where
//! the surface crosses a face, the surface is carried by what flows at cell centres), so the discrete wave operator is
//! not symmetric. On a tilted surface, waves twice as long as the stairs trade energy with the grid and grow by up to 2 a
//! second at 64 cells per metre, out of rounding errors (a linear model of the step shows the same waves).
//! `s = C c n . L^2 u`, c the speed of waves one cell long and L = -(1/12) sum of second differences, takes
//! `(C/288) (c/dx) (k dx)^5` a second of a wave of number k: at 64 cells per metre 3e-6 of one of 64 cells, 0.96 of one of 4.
//! Uniform and linear velocities feel nothing. Verified by tests/rest.rs and `fluvial validate hydrostatic --fine`.

use crate::UniformSolver;
use crate::pressure::ghost_theta;
use crate::state::{FaceCells, for_each_face};
use crate::step::Clamps;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_solver_interface::Liquid;

/// Strength of the drag on short waves: with 1 the tilted rest still gains 0.6 a second at 64 cells per metre, with 4
/// it loses.
const DRAG: f32 = 4.0;
/// The drag is explicit in time; a step takes at most this much of the shortest wave.
const LARGEST_DRAG_PER_STEP: f32 = 1.0;
/// L^2 of the shortest wave on a surface along the grid, alternating in two directions.
const ROUGHEST: f32 = 64.0 / 144.0;
/// Distance from the surface, in cells, of the cells that a crossed face touches.
const REACH: f32 = 1.1;

impl UniformSolver {
    /// Gravity on every wet face; tension and drag on those that the surface crosses.
    pub(crate) fn apply_forces(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (grid, liquid, dt) = (self.grid, self.setup.liquid, dt_s as f32);
        let work = &mut self.work;
        let s = &mut work.surface_pressure_cell;
        // Not in use before the projection.
        let (once, kappa) = (&mut work.rhs_cell[..], &mut work.impulse_cell[..]);
        let short_wave_speed = short_wave_speed_m_s(&grid, &liquid);
        if short_wave_speed > 0.0 {
            let largest = LARGEST_DRAG_PER_STEP * grid.dx / (std::f32::consts::PI * ROUGHEST * dt);
            let drag = (DRAG * short_wave_speed).min(largest);
            clamps.add("wave_drag_bounded", (drag < DRAG * short_wave_speed) as usize);
            drag_short_waves(s, once, &work.phi_cell, &work.u_face, &grid, drag);
            if liquid.surface_tension > 0.0 {
                let sigma = liquid.surface_tension / liquid.density;
                let limited = add_tension(s, [kappa, once], &work.phi_cell, &grid, sigma);
                clamps.add("curvature_limited", limited);
            }
        }
        let push_per_pressure = dt / grid.dx;
        let (phi, s, closed) = (&work.phi_cell, &work.surface_pressure_cell, &work.closed_cell);
        for axis in AXES {
            let push = liquid.gravity[axis] * dt;
            for_each_face(&mut work.u_face[axis], &grid, axis, |_, cells, u| {
                let wet = |cell: Option<usize>| cell.is_some_and(|c| phi[c] < 0.0);
                let (wet_low, wet_high) = (wet(cells.low), wet(cells.high));
                if !wet_low && !wet_high {
                    return;
                }
                *u += push;
                if let FaceCells { low: Some(low), high: Some(high) } = cells
                    && wet_low != wet_high
                    && short_wave_speed > 0.0
                    && !closed[low]
                    && !closed[high]
                {
                    let (inside, outside, n) = if wet_low { (low, high, 1.0) } else { (high, low, -1.0) };
                    let (theta, _) = ghost_theta(phi[inside], phi[outside]);
                    let s = level_set::value_at_crossing(s, phi, inside, outside);
                    *u -= n * push_per_pressure * s / theta;
                }
            });
        }
    }
}

/// Speed of waves about one cell long, m/s: what gravity and tension make of them, c^2 = g / k + sigma k / rho with k = 1 / dx.
fn short_wave_speed_m_s(grid: &UniformGrid, liquid: &Liquid) -> f32 {
    (liquid.gravity.length() * grid.dx + liquid.surface_tension / (liquid.density * grid.dx)).sqrt()
}

/// `s = drag n . L^2 u` in the two layers of cells at the surface, u at cell centres, n the surface's normal.
fn drag_short_waves(
    s_cell: &mut [f32],
    once: &mut [f32],
    phi: &[f32],
    u_face: &FaceField,
    grid: &UniformGrid,
    drag: f32,
) {
    let cells = grid.cell_centers();
    for axis in AXES {
        let (u, faces) = (&u_face[axis], grid.faces(axis));
        let u_centre = |face: usize| 0.5 * (u[face] + u[face + faces.stride(axis)]);
        for_each_surface_cell(once, phi, grid, |_, at, out| {
            *out = roughness(phi, grid, at, &faces, u_centre);
        });
        let once = &*once;
        for_each_surface_cell(s_cell, phi, grid, |cell, at, s| {
            let so_far = if axis == 0 { 0.0 } else { *s };
            let n = normal(phi, &cells, cell, at);
            *s = so_far + drag * n[axis] * roughness(phi, grid, at, &cells, |other| once[other]);
        });
    }
}

/// `s += sigma/rho (kappa - L^2 kappa)`: curvature without the waves of two or three cells' length, which the grid
/// cannot carry and explicit tension would feed. Longer waves change by (k dx)^4 only. Returns how many curvatures were
/// limited.
fn add_tension(
    s_cell: &mut [f32],
    [kappa, once]: [&mut [f32]; 2],
    phi: &[f32],
    grid: &UniformGrid,
    sigma_over_density: f32,
) -> usize {
    let cells = grid.cell_centers();
    let limited = level_set::curvature(kappa, phi, &cells, REACH * grid.dx);
    let kappa = &*kappa;
    for_each_surface_cell(once, phi, grid, |_, at, out| {
        *out = roughness(phi, grid, at, &cells, |other| kappa[other]);
    });
    let once = &*once;
    for_each_surface_cell(s_cell, phi, grid, |cell, at, s| {
        *s += sigma_over_density * (kappa[cell] - roughness(phi, grid, at, &cells, |other| once[other]));
    });
    limited
}

/// L = -(1/12) sum of the second differences along the axes at a cell, of those whose three cells are all at the
/// surface: what varies linearly has none. The values lie on a lattice of their own with the cells' coordinates.
#[inline]
fn roughness(
    phi: &[f32],
    grid: &UniformGrid,
    at: [usize; 3],
    values_on: &Lattice,
    value: impl Fn(usize) -> f32,
) -> f32 {
    let cells = grid.cell_centers();
    let (cell, index) = (cells.index(at[0], at[1], at[2]), values_on.index(at[0], at[1], at[2]));
    let at_surface = |cell: usize| phi[cell].abs() < REACH * grid.dx;
    let here = value(index);
    let mut sum = 0.0;
    for axis in AXES {
        let (step, stride) = (cells.stride(axis), values_on.stride(axis));
        let inner = at[axis] > 0 && at[axis] + 1 < cells.size[axis];
        if inner && at_surface(cell - step) && at_surface(cell + step) {
            sum += 2.0 * here - (value(index - stride) + value(index + stride));
        }
    }
    sum / 12.0
}

/// Direction of growing phi by central differences, one-sided at the walls.
#[inline]
fn normal(phi: &[f32], cells: &Lattice, cell: usize, at: [usize; 3]) -> Vec3 {
    let gradient = AXES.map(|axis| {
        let stride = cells.stride(axis);
        let low = if at[axis] > 0 { cell - stride } else { cell };
        let high = if at[axis] + 1 < cells.size[axis] { cell + stride } else { cell };
        (phi[high] - phi[low]) / ((high - low) / stride).max(1) as f32
    });
    Vec3::from_array(gradient).normalize_or_zero()
}

/// Runs `body(cell, coordinates, value)` in the cells at the surface.
fn for_each_surface_cell(
    out: &mut [f32],
    phi: &[f32],
    grid: &UniformGrid,
    body: impl Fn(usize, [usize; 3], &mut f32) + Sync + Send,
) {
    let cells = grid.cell_centers();
    let (nx, reach_m) = (cells.size[0], REACH * grid.dx);
    for_each_chunk_mut(out, cells.slab(), |k, slab| {
        for (j, row) in slab.chunks_mut(nx).enumerate() {
            let start = k * cells.slab() + j * nx;
            let phi_row = &phi[start..start + nx];
            // A look at the whole row first: this loop vectorises, and most rows are far from the surface.
            if phi_row.iter().fold(f32::INFINITY, |least, phi| least.min(phi.abs())) >= reach_m {
                continue;
            }
            for (i, out) in row.iter_mut().enumerate() {
                if phi_row[i].abs() < reach_m {
                    body(start + i, [i, j, k], out);
                }
            }
        }
    });
}
