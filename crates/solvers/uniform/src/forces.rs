//! Forces: gravity, and the pressure that acts on the surface itself.
//!
//! Two things press on the surface: tension, and a drag on waves that the grid cannot carry. With s the
//! pressure over density, the ghost value of a face between liquid and air becomes s instead of 0, which is
//! the same as `u -= n dt s / (dx theta)` before the projection, n from liquid to air [octree §4.6, eq. 32].
//!
//! Why a drag: surface and pressure meet the grid's staircase in different ways (the ghost value acts where
//! the surface crosses a face, the surface is carried by what flows at cell centres), so the discrete wave
//! operator is not symmetric. On a tilted surface, waves twice as long as the stairs trade energy with the
//! grid and grow by up to 2 a second at 64 cells per metre, out of rounding errors (a linear model of the
//! step shows the same waves). `s = C c n . L^2 u`, c the speed of waves one cell long and L = -(1/12) sum of
//! second differences, takes `(C/288) (c/dx) (k dx)^5` a second of a wave of number k: at 64 cells per metre
//! 3e-6 of one of 64 cells, 0.96 of one of 4. Uniform and linear velocities feel nothing. Verified by
//! tests/rest.rs and `fluvial validate hydrostatic --fine`.

use crate::UniformSolver;
use crate::state::Fields;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_mac::{SurfacePush, push_at_surface};
use fluvial_solver_interface::{Clamps, Liquid};

/// Strength of the drag on short waves: with 1 the tilted rest still gains 0.6 a second at 64 cells per
/// metre, with 4 it loses.
const DRAG: f32 = 4.0;
/// The drag is explicit in time; a step takes at most this much of the shortest wave.
const LARGEST_DRAG_PER_STEP: f32 = 1.0;
/// L^2 of the shortest wave on a surface along the grid, alternating in two directions.
const ROUGHEST: f32 = 64.0 / 144.0;
/// Distance from the surface, in cells, of the cells that a crossed face touches where phi is a distance.
const REACH: f32 = 1.1;
/// Where it is none, around films and drops, crossed faces are looked for up to this value of phi, in cells.
const FARTHEST_CROSSED: f32 = 3.0;

/// What presses on the surface, and what it is computed from.
#[derive(Default)]
pub(crate) struct SurfaceForces {
    /// The cells that crossed faces touch.
    cells: SurfaceCells,
    /// Pressure of tension and wave drag over density, m2/s2; set in those cells.
    pressure_cell: Vec<f32>,
    /// L applied once, of velocity or of curvature.
    rough_cell: Vec<f32>,
    /// Curvature, 1/m; empty without surface tension.
    kappa_cell: Vec<f32>,
}

impl UniformSolver {
    /// Finds the pressure of wave drag and tension on the new surface, from the velocity before gravity.
    pub(crate) fn find_surface_pressure(&mut self, dt_s: f64, clamps: &mut Clamps) {
        self.mark_unknowns();
        let (grid, liquid, dt) = (&self.grid, self.setup.liquid, dt_s as f32);
        let short_wave_speed = short_wave_speed_m_s(grid, &liquid);
        if short_wave_speed == 0.0 {
            return;
        }
        let Fields { phi_cell, u_face, .. } = &self.work.fields;
        let SurfaceForces { cells, pressure_cell, rough_cell, kappa_cell } = &mut self.work.surface;
        cells.find(phi_cell, grid);
        pressure_cell.clear();
        pressure_cell.resize(phi_cell.len(), 0.0);
        rough_cell.resize(phi_cell.len(), 0.0);
        let largest = LARGEST_DRAG_PER_STEP * grid.dx / (std::f32::consts::PI * ROUGHEST * dt);
        let drag = (DRAG * short_wave_speed).min(largest);
        clamps.add("wave_drag_bounded", (drag < DRAG * short_wave_speed) as usize);
        drag_short_waves(pressure_cell, rough_cell, cells, u_face, grid, drag);
        if liquid.surface_tension > 0.0 {
            kappa_cell.resize(phi_cell.len(), 0.0);
            let sigma = liquid.surface_tension / liquid.density;
            let limited = add_tension(pressure_cell, [kappa_cell, rough_cell], cells, phi_cell, grid, sigma);
            clamps.add("curvature_limited", limited);
        }
    }

