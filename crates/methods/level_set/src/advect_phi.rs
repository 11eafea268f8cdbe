//! The interface carried by the flow: phi at departure points.

use crate::cubic::CubicField;
use crate::trace::{Cells, LANES, Offsets, VelocitySampler};
use crate::{Scratch, fit};
use fluvial_foundation::parallel;
use fluvial_grids::patch::Patch;
use fluvial_grids::sides::NEAR_CELLS;
use fluvial_grids::{FaceField, Sides, UniformGrid};

/// How phi is looked up at departure points. All trace back with third-order Runge-Kutta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhiAdvection {
    /// Trilinear: first order in time steps, never creates extrema.
    SemiLagrangian,
    /// Trilinear forth and back, half the difference as correction, limited [selle-2008].
    MacCormack,
    /// Tricubic, limited to the range of the nearest samples: fourth order where phi is smooth.
    #[default]
    Cubic,
}

/// Within this many cells of the surface phi may move with the surface point next to it: as far as fits to it reach.
const NEXT_TO_SURFACE_CELLS: f32 = 2.0;
/// phi changes by no more than this times the way, so that cells far from the surface are told apart without a look.
const STEEPEST: f32 = 1.5;
/// A gradient shorter than this is that of a crease, where no surface point is next.
const LEAST_SLOPE: f32 = 0.5;

/// phi carried over `dt_s` by the face velocities: `phi_out(x) = phi(X)`, X the departure point of the
/// particle that arrives at x, by Ralston's RK3. Cells with `|phi| >= band_m` are copied.
///
/// phi must be a signed distance in the band and saturate at `+-band_m` outside; the interface must not
/// cross the band in one step (dt max|u| < band_m). Departure points are moved back to the walls; between
/// the outermost cell centres and the wall phi is continued linearly up to a change of sign. Planes in
/// uniform flow are carried exactly (tests/advection.rs `planes_move_exactly`; interface_motion.rs has
/// Zalesak's disk and Enright's deformation).
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
    advect_phi_on_sides(phi_out, phi, (u_face, false), grid, dt_s, scheme, band_m, Sides::NONE, scratch);
}

/// As [`advect_phi`], between thin solids: paths end at the wall, and phi is looked up among the cells that the
/// end of the path sees. Test: tests/sides.rs.
///
/// If `with_surface`, phi near the surface moves with the velocity of the surface point next to it and not with its own
/// (but for [`PhiAdvection::MacCormack`] and beside thin solids). Cells above a surface that waves move faster than those below,
/// redistancing takes the mean of the two, and what the pressure sees of a wave lags behind what moves it: short waves
/// grow. With one velocity along the normal phi stays a distance and redistancing has nothing to mend; on the
/// surface itself nothing changes. Verified by `a_layer_moves_with_its_surface` of tests/advection.rs and, in `uniform`,
/// `short_waves_do_not_grow`.
#[allow(clippy::too_many_arguments)]
pub fn advect_phi_on_sides(
    phi_out: &mut [f32],
    phi: &[f32],
    (u_face, with_surface): (&FaceField, bool),
    grid: &UniformGrid,
    dt_s: f32,
    scheme: PhiAdvection,
    band_m: f32,
    sides: &Sides,
    scratch: &mut Scratch,
) {
    let sampler = VelocitySampler::new(u_face, grid);
    let field = CubicField::new(phi, &grid.cell_centers());
    let back = -dt_s / grid.dx;
    let paths = Paths { sampler: &sampler, grid, surface: None };
    let along_surface = Paths { surface: with_surface.then_some((phi, &field, sides)), ..paths };
    let linear = |field: &CubicField, cell, x| {
        between_walls(grid.cells, cell, x, |x| field.linear_with_bounds(cell, x).0)
    };
    match scheme {
        PhiAdvection::SemiLagrangian => {
            for_each_band_cell(phi_out, phi, along_surface, band_m, back, |_, cell, x| {
                let seen = value_on_own_side(phi, sides, grid, cell, x, scheme);
                seen.unwrap_or_else(|| linear(&field, cell, x))
            })
        }
        PhiAdvection::Cubic => for_each_band_cell(phi_out, phi, along_surface, band_m, back, |_, cell, x| {
            let seen = value_on_own_side(phi, sides, grid, cell, x, scheme);
            seen.unwrap_or_else(|| cubic(&field, grid.cells, cell, x))
        }),
        PhiAdvection::MacCormack => {
            fit(&mut scratch.phi_forward, phi.len());
            fit(&mut scratch.phi_returned, phi.len());
            let forward = &mut scratch.phi_forward;
            for_each_band_cell(forward, phi, paths, band_m, back, |_, cell, x| linear(&field, cell, x));
            let forward = &scratch.phi_forward;
            let forward_field = CubicField::new(forward, &grid.cell_centers());
            let returned = &mut scratch.phi_returned;
            for_each_band_cell(returned, phi, paths, band_m, -back, |index, cell, x| {
                // A path that leaves the outermost centres does not lead back exactly: no correction there.
                let inside = among_centers(grid.cells, cell, x) == x;
                if inside && !sides.is_near(index) {
                    forward_field.linear_with_bounds(cell, x).0
                } else {
                    phi[index]
                }
            });
            let returned = &scratch.phi_returned;
            for_each_band_cell(phi_out, phi, paths, band_m, back, |index, cell, x| {
                if let Some(seen) = value_on_own_side(phi, sides, grid, cell, x, scheme) {
                    return seen;
                }
                if among_centers(grid.cells, cell, x) != x {
                    return forward[index];
                }
                let (_, min, max) = field.linear_with_bounds(cell, x);
                (forward[index] + 0.5 * (phi[index] - returned[index])).max(min).min(max)
            });
        }
    }
}

