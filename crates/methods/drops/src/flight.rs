//! Drops on their way through the air, around solids.

use crate::Drops;
use fluvial_foundation::{AXES, Aabb, Vec3};

/// Rounds in which a drop is pushed out of a solid: one is exact for a flat solid, corners need more.
const PUSHES: usize = 4;

/// Walls and solids.
pub struct Obstacles<D, N, V> {
    /// The domain.
    pub bounds: Aabb,
    /// Its open sides: x low, x high, y low, y high, z low, z high.
    pub open_walls: [bool; 6],
    /// Are there solids?
    pub has_solids: bool,
    /// Distance to the nearest solid, metres.
    pub solid_distance: D,
    /// Direction out of it.
    pub solid_normal: N,
    /// Its velocity, m/s.
    pub solid_velocity: V,
    /// Drops keep this distance from solids and closed walls, metres.
    pub margin_m: f32,
}

/// Moves drops by their velocity and lets gravity act: `x += dt v`, then `v += push`, as the grid's liquid is
/// moved and then pushed. Walls and solids take the speed with which a drop meets them and no other. Returns
/// the volume that has left through open walls; drops without a way out of a solid stay where they were.
/// `walk(from, to)` says how far a drop comes on its way: thin solids, which distances at nodes know nothing of, hold
/// it and take its speed along the axes on which they do.
/// Verified by `a_drop_keeps_to_its_parabola`, `walls_and_solids_hold_drops`.
pub fn fly<D, N, V>(
    drops: &mut Drops,
    around: &Obstacles<D, N, V>,
    walk: impl Fn(Vec3, Vec3) -> Vec3,
    dt_s: f32,
    push_m_s: Vec3,
) -> f64
where
    D: Fn(Vec3) -> f32,
    N: Fn(Vec3) -> Vec3,
    V: Fn(Vec3) -> Vec3,
{
    let bounds = around.bounds;
    let mut left_m3 = 0.0;
    for n in 0..drops.len() {
        let from = drops.x[n];
        let goal = from + dt_s * drops.v[n];
        let (mut x, mut v) = (walk(from, goal), drops.v[n]);
        AXES.into_iter().filter(|&a| x[a] != goal[a]).for_each(|a| v[a] = 0.0);
        let walked = x;
        if around.hold(&mut x, &mut v) {
            x = walk(walked, x);
        } else {
            (x, v) = (from, Vec3::ZERO);
        }
        drops.x[n] = x;
        drops.v[n] = v + push_m_s;
        drops.age_s[n] += dt_s;
    }
    let is_inside = |x: Vec3| x == x.clamp(bounds.min, bounds.max);
    drops.retain(|drops, n| {
        let stays = is_inside(drops.x[n]);
        left_m3 += if stays { 0.0 } else { drops.volume_m3[n] };
        stays
    });
    left_m3
}

impl<D: Fn(Vec3) -> f32, N: Fn(Vec3) -> Vec3, V: Fn(Vec3) -> Vec3> Obstacles<D, N, V> {
    /// Keeps a drop out of walls and solids; false when there is no way out.
    fn hold(&self, x: &mut Vec3, v: &mut Vec3) -> bool {
        let (min, max) = (self.bounds.min + self.margin_m, self.bounds.max - self.margin_m);
        self.hold_at_walls(x, v, min, max);
        if !self.has_solids {
            return true;
        }
        for _ in 0..PUSHES {
            let d = (self.solid_distance)(*x);
            if d >= self.margin_m {
                return true;
            }
            let normal = (self.solid_normal)(*x);
            *x += (1.01 * self.margin_m - d) * normal;
            let relative = *v - (self.solid_velocity)(*x);
            *v -= normal.dot(relative).min(0.0) * normal;
            self.hold_at_walls(x, v, min, max);
        }
        (self.solid_distance)(*x) >= 0.0
    }

    fn hold_at_walls(&self, x: &mut Vec3, v: &mut Vec3, min: Vec3, max: Vec3) {
        for axis in AXES {
            let [low, high] = [0, 1].map(|side| !self.open_walls[2 * axis + side]);
            if low && x[axis] < min[axis] {
                (x[axis], v[axis]) = (min[axis], v[axis].max(0.0));
            }
            if high && x[axis] > max[axis] {
                (x[axis], v[axis]) = (max[axis], v[axis].min(0.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn box_of(
        open_walls: [bool; 6],
        floor_m: f32,
    ) -> Obstacles<impl Fn(Vec3) -> f32, impl Fn(Vec3) -> Vec3, impl Fn(Vec3) -> Vec3> {
        Obstacles {
            bounds: Aabb { min: Vec3::ZERO, max: Vec3::ONE },
            open_walls,
            has_solids: true,
            solid_distance: move |x: Vec3| x.y - floor_m,
            solid_normal: |_| Vec3::Y,
            solid_velocity: |_| Vec3::ZERO,
            margin_m: 1e-3,
        }
    }

    /// Position after position, then velocity: x_n = x_0 + v_0 t + g t (t - dt) / 2 exactly.
    #[test]
    fn a_drop_keeps_to_its_parabola() {
        let around = box_of([false; 6], -1.0);
        let (x, v, g, dt) =
            (Vec3::new(0.1, 0.2, 0.5), Vec3::new(1.0, 2.0, 0.0), Vec3::new(0.0, -9.81, 0.0), 0.01);
        let mut drops = Drops::default();
        drops.push(x, v, 1e-6);
        for n in 1..=30 {
            assert_eq!(fly(&mut drops, &around, |_, x| x, dt, dt * g), 0.0);
            let t = n as f32 * dt;
            let exact = x + t * v + 0.5 * t * (t - dt) * g;
            assert!(drops.x[0].distance(exact) < 1e-5, "{n}: {} {exact}", drops.x[0]);
        }
        assert!((drops.age_s[0] - 0.3).abs() < 1e-5);
    }

    #[test]
    fn walls_and_solids_hold_drops() {
        let around = box_of([false, true, false, false, false, false], 0.25);
        let mut drops = Drops::default();
        drops.push(Vec3::new(0.5, 0.3, 0.5), Vec3::new(1.0, -1.0, 0.0), 1.0);
        drops.push(Vec3::new(0.5, 0.5, 0.95), Vec3::new(1.0, 1.0, 1.0), 2.0);
        drops.push(Vec3::new(0.95, 0.5, 0.5), Vec3::new(1.0, 1.0, 1.0), 4.0);
        assert_eq!(fly(&mut drops, &around, |_, x| x, 0.1, Vec3::ZERO), 4.0);
        assert!((drops.x[0].y - 0.25101).abs() < 1e-5 && drops.v[0] == Vec3::X, "it slides");
        assert!((drops.x[1].z - 0.999).abs() < 1e-6 && drops.v[1] == Vec3::new(1.0, 1.0, 0.0));
        assert_eq!(drops.len(), 2);
    }
}
