//! The mouth of a source: a shape that liquid leaves at a given velocity, and exactly how much.
//!
//! Liquid of velocity v fills the shape and leaves it where its surface faces v, so the flow is
//! `Q = integral max(v . n, 0) dA = |v| S`, S the section that a beam of parallel lines along v has when it
//! leaves the shape ([`Nozzle::section_m2`]).
//!
//! On a grid the shape closes the part of each face that it covers. The flux of a constant v through the
//! covered parts of a cell's faces is, by the divergence theorem, what leaves the shape through the piece of
//! its surface in the cell; so a source is exact on any grid, however its cells lie, and a jet that flows on
//! at v is a solution of the cell's continuity equation. Where the surface faces back nothing may be sucked
//! in: the cover reaches a little farther back than the shape, and only cells with a positive flux count.

use crate::beam::{Beam, Column, columns};
use crate::{Motion, Pose, Shape, Twist, open_face_area};
use fluvial_foundation::{Aabb, Axis, Vec3, parallel};

/// Lines along each side of the section that is measured.
const LINES_ACROSS: usize = 256;
/// The same where only the shape's thickness is asked for.
const FEW_LINES_ACROSS: usize = 24;
/// The cover reaches this many cells back behind the shape.
const COVER_BACK_CELLS: f32 = 1.5;
/// Squares along each side of a face whose cover is measured, each linear in itself.
const SQUARES: usize = 8;

/// A source's shape at one moment, in the world.
#[derive(Clone, Debug)]
pub struct Nozzle {
    shape: Shape,
    /// Of the liquid against the shape, m/s, in the axes of the world.
    outflow: Vec3,
    twist: Twist,
    /// What of it matters.
    within: Aabb,
    /// Greatest distance from the surface inside, metres: half of the thickness of a thin shape.
    depth_m: f32,
}

impl Nozzle {
    /// A shape that moves inside a box, and the velocity at which liquid leaves it in its own frame.
    pub fn new(shape: &Shape, velocity_in_body: Vec3, motion: &Motion, time_s: f64, within: Aabb) -> Self {
        let Pose { rotation, translate } = motion.pose(time_s);
        let placed = Shape::Transform { shape: Box::new(shape.clone()), scale: 1.0, rotation, translate };
        let outflow = rotation * velocity_in_body;
        let shape = if motion.is_static() { shape.clone() } else { placed };
        let depth_m = Beam::new(&shape, outflow, within, FEW_LINES_ACROSS).map_or(0.0, |beam| {
            let deepest = |line: usize| beam.walk(&shape, beam.line(line), |_, _| ()) as f64;
            parallel::ordered_max(beam.lines(), deepest) as f32
        });
        Nozzle { shape, outflow, twist: motion.twist(time_s), within, depth_m }
    }

    /// Distance to the shape, negative inside.
    pub fn distance(&self, x: Vec3) -> f32 {
        self.shape.distance(x)
    }

    /// A box around the shape.
    pub fn bounds(&self) -> Aabb {
        self.shape.bounds()
    }

    /// Velocity of the liquid in the shape, m/s.
    pub fn velocity(&self, x: Vec3) -> Vec3 {
        self.outflow + self.twist.at(x)
    }

    /// Velocity of the liquid against the shape, m/s.
    pub fn outflow(&self) -> Vec3 {
        self.outflow
    }

    /// Distance to the liquid in the shape `since_s` seconds after it has begun to flow in from behind.
    ///
    /// Test: `a_nozzle_fills_from_behind_at_its_own_flow`.
    pub fn filled_distance(&self, x: Vec3, since_s: f64) -> f32 {
        let reach_m = self.outflow.length() as f64 * since_s;
        let here = self.distance(x);
        if reach_m > self.bounds().size().min(self.within.size()).length() as f64 {
            return here;
        }
        // A shape that begins outside the box fills from the box's wall on.
        let before = x - since_s as f32 * self.outflow;
        let outside = (self.within.min - before).max(before - self.within.max).max_element();
        here.max(-self.distance(before).max(outside))
    }

