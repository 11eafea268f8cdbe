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
