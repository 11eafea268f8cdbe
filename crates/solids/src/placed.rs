//! Solids at one moment, evaluated point by point: for grids without rows.

use crate::flat_sided::{FlatSided, Open};
use crate::rasterize::{ON_SURFACE_CELLS, SMALLEST_OPEN_AREA};
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
    pub fn distance(&self, x_in_world: Vec3) -> f32 {
        self.shape.distance(self.pose.body_from_world(x_in_world))
    }

    /// Distance at a world position, where it is `known` (or, where positive, farther) at another one.
    pub(crate) fn distance_from(&self, x_in_world: Vec3, from_in_world: Vec3, known: f32) -> f32 {
        match self.shape {
            Shape::Mesh(_) | Shape::Transform { .. } => {
                let [x, from] = [x_in_world, from_in_world].map(|x| self.pose.body_from_world(x));
                self.shape.distance_from(x, from, known)
            }
            _ => self.distance(x_in_world),
        }
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
    /// Those of the solids that are boxes as such.
    flat_sided: Vec<Option<FlatSided>>,
    /// The solids in the order of `boxes`' leaves, where there are many.
    order: Vec<u32>,
    boxes: Vec<BoxNode>,
}

/// A box around some of the solids, which are divided below it: its children are the next node and `second`. A leaf has
/// none, and the solids `order[from..to]`.
#[derive(Clone, Copy, Debug)]
struct BoxNode {
    bounds: Aabb,
    second: u32,
    from: u32,
    to: u32,
}

/// Interpolated distances are of use from so many cells on: an edge spoils those within a cell's diagonal.
const EXACT_CELLS: f32 = 2.0;
/// So many solids are looked at one by one.
const FEW: usize = 8;
/// Solids of a leaf, at most.
const LEAF: usize = 2;
/// Boxes that reach into one cell and are measured each for itself, at most: as many as meet at its corners.
const MOST_IN_CELL: usize = 8;

/// How far a point is from a box.
fn outside_m(x: Vec3, bounds: &Aabb) -> f32 {
    (x - x.clamp(bounds.min, bounds.max)).length()
}

impl<'a> PlacedSolids<'a> {
    /// Where their motions put the shapes.
    pub fn new(solids: impl Iterator<Item = (&'a Shape, &'a Motion)>, time_s: f64) -> Self {
        let place = |(shape, motion): (&'a Shape, &Motion)| {
            let placed = Placed::new(shape, motion, time_s);
            (placed, placed.bounds())
        };
        let mut placed = PlacedSolids { solids: solids.map(place).collect(), ..PlacedSolids::default() };
        placed.flat_sided = placed.solids.iter().map(|(solid, _)| FlatSided::of(solid)).collect();
        if placed.solids.len() > FEW {
            let mut order: Vec<u32> = (0..placed.solids.len() as u32).collect();
            placed.divide(&mut order, 0);
            placed.order = order;
        }
        placed
    }

    /// Puts solids into boxes, half of them into each of two, along the longest side of what they fill.
    fn divide(&mut self, order: &mut [u32], from: usize) {
        let bounds_of = |n: u32| self.solids[n as usize].1;
        let bounds = order.iter().fold(Aabb::EMPTY, |all, &n| all.union(bounds_of(n)));
        let (node, count) = (self.boxes.len(), order.len());
        if count <= LEAF {
            let (from, to) = (from as u32, (from + count) as u32);
            self.boxes.push(BoxNode { bounds, second: 0, from, to });
            return;
        }
        let size = bounds.size();
        let axis = (0..3).fold(0, |best, a| if size[a] > size[best] { a } else { best });
        let middle = |n: u32| bounds_of(n).min[axis] + bounds_of(n).max[axis];
        order.sort_unstable_by(|&a, &b| middle(a).total_cmp(&middle(b)).then(a.cmp(&b)));
        self.boxes.push(BoxNode { bounds, second: 0, from: 0, to: 0 });
        let (low, high) = order.split_at_mut(count / 2);
        self.divide(low, from);
        self.boxes[node].second = self.boxes.len() as u32;
        self.divide(high, from + count / 2);
    }

