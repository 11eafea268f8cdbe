//! Shadows that balls throw, as a picture taken from the key light.

use crate::balls::Ball;
use fluvial_foundation::{Aabb, Vec3};

/// Depth of the ball nearest to the light, on a square across its direction.
pub struct ShadowMap {
    across: Vec3,
    along: Vec3,
    toward: Vec3,
    low: [f32; 2],
    texel: f32,
    size: usize,
    /// Largest coordinate towards the light; -infinite where there is no ball.
    nearest: Vec<f32>,
    /// Surfaces are in shadow when a ball stands out from them by more.
    slack: f32,
}

impl ShadowMap {
    /// Draws the balls as seen from the light; `toward` points to it.
    pub fn new(balls: &[Ball], domain: Aabb, toward: Vec3, size: usize) -> ShadowMap {
        let across = toward.cross(Vec3::Y).normalize_or(Vec3::X);
        let along = across.cross(toward);
        let center = domain.center();
        let reach = 0.51 * domain.size().length();
        let low = [center.dot(across) - reach, center.dot(along) - reach];
        let texel = 2.0 * reach / size as f32;
        let typical = balls.iter().map(|b| b.radius).fold(0.0, f32::max);
        let mut map = ShadowMap {
            across,
            along,
            toward,
            low,
            texel,
            size,
            nearest: vec![f32::NEG_INFINITY; size * size],
            slack: 0.4 * typical,
        };
        balls.iter().for_each(|b| map.add(b));
        map
    }

    fn add(&mut self, ball: &Ball) {
        let [u, v] = self.place(ball.center);
        // A ball smaller than a texel still darkens one.
        let reach = (ball.radius / self.texel).max(0.5);
        let height = ball.center.dot(self.toward);
        let range = |c: f32| {
            let from = (c - reach - 0.5).ceil().max(0.0) as usize;
            let to = (c + reach - 0.5).floor();
            from..if to < 0.0 { 0 } else { (to as usize + 1).min(self.size) }
        };
        for j in range(v) {
            for i in range(u) {
                let (du, dv) = (i as f32 + 0.5 - u, j as f32 + 0.5 - v);
                let r2 = (du * du + dv * dv) / (reach * reach);
                if r2 <= 1.0 {
                    let top = height + ball.radius * (1.0 - r2).sqrt();
                    let held = &mut self.nearest[i + self.size * j];
                    *held = held.max(top);
                }
            }
        }
    }

    fn place(&self, x: Vec3) -> [f32; 2] {
        [(x.dot(self.across) - self.low[0]) / self.texel, (x.dot(self.along) - self.low[1]) / self.texel]
    }

    /// Share of the key light that reaches a point, over a few texels.
    pub fn visible(&self, x: Vec3) -> f32 {
        let [u, v] = self.place(x);
        let height = x.dot(self.toward) + self.slack;
        let (mut open, mut all) = (0.0, 0.0);
        for dj in -1..=1 {
            for di in -1..=1 {
                let (i, j) = ((u + di as f32).floor(), (v + dj as f32).floor());
                let inside = i >= 0.0 && j >= 0.0 && (i as usize) < self.size && (j as usize) < self.size;
                let lit = !inside || self.nearest[i as usize + self.size * j as usize] <= height;
                open += f32::from(lit);
                all += 1.0;
            }
        }
        open / all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_a_ball_is_dark_and_the_rest_is_lit() {
        let ball = Ball { center: Vec3::splat(0.5), radius: 0.1, color: Vec3::ONE };
        let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let toward = Vec3::new(0.3, 0.9, -0.2).normalize();
        let map = ShadowMap::new(&[ball], domain, toward, 400);
        assert_eq!(map.visible(ball.center - 0.4 * toward), 0.0);
        assert_eq!(map.visible(ball.center + 0.2 * toward), 1.0);
        assert_eq!(map.visible(ball.center + 0.1 * toward), 1.0, "its own top");
        let aside = toward.cross(Vec3::X).normalize();
        assert_eq!(map.visible(ball.center - 0.4 * toward + 0.15 * aside), 1.0);
        assert_eq!(map.visible(ball.center - 0.4 * toward + 0.05 * aside), 0.0);
        assert_eq!(map.visible(Vec3::splat(50.0)), 1.0);
    }
}