    /// Section of the flow where it leaves the shape and nothing `is_blocked`, m2.
    ///
    /// Test: `sections_of_simple_shapes_are_exact`.
    pub fn section_m2(&self, is_blocked: impl Fn(Vec3) -> bool + Sync + Send) -> f64 {
        let Some(beam) = Beam::new(&self.shape, self.outflow, self.within, LINES_ACROSS) else { return 0.0 };
        let exits = |line: usize| {
            let mut count = 0;
            beam.walk(&self.shape, beam.line(line), |_, exit| count += !is_blocked(exit) as usize);
            count as f64
        };
        parallel::ordered_sum_of(beam.lines(), exits) * beam.section_m2()
    }

    /// The flow as columns along it, at most `width_m` wide on both sides: where each enters the shape, and
    /// its section where it leaves. Their sections add up to [`Self::section_m2`] as nearly as lines a
    /// sixteenth of a column apart show it. Rims of less than `least_share` of a full column are left out.
    ///
    /// Test: `columns_have_the_section_of_the_flow_and_begin_where_it_enters`.
    pub fn columns(
        &self,
        width_m: f32,
        least_share: f32,
        is_blocked: impl Fn(Vec3) -> bool + Sync + Send,
    ) -> Vec<Column> {
        columns(&self.shape, self.outflow, self.within, (width_m, least_share), is_blocked)
    }

    /// The part of a square face that the shape covers, 0 to 1, counted a little way back: the flow through
    /// the covered parts of a cell's faces is what leaves the shape in the cell.
    ///
    /// Test: `what_leaves_through_faces_is_section_times_speed`.
    pub fn covered_part(&self, center: Vec3, axis: Axis, size_m: f32) -> f32 {
        let half_diagonal = size_m * std::f32::consts::FRAC_1_SQRT_2;
        let middle = self.cover_distance(center, size_m);
        if middle.abs() > half_diagonal {
            return if middle < 0.0 { 1.0 } else { 0.0 };
        }
        let step = size_m / SQUARES as f32;
        let mut low = [0.0; SQUARES + 1];
        let mut open = 0.0;
        for row in 0..=SQUARES {
            let high: [f32; SQUARES + 1] = std::array::from_fn(|column| {
                let mut x = center;
                x[(axis + 1) % 3] += (column as f32 - 0.5 * SQUARES as f32) * step;
                x[(axis + 2) % 3] += (row as f32 - 0.5 * SQUARES as f32) * step;
                self.cover_distance(x, size_m)
            });
            if row > 0 {
                open += (0..SQUARES)
                    .map(|n| open_face_area([low[n], low[n + 1], high[n], high[n + 1]]))
                    .sum::<f32>();
            }
            low = high;
        }
        1.0 - open / (SQUARES * SQUARES) as f32
    }

    /// No point of the cover of cells of this size lies outside.
    pub fn cover_bounds(&self, size_m: f32) -> Aabb {
        self.bounds().expand((COVER_BACK_CELLS + 1.0) * size_m)
    }

