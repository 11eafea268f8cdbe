//! Transport of the surface and of velocity along the velocity of the last step.

use crate::step::Clamps;
use crate::{PhiScheme, UniformSolver, VelocityScheme};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::{CHUNK, for_each_chunk_mut};
use fluvial_level_set::{self as level_set, AdvectionScheme, PhiAdvection};
use fluvial_particles as particles;

impl UniformSolver {
    /// phi^{n+1}(x) = phi^n(x - u dt); particles move along u and put back what the grid lost.
    pub(crate) fn advect_surface(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (state, work) = (&mut self.state, &mut self.work);
        let scheme = match self.params.phi_advection {
            PhiScheme::SemiLagrangian => PhiAdvection::SemiLagrangian,
            PhiScheme::MacCormack => PhiAdvection::MacCormack,
            PhiScheme::Cubic => PhiAdvection::Cubic,
        };
        let band_m = self.cfl_band_cells * self.grid.dx;
        level_set::advect_phi(
            &mut work.phi_cell,
            &state.phi_cell,
            &state.u_transport,
            &self.grid,
            dt_s as f32,
            scheme,
            band_m,
            &mut work.level_set,
        );
        if !self.params.has_particles() {
            return;
        }
        work.particles_before.clone_from(&state.particles);
        self.particles_moved = true;
        let moved = particles::advect(
            &mut state.particles,
            &state.u_transport,
            &self.solids.phi_node,
            self.open_walls,
            &self.grid,
            dt_s as f32,
        );
        clamps.add("particles_pushed_out_of_solids", moved.pushed_out_of_solids);
        state.particles.sort_by_cell(&self.grid, &mut work.cell_ranges, &mut work.particle_scratch);
        particles::correct_by_particles(
            &mut work.phi_cell,
            &mut work.phi_particles,
            &state.particles,
            &work.cell_ranges,
            &self.solids.phi_node,
            &self.grid,
            band_m,
            &mut work.particle_scratch,
        );
    }

    /// u*(x) = u^n(x - u dt) on the faces of the new liquid; near the surface particles say better.
    pub(crate) fn advect_velocity(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        let scheme = match self.params.velocity_advection {
            VelocityScheme::SemiLagrangian => AdvectionScheme::SemiLagrangian,
            VelocityScheme::MacCormack => AdvectionScheme::MacCormack,
        };
        // The drag on short waves reads all faces of the cells at the surface; particles beyond the outermost liquid
        // cells read faces two cells farther out.
        let reach_cells = if self.params.has_particles() { 3.0 } else { 1.7 };
        level_set::advect_velocity(
            &mut work.u_face,
            &state.u_face,
            &work.phi_cell,
            &self.grid,
            dt_s as f32,
            scheme,
            reach_cells * self.grid.dx,
            &mut work.level_set,
        );
        if !self.params.has_particles() {
            return;
        }
        let transfer = self.transfer();
        let work = &mut self.work;
        particles::particles_to_faces(
            &mut work.u_particles,
            &mut work.weight_face,
            &self.state.particles,
            &work.cell_ranges,
            &self.grid,
            &transfer,
        );
        for axis in AXES {
            let (u_particles, weight) = (&work.u_particles[axis], &work.weight_face[axis]);
            for_each_chunk_mut(&mut work.u_face[axis], CHUNK, |c, chunk| {
                let at = c * CHUNK;
                for (n, u) in chunk.iter_mut().enumerate() {
                    // A quarter of one particle's weight is enough: around spray the grid knows nothing better, and
                    // at the band's lower edge both agree.
                    let share = (4.0 * weight[at + n]).min(1.0);
                    *u += share * (u_particles[at + n] - *u);
                }
            });
        }
        work.u_before_forces.copy_from(&work.u_face);
    }
}
