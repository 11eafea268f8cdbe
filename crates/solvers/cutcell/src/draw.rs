//! The fine surface as a mesh.

use crate::CutCellSolver;
use fluvial_grids::TriangleMesh;
use fluvial_solver_interface::SurfaceParams;
use fluvial_surface::{MeshParams, mesh_samples, set_velocities};

impl CutCellSolver {
    /// The surface of the tracker, closed along walls and solids.
    pub(crate) fn draw(&self, params: &SurfaceParams) -> TriangleMesh {
        let (nodes, bounds) = (self.nodes, self.setup.domain.bounds());
        let solids = self.setup.solids_at(self.state.time_s);
        let (phi, has_solids) = (&self.state.fields.phi_node, self.boundary.has_solids());
        let value = |[i, j, k]: [usize; 3]| {
            let phi = phi[nodes.index(i, j, k)];
            match has_solids && phi < 0.0 {
                true => phi.max(-solids.distance(nodes.position(i, j, k), 2.0 * self.grid.dx)),
                false => phi,
            }
        };
        let row = |j: usize, k: usize, out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value([i, j, k]));
        };
        let mesh_params = MeshParams { smoothing_rounds: params.smoothing as usize };
        let mut mesh = mesh_samples(&nodes, &mesh_params, row, value);
        // The outermost samples lie on the domain's walls; a mesh goes on for half their distance.
        mesh.positions.iter_mut().for_each(|x| *x = x.clamp(bounds.min, bounds.max));
        set_velocities(&mut mesh, |x| self.grid.sample_velocity(&self.state.fields.u_face, x));
        mesh
    }
}