    /// Distance to the shape drawn out backwards, no larger than the shape is deep: between a point inside a
    /// thin shape and one outside, the surface is then taken for halfway.
    fn cover_distance(&self, x: Vec3, size_m: f32) -> f32 {
        let (direction, depth_m) = (self.outflow.normalize_or_zero(), self.depth_m.max(1e-3 * size_m));
        let (mut at, mut nearest) = (0.0, f32::INFINITY);
        while at <= COVER_BACK_CELLS * size_m {
            let distance = self.distance(x + at * direction);
            nearest = nearest.min(distance);
            at += (0.5 * distance.abs()).max(depth_m.min(0.25 * size_m));
        }
        if self.depth_m < size_m { nearest.min(depth_m) } else { nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::AXES;
    use std::f64::consts::PI;

    const ALL: Aabb = Aabb { min: Vec3::splat(-10.0), max: Vec3::splat(10.0) };

    fn still(shape: Shape, velocity: Vec3) -> Nozzle {
        within(shape, velocity, ALL)
    }

    fn within(shape: Shape, velocity: Vec3, domain: Aabb) -> Nozzle {
        Nozzle::new(&shape, velocity, &Motion::Static, 0.0, domain)
    }

    fn ball(radius: f32) -> Shape {
        Shape::Sphere { center: Vec3::new(0.013, -0.021, 0.034), radius }
    }

    #[test]
    fn sections_of_simple_shapes_are_exact() {
        let oblique = Vec3::new(1.0, -2.0, 0.5);
        let near = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 0.005, "{found} {exact}");
        let free = |_: Vec3| false;
        near(still(ball(0.3), oblique).section_m2(free), PI * 0.09);
        let slab = Shape::Box { min: Vec3::new(-0.5, -0.01, -0.2), max: Vec3::new(0.5, 0.01, 0.2) };
        near(still(slab.clone(), -Vec3::Y).section_m2(free), 0.4);
        // Half of it lies outside the box, the other half is blocked to a quarter of the whole.
        let half = Aabb { min: Vec3::new(0.0, -10.0, -10.0), max: ALL.max };
        near(within(slab.clone(), -Vec3::Y, half).section_m2(free), 0.2);
        near(within(slab, -Vec3::Y, half).section_m2(|x| x.x > 0.25), 0.1);
        let pipe = Shape::Cylinder { from: -Vec3::X, to: Vec3::X, radius: 0.25 };
        near(still(pipe, Vec3::X).section_m2(free), PI * 0.0625);
    }

    #[test]
    fn columns_have_the_section_of_the_flow_and_begin_where_it_enters() {
        let oblique = Vec3::new(1.0, -2.0, 0.5);
        let ball_m = Vec3::new(0.013, -0.021, 0.034);
        for width in [0.03f32, 0.05, 0.1] {
            let nozzle = still(ball(0.3), oblique);
            let found = nozzle.columns(width, 0.0, |_| false);
            let section: f64 = found.iter().map(|c| c.section_m2).sum();
            assert!((section / (PI * 0.09) - 1.0).abs() < 0.005, "{section}");
            assert!(found.iter().all(|c| c.section_m2 <= f64::from(width * width) * 1.0001));
            // All on the half that faces back.
            for column in found.iter().filter(|c| c.section_m2 > 0.9 * f64::from(width * width)) {
                let from_middle = column.entry - ball_m;
                assert!((from_middle.length() - 0.3).abs() < 0.15 * width, "{from_middle}");
                assert!(from_middle.dot(oblique) < 0.1 * width, "{from_middle}");
            }
        }
        // A pipe through the wall begins at the wall; where its mouth is blocked it has no column.
        let pipe = Shape::Cylinder { from: -Vec3::X, to: Vec3::X, radius: 0.25 };
        let half = Aabb { min: Vec3::new(0.0, -10.0, -10.0), max: ALL.max };
        let found = within(pipe, Vec3::X, half).columns(0.05, 0.2, |x| x.y > 0.0);
        assert!(found.iter().all(|c| c.entry.x.abs() < 0.01 && c.entry.y < 0.0), "{found:?}");
        let section: f64 = found.iter().map(|c| c.section_m2).sum();
        assert!((section / (0.5 * PI * 0.0625) - 1.0).abs() < 0.03, "{section}");
    }

    /// Flow out of cells of size `dx` over |v|, section m2, and the largest deviation of a cell's outflow
    /// from the flux through what its faces leave open if the jet flows on at v.
    fn section_on_grid(nozzle: &Nozzle, dx: f32) -> f64 {
        let bounds = nozzle.cover_bounds(dx);
        let low = (bounds.min / dx).floor();
        let size = (bounds.size() / dx).ceil();
        let v = nozzle.outflow();
        let mut sum = 0.0;
        for n in 0..(size.x * size.y * size.z) as usize {
            let at =
                [n % size.x as usize, n / size.x as usize % size.y as usize, n / (size.x * size.y) as usize];
            let center = (low + Vec3::from_array(at.map(|v| v as f32)) + 0.5) * dx;
            let out: f32 = AXES
                .map(|axis| {
                    let half = 0.5 * dx * Vec3::AXES[axis];
                    let part = |x: Vec3| nozzle.covered_part(x, axis, dx);
                    v[axis] * (part(center - half) - part(center + half))
                })
                .iter()
                .sum();
            sum += f64::from(out.max(0.0) * dx * dx);
        }
        sum / f64::from(v.length())
    }

    #[test]
    fn what_leaves_through_faces_is_section_times_speed() {
        let directions = [Vec3::NEG_Y, Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.3, -1.0, 0.55)];
        let disc = Shape::Cylinder { from: Vec3::ZERO, to: Vec3::new(0.0, 0.01, 0.0), radius: 0.2 };
        let shapes = [ball(0.2), disc, Shape::Box { min: Vec3::splat(-0.17), max: Vec3::splat(0.17) }];
        for (shape, direction) in shapes.iter().flat_map(|s| directions.map(|d| (s, d))) {
            let nozzle = still(shape.clone(), 1.7 * direction);
            let exact = nozzle.section_m2(|_| false);
            // Two to eight cells across.
            for dx in [0.2, 0.1, 0.07, 0.05] {
                let found = section_on_grid(&nozzle, dx) / exact;
                let bar = if dx > 0.1 { 0.1 } else { 0.03 };
                assert!((found - 1.0).abs() < bar, "{shape:?} {direction} {dx}: {found}");
            }
        }
    }

