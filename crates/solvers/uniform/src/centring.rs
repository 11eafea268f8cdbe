//! How long forces act in a step.
//!
//! Surface and velocity take turns. The surface stands at the time t of the state, and velocity where it is to stand for
//! a leapfrog scheme: in the middle of the step in which it carries the surface.
//!
//! x^{n+1} = x^n + dt_{n+1} v^{n+1/2},   v^{n+3/2} = v^{n+1/2} + tau a(x^{n+1}),   tau = (dt_{n+1} + dt_{n+2}) / 2
//!
//! Were tau the length of the step, velocity would stay ahead by half of those steps that were taken before, whatever
//! the present one: where steps become shorter the liquid would be too fast for its height. The energy that such a
//! scheme keeps is E + dt / 2 dV/dt, V the potential energy, so that E grows by half of what dt shrinks by times the power of
//! gravity: 2.1 % in the first quarter of a second of a dam break with steps of half a cell.
//!
//! The next step's length is not known yet and is taken for that of the present one. What that misses is made up for in
//! the next step: the state remembers how far velocity is ahead. Test: `shorter_steps_give_no_energy`.

use crate::UniformSolver;
use fluvial_solver_interface::Clamps;

/// Forces act at least and at most so long, in lengths of the step.
const SHORTEST: f64 = 0.25;
const LONGEST: f64 = 2.0;

/// Velocity in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Centring {
    /// How long forces act in the step, seconds.
    pub push_s: f64,
    /// How far velocity is ahead of the surface at its end, seconds.
    pub lead_s: f64,
}

impl Centring {
    /// Of a step after a state whose velocity is ahead of its surface by `lead_s`, and whether a bound held it back.
    fn new(dt_s: f64, lead_s: f64) -> (Self, bool) {
        let wanted_s = 1.5 * dt_s - lead_s;
        let push_s = wanted_s.clamp(SHORTEST * dt_s, LONGEST * dt_s);
        (Centring { push_s, lead_s: lead_s + push_s - dt_s }, push_s != wanted_s)
    }
}

impl UniformSolver {
    /// How long forces act in a step. Where bodies move with the liquid, as long as the step: they are pushed for as long as
    /// they move.
    pub(crate) fn center(&mut self, dt_s: f64, clamps: &mut Clamps) {
        // The velocity of the start is taken for that in the middle of the first step: all that follows is late by half
        // of it.
        let lead_s = if self.state.steps == 0 { 0.5 * dt_s } else { self.state.lead_s };
        let (centring, is_bounded) = match self.state.bodies {
            Some(_) => (Centring { push_s: dt_s, lead_s: 0.5 * dt_s }, false),
            None => Centring::new(dt_s, lead_s),
        };
        clamps.add("forces_centred_late", is_bounded as usize);
        self.work.centring = centring;
    }
}
