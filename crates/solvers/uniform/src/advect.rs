//! Transport of the surface and of velocity along the velocity of the last step.

use crate::state::{Boundaries, Fields, ParticleWork, State};
use crate::{PhiScheme, UniformSolver, VelocityScheme};
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::{self as level_set, AdvectionScheme, KnownFaces, PhiAdvection, VelocityTransport};
use fluvial_mac::{Openings, fastest_boundary_m_s, open_gaps, without_slivers};
use fluvial_particles::{self as particles, Deposit, Surroundings};
use fluvial_solids::SolidFields;
use fluvial_solver_interface::{Clamps, Setup};

/// From a quarter of one particle's weight on, particles alone determine a face's velocity: around spray the
/// grid has no better value, and at the band's lower edge both agree.
const FULL_WEIGHT: f32 = 0.25;

/// Velocity is carried to second order on faces this near to the liquid, cells: those that the pressure sets at a
/// surface lie up to half a cell outside, and their stencils reach one farther.
const SMOOTH_CELLS: f32 = 1.5;

/// Faces that solids leave less of have no velocity of their own for what it carries.
const SLIVER_AREA: f32 = 0.1;

impl UniformSolver {
    /// phi^{n+1}(x) = phi^n(x - u dt); particles move along u and restore what the grid lost.
    pub(crate) fn advect_surface(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let begin = self.start.of(&self.state);
        let work = &mut self.work;
        let scheme = match self.params.phi_advection {
            PhiScheme::SemiLagrangian => PhiAdvection::SemiLagrangian,
            PhiScheme::MacCormack => PhiAdvection::MacCormack,
            PhiScheme::Cubic => PhiAdvection::Cubic,
        };
        let phi_cell = &mut work.fields.phi_cell;
        level_set::advect_phi_on_sides(
            phi_cell,
            begin.phi_cell,
            begin.u_transport,
            &self.grid,
            dt_s as f32,
            scheme,
            self.cfl_band_cells * self.grid.dx,
            &work.boundaries.solids.fields.sides,
            &mut work.level_set,
        );
        self.open_gaps(dt_s);
        if !self.params.has_particles() {
            return self.carry_volume(dt_s);
        }
        let mut buffer = std::mem::take(&mut self.work.u_free);
        let begin = self.start.of(&self.state);
        let carrier = self.carrier(&mut buffer, begin.u_transport, &self.state.boundaries);
        let work = &mut self.work;
        let phi_cell = &mut work.fields.phi_cell;
        let around = surroundings(&self.setup, &work.boundaries.solids.fields, &self.grid);
        let ParticleWork { moved, cell_ranges, near_cell, left, trapped, scratch, from_deep_cell, .. } =
            &mut work.particles;
        particles::mark_near(near_cell, begin.phi_cell, &self.grid);
        let (carried, dt_s) = ((carrier, &near_cell[..]), dt_s as f32);
        let report = particles::advect(moved, cell_ranges, begin.particles, carried, &around, dt_s, scratch);
        (*left, *trapped) = (report.left_through_open_walls, report.trapped_in_solids);
        clamps.add("particles_pushed_out_of_solids", report.pushed_out_of_solids);
        clamps.add("particles_trapped", report.trapped_in_solids);
        particles::correct_by_particles(phi_cell, moved, cell_ranges, &around, scratch);
        let (deep, grid) = (&self.state.reserve, &self.grid);
        particles::find_liquid_from_deep(from_deep_cell, deep, phi_cell, cell_ranges, carrier, grid, dt_s);
        work.u_free = buffer;
    }

