//! Particles on their way with the liquid, around solids.

use crate::interpolate::Sampler;
use crate::sides::TreeSides;
use fluvial_foundation::{AXES, Aabb, Vec3, parallel};
use fluvial_grids::Octree;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Walls and solids at the end of a step.
pub struct Surroundings<'a, D> {
    /// Sides of thin solids, which hold particles.
    pub sides: TreeSides<'a>,
    /// The domain.
    pub bounds: Aabb,
    /// Its open sides: x low, x high, y low, y high, z low, z high.
    pub open_walls: [bool; 6],
    /// Are there solids?
    pub has_solids: bool,
    /// Distance to the nearest solid, metres, true up to four finest cells.
    pub solid_distance: D,
    /// Edge of the finest cells.
    pub dx: f32,
    /// Particles keep this distance from solids and closed walls, metres.
    pub margin_m: f32,
}

/// What solids did to the particles of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightInfo {
    /// Pushed out of solids.
    pub pushed: usize,
    /// Inside a solid without a way out; their places are NaN.
    pub trapped: usize,
}

/// What became of a particle at walls and solids.
enum Held {
    Free,
    Pushed,
    Trapped,
}

/// Moves particles by `dt_s` through `u_face` by the midpoint rule. Solids and closed walls hold them. Verified by `particles_move_with_the_liquid_and_stop_at_walls`.
pub fn carry<D>(
    x: &mut [Vec3],
    (sampler, u_face): (&Sampler, &[f32]),
    around: &Surroundings<D>,
    dt_s: f32,
) -> FlightInfo
where
    D: Fn(Vec3) -> f32 + Sync + Send,
{
    let [pushed, trapped] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    parallel::for_each_indexed_mut(x, |_, x| {
        let middle = *x + 0.5 * dt_s * sampler.velocity(u_face, *x);
        *x = around.sides.walk(*x, *x + dt_s * sampler.velocity(u_face, middle));
        let walked = *x;
        let held = around.hold(x);
        if !x.is_nan() {
            *x = around.sides.walk(walked, *x);
        }
        match held {
            Held::Free => {}
            Held::Pushed => drop(pushed.fetch_add(1, Relaxed)),
            Held::Trapped => drop(trapped.fetch_add(1, Relaxed)),
        }
    });
    FlightInfo { pushed: pushed.into_inner(), trapped: trapped.into_inner() }
}

impl<D: Fn(Vec3) -> f32> Surroundings<'_, D> {
    fn hold(&self, x: &mut Vec3) -> Held {
        let (min, max) = (self.bounds.min + self.margin_m, self.bounds.max - self.margin_m);
        for axis in AXES {
            let [low, high] = [0, 1].map(|side| !self.open_walls[2 * axis + side]);
            if (low && x[axis] < min[axis]) || (high && x[axis] > max[axis]) {
                x[axis] = x[axis].clamp(min[axis], max[axis]);
            }
        }
        if !self.has_solids {
            return Held::Free;
        }
        let (margin, distance) = (self.margin_m, &self.solid_distance);
        let mut held = Held::Free;
        // One projection is exact for a flat solid; corners need more.
        for _ in 0..4 {
            let d = distance(*x);
            if d >= margin {
                return held;
            }
            let h = 0.1 * self.dx;
            let along = |axis: Vec3| distance(*x + h * axis) - distance(*x - h * axis);
            let normal = Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize_or_zero();
            *x += (1.01 * margin - d) * normal;
            *x = x.clamp(min, max);
            held = Held::Pushed;
        }
        if distance(*x) >= 0.0 {
            return held;
        }
        *x = Vec3::NAN;
        Held::Trapped
    }
}

/// FLIP: particles take up the change of the liquid's velocity, `v = u_new + ratio (v - u_old)`. Verified by
/// `flip_keeps_what_the_grid_cannot_hold`.
pub fn update_velocities(
    v: &mut [Vec3],
    x: &[Vec3],
    sampler: &Sampler,
    (u_new, u_old): (&[f32], &[f32]),
    ratio: f32,
) {
    parallel::for_each_indexed_mut(v, |p, v| {
        *v = sampler.velocity(u_new, x[p]) + ratio * (*v - sampler.velocity(u_old, x[p]));
    });
}

/// phi at particles, on their side of thin solids.
pub fn sample_phi(
    phi: &mut Vec<f32>,
    x: &[Vec3],
    (tree, sampler, sides): (&Octree, &Sampler, TreeSides),
    phi_cell: &[f32],
) {
    phi.resize(x.len(), 0.0);
    parallel::for_each_indexed_mut(phi, |p, phi| {
        let seen = sides.sample(tree, phi_cell, x[p]);
        *phi = seen.unwrap_or_else(|| sampler.cells(phi_cell, x[p]));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::Interpolation;
    use fluvial_grids::octree::Shape;

    fn tree() -> Octree {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
        Octree::build(shape, 0, |_| false)
    }

    /// In a rotation the midpoint rule errs by `(omega dt)^3 r / 6` a step; a solid half space and a closed wall
    /// hold what would pass.
    #[test]
    fn particles_move_with_the_liquid_and_stop_at_walls() {
        let tree = tree();
        let sampler = Sampler::new(&tree, Interpolation::Mls);
        // A rotation that sinks at the side of high x, and flows outwards at high z.
        let spin = |x: Vec3| {
            let out = if x.z > 0.8 { 1.0 } else { 0.0 };
            Vec3::new(0.5 - x.y + out, x.x - 0.5, if x.x > 0.8 { -1.0 } else { 0.0 })
        };
        let u: Vec<f32> = (0..tree.face_count())
            .map(|f| spin(tree.face_center(f, tree.face_axis(f)))[tree.face_axis(f)])
            .collect();
        let around = Surroundings {
            sides: TreeSides::NONE,
            bounds: tree.shape().bounds(),
            open_walls: [false; 6],
            has_solids: true,
            solid_distance: |x: Vec3| x.z - 0.25,
            dx: 1.0 / 16.0,
            margin_m: 0.001,
        };
        let dt = 0.1f32;
        let mut x = [Vec3::new(0.7, 0.5, 0.5), Vec3::new(0.9, 0.5, 0.3), Vec3::new(0.95, 0.5, 0.95)];
        let info = carry(&mut x, (&sampler, &u), &around, dt);
        let exact = Vec3::new(0.5 + 0.2 * dt.cos(), 0.5 + 0.2 * dt.sin(), 0.5);
        assert!(x[0].distance(exact) < 0.2 * dt.powi(3) / 5.0, "{}", x[0]);
        assert!((x[1].z - 0.25 - 0.00101).abs() < 1e-5, "{}", x[1]);
        assert!((x[2].x - 0.999).abs() < 1e-6, "{}", x[2]);
        assert_eq!(info, FlightInfo { pushed: 1, trapped: 0 });
    }

    #[test]
    fn flip_keeps_what_the_grid_cannot_hold() {
        let tree = tree();
        let sampler = Sampler::new(&tree, Interpolation::Mls);
        let (old, new) = (vec![1.0; tree.face_count()], vec![3.0; tree.face_count()]);
        let (mut v, x) = ([Vec3::splat(1.5)], [Vec3::splat(0.4)]);
        update_velocities(&mut v, &x, &sampler, (&new, &old), 0.5);
        assert!(v[0].distance(Vec3::splat(3.25)) < 1e-6, "half of its own 0.5 is left");
    }
}
