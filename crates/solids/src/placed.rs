//! Solids at one moment, evaluated point by point: for grids without rows.

use crate::rasterize::ON_SURFACE_CELLS;
use crate::{Motion, Pose, Shape, Twist};
use fluvial_foundation::{Aabb, Vec3};

/// A solid at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) pose: Pose,
    pub(crate) twist: Twist,
}

impl<'a> Placed<'a> {
    /// Where its motion puts a shape.
    pub fn new(shape: &'a Shape, motion: &Motion, time_s: f64) -> Self {
        Placed { shape, pose: motion.pose(time_s), twist: motion.twist(time_s) }
    }

    /// Distance at a world position.
    pub(crate) fn distance(&self, x_in_world: Vec3) -> f32 {
        self.shape.distance(self.pose.body_from_world(x_in_world))
    }

    /// Distance at a world position, where it is `known` (or, where positive, farther) at another one.
    pub(crate) fn distance_from(&self, x_in_world: Vec3, from_in_world: Vec3, known: f32) -> f32 {
        let [x, from] = [x_in_world, from_in_world].map(|x| self.pose.body_from_world(x));
        self.shape.distance_from(x, from, known)
    }

    /// Does the segment between two world positions come nearer to the solid than `margin` metres? `from` is
    /// outside.
    pub(crate) fn is_crossed(&self, from: Vec3, to: Vec3, margin: f32) -> bool {
        self.shape.is_crossed(self.pose.body_from_world(from), self.pose.body_from_world(to), margin)
    }

    /// World bounds.
    pub fn bounds(&self) -> Aabb {
        self.pose.world_bounds(self.shape.bounds())
    }
}

/// All solids of a scene at one moment.
#[derive(Clone, Debug, Default)]
pub struct PlacedSolids<'a> {
    solids: Vec<(Placed<'a>, Aabb)>,
}

impl<'a> PlacedSolids<'a> {
    /// Where their motions put the shapes.
    pub fn new(solids: impl Iterator<Item = (&'a Shape, &'a Motion)>, time_s: f64) -> Self {
        let place = |(shape, motion): (&'a Shape, &Motion)| {
            let placed = Placed::new(shape, motion, time_s);
            (placed, placed.bounds())
        };
        PlacedSolids { solids: solids.map(place).collect() }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.solids.is_empty()
    }

    /// Distance to the union of the solids within `band` metres, `band` beyond; negative inside.
    pub fn distance(&self, x_in_world: Vec3, band: f32) -> f32 {
        self.nearest(x_in_world, band).0
    }

    /// Velocity at a point of the solid that is nearest to it, m/s; zero where none is nearer than `band`
    /// metres.
    pub fn velocity(&self, x_in_world: Vec3, band: f32) -> Vec3 {
        self.nearest_solid(x_in_world, band).map_or(Vec3::ZERO, |(_, velocity)| velocity)
    }

    /// Does the segment between two points come nearer to a solid than `margin` metres? `from` is outside.
    pub fn is_crossed(&self, from: Vec3, to: Vec3, margin: f32) -> bool {
        let near = |bounds: &Aabb| {
            let reach = bounds.expand(from.distance(to) + margin);
            reach.contains(from)
        };
        self.solids.iter().any(|(solid, bounds)| near(bounds) && solid.is_crossed(from, to, margin))
    }

    /// The same as [`Self::distance`], cheaper for meshes, where it is `known` at a point `from`. Test:
    /// `distances_follow_from_those_beside_them`.
    pub fn distance_from(&self, x: Vec3, band: f32, from: Vec3, known: f32) -> f32 {
        let step = x.distance(from);
        let is_near = |bounds: &Aabb| (x - x.clamp(bounds.min, bounds.max)).length() < band;
        let mut near = self.solids.iter().filter(|(_, bounds)| is_near(bounds));
        // Outside the union it is outside of all, and all are farther than `known`. Inside one of several says nothing of the others.
        if known > 0.0 {
            let farthest = band.min(known + step);
            return near.fold(farthest, |best, (placed, _)| best.min(placed.distance_from(x, from, known)));
        }
        match (near.next(), near.next()) {
            (Some((placed, _)), None) => placed.distance_from(x, from, known).min(band),
            _ => self.distance(x, band),
        }
    }

    /// Distance from a point outside, `free_m` from the nearest solid, to the first solid in a direction, at most
    /// `longest_m`; less than a thousandth of that from a solid is on it.
    pub(crate) fn reach_m(&self, from: Vec3, mut free_m: f32, toward: Vec3, longest_m: f32) -> f32 {
        let mut way_m = 0.0;
        while free_m >= ON_SURFACE_CELLS * longest_m {
            // A little less than the distance: what is known of one point holds for the next one.
            let step_m = (1.0 - 2e-4) * free_m;
            if way_m + step_m >= longest_m {
                return longest_m;
            }
            let (here, there) = (from + way_m * toward, from + (way_m + step_m) * toward);
            free_m = self.distance_from(there, longest_m, here, free_m);
            way_m += step_m;
        }
        way_m
    }

    /// Number and velocity at a point of the solid that is nearest to it, m/s; none where none is nearer than `band`
    /// metres.
    pub fn nearest_solid(&self, x_in_world: Vec3, band: f32) -> Option<(usize, Vec3)> {
        self.nearest(x_in_world, band).1.map(|n| (n, self.solids[n].0.twist.at(x_in_world)))
    }

    fn nearest(&self, x: Vec3, band: f32) -> (f32, Option<usize>) {
        let mut best = (band, None);
        for (n, (placed, bounds)) in self.solids.iter().enumerate() {
            // A shape is no nearer than its box.
            let outside = (x - x.clamp(bounds.min, bounds.max)).length();
            if outside < best.0 {
                let distance = placed.distance(x);
                if distance < best.0 {
                    best = (distance, Some(n));
                }
            }
        }
        best
    }
}
