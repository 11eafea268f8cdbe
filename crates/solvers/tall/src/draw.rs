//! The surface as a mesh with all of the liquid's volume, and as a level set on one grid.

use crate::TallSolver;
use crate::frame::Frame;
use crate::state::Fields;
use fluvial_foundation::{Aabb, Axis, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{SPARSE_BAND_CELLS, SparseLevelSet};
use fluvial_surface::{
    MeshParams, Neighbourhoods, SolidClip, VolumeToFit, fit_to_volume, mesh_samples_outside, set_velocities,
};
use fluvial_tall::field::nearest;
use fluvial_tall::redistance::REACH_CELLS;

/// Vertices nearer to a solid than this lie on it, cells.
const ON_SOLID_CELLS: f32 = 0.1;
/// Solids are looked for this far from liquid samples, cells.
const SOLID_CELLS: f32 = 2.0;

/// Columns as the cells that a mesh is fitted to.
struct Columns<'a> {
    frame: &'a Frame,
    domain: Aabb,
}

impl Neighbourhoods for Columns<'_> {
    fn cell_at(&self, x: Vec3) -> usize {
        let [i, k] = self.frame.column_at(x.x, x.z);
        i + self.frame.columns[0] * k
    }

    /// Sums over three columns per axis, twice.
    fn spread(&self, values: &mut Vec<f32>) {
        let [nx, nz] = self.frame.columns;
        for axis in [0, 1, 0, 1] {
            let (stride, count) = ([1, nx][axis], [nx, nz][axis]);
            let old = values.clone();
            for (c, value) in values.iter_mut().enumerate() {
                let n = [c % nx, c / nx][axis];
                *value += if n > 0 { old[c - stride] } else { 0.0 };
                *value += if n + 1 < count { old[c + stride] } else { 0.0 };
            }
        }
    }

    fn sample(&self, values: &[f32], x: Vec3) -> f32 {
        let ([nx, nz], [i, _, k]) = (self.frame.columns, self.frame.in_cells(x));
        let (i, k) = (i.clamp(0.0, (nx - 1) as f32), k.clamp(0.0, (nz - 1) as f32));
        let (wi, wk) = (i.fract(), k.fract());
        let at =
            |di: usize, dk: usize| values[(i as usize + di).min(nx - 1) + nx * (k as usize + dk).min(nz - 1)];
        let row = |dk: usize| at(0, dk) * (1.0 - wi) + at(1, dk) * wi;
        row(0) * (1.0 - wk) + row(1) * wk
    }

    fn domain(&self) -> (Aabb, f32) {
        (self.domain, self.frame.dx)
    }
}

impl TallSolver {
    /// phi of a cell of the domain; terrain counts as far below the surface of what lies on it.
    fn phi_of_cell(&self, [i, y, k]: [usize; 3]) -> f32 {
        let Fields { grid, phi, .. } = &self.state.fields;
        let column = [i + self.frame.first[0], k + self.frame.first[1]];
        if y as i32 >= grid.above(column[0], column[1]) {
            return nearest(grid, phi, column.map(|c| c as i32), y as f32).max(self.frame.dx);
        }
        nearest(grid, phi, column.map(|c| c as i32), y as f32)
    }

    /// The mesh of the level set outside the solids, fitted to what the columns hold.
    pub(crate) fn draw(&self, smoothing: u32) -> TriangleMesh {
        let (cells, dx) = (self.setup.domain.grid.cell_centers(), self.frame.dx);
        let solids = self.setup.solids_at(self.state.time_s);
        let params = MeshParams { smoothing_rounds: smoothing as usize };
        let distance = |x| solids.distance(x, SOLID_CELLS * dx);
        let clip = SolidClip { distance: &distance, overlap: 0.0 };
        let mut mesh = mesh_samples_outside(&cells, &params, |at| self.phi_of_cell(at), &clip);
        if self.params.conserves_volume() && !mesh.positions.is_empty() {
            self.fit(&mut mesh, &solids);
        }
        set_velocities(&mut mesh, |x| self.velocity_at_point(x));
        mesh
    }

