//! The surface as a mesh from the fine band, and as a level set on its voxels.

use crate::PowerSolver;
use crate::state::Model;
use fluvial_foundation::{AXES, Aabb, Axis, Vec3};
use fluvial_grids::cut::octants_below;
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_power::channels::PHI;
use fluvial_power::content;
use fluvial_power::flow::Cursor;
use fluvial_power::settle::Settlement;
use fluvial_power::view::{Place, View};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{CutCell, SPARSE_BAND_CELLS, SparseLevelSet};
use fluvial_surface::{
    MeshParams, Neighbourhoods, Piece, Place as MeshPlace, VolumeToFit, draw_volume, mesh_samples,
    set_velocities,
};

/// Voxels farther from the surface than this are drawn as they are, voxels.
const DRAWN_VOXELS: f32 = 1.8;
/// Vertices nearer to a solid than this lie on it, voxels.
const ON_SOLID_VOXELS: f32 = 0.1;
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
        if self.model.conserves_volume() {
            self.draw_all_volume(&mut mesh, &solids);
        }
        mesh
    }

    /// Fits the mesh to what the leaves hold, and draws beside it what the band knows nothing of.
    fn draw_all_volume(&self, mesh: &mut TriangleMesh, solids: &PlacedSolids) {
        let (state, view) = (&self.state, self.state.tree.view());
        let (band, leaves) = (&state.band, view.leaves());
        let mut lacking_cell: Vec<f32> = state.held.residual_m3.iter().map(|v| *v as f32).collect();
        let voxel_m3 = f64::from(band.dx).powi(3);
        content::add_by_leaf(&mut lacking_cell, view, band, !solids.is_empty(), |voxel| {
            if voxel.phi.abs() > DRAWN_VOXELS * band.dx || self.model.beyond_open_walls(voxel.center) > 0.0 {
                return 0.0;
            }
            voxel_m3 * (f64::from(voxel.part * voxel.open) - self.drawn_share(voxel.center, solids))
        });
        let cells = Leaves { view, domain: self.model.bounds, beside: Settlement::of_all(view, leaves) };
        let half =
            |x: &Vec3| match solids.is_empty() || solids.distance(*x, band.dx) > ON_SOLID_VOXELS * band.dx {
                true => band.dx,
                false => 0.0,
            };
        let half_m: Vec<f32> = mesh.positions.iter().map(half).collect();
        let wanted_m3 = state.volume.volume_m3;
        let drops = &state.drops;
        let flying =
            (0..drops.len()).map(|n| Piece::flying(drops.x[n], drops.v[n], drops.volume_m3[n], band.dx));
        let flow = state.tree.flow();
        let to = VolumeToFit { cells: &cells, lacking_cell, wanted_m3 };
        draw_volume(mesh, &half_m, to, flying, |cell| {
            let (center, dx) = (view.center(leaves[cell]), view.level(leaves[cell].level).dx);
            let velocity = flow.velocity(&mut Cursor::default(), center);
            MeshPlace { center, dx, wall: self.film_wall(center, dx), velocity }
        });
    }

    /// The part of a voxel that a mesh of samples at voxels' centres encloses: between them it interpolates, beyond the outermost
    /// ones the surface goes on as it is there.
    fn drawn_share(&self, center: Vec3, solids: &PlacedSolids) -> f64 {
        let (band, bounds) = (&self.state.band, self.model.bounds);
        let points: [f64; 27] = std::array::from_fn(|n| {
            let step = Vec3::from_array([n % 3, n / 3 % 3, n / 9].map(|v| v as f32 - 1.0));
            let mut at = center + 0.5 * band.dx * step;
            for axis in AXES {
                if at[axis] <= bounds.min[axis] || at[axis] >= bounds.max[axis] {
                    at[axis] = center[axis];
                }
            }
            let phi = band.linear(at).unwrap_or_else(|| self.state.tree.phi(at));
            let solid =
                if solids.is_empty() { f32::MAX } else { solids.distance(at, SOLID_VOXELS * band.dx) };
            f64::from(phi.max(-solid))
        });
        octants_below(&points)
    }

    /// The wall that a film in a leaf with a dry centre lies on: where the band is deepest at a wall.
    fn film_wall(&self, x: Vec3, dx: f32) -> Option<(Axis, bool)> {
        let bounds = self.model.bounds;
        if self.state.tree.phi(x) < 0.0 {
            return None;
        }
        let walls = AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]);
        let beside = walls.filter(|&(axis, high)| {
            let wall = if high { bounds.max[axis] } else { bounds.min[axis] };
            (wall - x[axis]).abs() < 0.6 * dx
        });
        let depth = |&(axis, high): &(Axis, bool)| {
            let mut at = x;
            at[axis] = if high { bounds.max[axis] } else { bounds.min[axis] };
            self.state.band.linear(at).unwrap_or(f32::MAX)
        };
        let deepest = beside.min_by(|a, b| depth(a).total_cmp(&depth(b)));
        deepest.filter(|wall| depth(wall) < self.state.band.dx)
    }

    /// The leaves that a plane of constant z cuts.
    pub(crate) fn cut_at(&self, z: f32) -> Vec<CutCell> {
        let view = self.state.tree.view();
        let cut = |&leaf: &Place| {
            let (x, dx) = (view.center(leaf), view.level(leaf.level).dx);
            let min = x - 0.5 * dx;
            let inside = self.model.bounds.contains(x) && min.z <= z && z < min.z + dx;
            inside.then(|| CutCell { min: [min.x, min.y], dx, phi: view.value(leaf, PHI) })
        };
        view.leaves().iter().filter_map(cut).collect()
    }
}

/// The leaves, and those beside each.
struct Leaves<'a> {
    view: View<'a>,
    domain: Aabb,
    beside: Settlement,
}

impl Neighbourhoods for Leaves<'_> {
    fn cell_at(&self, x: Vec3) -> usize {
        self.view.number(self.view.locate(x))
    }

    fn spread(&self, value_cell: &mut Vec<f32>) {
        let mut value: Vec<f64> = value_cell.iter().map(|v| f64::from(*v)).collect();
        for _ in 0..2 {
            value = self.beside.spread(&value);
        }
        value_cell.iter_mut().zip(value).for_each(|(out, v)| *out = v as f32);
    }

    fn sample(&self, value_cell: &[f32], x: Vec3) -> f32 {
        value_cell[self.cell_at(x)]
    }

    fn domain(&self) -> (Aabb, f32) {
        (self.domain, self.view.pyramid.shape().dx)
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
