//! The surface as a mesh from the fine band, and as a level set on its voxels.

use crate::PowerSolver;
use crate::state::Model;
use fluvial_drops::add_drops;
use fluvial_foundation::{Aabb, Axis, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_power::channels::PHI;
use fluvial_power::flow::Cursor;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{CutCell, SPARSE_BAND_CELLS, SparseLevelSet};
use fluvial_surface::{MeshParams, mesh_samples, set_velocities};

/// Solids are looked for this far from liquid voxels, voxels.
const SOLID_VOXELS: f32 = 2.0;

impl Model {
    /// The voxels of the domain.
    pub fn fine_grid(&self) -> UniformGrid {
        let (grid, factor) = (self.setup.domain.grid, self.params.band_factor as usize);
        UniformGrid { min: grid.min, cells: grid.cells.map(|n| n * factor), dx: grid.dx / factor as f32 }
    }

    /// Voxel of the band that a voxel of the domain is.
    fn in_band(&self, at: [usize; 3]) -> [u32; 3] {
        let ring = (self.bounds.min - self.shape.min) / self.shape.dx;
        let factor = self.params.band_factor;
        [0, 1, 2].map(|a| at[a] as u32 + factor * ring[a].round() as u32)
    }
}

impl PowerSolver {
    /// Distance in a voxel of the domain.
    fn phi_of(&self, at: [usize; 3]) -> f32 {
        let (band, at) = (&self.state.band, self.model.in_band(at));
        band.phi_at(at).unwrap_or_else(|| self.state.tree.phi(band.center(at)))
    }

    pub(crate) fn draw(&self, smoothing: u32) -> TriangleMesh {
        let cells = self.model.fine_grid().cell_centers();
        let dx = cells.spacing;
        let solids = self.model.setup.solids_at(self.state.time_s);
        let value = |at: [usize; 3]| {
            let phi = self.phi_of(at);
            match phi < 0.0 && !solids.is_empty() {
                true => phi.max(-solids.distance(cells.position(at[0], at[1], at[2]), SOLID_VOXELS * dx)),
                false => phi,
            }
        };
        let row = |j: usize, k: usize, out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value([i, j, k]));
        };
        let params = MeshParams { smoothing_rounds: smoothing as usize };
        let mut mesh = mesh_samples(&cells, &params, row, value);
        let flow = self.state.tree.flow();
        set_velocities(&mut mesh, |x| flow.velocity(&mut Cursor::default(), x));
        add_drops(&mut mesh, &self.state.drops, self.model.bounds);
        mesh
    }

    /// The leaves that a plane of constant z cuts.
    pub(crate) fn cut_at(&self, z: f32) -> Vec<CutCell> {
        let view = self.state.tree.view();
        let cut = |leaf| {
            let (x, dx) = (view.center(leaf), view.level(leaf.level).dx);
            let min = x - 0.5 * dx;
            let inside = self.model.bounds.contains(x) && min.z <= z && z < min.z + dx;
            inside.then(|| CutCell { min: [min.x, min.y], dx, phi: view.value(leaf, PHI) })
        };
        view.leaves().into_iter().filter_map(cut).collect()
    }
}

/// The level set on the voxels of the domain.
pub(crate) struct OnVoxels<'a> {
    solver: &'a PowerSolver,
    solids: PlacedSolids<'a>,
    grid: UniformGrid,
}

impl<'a> OnVoxels<'a> {
    pub fn new(solver: &'a PowerSolver) -> OnVoxels<'a> {
        let solids = solver.model.setup.solids_at(solver.state.time_s);
        OnVoxels { solver, solids, grid: solver.model.fine_grid() }
    }

    fn bounds(&self, low: [usize; 3], high: [usize; 3]) -> Aabb {
        let corner = |at: [usize; 3]| self.grid.min + self.grid.dx * Vec3::from_array(at.map(|v| v as f32));
        Aabb { min: corner(low), max: corner(high) }
    }
}

impl SparseLevelSet for OnVoxels<'_> {
    fn grid(&self) -> UniformGrid {
        self.grid
    }

    fn phi(&self, cell: [usize; 3]) -> f32 {
        self.solver.phi_of(cell)
    }

    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32 {
        let x = self.grid.faces(axis).position(at[0], at[1], at[2]);
        self.solver.state.tree.flow().velocity(&mut Cursor::default(), x)[axis]
    }

    fn phi_solid(&self, cell: [usize; 3]) -> f32 {
        let x = self.grid.cell_centers().position(cell[0], cell[1], cell[2]);
        self.solver.model.solid_distance(&self.solids, x)
    }

    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool> {
        // Pages are committed wherever the surface is nearer than the band's reach.
        let band = &self.solver.state.band;
        for k in low[2]..high[2] {
            for j in low[1]..high[1] {
                for i in low[0]..high[0] {
                    let near = band.phi_at(self.solver.model.in_band([i, j, k]));
                    if near.is_some_and(|phi| phi.abs() < (SPARSE_BAND_CELLS + 1.0) * band.dx) {
                        return None;
                    }
                }
            }
        }
        Some(self.solver.phi_of(low) < 0.0)
    }

    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool {
        let bounds = self.bounds(low, high);
        let reach = 0.5 * bounds.size().length() + (SPARSE_BAND_CELLS + 1.0) * self.grid.dx;
        self.solids.distance(0.5 * (bounds.min + bounds.max), reach) >= reach
    }
}