    #[test]
    fn a_nozzle_fills_from_behind_at_its_own_flow() {
        let nozzle = still(ball(0.3), Vec3::new(0.0, -2.0, 0.0));
        let flow = nozzle.section_m2(|_| false) * 2.0;
        let n = 64;
        let volume = |since_s: f64| {
            let inside = (0..n * n * n).filter(|&c| {
                let at = [c % n, c / n % n, c / (n * n)].map(|v| (v as f32 + 0.5) / n as f32 - 0.5);
                nozzle.filled_distance(Vec3::from_array(at), since_s) < 0.0
            });
            inside.count() as f64 / (n * n * n) as f64
        };
        assert_eq!(volume(0.0), 0.0);
        for since_s in [0.01, 0.03, 0.05] {
            // Only lines longer than the way have none of their liquid outside yet.
            assert!(volume(since_s) <= flow * since_s * 1.01);
        }
        assert!((volume(0.02) / (flow * 0.02) - 1.0).abs() < 0.03, "{} {}", volume(0.02), flow * 0.02);
        assert!((volume(1.0) / (4.0 / 3.0 * PI * 0.027) - 1.0).abs() < 0.01);
        // Through a wall at y = 0.1 the lower part fills at once.
        let below = Aabb { min: ALL.min, max: Vec3::new(10.0, 0.1, 10.0) };
        let through = within(ball(0.3), Vec3::new(0.0, -2.0, 0.0), below);
        let at = Vec3::new(0.0, 0.08, 0.0);
        assert!(through.filled_distance(at, 0.02) < 0.0 && nozzle.filled_distance(at, 0.02) > 0.0);
    }

    #[test]
    fn a_moving_nozzle_turns_its_flow_and_adds_its_own_velocity() {
        let motion = Motion::Constant {
            linear: Vec3::X,
            angular: Vec3::new(0.0, 0.0, 0.5 * std::f32::consts::PI),
            about: Vec3::ZERO,
        };
        let nozzle = Nozzle::new(&ball(0.3), Vec3::X, &motion, 1.0, ALL);
        // A quarter turn about z, one metre along x.
        assert!(nozzle.outflow().distance(Vec3::Y) < 1e-6);
        assert!(nozzle.velocity(Vec3::X).distance(Vec3::new(1.0, 1.0, 0.0)) < 1e-6);
        assert!((nozzle.distance(Vec3::new(1.021, 0.013, 0.034)) + 0.3).abs() < 1e-5);
    }
}