    /// Gravity on every wet face; the surface's pressure on those that the surface crosses.
    pub(crate) fn apply_forces(&mut self, dt_s: f64) {
        let (grid, liquid, dt) = (&self.grid, self.setup.liquid, dt_s as f32);
        let Fields { phi_cell, u_face, .. } = &mut self.work.fields;
        for axis in AXES {
            push_wet_faces(&mut u_face[axis], phi_cell, grid, axis, liquid.gravity[axis] * dt);
        }
        self.work.u_without_push.clone_from(u_face);
        if short_wave_speed_m_s(grid, &liquid) == 0.0 {
            return;
        }
        let SurfaceForces { cells, pressure_cell, .. } = &self.work.surface;
        let push = SurfacePush {
            phi_cell,
            closed_cell: &self.work.boundaries.solids.closed_cell,
            unknown_cell: &self.work.unknowns.unknown_cell,
            strength: dt / grid.dx,
        };
        let value = |inside, outside| level_set::value_at_crossing(pressure_cell, phi_cell, inside, outside);
        for axis in AXES {
            let (faces, stride) = (grid.faces(axis), grid.cell_centers().stride(axis));
            cells.for_each(&mut u_face[axis], &faces, |at_surface, face, u| {
                let high = at_surface.cell as usize;
                if at_surface.at[axis] > 0 {
                    push_at_surface(&mut u[face], [high - stride, high], &push, value);
                }
            });
        }
    }
}

/// `u += push` on the faces of one axis that touch a liquid cell.
fn push_wet_faces(u_face: &mut [f32], phi: &[f32], grid: &UniformGrid, axis: usize, push: f32) {
    if push == 0.0 {
        return;
    }
    let faces = grid.faces(axis);
    let [nx, ny, nz] = grid.cells;
    for_each_chunk_mut(u_face, faces.slab(), |k, slab| {
        for (j, u) in slab.chunks_mut(faces.size[0]).enumerate() {
            let row = |j: usize, k: usize| {
                let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
                &phi[start..start + nx]
            };
            let high = row(j, k);
            let push_if = |wet: bool| if wet { push } else { 0.0 };
            match axis {
                0 => {
                    u[0] += push_if(high[0] < 0.0);
                    for (u, pair) in u[1..].iter_mut().zip(high.windows(2)) {
                        *u += push_if(pair[0].min(pair[1]) < 0.0);
                    }
                    u[nx] += push_if(high[nx - 1] < 0.0);
                }
                _ => {
                    let low =
                        if axis == 1 { row(j.saturating_sub(1), k) } else { row(j, k.saturating_sub(1)) };
                    for ((u, low), high) in u.iter_mut().zip(low).zip(high) {
                        *u += push_if(low.min(*high) < 0.0);
                    }
                }
            }
        }
    });
}

/// A cell at the surface.
#[derive(Clone, Copy)]
struct SurfaceCell {
    cell: u32,
    at: [u16; 3],
    /// Bit a: both neighbours along axis a are at the surface too.
    between: u8,
    /// Direction of growing phi.
    normal: Vec3,
}

/// The cells that crossed faces touch, slab by slab.
#[derive(Default)]
struct SurfaceCells {
    slabs: Vec<Vec<SurfaceCell>>,
}

impl SurfaceCells {
    fn find(&mut self, phi: &[f32], grid: &UniformGrid) {
        let cells = grid.cell_centers();
        let (nx, reach_m, crossed_m) = (cells.size[0], REACH * grid.dx, FARTHEST_CROSSED * grid.dx);
        let near = |cell: usize| phi[cell].abs() < reach_m;
        // The push of one face of a cell is only right beside those of its others: the pressure answers all of
        // them. Where one was left out, next to a cell with its surface at its centre, water flew at 20 m/s.
        let is_crossed = |cell: usize, at: [usize; 3]| {
            AXES.iter().any(|&axis| {
                let stride = cells.stride(axis);
                at[axis] > 0 && (phi[cell] < 0.0) != (phi[cell - stride] < 0.0)
                    || at[axis] + 1 < cells.size[axis] && (phi[cell] < 0.0) != (phi[cell + stride] < 0.0)
            })
        };
        self.slabs.resize_with(cells.size[2], Vec::new);
        for_each_chunk_mut(&mut self.slabs, 1, |k, found| {
            let found = &mut found[0];
            found.clear();
            for j in 0..cells.size[1] {
                let start = k * cells.slab() + j * nx;
                let phi_row = &phi[start..start + nx];
                // A look at the whole row first: this loop vectorises, and most rows are far from the
                // surface.
                if phi_row.iter().fold(f32::INFINITY, |least, phi| least.min(phi.abs())) >= crossed_m {
                    continue;
                }
                for i in (0..nx).filter(|&i| phi_row[i].abs() < crossed_m) {
                    let (cell, at) = (start + i, [i, j, k]);
                    if !near(cell) && !is_crossed(cell, at) {
                        continue;
                    }
                    let mut between = 0;
                    for axis in AXES {
                        let stride = cells.stride(axis);
                        let inner = at[axis] > 0 && at[axis] + 1 < cells.size[axis];
                        between |= ((inner && near(cell - stride) && near(cell + stride)) as u8) << axis;
                    }
                    let normal = normal(phi, &cells, cell, at);
                    found.push(SurfaceCell { cell: cell as u32, at: at.map(|v| v as u16), between, normal });
                }
            }
        });
    }

