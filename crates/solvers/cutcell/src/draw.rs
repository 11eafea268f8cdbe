//! The fine surface as a mesh that encloses what the particles hold.

use crate::CutCellSolver;
use crate::adapt::share_cube;
use fluvial_cutcell::cases::CASES;
use fluvial_cutcell::drops::cell_volume;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solver_interface::SurfaceParams;
use fluvial_surface::{
    Bells, MeshParams, Piece, Place, VolumeToFit, draw_volume, half_thickness_m, mesh_samples, set_velocities,
};

/// Neighbourhoods of a cell and a little more.
const NEIGHBOURHOOD_SUMS: usize = 2;

/// A cell with this part of it drawn has no surface.
const NEARLY_WHOLE: f64 = 1.0 - 1e-6;

/// What the particles of a cell of the grid hold.
#[derive(Clone, Copy, Default)]
struct Held {
    volume_m3: f64,
    /// Sum of their places, weighted by volume.
    moment: DVec3,
}

impl CutCellSolver {
    /// The surface of the tracker, closed along walls and solids, with all of the liquid's volume.
    pub(crate) fn draw(&self, params: &SurfaceParams) -> TriangleMesh {
        let (nodes, bounds) = (self.nodes, self.setup.domain.bounds());
        let value = |[i, j, k]: [usize; 3]| self.drawn_phi(nodes.index(i, j, k));
        let row = |j: usize, k: usize, out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value([i, j, k]));
        };
        let mesh_params = MeshParams { smoothing_rounds: params.smoothing as usize };
        let mut mesh = mesh_samples(&nodes, &mesh_params, row, value);
        // The outermost samples lie on the domain's walls; a mesh goes on for half their distance.
        mesh.positions.iter_mut().for_each(|x| *x = x.clamp(bounds.min, bounds.max));
        set_velocities(&mut mesh, |x| self.grid.sample_velocity(&self.state.fields.u_face, x));
        self.draw_all_volume(&mut mesh);
        mesh
    }

    /// phi at a node of the tracker, outside solids.
    fn drawn_phi(&self, node: usize) -> f32 {
        let phi = self.state.fields.phi_node[node];
        match self.boundary.solid_node.get(node) {
            Some(solid) if phi < 0.0 => phi.max(-solid),
            _ => phi,
        }
    }

    /// Fits the mesh to what the particles hold, and draws beside it what it knows nothing of: films on solids that are thinner
    /// than the tracker's cells pass below its nodes.
    fn draw_all_volume(&self, mesh: &mut TriangleMesh) {
        let (cells, fine_m, fields) = (self.grid.cell_centers(), self.fine_m(), &self.state.fields);
        let held = self.held_in_cells();
        let mut lacking_cell = vec![0.0f32; cells.len()];
        cells.for_each_mut(&mut lacking_cell, |cell, at, lacking| {
            let (whole_m3, drawn_m3) = (self.cell_m3(), self.drawn_in_cell(at));
            // Inside the liquid particles lie closer here and wider there: nothing of it can be drawn.
            if drawn_m3 < NEARLY_WHOLE * whole_m3 {
                *lacking = (held[cell].volume_m3.min(whole_m3) - drawn_m3) as f32;
            }
        });
        let solid = |x: Vec3| match self.boundary.has_solids() {
            true => self.nodes.sample(&self.boundary.solid_node, x),
            false => f32::INFINITY,
        };
        let half_m: Vec<f32> = mesh.positions.iter().map(|&x| half_thickness_m(solid(x), fine_m)).collect();
        let bells = Bells { cells: &cells, sums: NEIGHBOURHOOD_SUMS };
        let wanted_m3 = fields.population.total_m3();
        let to = VolumeToFit { cells: &bells, lacking_cell, wanted_m3 };
        draw_volume(mesh, &half_m, to, std::iter::empty::<Piece>(), |cell| {
            let center = (held[cell].moment / held[cell].volume_m3.max(f64::MIN_POSITIVE)).as_vec3();
            let velocity = self.grid.sample_velocity(&fields.u_face, center);
            Place { center, dx: self.grid.dx, wall: None, velocity }
        });
    }

    /// What the particles hold in the cells of the grid, each as a cube.
    fn held_in_cells(&self) -> Vec<Held> {
        let mut held = vec![Held::default(); self.grid.cell_count()];
        let population = &self.state.fields.population;
        for (x, volume_m3) in population.particles.x.iter().zip(&population.volume_m3) {
            let parcel = (self.in_cells(*x), f64::from(*volume_m3) / self.cell_m3());
            share_cube(self.grid.cells, parcel, |cell, part| {
                held[cell].volume_m3 += part * self.cell_m3();
                held[cell].moment += part * self.cell_m3() * x.as_dvec3();
            });
        }
        held
    }

    /// Volume that marching cubes enclose in a cell of the grid, m3.
    fn drawn_in_cell(&self, at: [usize; 3]) -> f64 {
        let (factor, nodes) = (self.factor(), self.nodes);
        let cases = &CASES[..];
        let fine = |n: usize| {
            let offset = [n % factor, n / factor % factor, n / (factor * factor)];
            let [i, j, k] = std::array::from_fn(|a| factor * at[a] + offset[a]);
            let base = nodes.index(i, j, k);
            let corner =
                |c: usize| base + (c & 1) + nodes.stride(1) * (c >> 1 & 1) + nodes.stride(2) * (c >> 2);
            cell_volume(cases, &std::array::from_fn(|c| f64::from(self.drawn_phi(corner(c)))))
        };
        let parts: f64 = (0..factor.pow(3)).map(fine).sum();
        parts * f64::from(self.fine_m()).powi(3)
    }
}
