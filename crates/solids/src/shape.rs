//! Constructive shapes and their signed distance (negative inside, metres).

use crate::{MeshDistance, contour, tessellate};
use fluvial_foundation::{Aabb, Quat, Vec3, random::splitmix64};
use fluvial_grids::TriangleMesh;
use std::sync::Arc;

/// A shape in its own frame.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Axis-aligned box.
    Box {
        /// Lower corner.
        min: Vec3,
        /// Upper corner.
        max: Vec3,
    },
    /// Ball.
    Sphere {
        /// Centre.
        center: Vec3,
        /// Metres.
        radius: f32,
    },
    /// Round cylinder with flat ends.
    Cylinder {
        /// Centre of one end.
        from: Vec3,
        /// Centre of the other end.
        to: Vec3,
        /// Metres.
        radius: f32,
    },
    /// Cylinder with round ends.
    Capsule {
        /// Centre of one end's ball.
        from: Vec3,
        /// Centre of the other's.
        to: Vec3,
        /// Metres.
        radius: f32,
    },
    /// Ring.
    Torus {
        /// Centre.
        center: Vec3,
        /// Direction of the hole, of any length but zero.
        axis: Vec3,
        /// From the centre to the tube's middle.
        major_radius: f32,
        /// The tube's; less than `major_radius`.
        minor_radius: f32,
    },
    /// Half space below a plane.
    Plane {
        /// A point on the plane.
        point: Vec3,
        /// Points out of the shape; of any length but zero.
        normal: Vec3,
    },
    /// Inside of a closed mesh (heightfields too: [`crate::heightfield_mesh`]), or a shell around one.
    Mesh(Arc<MeshDistance>),
    /// Inside any.
    Union(Vec<Shape>),
    /// Inside all.
    Intersection(Vec<Shape>),
    /// Inside the first, outside the second.
    Difference(Box<Shape>, Box<Shape>),
    /// Scaled about its origin, rotated, moved.
    Transform {
        /// What.
        shape: Box<Shape>,
        /// Uniform scale, positive.
        scale: f32,
        /// Rotation.
        rotation: Quat,
        /// Metres.
        translate: Vec3,
    },
}

