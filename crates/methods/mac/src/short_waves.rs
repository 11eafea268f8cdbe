//! A drag on waves that the grid cannot carry.
//!
//! Surface and pressure meet the grid's staircase in different ways (the ghost value acts where the surface crosses a
//! face, the surface is carried by what flows at cell centres), so the discrete wave operator is not symmetric. On a
//! tilted surface, waves twice as long as the stairs trade energy with the grid and grow by up to 2 a second at 64
//! cells per metre, out of rounding errors (a linear model of the step shows the same waves). A pressure `s = C c n .
//! L^2 u` on the surface, c the speed of waves one cell long and L = -(1/12) sum of second differences, takes `(C/288)
//! (c/dx) (k dx)^5` a second of a wave of number k: at 64 cells per metre 3e-6 of one of 64 cells, 0.96 of one of 4.
//! Of 8 cells it takes 0.10 a second, of 16 cells 0.003. What was tried instead, at 64 cells per metre without drag: moving phi
//! with the velocity of the surface point next to it, at points instead of means over faces, as the tree does, leaves 0.6 a
//! second of 2.3 on a slope of 0.31 and 1.3 to 1.8 on slopes of 0.5 to 1 (a quarter of the drag leaves at most 0.7 of those). But
//! a wedge of one cell on the floor of a box that is tilted about two axes then grows by 1.5 to 2 a second whatever the drag,
//! where it gains 0.25 now. With particles the slope of 0.31 gains nothing without the drag.
//! Uniform and linear velocities feel nothing. Verified by tests/rest.rs of `uniform` and `fluvial validate hydrostatic
//! --fine`.

use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice, Sides, UniformGrid};

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

/// Speed of waves about one cell long, m/s: what gravity and tension (over density) make of them, c^2 = g / k +
/// sigma k / rho with k = 1 / dx.
pub fn short_wave_speed_m_s(dx: f32, gravity_m_s2: f32, tension_over_density: f32) -> f32 {
    (gravity_m_s2 * dx + tension_over_density / dx).sqrt()
}

/// The factor of n . L^2 u, m/s, for a step; and whether the step's length bounds it.
pub fn drag_m_s(wave_m_s: f32, dx: f32, dt_s: f32) -> (f32, bool) {
    let largest = LARGEST_DRAG_PER_STEP * dx / (std::f32::consts::PI * ROUGHEST * dt_s);
    let drag = DRAG * wave_m_s;
    (drag.min(largest), drag > largest)
}

/// A cell at the surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceCell {
    /// Its number.
    pub cell: u32,
    /// Its coordinates.
    pub at: [u16; 3],
    /// Bit a: both neighbours along axis a are at the surface too.
    between: u8,
    /// Direction of growing phi.
    normal: Vec3,
}

/// The cells that crossed faces touch, slab by slab.
#[derive(Debug, Default)]
pub struct SurfaceCells {
    slabs: Vec<Vec<SurfaceCell>>,
}

impl SurfaceCells {
    /// Lists the cells of a level set whose values are `unit` times a distance in cells. What lies behind a thin solid
    /// is no part of a cell's surface: water on one side of a bowl's wall felt how it moved on the other, and still
    /// water stirred itself along round walls. Test: `waves_end_at_thin_walls`.
    pub fn find(&mut self, phi: &[f32], unit: f32, grid: &UniformGrid, sides: &Sides) {
        let cells = grid.cell_centers();
        let (nx, reach_m, crossed_m) = (cells.size[0], REACH * unit, FARTHEST_CROSSED * unit);
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
                        let is_open = ![false, true].into_iter().any(|up| sides.is_barred(cell, axis, up));
                        let is_between = inner && is_open && near(cell - stride) && near(cell + stride);
                        between |= (is_between as u8) << axis;
                    }
                    let normal = normal(phi, &cells, cell, at, sides);
                    found.push(SurfaceCell { cell: cell as u32, at: at.map(|v| v as u16), between, normal });
                }
            }
        });
    }

    /// The cells in order, with their coordinates.
    pub fn iter(&self) -> impl Iterator<Item = (usize, [usize; 3])> {
        self.slabs.iter().flatten().map(|cell| (cell.cell as usize, cell.at.map(usize::from)))
    }

    /// Runs `body(cell, index, slab)` over the cells; `index` is that of the cell's coordinates in a z-slab
    /// of `values`, which lie on a lattice of their own.
    pub fn for_each(
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

/// `s = drag n . L^2 u` in the two layers of cells at the surface, u at cell centres, n the surface's normal.
pub fn drag_short_waves(
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

/// L = -(1/12) sum of the second differences along the axes at a cell, of those whose three cells are all at
/// the surface: what varies linearly has none. The values lie on a lattice of their own with the cells'
/// coordinates.
#[inline]
pub fn roughness(cell: &SurfaceCell, values_on: &Lattice, value: impl Fn(usize) -> f32) -> f32 {
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

/// Direction of growing phi by central differences, one-sided at walls and thin solids.
#[inline]
fn normal(phi: &[f32], cells: &Lattice, cell: usize, at: [usize; 3], sides: &Sides) -> Vec3 {
    let gradient = AXES.map(|axis| {
        let stride = cells.stride(axis);
        let low = if at[axis] > 0 && !sides.is_barred(cell, axis, false) { cell - stride } else { cell };
        let above = at[axis] + 1 < cells.size[axis] && !sides.is_barred(cell, axis, true);
        let high = if above { cell + stride } else { cell };
        (phi[high] - phi[low]) / ((high - low) / stride).max(1) as f32
    });
    Vec3::from_array(gradient).normalize_or_zero()
}