/// Tricubic, limited to the range of the nearest samples.
#[inline]
fn cubic(field: &CubicField, cells: [usize; 3], cell: [usize; 3], x: [f32; 3]) -> f32 {
    between_walls(cells, cell, x, |x| {
        let (_, min, max) = field.linear_with_bounds(cell, x);
        field.value(cell, x).max(min).min(max)
    })
}

/// phi where the path from a cell's centre to `x` (relative to it, in cells) ends, as seen from there; none
/// where no thin solid is near.
#[inline]
fn value_on_own_side(
    phi: &[f32],
    sides: &Sides,
    grid: &UniformGrid,
    cell: [usize; 3],
    x: [f32; 3],
    scheme: PhiAdvection,
) -> Option<f32> {
    if sides.is_empty() {
        return None;
    }
    let cells = grid.cell_centers();
    let end: [usize; 3] =
        std::array::from_fn(|a| ((cell[a] as f32 + x[a]).round().max(0.0) as usize).min(grid.cells[a] - 1));
    let near = |c: [usize; 3]| sides.is_near(cells.index(c[0], c[1], c[2]));
    if !near(cell) && !near(end) {
        return None;
    }
    let (end, x) = sides.walk(&cells, cell, [0.0; 3], x);
    let patch = Patch::new(|cell| phi[cell], &cells, sides, end, NEAR_CELLS);
    let (field, size) = (CubicField::new(patch.values(), &patch.lattice), patch.lattice.size);
    let x = std::array::from_fn(|a| x[a] - (end[a] as f32 - cell[a] as f32));
    Some(match scheme {
        PhiAdvection::Cubic => cubic(&field, size, patch.center, x),
        _ => between_walls(size, patch.center, x, |x| field.linear_with_bounds(patch.center, x).0),
    })
}

/// The nearest point that has cell centres on all sides.
#[inline]
fn among_centers(cells: [usize; 3], cell: [usize; 3], x: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|a| x[a].max(-(cell[a] as f32)).min((cells[a] - 1 - cell[a]) as f32))
}

/// `value(x)`, but between the outermost centres and a wall phi keeps the sign it has at the nearest point
/// among the centres. Continued linearly it would say that a film thinner than half a cell lies there;
/// neither the pressure nor the surface knows of it, and tracing back into it would make liquid (or air) out
/// of nothing.
#[inline]
fn between_walls(cells: [usize; 3], cell: [usize; 3], x: [f32; 3], value: impl Fn([f32; 3]) -> f32) -> f32 {
    let inner = among_centers(cells, cell, x);
    let there = value(x);
    if inner == x {
        return there;
    }
    let nearest = value(inner);
    if (there < 0.0) == (nearest < 0.0) { there } else { nearest }
}

/// The flow that cells are carried by.
#[derive(Clone, Copy)]
struct Paths<'a> {
    sampler: &'a VelocitySampler<'a>,
    grid: &'a UniformGrid,
    /// Where cells near the surface move with it: phi, the same to be interpolated, and sides of thin solids.
    surface: Option<(&'a [f32], &'a CubicField<'a>, &'a Sides)>,
}

