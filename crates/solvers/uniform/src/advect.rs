//! Transport of the surface and of velocity along the velocity of the last step.

use crate::{PhiScheme, UniformSolver, VelocityScheme};
use fluvial_grids::UniformGrid;
use fluvial_level_set::{self as level_set, AdvectionScheme, KnownFaces, PhiAdvection, VelocityTransport};
use fluvial_particles::{self as particles, Surroundings};
use fluvial_solids::SolidFields;
use fluvial_solver_interface::{Clamps, Setup};

/// A quarter of one particle's weight is enough for particles to say alone what a face's velocity is: around spray
/// the grid knows nothing better, and at the band's lower edge both agree.
const FULL_WEIGHT: f32 = 0.25;

impl UniformSolver {
    /// phi^{n+1}(x) = phi^n(x - u dt); particles move along u and put back what the grid lost.
    pub(crate) fn advect_surface(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (state, work) = (&self.state, &mut self.work);
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
        let around = surroundings(&self.setup, &self.solids, &self.grid, self.open_walls);
        let moved = particles::advect(
            &mut work.particles,
            &mut work.cell_ranges,
            &state.particles,
            &state.u_transport,
            &around,
            dt_s as f32,
            &mut work.particle_scratch,
        );
        clamps.add("particles_pushed_out_of_solids", moved.pushed_out_of_solids);
        particles::correct_by_particles(
            &mut work.phi_cell,
            &work.particles,
            &work.cell_ranges,
            &around,
            &mut work.particle_scratch,
        );
    }

    /// u*(x) = u^n(x - u dt) on the faces of the new liquid; where there are particles they say better.
    pub(crate) fn advect_velocity(&mut self, dt_s: f64) {
        let (transfer, has_particles) = (self.transfer(), self.params.has_particles());
        let (state, work) = (&self.state, &mut self.work);
        if has_particles {
            particles::particles_to_faces(
                &mut work.u_face,
                &mut work.u_before_forces, // the weights, for now
                &work.particles,
                &work.cell_ranges,
                &self.grid,
                &transfer,
            );
        }
        let known = KnownFaces {
            weight_face: &work.u_before_forces,
            full_weight: FULL_WEIGHT,
            reach_cells: self.setup.cfl.ceil() as usize,
        };
        let transport = VelocityTransport {
            u_face: &state.u_face,
            phi_cell: &work.phi_cell,
            grid: &self.grid,
            dt_s: dt_s as f32,
            scheme: match self.params.velocity_advection {
                VelocityScheme::SemiLagrangian => AdvectionScheme::SemiLagrangian,
                VelocityScheme::MacCormack => AdvectionScheme::MacCormack,
            },
            // The drag on short waves reads all faces of the cells at the surface; particles beyond the outermost
            // liquid cells read faces two cells farther out.
            band_m: if has_particles { 3.0 } else { 1.7 } * self.grid.dx,
            known: has_particles.then_some(known),
        };
        level_set::advect_velocity(&mut work.u_face, &transport, &mut work.level_set);
        if has_particles {
            work.u_before_forces.copy_from(&work.u_face);
        }
    }
}

/// What bounds the particles.
pub(crate) fn surroundings<'a>(
    setup: &Setup,
    solids: &'a SolidFields,
    grid: &'a UniformGrid,
    open_walls: [bool; 6],
) -> Surroundings<'a> {
    let phi_solid_node: &[f32] = if setup.solids.is_empty() { &[] } else { &solids.phi_node };
    Surroundings { grid, phi_solid_node, open_walls }
}
