//! Flows that are given instead of computed: neither forces nor pressure act, the liquid is carried through
//! them.

use fluvial_foundation::Vec3;
use std::f64::consts::PI;

/// A velocity that is known everywhere and always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flow {
    /// LeVeque's deformation [leveque-1996; enright-2002] on the unit cube, in metres, beyond it repeated:
    /// `u = 2 sin^2(pi x) sin(2 pi y) sin(2 pi z) cos(pi t / T)` and so on. Whatever it carries is drawn out
    /// into a thin sheet at T / 2 and back where it was at T.
    Enright {
        /// T, seconds.
        period_s: f64,
    },
}

impl Flow {
    /// Velocity at a place and a moment, m/s.
    ///
    /// Tests: `the_flow_is_free_of_divergence`, `everything_comes_back_in_fourth_order`.
    pub fn velocity(&self, x: Vec3, time_s: f64) -> Vec3 {
        let Flow::Enright { period_s } = *self;
        let strength = (PI * time_s / period_s).cos() as f32;
        let [x, y, z] = x.to_array().map(|v| (std::f32::consts::PI * v).sin_cos());
        let double = |(s, c): (f32, f32)| 2.0 * s * c;
        strength
            * Vec3::new(
                2.0 * x.0 * x.0 * double(y) * double(z),
                -double(x) * y.0 * y.0 * double(z),
                -double(x) * double(y) * z.0 * z.0,
            )
    }

    /// No velocity is larger, m/s.
    pub fn fastest_m_s(&self) -> f64 {
        2.0
    }

    /// Where the flow carries a place within a step: Runge and Kutta's fourth order.
    pub fn carry(&self, x: Vec3, time_s: f64, dt_s: f64) -> Vec3 {
        let dt = dt_s as f32;
        let k1 = self.velocity(x, time_s);
        let k2 = self.velocity(x + 0.5 * dt * k1, time_s + 0.5 * dt_s);
        let k3 = self.velocity(x + 0.5 * dt * k2, time_s + 0.5 * dt_s);
        let k4 = self.velocity(x + dt * k3, time_s + dt_s);
        x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::random::unit_vec3;

    const FLOW: Flow = Flow::Enright { period_s: 3.0 };

    #[test]
    fn the_flow_is_free_of_divergence() {
        let h = 1e-3;
        for n in 0..200 {
            let x = unit_vec3(n, 1);
            let d = |axis: usize| {
                let e = h * Vec3::AXES[axis];
                (FLOW.velocity(x + e, 0.3)[axis] - FLOW.velocity(x - e, 0.3)[axis]) / (2.0 * h)
            };
            assert!((d(0) + d(1) + d(2)).abs() < 2e-3, "{}", d(0) + d(1) + d(2));
            assert!(FLOW.velocity(x, 0.0).length() as f64 <= FLOW.fastest_m_s() * 1.0001);
        }
    }

    #[test]
    fn everything_comes_back_in_fourth_order() {
        // Largest distance from the start after a period, for two lengths of step that f32 can tell from
        // zero.
        let error = |steps: usize| -> f32 {
            let dt_s = 3.0 / steps as f64;
            let off = |n: u64| {
                let start = unit_vec3(n, 2);
                let mut x = start;
                (0..steps).for_each(|s| x = FLOW.carry(x, s as f64 * dt_s, dt_s));
                x.distance(start)
            };
            (0..100).map(off).fold(0.0, f32::max)
        };
        let (coarse, fine) = (error(24), error(48));
        let order = (coarse / fine).log2();
        assert!(order > 3.5, "{coarse} {fine}: order {order}");
        assert!(error(500) < 1e-4, "{}", error(500));
    }
}