impl Paths<'_> {
    /// Where particles at the centres of eight cells are after `cells_per_speed`, in cells from the low corners.
    fn ends(&self, at: Cells, cells_per_speed: f32) -> Offsets {
        let center = [[0.5; LANES]; 3];
        let u0 = self.sampler.at(at, &center);
        let Some(ways) = self.ways_to_surface(at, &u0, cells_per_speed) else {
            return self.sampler.trace(at, [0.5; 3], &u0, cells_per_speed);
        };
        let sum = |a: &Offsets, b: &Offsets, sign: f32| -> Offsets {
            std::array::from_fn(|axis| std::array::from_fn(|l| a[axis][l] + sign * b[axis][l]))
        };
        let start = sum(&center, &ways, 1.0);
        let end = self.sampler.trace_each(at, &start, &self.sampler.at(at, &start), cells_per_speed);
        sum(&end, &ways, -1.0)
    }

    /// The way from each of eight cells to where the surface will be next to it, in cells; zero for cells far from the
    /// surface and beside thin solids. None where it is zero for all.
    #[inline]
    fn ways_to_surface(&self, at: Cells, u0: &Offsets, cells_per_speed: f32) -> Option<Offsets> {
        let (phi, field, sides) = self.surface?;
        let (size, lattice, dx) = (self.grid.cells, self.grid.cell_centers(), self.grid.dx);
        let mut ways = [[0.0; LANES]; 3];
        let mut any = false;
        for l in 0..LANES.min(size[0] - at.i) {
            let (cell, n) = ([at.i + l, at.j, at.k], lattice.index(at.i + l, at.j, at.k));
            let straight: [f32; 3] = std::array::from_fn(|a| {
                let low = -(cell[a] as f32) - 0.5;
                (cells_per_speed * u0[a][l]).max(low).min(low + size[a] as f32)
            });
            let way = straight.iter().map(|v| v * v).sum::<f32>().sqrt();
            if phi[n].abs() > (NEXT_TO_SURFACE_CELLS + STEEPEST * way) * dx || sides.is_near(n) {
                continue;
            }
            let there = field.linear_with_bounds(cell, straight).0 / dx;
            let slope: [f32; 3] = std::array::from_fn(|a| {
                let low = if cell[a] > 0 { n - lattice.stride(a) } else { n };
                let high = if cell[a] + 1 < size[a] { n + lattice.stride(a) } else { n };
                (phi[high] - phi[low]) / (dx * ((high - low) / lattice.stride(a)).max(1) as f32)
            });
            let length = slope.iter().map(|v| v * v).sum::<f32>().sqrt();
            if there.abs() < NEXT_TO_SURFACE_CELLS && length > LEAST_SLOPE {
                any = true;
                (0..3).for_each(|a| ways[a][l] = -there * slope[a] / length);
            }
        }
        any.then_some(ways)
    }
}

/// `out = value(index, cell, x)` where `|phi| < band_m`, a copy elsewhere; x is where the particle that is at
/// the cell's centre is after `cells_per_speed`, relative to the centre, in cells, kept inside the walls.
fn for_each_band_cell(
    out: &mut [f32],
    phi: &[f32],
    paths: Paths,
    band_m: f32,
    cells_per_speed: f32,
    value: impl Fn(usize, [usize; 3], [f32; 3]) -> f32 + Sync + Send,
) {
    let [nx, ny, nz] = paths.grid.cells;
    assert_eq!(out.len(), paths.grid.cell_count());
    parallel::for_each_chunk_mut(out, nx * ny, |k, slab| {
        for j in 0..ny {
            let start = nx * (j + ny * k);
            let row_in = &phi[start..start + nx];
            let row = &mut slab[nx * j..nx * (j + 1)];
            row.copy_from_slice(row_in);
            let mut i = 0;
            while let Some(skip) = row_in[i..].iter().position(|v| v.abs() < band_m) {
                i += skip;
                let x = paths.ends(Cells { i, j, k }, cells_per_speed);
                for l in 0..LANES.min(nx - i) {
                    if row_in[i + l].abs() < band_m {
                        let (cell, cells) = ([i + l, j, k], [nx, ny, nz]);
                        let x = std::array::from_fn(|a| {
                            x[a][l].max(-(cell[a] as f32)).min((cells[a] - cell[a]) as f32) - 0.5
                        });
                        row[i + l] = value(start + i + l, cell, x);
                    }
                }
                i = (i + LANES).min(nx);
            }
        }
    });
}
