//! The liquid between two frames.

use crate::field::{Field, Moment, Sample};
use fluvial_foundation::Vec3;

/// The liquid from one frame to the next, known at both ends.
///
/// In between, a value at place x and time t is that of the first frame where the liquid at x came from, and that of the second
/// where it goes to, weighted by time: `f(x, t) = (1 - s) f0(x - s T w) + s f1(x + (1 - s) T w)` with `s = (t - t0) / T` and the
/// velocity w of what is followed. A surface or a flow that moves along with w is given back exactly, however many cells it
/// crosses between frames; without w (`w = 0`) a wave front would fade out here and in there.
/// Tests: `what_moves_evenly_is_exact_between_frames`.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a, M> {
    /// At its start.
    pub start: &'a M,
    /// At its end.
    pub end: &'a M,
    /// Its length, seconds.
    pub length_s: f32,
}

impl<M: Moment> Interval<'_, M> {
    /// Distance and velocity `at_s` seconds after the start, where the liquid moves with about `w`.
    #[inline]
    pub fn sample(&self, x: Vec3, at_s: f32, w: Vec3) -> Sample {
        let s = (at_s / self.length_s).clamp(0.0, 1.0);
        if s <= 0.0 {
            return self.start.sample(x);
        }
        if s >= 1.0 {
            return self.end.sample(x);
        }
        let from = self.start.sample(x - at_s * w);
        let to = self.end.sample(x + (self.length_s - at_s) * w);
        let u = match (from.u, to.u) {
            (Some(a), Some(b)) => Some(a + s * (b - a)),
            (a, b) => a.or(b),
        };
        Sample { phi: from.phi + s * (to.phi - from.phi), u }
    }

    /// The same without a velocity at hand: first that of the liquid itself at this place, where it is known.
    #[inline]
    pub fn sample_around(&self, x: Vec3, at_s: f32) -> Sample {
        let still = self.sample(x, at_s, Vec3::ZERO);
        match still.u {
            Some(u) => self.sample(x, at_s, u),
            None => still,
        }
    }
}

impl Interval<'_, Field> {
    /// Direction of growing phi, as [`Self::sample`] places it: that of the frame which is nearer in time.
    pub fn normal(&self, x: Vec3, at_s: f32, w: Vec3) -> Vec3 {
        if 2.0 * at_s < self.length_s {
            self.start.normal(x - at_s * w)
        } else {
            self.end.normal(x + (self.length_s - at_s).max(0.0) * w)
        }
    }
}