impl Shape {
    /// Signed distance, metres: exact for single shapes; booleans give a value with the right sign and zero
    /// set whose size is at most the distance. Its slope is never above 1, which [`crate::rasterize`]
    /// builds on.
    pub fn distance(&self, x: Vec3) -> f32 {
        match self {
            Shape::Box { min, max } => {
                let q = (x - 0.5 * (*min + *max)).abs() - 0.5 * (*max - *min);
                q.max(Vec3::ZERO).length() + q.max_element().min(0.0)
            }
            Shape::Sphere { center, radius } => x.distance(*center) - radius,
            Shape::Cylinder { from, to, radius } => {
                let axis = (*to - *from).normalize_or_zero();
                let half = 0.5 * from.distance(*to);
                let offset = x - 0.5 * (*from + *to);
                let along = offset.dot(axis);
                let beyond_side = (offset - along * axis).length() - radius;
                let beyond_end = along.abs() - half;
                let outside = (beyond_side.max(0.0).powi(2) + beyond_end.max(0.0).powi(2)).sqrt();
                outside + beyond_side.max(beyond_end).min(0.0)
            }
            Shape::Capsule { from, to, radius } => {
                let axis = *to - *from;
                let s =
                    ((x - *from).dot(axis) / axis.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
                x.distance(*from + s * axis) - radius
            }
            Shape::Torus { center, axis, major_radius, minor_radius } => {
                let axis = axis.normalize_or_zero();
                let offset = x - *center;
                let along = offset.dot(axis);
                let from_ring = (offset - along * axis).length() - major_radius;
                (from_ring * from_ring + along * along).sqrt() - minor_radius
            }
            Shape::Plane { point, normal } => (x - *point).dot(normal.normalize_or_zero()),
            Shape::Mesh(mesh) => mesh.distance(x),
            Shape::Union(shapes) => shapes.iter().map(|s| s.distance(x)).fold(f32::INFINITY, f32::min),
            Shape::Intersection(shapes) => {
                shapes.iter().map(|s| s.distance(x)).fold(f32::NEG_INFINITY, f32::max)
            }
            Shape::Difference(a, b) => a.distance(x).max(-b.distance(x)),
            Shape::Transform { shape, scale, rotation, translate } => {
                scale * shape.distance(rotation.inverse() * (x - *translate) / *scale)
            }
        }
    }

    /// The same as [`Self::distance`], cheaper for meshes, where it is `known` at a point `from`, or is at least that
    /// where `known` is positive.
    pub fn distance_from(&self, x: Vec3, from: Vec3, known: f32) -> f32 {
        match self {
            Shape::Mesh(mesh) => mesh.distance_from(x, from, known),
            Shape::Transform { shape, scale, rotation, translate } => {
                let inner = |x: Vec3| rotation.inverse() * (x - *translate) / *scale;
                scale * shape.distance_from(inner(x), inner(from), known / *scale)
            }
            _ => self.distance(x),
        }
    }

    /// Does the segment between two points come nearer to the shape than `margin` metres? `from` is outside.
    /// Exact for meshes (without the margin), by sphere tracing [hart-1996] for all others: the distance
    /// never grows faster than the way. Test: `segments_meet_shapes_of_any_thickness`.
    pub fn is_crossed(&self, from: Vec3, to: Vec3, margin: f32) -> bool {
        match self {
            Shape::Mesh(mesh) if !mesh.is_shell() => mesh.is_crossed(from, to),
            Shape::Union(shapes) => shapes.iter().any(|s| s.is_crossed(from, to, margin)),
            Shape::Transform { shape, scale, rotation, translate } => {
                let inner = |x: Vec3| rotation.inverse() * (x - *translate) / *scale;
                shape.is_crossed(inner(from), inner(to), margin / *scale)
            }
            _ => {
                let length = from.distance(to);
                let direction = (to - from).normalize_or_zero();
                let mut way = 0.0;
                while way < length {
                    let distance = self.distance(from + way * direction);
                    if distance <= margin {
                        return true;
                    }
                    way += distance;
                }
                self.distance(to) <= margin
            }
        }
    }

    /// How far a point outside is from the shape in a direction of length 1, infinite where it misses it; `None` for shapes
    /// without a formula. Test: `rays_meet_shapes`.
    pub fn way_to(&self, from: Vec3, toward: Vec3) -> Option<f32> {
        match self {
            Shape::Box { min, max } => {
                let (mut enters, mut leaves) = (0.0f32, f32::INFINITY);
                for a in 0..3 {
                    let [t, u] = [min[a], max[a]].map(|side| (side - from[a]) / toward[a]);
                    // Along a side within the slab both are infinite, on its very face one is no number.
                    (enters, leaves) = (enters.max(t.min(u)), leaves.min(t.max(u)));
                }
                Some(if enters <= leaves { enters } else { f32::INFINITY })
            }
            Shape::Sphere { center, radius } => {
                let offset = from - *center;
                let along = offset.dot(toward);
                let under_root = along * along - (offset.length_squared() - radius * radius);
                Some(if along < 0.0 && under_root >= 0.0 {
                    (-along - under_root.sqrt()).max(0.0)
                } else {
                    f32::INFINITY
                })
            }
            Shape::Transform { shape, scale, rotation, translate } => {
                let inner = rotation.inverse() * (from - *translate) / *scale;
                shape.way_to(inner, rotation.inverse() * toward).map(|way| scale * way)
            }
            _ => None,
        }
    }

    /// How thick it is at least, metres, but for edges where it ends; zero where that is not known.
    pub(crate) fn thickness_m(&self) -> f32 {
        match self {
            Shape::Box { min, max } => (*max - *min).min_element(),
            Shape::Sphere { radius, .. } | Shape::Capsule { radius, .. } => 2.0 * radius,
            Shape::Cylinder { from, to, radius } => from.distance(*to).min(2.0 * radius),
            Shape::Torus { minor_radius, .. } => 2.0 * minor_radius,
            Shape::Plane { .. } => f32::INFINITY,
            Shape::Union(shapes) => shapes.iter().map(Shape::thickness_m).fold(f32::INFINITY, f32::min),
            Shape::Transform { shape, scale, .. } => scale * shape.thickness_m(),
            Shape::Mesh(_) | Shape::Intersection(_) | Shape::Difference(..) => 0.0,
        }
    }

    /// A box that holds the shape (infinite for planes); `min > max` for an empty shape.
    pub fn bounds(&self) -> Aabb {
        // A disk of radius r about a unit axis a reaches r sqrt(1 - a_i^2) along axis i.
        let disk = |a: Vec3, r: f32| r * (Vec3::ONE - a * a).max(Vec3::ZERO).map(f32::sqrt);
        match self {
            Shape::Box { min, max } => Aabb { min: *min, max: *max },
            Shape::Sphere { center, radius } => Aabb { min: *center, max: *center }.expand(*radius),
            Shape::Cylinder { from, to, radius } => {
                let reach = disk((*to - *from).normalize_or_zero(), *radius);
                Aabb { min: from.min(*to) - reach, max: from.max(*to) + reach }
            }
            Shape::Capsule { from, to, radius } => {
                Aabb { min: from.min(*to), max: from.max(*to) }.expand(*radius)
            }
            Shape::Torus { center, axis, major_radius, minor_radius } => {
                let reach = disk(axis.normalize_or_zero(), *major_radius) + *minor_radius;
                Aabb { min: *center - reach, max: *center + reach }
            }
            Shape::Plane { .. } => Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY },
            Shape::Mesh(mesh) => mesh.bounds(),
            Shape::Union(shapes) => shapes.iter().map(Shape::bounds).fold(Aabb::EMPTY, Aabb::union),
            Shape::Intersection(shapes) => {
                let all = Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };
                shapes
                    .iter()
                    .map(Shape::bounds)
                    .fold(all, |a, b| Aabb { min: a.min.max(b.min), max: a.max.min(b.max) })
            }
            Shape::Difference(a, _) => a.bounds(),
            Shape::Transform { shape, scale, rotation, translate } => {
                let inner = shape.bounds();
                let scaled = Aabb { min: inner.min * *scale, max: inner.max * *scale };
                crate::Pose { rotation: *rotation, translate: *translate }.world_bounds(scaled)
            }
        }
    }

    /// The surface as triangles, for drawing: exact tessellation of round shapes in steps of about `cell`,
    /// meshes as they are, unions as their parts, planes and sampled booleans cut to `clip`.
    pub fn triangulate(&self, clip: Aabb, cell: f32) -> TriangleMesh {
        match self {
            Shape::Mesh(mesh) => mesh.mesh().clone(),
            Shape::Union(shapes) => shapes
                .iter()
                .fold(TriangleMesh::default(), |all, s| tessellate::joined(all, s.triangulate(clip, cell))),
            Shape::Transform { shape, scale, rotation, translate } => {
                let into = |x: Vec3| rotation.inverse() * (x - *translate) / *scale;
                let inner_clip = (0..8).fold(Aabb::EMPTY, |b, c| {
                    let pick = |a: usize| if c >> a & 1 == 0 { clip.min[a] } else { clip.max[a] };
                    b.include(into(Vec3::new(pick(0), pick(1), pick(2))))
                });
                let mut mesh = shape.triangulate(inner_clip, cell / scale);
                mesh.positions.iter_mut().for_each(|p| *p = *rotation * (*scale * *p) + *translate);
                mesh
            }
            Shape::Intersection(_) | Shape::Difference(..) | Shape::Plane { .. } => {
                contour::dual_contour(self, clip, cell)
            }
            _ => tessellate::primitive(self, cell),
        }
    }

    /// A number that changes when anything about the shape does.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0u64;
        self.fold_fingerprint(&mut hash);
        hash
    }

    fn fold_fingerprint(&self, hash: &mut u64) {
        let mut word = |w: u64| *hash = splitmix64(*hash ^ w);
        let mut values = |tag: u64, vectors: &[Vec3], scalars: &[f32]| {
            word(tag);
            vectors
                .iter()
                .flat_map(|v| v.to_array())
                .chain(scalars.iter().copied())
                .for_each(|v| word(v.to_bits() as u64));
        };
        match self {
            Shape::Box { min, max } => values(1, &[*min, *max], &[]),
            Shape::Sphere { center, radius } => values(2, &[*center], &[*radius]),
            Shape::Cylinder { from, to, radius } => values(3, &[*from, *to], &[*radius]),
            Shape::Capsule { from, to, radius } => values(4, &[*from, *to], &[*radius]),
            Shape::Torus { center, axis, major_radius, minor_radius } => {
                values(5, &[*center, *axis], &[*major_radius, *minor_radius])
            }
            Shape::Plane { point, normal } => values(6, &[*point, *normal], &[]),
            Shape::Mesh(mesh) => word(mesh.fingerprint()),
            Shape::Union(shapes) | Shape::Intersection(shapes) => {
                word(if matches!(self, Shape::Union(_)) { 8 } else { 9 });
                word(shapes.len() as u64);
                shapes.iter().for_each(|s| s.fold_fingerprint(hash));
            }
            Shape::Difference(a, b) => {
                word(10);
                a.fold_fingerprint(hash);
                b.fold_fingerprint(hash);
            }
            Shape::Transform { shape, scale, rotation, translate } => {
                values(11, &[*translate], &[*scale, rotation.x, rotation.y, rotation.z, rotation.w]);
                shape.fold_fingerprint(hash);
            }
        }
    }
}
