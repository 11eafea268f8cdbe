//! Solids as triangles, and the cells they pass through.

use crate::complex::clip;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::{TriangleMesh, UniformGrid};

/// Positions and edges of cells are rounded by this part of themselves together.
const ROUNDING: f64 = 4.0 * f32::EPSILON as f64;

/// Triangles of solids, in cells of the simulation grid. Normals of closed solids point out of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solids {
    /// Corners, counter-clockwise seen from outside.
    pub triangles: Vec<[DVec3; 3]>,
    /// Is the triangle part of a sheet without inside: does liquid lie on both of its sides?
    pub is_sheet: Vec<bool>,
}

impl Solids {
    /// Adds a mesh in metres: a closed solid, or a sheet with liquid on both sides.
    pub fn add(&mut self, mesh: &TriangleMesh, is_sheet: bool, grid: &UniformGrid) {
        let in_cells = |p: fluvial_foundation::Vec3| (p - grid.min).as_dvec3() / grid.dx as f64;
        let corners = |t: &[u32; 3]| t.map(|v| in_cells(mesh.positions[v as usize]));
        self.triangles.extend(mesh.triangles.iter().map(corners));
        self.is_sheet.resize(self.triangles.len(), is_sheet);
    }

    /// Puts corners that lie in a plane of the tracker's nodes, but for the rounding of positions in f32, into it. The plane
    /// and the solid would have crumbs of no volume between them, each with a pressure that holds what runs against
    /// the solid and with velocities of its own: 13 m/s under a jet of 3 m/s on a plate.
    /// Test: `a_plate_in_a_plane_of_the_grid_has_no_crumbs`.
    pub fn align(&mut self, grid: &UniformGrid, factor: usize) {
        let (r, dx) = (factor as f64, f64::from(grid.dx));
        let farthest = grid.bounds().min.abs().max(grid.bounds().max.abs()).as_dvec3() / dx;
        for x in self.triangles.iter_mut().flatten() {
            for a in 0..3 {
                let plane = (r * x[a]).round() / r;
                let rounded = ROUNDING * farthest[a].max((x[a] + f64::from(grid.min[a]) / dx).abs());
                if (x[a] - plane).abs() < rounded {
                    x[a] = plane;
                }
            }
        }
    }
}

/// Which triangles lie in which cells, boundaries included.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    start: Vec<u32>,
    triangles: Vec<u32>,
}

/// Room around a cell within which a triangle counts as touching it, in its own edges.
const TOUCH: f64 = 1e-9;

/// Does a triangle touch the cube of edge 1 at the origin along more than a line?
pub(crate) fn touches_unit_cube(triangle: [DVec3; 3], scratch: &mut [Vec<DVec3>; 2]) -> bool {
    let (low, high) =
        (triangle[0].min(triangle[1]).min(triangle[2]), triangle[0].max(triangle[1]).max(triangle[2]));
    if low.max_element() > 1.0 + TOUCH && low.cmpgt(DVec3::splat(1.0 + TOUCH)).any()
        || high.cmplt(DVec3::splat(-TOUCH)).any()
    {
        return false;
    }
    let [a, b] = scratch;
    a.clear();
    a.extend(triangle);
    for axis in 0..3 {
        clip(b, a, |x| -TOUCH - x[axis]);
        clip(a, b, |x| x[axis] - 1.0 - TOUCH);
    }
    a.len() > 2
}

impl Bins {
    /// Sorts the triangles into the grid's cells.
    pub fn new(solids: &Solids, grid: &UniformGrid) -> Self {
        let cells = grid.cell_centers();
        let found = parallel::map_indices(parallel::chunk_count(solids.triangles.len(), 256), |chunk| {
            let (mut pairs, mut scratch) = (Vec::new(), [Vec::new(), Vec::new()]);
            for t in parallel::chunk_range(chunk, 256, solids.triangles.len()) {
                let corners = solids.triangles[t];
                let low = corners[0].min(corners[1]).min(corners[2]) - TOUCH;
                let high = corners[0].max(corners[1]).max(corners[2]) + TOUCH;
                let range = |a: usize| {
                    let n = grid.cells[a] as f64;
                    low[a].floor().clamp(0.0, n) as usize..(high[a].floor() + 1.0).clamp(0.0, n) as usize
                };
                for (i, j, k) in
                    range(2).flat_map(|k| range(1).flat_map(move |j| range(0).map(move |i| (i, j, k))))
                {
                    let corner = DVec3::new(i as f64, j as f64, k as f64);
                    if touches_unit_cube(corners.map(|x| x - corner), &mut scratch) {
                        pairs.push((cells.index(i, j, k) as u32, t as u32));
                    }
                }
            }
            pairs
        });
        let mut pairs = found.concat();
        pairs.sort_unstable();
        let mut start = vec![0u32; grid.cell_count() + 1];
        pairs.iter().for_each(|p| start[p.0 as usize + 1] += 1);
        for n in 1..start.len() {
            start[n] += start[n - 1];
        }
        Bins { start, triangles: pairs.into_iter().map(|p| p.1).collect() }
    }

    /// Triangles in a cell.
    pub fn of(&self, cell: usize) -> &[u32] {
        &self.triangles[self.start[cell] as usize..self.start[cell + 1] as usize]
    }
}