    /// The velocity that carries particles and velocity itself, in `buffer` where solids leave slivers of faces
    /// ([`without_slivers`]).
    pub(crate) fn carrier<'a>(
        &self,
        buffer: &'a mut FaceField,
        u_face: &'a FaceField,
        boundaries: &Boundaries,
    ) -> &'a FaceField {
        if self.setup.solids.is_empty() {
            return u_face;
        }
        without_slivers(buffer, u_face, &boundaries.solids.fields.open_area, SLIVER_AREA, &self.grid);
        buffer
    }

    /// Opens the gaps that liquid leaves where it has let go of walls and solids.
    fn open_gaps(&mut self, dt_s: f64) {
        let State { fields: before, boundaries, .. } = &self.state;
        let SolidFields { open_area, u_solid, phi_node, .. } = &boundaries.solids.fields;
        let Fields { phi_cell, gap_cell, .. } = &mut self.work.fields;
        gap_cell.clone_from(&before.gap_cell);
        let openings = Openings {
            grid: &self.grid,
            area_face: open_area,
            u_boundary: u_solid,
            inflow_cell: &[],
            at_source_cell: &[],
        };
        let (nodes, has_solids) = (self.grid.nodes(), !self.setup.solids.is_empty());
        let distance = |x: Vec3| if has_solids { nodes.sample(phi_node, x) } else { f32::MAX };
        open_gaps(gap_cell, phi_cell, &before.u_transport, &openings, distance, dt_s as f32);
    }

    /// u*(x) = u^n(x - u dt) on the faces of the new liquid; where there are particles, theirs replaces
    /// it, and sources give theirs.
    pub(crate) fn advect_velocity(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (transfer, has_particles) = (self.transfer(), self.params.has_particles());
        let mut buffer = std::mem::take(&mut self.work.u_free);
        let begin = self.start.of(&self.state);
        let carrier = self.carrier(&mut buffer, begin.u_face, &self.state.boundaries);
        let work = &mut self.work;
        let ParticleWork { moved, cell_ranges, weight_face, u_before_forces, steep_cell, .. } =
            &mut work.particles;
        let Fields { phi_cell, u_face, .. } = &mut work.fields;
        if has_particles {
            let (grid, sides) = (&self.grid, &work.boundaries.solids.fields.sides);
            // Only among bodies, whose added mass depends on it: with it the tip of a tongue beside solids at rest ends elsewhere, by
            // 3 % of a tank at 16 cells, whenever rounding differs.
            if !work.bodies.is_empty() {
                particles::mark_below(steep_cell, &work.boundaries.solids.fields.open_volume, 1.0, grid);
            }
            let deposit = Deposit { transfer, sides, u_face: begin.u_face, steep_cell };
            particles::particles_to_faces(u_face, weight_face, moved, cell_ranges, grid, &deposit);
        }
        let known =
            KnownFaces { weight_face, full_weight: FULL_WEIGHT, reach_cells: self.setup.cfl.ceil() as usize };
        let transport = VelocityTransport {
            u_face: carrier,
            phi_cell,
            grid: &self.grid,
            dt_s: dt_s as f32,
            scheme: match self.params.velocity_advection {
                VelocityScheme::SemiLagrangian => AdvectionScheme::SemiLagrangian,
                VelocityScheme::MacCormack => AdvectionScheme::MacCormack,
            },
            // The drag on short waves reads all faces of the cells at the surface; particles beyond the
            // outermost liquid cells read faces two cells farther out.
            band_m: if has_particles { 3.0 } else { 1.7 } * self.grid.dx,
            smooth_m: SMOOTH_CELLS * self.grid.dx,
            known: has_particles.then_some(known),
        };
        let held = level_set::advect_velocity(u_face, &transport, &mut work.level_set);
        clamps.add("velocity_held_in_range", held);
        work.u_free = buffer;
        work.boundaries.sources.fill_velocity(u_face);
        if has_particles {
            u_before_forces.clone_from(u_face);
        }
        self.absorb_momentum();
    }
}

/// What bounds the particles.
pub(crate) fn surroundings<'a>(
    setup: &Setup,
    solids: &'a SolidFields,
    grid: &'a UniformGrid,
) -> Surroundings<'a> {
    let phi_solid_node: &[f32] = if setup.solids.is_empty() { &[] } else { &solids.phi_node };
    let moving = setup.has_moving_solids();
    let solid_speed_m_s = if moving { fastest_boundary_m_s(&solids.u_solid) as f32 } else { 0.0 };
    Surroundings {
        grid,
        phi_solid_node,
        sides: &solids.sides,
        open_walls: setup.open_walls(),
        solid_speed_m_s,
        drift_face: None,
    }
}
