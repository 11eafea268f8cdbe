//! Bodies on the tree, see `fluvial_octree::bodies`; how they move is [`BodyStep`]'s.

use crate::OctreeSolver;
use crate::sources::solid_part;
use crate::state::{Boundaries, Fields, Ground, GroundScratch, Step};
use fluvial_foundation::DVec3;
use fluvial_grids::Octree;
use fluvial_octree::bodies::{AroundBodies, BodyTerms, couple_bodies};
use fluvial_octree::gradient::{Geometry, GradientParams, PressureGradient};
use fluvial_octree::lone::hide_lone_cells;
use fluvial_octree::momentum::{liquid_momentum, push_on_boundaries};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Bodies, BodyStep, Setup, StepMomentum};
use std::sync::Arc;

/// The tree is finest this far from the surfaces of bodies, in finest cells: where the pressure meets them, and as far as they
/// move before the tree is built anew.
pub(crate) const FINEST_AROUND_BODIES_CELLS: f32 = 2.5;

/// The number of each solid among the bodies, where it is one.
pub(crate) fn bodies_of_solids(setup: &Setup) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |is_body: bool| {
        next += u32::from(is_body);
        is_body.then(|| next - 1)
    };
    setup.solids.iter().map(|solid| solid.free.is_some()).map(number).collect()
}

/// The bodies at a moment.
pub(crate) fn bodies_at(setup: &Setup, time_s: f64) -> PlacedSolids<'_> {
    let bodies = setup.solids.iter().filter(|solid| solid.free.is_some());
    PlacedSolids::new(bodies.map(|s| (&s.shape, &s.motion)), time_s)
}

impl Step<'_> {
    /// The bodies' velocities before the pressure acts, and their term of the projection.
    pub fn couple_bodies(&self, bodies: &mut BodyStep, phi_cell: &[f32], ground: Ground) {
        if bodies.is_empty() {
            return;
        }
        let (setup, boundaries) = (&self.model.setup, ground.boundaries);
        bodies.look(setup);
        let around = AroundBodies {
            tree: ground.tree,
            body_faces: &boundaries.body_faces,
            open_area: &boundaries.open_area,
            open_volume: &boundaries.open_volume,
            phi_cell,
            gravity_m_s: self.forces.push_s as f32 * setup.liquid.gravity,
            density: f64::from(setup.liquid.density),
        };
        let BodyStep { term, film, clinging, films, coupled, .. } = &mut *bodies;
        couple_bodies(BodyTerms { term, film, clinging, films }, coupled, &around);
        bodies.release(setup.liquid.gravity, self.dt_s);
        bodies.fill_outflow(ground.tree.cell_count());
    }

    /// What the pressure has given the bodies, and the velocity that boundaries have with it.
    pub fn push_bodies<'b>(
        &self,
        bodies: &mut BodyStep,
        impulse_cell: &[f64],
        tree: &'b Arc<Octree>,
        scratch: &'b mut GroundScratch,
    ) -> Ground<'b> {
        if bodies.is_empty() {
            return scratch.on(tree);
        }
        let GroundScratch { boundaries, sources, u_boundary, .. } = &mut *scratch;
        let liquid = self.model.setup.liquid;
        bodies.push(impulse_cell, f64::from(liquid.density), liquid.gravity, self.dt_s);
        let Boundaries { u_solid, body_faces, open_area, .. } = Arc::make_mut(boundaries);
        for &(face, body) in &*body_faces {
            let (face, twist) = (face as usize, bodies.twists()[body as usize]);
            let axis = tree.face_axis(face);
            u_solid[face] = twist.at(tree.face_center(face, axis))[axis];
            u_boundary[face] = u_solid[face] * solid_part(open_area[face], sources.area_face[face]);
        }
        scratch.on(tree)
    }
}

impl OctreeSolver {
    /// What the last step did to momentum, from what it has left in its arrays; `None` before any step, and with surface tension,
    /// whose push is not kept.
    pub(crate) fn last_momentum(&self) -> Option<StepMomentum> {
        let (state, last, c) = (&self.state, &self.next, &self.scratch);
        let (liquid, scratch) = (self.model.setup.liquid, &c.pressure);
        if state.steps == 0 || liquid.surface_tension > 0.0 || scratch.operator.phi_cell.is_empty() {
            return None;
        }
        let (density, tree) = (f64::from(liquid.density), &*state.fields.tree);
        let open_area = &c.ground.sources.area_face;
        let seen = Geometry { tree, phi_cell: &scratch.operator.phi_cell, open_area };
        let mut u_before = scratch.solve.u_face.clone();
        let forces_m_s = state.pushed_s as f32 * liquid.gravity;
        scratch.operator.gradient.hold_back_at_openings(&mut u_before, tree, forces_m_s);
        let sum = |u: &[f32]| density * liquid_momentum(u, &seen, &scratch.operator.gradient);
        let pushed = |bodies: &Bodies| bodies.given_by_water() - c.bodies.clinging_weight();
        let body_faces = &state.boundaries.body_faces;
        // The step has swapped the last state for its own.
        let mut phi_last = vec![];
        let Fields { tree: tree_last, phi_cell, u_face: u_last, .. } = &last.fields;
        let then = Geometry { tree: tree_last, phi_cell, open_area: &last.boundaries.open_area };
        hide_lone_cells(&mut phi_last, &then);
        let then = Geometry { phi_cell: &phi_last, ..then };
        let mut gradient = PressureGradient::default();
        gradient
            .prepare(&then, &GradientParams { form: self.model.params.form(), ..GradientParams::default() });
        Some(StepMomentum {
            liquid_before: sum(&u_before),
            liquid_kg: sum(&vec![1.0; u_before.len()]).y,
            liquid_after: sum(&state.fields.u_face),
            liquid_last: density * liquid_momentum(u_last, &then, &gradient),
            bodies: state.bodies.as_ref().map_or(DVec3::ZERO, pushed),
            boundaries: density
                * (push_on_boundaries(&state.fields.impulse_cell, &seen, body_faces)
                    - c.bodies.given_by_films(&state.fields.impulse_cell)),
            surface: DVec3::ZERO,
        })
    }
}