    fn fit(&self, mesh: &mut TriangleMesh, solids: &PlacedSolids) {
        let dx = self.frame.dx;
        let is_on_solid = |x: Vec3| solids.distance(x, dx) < ON_SOLID_CELLS * dx;
        let half_m: Vec<f32> =
            mesh.positions.iter().map(|x| if is_on_solid(*x) { 0.0 } else { 0.5 * dx }).collect();
        let cells = Columns { frame: &self.frame, domain: self.setup.domain.bounds() };
        let lacking_cell = self.state.fields.residual.iter().map(|r| r * dx.powi(3)).collect();
        let wanted_m3 = self.state.volume.volume_m3;
        fit_to_volume(mesh, &half_m, VolumeToFit { cells: &cells, lacking_cell, wanted_m3 });
    }
}

/// The level set on the grid of cubic cells.
pub(crate) struct OnCells<'a> {
    solver: &'a TallSolver,
    solids: PlacedSolids<'a>,
    /// Lowest and highest cell near a surface, by column of the domain.
    near: Vec<[i32; 2]>,
}

impl<'a> OnCells<'a> {
    pub fn new(solver: &'a TallSolver) -> OnCells<'a> {
        let cells = solver.frame.cells;
        let far = (SPARSE_BAND_CELLS + 1.0) * solver.frame.dx;
        let column = |c: usize| {
            let (i, k) = (c % cells[0], c / cells[0]);
            let mut near = [i32::MAX, i32::MIN];
            for y in 0..cells[1] {
                if solver.phi_of_cell([i, y, k]).abs() < far {
                    near = [near[0].min(y as i32), near[1].max(y as i32)];
                }
            }
            near
        };
        let near = fluvial_foundation::parallel::map_indices(cells[0] * cells[2], column);
        OnCells { solver, solids: solver.setup.solids_at(solver.state.time_s), near }
    }
}

impl SparseLevelSet for OnCells<'_> {
    fn grid(&self) -> UniformGrid {
        self.solver.setup.domain.grid
    }

    fn phi(&self, cell: [usize; 3]) -> f32 {
        self.solver.phi_of_cell(cell)
    }

    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32 {
        let faces = self.solver.setup.domain.grid.faces(axis);
        self.solver.velocity_at_point(faces.position(at[0], at[1], at[2]))[axis]
    }

    fn phi_solid(&self, cell: [usize; 3]) -> f32 {
        let cells = self.solver.setup.domain.grid.cell_centers();
        let reach = REACH_CELLS * self.solver.frame.dx;
        self.solids.distance(cells.position(cell[0], cell[1], cell[2]), reach)
    }

    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool> {
        let nx = self.solver.frame.cells[0];
        for k in low[2]..high[2] {
            for i in low[0]..high[0] {
                let [first, last] = self.near[i + nx * k];
                if first <= last && (low[1] as i32) <= last && (high[1] as i32) > first {
                    return None;
                }
            }
        }
        let is_liquid = |i: usize, k: usize| self.solver.phi_of_cell([i, low[1], k]) < 0.0;
        let first = is_liquid(low[0], low[2]);
        let mut all = (low[2]..high[2]).flat_map(|k| (low[0]..high[0]).map(move |i| (i, k)));
        all.all(|(i, k)| is_liquid(i, k) == first).then_some(first)
    }

    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool {
        let cells = self.solver.setup.domain.grid.cell_centers();
        let [a, b] = [low, high.map(|h| h - 1)].map(|c| cells.position(c[0], c[1], c[2]));
        let reach = 0.5 * a.distance(b) + (SPARSE_BAND_CELLS + 1.0) * cells.spacing;
        self.solids.distance(0.5 * (a + b), reach) >= reach
    }
}