    /// Runs `body(cell, index, slab)` over the cells; `index` is that of the cell's coordinates in a z-slab
    /// of `values`, which lie on a lattice of their own.
    fn for_each(
        &self,
        values: &mut [f32],
        values_on: &Lattice,
        body: impl Fn(&SurfaceCell, usize, &mut [f32]) + Sync + Send,
    ) {
        for_each_chunk_mut(values, values_on.slab(), |k, slab| {
            for cell in self.slabs.get(k).into_iter().flatten() {
                body(cell, cell.at[0] as usize + values_on.size[0] * cell.at[1] as usize, slab);
            }
        });
    }
}

/// Speed of waves about one cell long, m/s: what gravity and tension make of them, c^2 = g / k + sigma k /
/// rho with k = 1 / dx.
fn short_wave_speed_m_s(grid: &UniformGrid, liquid: &Liquid) -> f32 {
    (liquid.gravity.length() * grid.dx + liquid.surface_tension / (liquid.density * grid.dx)).sqrt()
}

/// `s = drag n . L^2 u` in the two layers of cells at the surface, u at cell centres, n the surface's normal.
fn drag_short_waves(
    s_cell: &mut [f32],
    once: &mut [f32],
    surface: &SurfaceCells,
    u_face: &FaceField,
    grid: &UniformGrid,
    drag: f32,
) {
    let cells = grid.cell_centers();
    for axis in AXES {
        let (u, faces) = (&u_face[axis], grid.faces(axis));
        let u_centre = |face: usize| 0.5 * (u[face] + u[face + faces.stride(axis)]);
        surface.for_each(once, &cells, |cell, n, once| once[n] = roughness(cell, &faces, u_centre));
        let once = &*once;
        surface.for_each(s_cell, &cells, |cell, n, s| {
            let so_far = if axis == 0 { 0.0 } else { s[n] };
            s[n] = so_far + drag * cell.normal[axis] * roughness(cell, &cells, |other| once[other]);
        });
    }
}

/// `s += sigma/rho (kappa - L^2 kappa)`: curvature without the waves of two or three cells' length, which the
/// grid cannot carry and explicit tension would feed. Longer waves change by (k dx)^4 only. Returns how many
/// curvatures were limited.
fn add_tension(
    s_cell: &mut [f32],
    [kappa, once]: [&mut [f32]; 2],
    surface: &SurfaceCells,
    phi: &[f32],
    grid: &UniformGrid,
    sigma_over_density: f32,
) -> usize {
    let cells = grid.cell_centers();
    let limited = level_set::curvature(kappa, phi, &cells, REACH * grid.dx);
    let kappa = &*kappa;
    surface.for_each(once, &cells, |cell, n, once| once[n] = roughness(cell, &cells, |other| kappa[other]));
    let once = &*once;
    surface.for_each(s_cell, &cells, |cell, n, s| {
        let rough = roughness(cell, &cells, |other| once[other]);
        s[n] += sigma_over_density * (kappa[cell.cell as usize] - rough);
    });
    limited
}

/// L = -(1/12) sum of the second differences along the axes at a cell, of those whose three cells are all at
/// the surface: what varies linearly has none. The values lie on a lattice of their own with the cells'
/// coordinates.
#[inline]
fn roughness(cell: &SurfaceCell, values_on: &Lattice, value: impl Fn(usize) -> f32) -> f32 {
    let [i, j, k] = cell.at.map(|v| v as usize);
    let index = values_on.index(i, j, k);
    let here = value(index);
    let mut sum = 0.0;
    for axis in AXES {
        if cell.between >> axis & 1 == 1 {
            let stride = values_on.stride(axis);
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
