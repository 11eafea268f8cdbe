//! Bodies in the projection of solvers on a uniform grid, see `fluvial_mac`.

use crate::{Bodies, BodyStep, Setup, StepMomentum};
use fluvial_foundation::{Axis, DVec3};
use fluvial_grids::FaceField;
use fluvial_mac::{
    AroundBodies, BodyTerms, Impulse, Openings, Unknowns, couple_bodies, liquid_momentum, mark_unknowns,
    push_on_boundaries,
};
use fluvial_solids::SolidFields;

/// A step's projection on a uniform grid, after the step.
#[derive(Clone, Copy)]
pub struct ProjectedOnGrid<'a> {
    /// The faces as it saw them.
    pub openings: &'a Openings<'a>,
    /// The solids.
    pub solids: &'a SolidFields,
    /// Its impulse.
    pub impulse: Impulse<'a>,
    /// Velocity without and with what presses on the surface, and after it, m/s.
    pub u_face: [&'a FaceField; 3],
}

/// The liquid at the begin of a step on a uniform grid.
#[derive(Clone, Copy)]
pub struct LastOnGrid<'a> {
    /// The faces.
    pub openings: &'a Openings<'a>,
    /// The level set.
    pub phi_cell: &'a [f32],
    /// Velocity, m/s.
    pub u_face: &'a FaceField,
}

impl BodyStep {
    /// What a step that is over did to momentum; `bodies` are those at its end.
    pub fn momentum_on_grid(
        &self,
        bodies: Option<&Bodies>,
        density: f32,
        step: &ProjectedOnGrid,
        last: &LastOnGrid,
    ) -> StepMomentum {
        let ProjectedOnGrid { openings, solids, impulse, u_face: [without_push, before, after] } = *step;
        let grid = openings.grid;
        let cell_kg = f64::from(density) * f64::from(grid.dx).powi(3);
        let sum = |u: &FaceField| cell_kg * liquid_momentum(|axis, face| u[axis][face], &impulse, openings);
        let is_body = |axis: Axis, at: [usize; 3]| {
            solids
                .mover(grid, axis, at)
                .is_some_and(|n| self.among_moving.get(n).is_some_and(|b| b.is_some()))
        };
        let mut unknowns = Unknowns::none(grid);
        mark_unknowns(&mut unknowns, last.phi_cell, last.openings);
        let seen = Impulse { q_cell: &[], phi_cell: last.phi_cell, unknown_cell: &unknowns.unknown_cell };
        let u_last = |axis: Axis, face: usize| last.u_face[axis][face];
        StepMomentum {
            liquid_before: sum(without_push),
            // The faces of each axis hold all of the liquid; at the surface they differ by parts of cells.
            liquid_kg: cell_kg * liquid_momentum(|_, _| 1.0, &impulse, openings).y,
            liquid_after: sum(after),
            liquid_last: cell_kg * liquid_momentum(u_last, &seen, last.openings),
            bodies: bodies.map_or(DVec3::ZERO, |bodies| bodies.given_by_water() - self.clinging_weight()),
            boundaries: cell_kg
                * (push_on_boundaries(&impulse, openings, is_body) - self.given_by_films(impulse.q_cell)),
            surface: sum(before) - sum(without_push),
        }
    }

    /// The bodies' velocities before the pressure acts in the cells `unknown_cell`, and their term of the projection.
    pub fn couple_on_grid(
        &mut self,
        setup: &Setup,
        openings: &Openings,
        solids: &SolidFields,
        unknown_cell: &[bool],
        dt_s: f64,
    ) {
        if self.is_empty() {
            return;
        }
        self.look(setup);
        let gravity = setup.liquid.gravity;
        let around = AroundBodies {
            openings,
            solids,
            among_moving: &self.among_moving,
            unknown_cell,
            gravity_m_s: dt_s as f32 * gravity,
            density: f64::from(setup.liquid.density),
        };
        let BodyStep { term, film, clinging, films, .. } = self;
        couple_bodies(BodyTerms { term, film, clinging, films }, &self.coupled, &around);
        self.release(gravity, dt_s);
        self.fill_outflow(unknown_cell.len());
    }

    /// What the pressure's impulse has given the bodies in a step from `time_s` on, and the velocity that solids have with it.
    pub fn push_on_grid(
        &mut self,
        setup: &mut Setup,
        solids: &mut SolidFields,
        impulse_cell: &[f32],
        time_s: f64,
        dt_s: f64,
    ) {
        let grid = setup.domain.grid;
        let cell_kg = f64::from(setup.liquid.density) * f64::from(grid.dx).powi(3);
        self.push(impulse_cell, cell_kg, setup.liquid.gravity, dt_s);
        self.tell(setup);
        solids.set_twists(&grid, &setup.moving_twists(time_s + dt_s));
    }
}