    /// The solids whose boxes are no farther from a place than `reach` alone, for many questions about places around it.
    pub(crate) fn near(&self, x: Vec3, reach: f32) -> PlacedSolids<'a> {
        let mut numbers = vec![];
        self.for_each_near(x, reach, |n| {
            numbers.push(n);
            reach
        });
        // Of several that are equally near the first counts, as among all.
        numbers.sort_unstable();
        PlacedSolids {
            solids: numbers.iter().map(|&n| self.solids[n]).collect(),
            flat_sided: numbers.iter().map(|&n| self.flat_sided[n]).collect(),
            ..PlacedSolids::default()
        }
    }

    /// What solids leave of the cell of edge `dx` above `low`, in closed form; `None` where another solid is around than boxes of some
    /// cells' thickness, where two of those that reach into the cell have room in common, and where many do.
    pub fn open_beside_box(&self, low: Vec3, dx: f32) -> Option<Open> {
        let (mut open, mut inside, mut count) = (Some(Open::ALL), [0; MOST_IN_CELL], 0);
        self.for_each_near(low + 0.5 * dx, 2.0 * dx, |n| {
            let solid = self.flat_sided[n].filter(|solid| solid.is_thick(dx));
            let left = solid.map(|solid| (solid, solid.open_part(low, dx)));
            open = match (open, left) {
                (Some(before), Some((_, Open::ALL))) => Some(before),
                (Some(before), Some((solid, left))) if count < MOST_IN_CELL => {
                    let is_apart = |known: &usize| {
                        self.flat_sided[*known].is_some_and(|k| k.is_apart(&solid, SMALLEST_OPEN_AREA * dx))
                    };
                    let are_apart = inside[..count].iter().all(is_apart);
                    (inside[count], count) = (n, count + 1);
                    are_apart.then(|| before.beside(left))
                }
                _ => None,
            };
            if open.is_some() { 2.0 * dx } else { -1.0 }
        });
        open
    }

    /// The least thickness of any solid, metres, zero where it is not known.
    pub(crate) fn thickness_m(&self) -> f32 {
        self.solids.iter().map(|(solid, _)| solid.shape.thickness_m()).fold(f32::INFINITY, f32::min)
    }

    /// Visits the solids whose boxes are no farther from a point than `reach`, which `body` may shorten on the way: in no
    /// particular order where there are many.
    fn for_each_near(&self, x: Vec3, mut reach: f32, mut body: impl FnMut(usize) -> f32) {
        if self.boxes.is_empty() {
            for (n, (_, bounds)) in self.solids.iter().enumerate() {
                if outside_m(x, bounds) <= reach {
                    reach = body(n);
                }
            }
            return;
        }
        // As deep as half as many solids at each level make it, and one more.
        let (mut stack, mut depth) = ([0u32; 64], 1);
        while depth > 0 {
            depth -= 1;
            let node = self.boxes[stack[depth] as usize];
            if outside_m(x, &node.bounds) > reach {
                continue;
            }
            if node.second > 0 {
                (stack[depth], stack[depth + 1]) = (node.second, stack[depth] + 1);
                depth += 2;
                continue;
            }
            for &n in &self.order[node.from as usize..node.to as usize] {
                if outside_m(x, &self.solids[n as usize].1) <= reach {
                    reach = body(n as usize);
                }
            }
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.solids.is_empty()
    }

    /// Distance to the union of the solids within `band` metres, `band` beyond; negative inside.
    pub fn distance(&self, x_in_world: Vec3, band: f32) -> f32 {
        self.nearest(x_in_world, band).0
    }

    /// The distance where samples `dx` apart interpolate to `interpolated`: near the surface that of the shapes themselves,
    /// for between samples the edges of solids are cut off and their corners are filled up.
    pub fn distance_beside_samples(&self, x_in_world: Vec3, interpolated: f32, dx: f32) -> f32 {
        match interpolated.abs() < EXACT_CELLS * dx {
            true => self.distance(x_in_world, 2.0 * EXACT_CELLS * dx),
            false => interpolated,
        }
    }

    /// Velocity at a point of the solid that is nearest to it, m/s; zero where none is nearer than `band`
    /// metres.
    pub fn velocity(&self, x_in_world: Vec3, band: f32) -> Vec3 {
        self.nearest_solid(x_in_world, band).map_or(Vec3::ZERO, |(_, velocity)| velocity)
    }

    /// Does the segment between two points come nearer to a solid than `margin` metres? `from` is outside.
    pub fn is_crossed(&self, from: Vec3, to: Vec3, margin: f32) -> bool {
        let (way, mut is_crossed) = (from.distance(to) + margin, false);
        // Farther than that along one axis is farther than that.
        self.for_each_near(from, 1.75 * way, |n| {
            let (solid, bounds) = &self.solids[n];
            is_crossed |= bounds.expand(way).contains(from) && solid.is_crossed(from, to, margin);
            if is_crossed { -1.0 } else { 1.75 * way }
        });
        is_crossed
    }

    /// The same as [`Self::distance`], cheaper for meshes, where it is `known` at a point `from`. Test:
    /// `distances_follow_from_those_beside_them`.
    pub fn distance_from(&self, x: Vec3, band: f32, from: Vec3, known: f32) -> f32 {
        // Outside the union it is outside of all, and all are farther than `known`. Inside one of several says nothing of the others.
        if known > 0.0 {
            let mut best = band.min(known + x.distance(from));
            self.for_each_near(x, band, |n| {
                best = best.min(self.solids[n].0.distance_from(x, from, known));
                best
            });
            return best;
        }
        let (mut near, mut count) = (0, 0);
        self.for_each_near(x, band, |n| {
            if outside_m(x, &self.solids[n].1) < band {
                (near, count) = (n, count + 1);
            }
            band
        });
        match count {
            1 => self.solids[near].0.distance_from(x, from, known).min(band),
            _ => self.distance(x, band),
        }
    }

    /// Distance from a point outside, `free_m` from the nearest solid, to the first solid in a direction, at most
    /// `longest_m`; less than a thousandth of that from a solid is on it.
    pub(crate) fn reach_m(&self, from: Vec3, free_m: f32, toward: Vec3, longest_m: f32) -> f32 {
        if free_m < ON_SURFACE_CELLS * longest_m {
            return 0.0;
        }
        let (mut way_m, mut all_have_formulas) = (longest_m, true);
        self.for_each_near(from, longest_m, |n| {
            let Placed { shape, pose, .. } = &self.solids[n].0;
            match shape.way_to(pose.body_from_world(from), pose.rotation.inverse() * toward) {
                Some(way) => way_m = way_m.min(way),
                None => all_have_formulas = false,
            }
            longest_m
        });
        if all_have_formulas { way_m } else { self.traced_m(from, free_m, toward, longest_m) }
    }

    /// The same by sphere tracing [hart-1996].
    fn traced_m(&self, from: Vec3, mut free_m: f32, toward: Vec3, longest_m: f32) -> f32 {
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
        let mut best: (f32, Option<usize>) = (band, None);
        // A shape is no nearer than its box. Of several that are equally near the first counts.
        self.for_each_near(x, band, |n| {
            let distance = self.solids[n].0.distance(x);
            if distance < best.0 || distance == best.0 && best.1.is_some_and(|known| n < known) {
                best = (distance, Some(n));
            }
            // Inside of one solid a place may be deeper in another.
            best.0.max(0.0)
        });
        best
    }
}
