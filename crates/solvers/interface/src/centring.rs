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

use crate::Clamps;

/// Forces act at least and at most so long, in lengths of the step.
const SHORTEST: f64 = 0.25;
const LONGEST: f64 = 2.0;

/// Velocity in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Centring {
    /// How long forces act in the step, seconds.
    pub push_s: f64,
    /// How far velocity is ahead of the surface at its end, seconds.
    pub lead_s: f64,
    /// How far the velocity that has carried the surface is behind it there, seconds.
    pub behind_s: f64,
}

impl Centring {
    /// Of a step of a liquid alone. `lead_s` is how far velocity is ahead of the surface in the state before; at the start it is none,
    /// and velocity there is taken for that in the middle of the first step: all that follows is late by half of it.
    pub fn of_step(dt_s: f64, lead_s: Option<f64>, clamps: &mut Clamps) -> Self {
        let lead_s = lead_s.unwrap_or(0.5 * dt_s);
        let wanted_s = 1.5 * dt_s - lead_s;
        let push_s = wanted_s.clamp(SHORTEST * dt_s, LONGEST * dt_s);
        clamps.add("forces_centred_late", (push_s != wanted_s) as usize);
        Centring { push_s, lead_s: lead_s + push_s - dt_s, behind_s: dt_s - lead_s }
    }

    /// Of a step in which bodies move with the liquid: as long as the step, for they are pushed for as long as they move.
    pub fn with_bodies(dt_s: f64) -> Self {
        Centring { push_s: dt_s, lead_s: 0.5 * dt_s, behind_s: 0.5 * dt_s }
    }

    /// Kinetic energy at the time of the surface, from that of the velocity behind it and that of the velocity ahead. In steps of one
    /// length it is `v^{n-1/2} v^{n+1/2} / 2`, which with the potential energy is what this scheme keeps; in others the weights of
    /// the logarithms are those of linear interpolation, so that nothing jumps to the first order where steps change.
    pub fn kinetic_at_surface(&self, behind_j: f64, ahead_j: f64) -> f64 {
        let of_behind = (self.lead_s / (self.lead_s + self.behind_s)).clamp(0.0, 1.0);
        behind_j.powf(of_behind) * ahead_j.powf(1.0 - of_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::Centring;
    use crate::Clamps;

    /// Energies of a body that falls in steps of these lengths, eight of each: with velocity at the time of the place, as they are
    /// reported, and by the plain mean of two velocities' logarithms.
    fn fall(steps_s: [f64; 3]) -> Vec<[f64; 3]> {
        let (g, mut x, mut v) = (9.81, 0.0, 0.0);
        let (mut lead_s, mut clamps) = (None, Clamps::default());
        let mut energies = vec![];
        for dt_s in steps_s.into_iter().flat_map(|dt_s| [dt_s; 8]) {
            let centring = Centring::of_step(dt_s, lead_s, &mut clamps);
            x += dt_s * v;
            let behind: f64 = v;
            v -= centring.push_s * g;
            lead_s = Some(centring.lead_s);
            let now = v + centring.lead_s * g;
            let kinetic = [
                0.5 * now * now,
                centring.kinetic_at_surface(0.5 * behind * behind, 0.5 * v * v),
                0.5 * (behind * v).abs(),
            ];
            energies.push(kinetic.map(|kinetic| kinetic + g * x));
        }
        energies
    }

    /// A body falls in steps that shrink to a quarter and grow again, and keeps its energy. With forces that act as long as the step it gains
    /// 4 % when steps have shrunk.
    #[test]
    fn a_fall_keeps_its_energy_when_steps_change() {
        // The start's velocity is that of the middle of the first step.
        let start = 0.5 * (0.02 * 9.81f64).powi(2);
        for [energy, ..] in fall([0.04, 0.01, 0.03]) {
            assert!((energy - start).abs() < 3e-3 * 11.1, "{energy} {start}");
        }
    }

    /// So does what is reported, whose start is at rest; by the plain mean it jumps by the power of gravity times a quarter of what the step
    /// changes by.
    #[test]
    fn the_reported_energy_does_not_jump_when_steps_change() {
        let most = |n: usize| fall([0.04, 0.02, 0.03]).iter().fold(0.0f64, |most, e| most.max(e[n].abs()));
        assert!(most(1) < 0.03 && most(2) > 0.1, "{} {}", most(1), most(2));
    }
}
