//! The liquid on the grid of the finest cells, near its surface: what volume files are made from.

use crate::OctreeSolver;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_octree::interpolate::{Interpolation, Sampler};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{SPARSE_BAND_CELLS, SparseLevelSet};

/// Distances change by no more than the way between two points. Interpolated between cells they may change by
/// this many times as much: each component of the slope by the whole.
const MOST_SLOPE: f32 = 1.733;
/// At the start, where fills touch solids, they may change by this many cells more, see
/// `Setup::fill_distance_beside`.
const MOST_JUMP_CELLS: f32 = 1.5;

/// Interpolates the state.
pub(crate) struct SparseLiquid<'a> {
    solver: &'a OctreeSolver,
    grid: UniformGrid,
    /// Continuous where cells of two sizes meet: the surface is looked at closely, and jumps would show in
    /// reflections.
    phi: Sampler<'a>,
    /// Cheaper, for what is far from the surface.
    rough: Sampler<'a>,
    velocity: Sampler<'a>,
    solids: PlacedSolids<'a>,
    band: f32,
}

impl<'a> SparseLiquid<'a> {
    pub fn new(solver: &'a OctreeSolver) -> Self {
        let (tree, shape) = (&*solver.state.fields.tree, solver.model.shape);
        SparseLiquid {
            solver,
            grid: solver.model.setup.domain.grid,
            phi: Sampler::new(tree, Interpolation::Continuous),
            rough: Sampler::new(tree, Interpolation::Mls),
            velocity: solver.model.sampler(tree),
            solids: solver.model.setup.solids_at(solver.state.time_s),
            band: SPARSE_BAND_CELLS * shape.dx,
        }
    }

    fn at(&self, cells: [f32; 3]) -> Vec3 {
        self.grid.min + self.grid.dx * Vec3::from_array(cells)
    }

    /// Middle of a box of cells, and how far its cells' centres are from there at most.
    fn ball(&self, low: [usize; 3], high: [usize; 3]) -> (Vec3, f32) {
        let middle = self.at(std::array::from_fn(|a| 0.5 * (low[a] + high[a]) as f32));
        let half = Vec3::from_array(std::array::from_fn(|a| 0.5 * (high[a] - low[a] - 1) as f32));
        (middle, half.length() * self.grid.dx)
    }
}

impl SparseLevelSet for SparseLiquid<'_> {
    fn grid(&self) -> UniformGrid {
        self.grid
    }

    fn phi(&self, cell: [usize; 3]) -> f32 {
        self.phi.cells(&self.solver.state.fields.phi_cell, self.at(cell.map(|n| n as f32 + 0.5)))
    }

    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32 {
        let x = self.at(std::array::from_fn(|a| at[a] as f32 + if a == axis { 0.0 } else { 0.5 }));
        self.velocity.component(&self.solver.state.fields.u_face, axis, x)
    }

    fn phi_solid(&self, cell: [usize; 3]) -> f32 {
        self.solids.distance(self.at(cell.map(|n| n as f32 + 0.5)), 2.0 * self.band)
    }

    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool> {
        let (middle, radius) = self.ball(low, high);
        let phi = self.rough.cells(&self.solver.state.fields.phi_cell, middle);
        let jump = MOST_JUMP_CELLS * self.grid.dx;
        (phi.abs() > MOST_SLOPE * radius + self.band + jump).then_some(phi < 0.0)
    }

    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool {
        let (middle, radius) = self.ball(low, high);
        let reach = radius + 2.0 * self.band;
        self.solids.distance(middle, reach) >= reach
    }
}
