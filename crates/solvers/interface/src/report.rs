//! What a step says about itself.

use fluvial_foundation::{DVec3, StageTimers};
use fluvial_solids::{Pose, Twist};
use std::f64::consts::PI;

/// What kept the step from being longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DtLimiter {
    /// The fastest liquid or solid.
    Cfl,
    /// Acceleration by gravity within the step.
    Gravity,
    /// Capillary waves.
    SurfaceTension,
    /// The next frame or output time.
    Frame,
    /// A failed step was redone with half its length.
    Retry,
}

/// A step length and its limiter.
#[derive(Clone, Copy, Debug)]
pub struct SuggestedDt {
    /// Seconds.
    pub dt_s: f64,
    /// What limits it.
    pub limiter: DtLimiter,
    /// A moment that a step should end at, seconds: a motion changes its velocity there.
    pub ends_at_s: f64,
}

impl SuggestedDt {
    /// A step that nothing limits yet.
    pub const UNLIMITED: SuggestedDt =
        SuggestedDt { dt_s: f64::INFINITY, limiter: DtLimiter::Frame, ends_at_s: f64::INFINITY };

    /// Shortens the step where this limit is the tightest so far.
    pub fn limit(&mut self, dt_s: f64, limiter: DtLimiter) {
        if dt_s < self.dt_s {
            (self.dt_s, self.limiter) = (dt_s, limiter);
        }
    }

    /// Gravity waves of two cells' length, `omega^2 = g pi / dx`, are explicit: half of their limit `omega dt
    /// < 2`.
    pub fn limit_gravity_waves(&mut self, gravity_m_s2: f64, dx: f64) {
        if gravity_m_s2 > 0.0 {
            self.limit((dx / (gravity_m_s2 * PI)).sqrt(), DtLimiter::Gravity);
        }
    }
}

/// How the pressure solve went.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct PressureReport {
    /// Iterations of the outer method.
    pub iterations: usize,
    /// Norm of the true residual over that of the right side.
    pub relative_residual: f64,
}

/// What a step did to the momentum of liquid and bodies, N s. It costs a look at every face, so it is made on request, for tests and
/// for who wants to know where momentum comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepMomentum {
    /// Of the liquid that the pressure sees, before it acts, forces included.
    pub liquid_before: DVec3,
    /// How much liquid that is, kg.
    pub liquid_kg: f64,
    /// Its momentum after the pressure.
    pub liquid_after: DVec3,
    /// Of the liquid at the end of the step before, as it lay then: with what forces gave, transport has made
    /// `liquid_before` of it.
    pub liquid_last: DVec3,
    /// What the pressure gave bodies.
    pub bodies: DVec3,
    /// What the pressure gave walls and other solids.
    pub boundaries: DVec3,
    /// What presses on the surface gave the liquid: tension, and the drag on short waves.
    pub surface: DVec3,
}

impl StepMomentum {
    /// What the pressure made of nothing: all that it gave, which should be none.
    pub fn made_by_pressure(&self) -> DVec3 {
        self.liquid_after - self.liquid_before - self.surface + self.bodies + self.boundaries
    }
}

/// A body at the end of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyReport {
    /// Its name.
    pub name: String,
    /// World from body.
    pub pose: Pose,
    /// Velocity of the centre of mass, which is the twist's centre, and angular velocity.
    pub twist: Twist,
    /// Of the liquid on the body in the last step, N.
    pub force_n: DVec3,
    /// The same about the centre of mass, N m.
    pub torque_n_m: DVec3,
    /// Has it left through an open wall?
    pub is_gone: bool,
}

/// One step in numbers.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// Liquid cells.
    pub cells: usize,
    /// Faces that carry liquid velocity.
    pub faces: usize,
    /// Particles.
    pub particles: usize,
    /// Liquid volume at the end of the step, m3.
    pub liquid_volume_m3: f64,
    /// Volume that sources added since the start, m3.
    pub inflow_m3: f64,
    /// Volume that left through sinks and open walls since the start, m3.
    pub outflow_m3: f64,
    /// (volume - expected) / largest expected volume so far, where expected = start + inflow - outflow.
    pub volume_error: f64,
    /// The same, had no volume correction acted: what transport alone lost or gained.
    pub raw_volume_error: f64,
    /// Volume by which the surface was displaced since the start to show what the fluxes have carried, m3; none where a method does
    /// not count it.
    pub displaced_m3: Option<f64>,
    /// J.
    pub kinetic_energy_j: f64,
    /// J, against the domain's lower corner.
    pub potential_energy_j: f64,
    /// Fastest liquid, m/s.
    pub max_speed_m_s: f64,
    /// Largest remaining divergence in a liquid cell, 1/s.
    pub max_divergence_1_s: f64,
    /// The pressure solve.
    pub pressure: PressureReport,
    /// Every clamp and floor that acted, with its count.
    pub clamps: Vec<(&'static str, usize)>,
    /// Seconds by stage.
    pub stages_s: StageTimers,
}
