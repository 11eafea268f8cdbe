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

    /// The same as [`Self::distance`], cheaper for meshes, at a point `step` metres from one where it is
    /// `known`.
    pub fn distance_beside(&self, x: Vec3, step: f32, known: f32) -> f32 {
        match self {
            Shape::Mesh(mesh) => mesh.distance_beside(x, step, known),
            Shape::Transform { shape, scale, rotation, translate } => {
                let inner = rotation.inverse() * (x - *translate) / *scale;
                scale * shape.distance_beside(inner, step / *scale, known / *scale)
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

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::random::unit_vec3;

    fn primitives() -> Vec<Shape> {
        let (a, b) = (Vec3::new(0.1, -0.2, 0.3), Vec3::new(0.5, 0.4, -0.1));
        vec![
            Shape::Box { min: Vec3::new(-0.3, -0.2, -0.4), max: Vec3::new(0.5, 0.3, 0.1) },
            Shape::Sphere { center: a, radius: 0.4 },
            Shape::Cylinder { from: a, to: b, radius: 0.25 },
            Shape::Capsule { from: a, to: b, radius: 0.2 },
            Shape::Torus { center: a, axis: b, major_radius: 0.5, minor_radius: 0.15 },
            Shape::Plane { point: a, normal: b },
        ]
    }

    fn transformed(shape: Shape) -> Shape {
        let rotation = Quat::from_scaled_axis(Vec3::new(0.4, -1.0, 0.3));
        Shape::Transform {
            shape: Box::new(shape),
            scale: 1.7,
            rotation,
            translate: Vec3::new(0.1, 0.2, -0.3),
        }
    }

    /// Along the gradient by the distance lies the surface, and nothing of the other sign is nearer: that is
    /// what an exact signed distance means.
    #[test]
    fn primitives_have_exact_distances() {
        for shape in primitives().into_iter().flat_map(|s| [s.clone(), transformed(s)]) {
            let mut regular = 0;
            for n in 0..400 {
                let x = 3.0 * unit_vec3(n, 5) - 1.5;
                let d = shape.distance(x);
                let h = 1e-3;
                let partial = |e: Vec3| (shape.distance(x + h * e) - shape.distance(x - h * e)) / (2.0 * h);
                let gradient = Vec3::new(partial(Vec3::X), partial(Vec3::Y), partial(Vec3::Z));
                // At the medial axis the gradient jumps; everywhere else it has length 1.
                assert!(gradient.length() < 1.0 + 2e-3, "{shape:?} {x} {gradient}");
                if (gradient.length() - 1.0).abs() < 2e-3 {
                    regular += 1;
                    let foot = x - d * gradient.normalize();
                    assert!(
                        shape.distance(foot).abs() < 4e-3,
                        "{shape:?} {x}: foot {}",
                        shape.distance(foot)
                    );
                }
                for m in 0..50 {
                    let direction = (2.0 * unit_vec3(n * 50 + m, 6) - 1.0).normalize_or_zero();
                    let y = x + 0.99 * d.abs() * direction;
                    assert!(
                        shape.distance(y) * d >= -1e-6,
                        "{shape:?}: the surface is nearer than {d} at {x}"
                    );
                }
            }
            assert!(regular > 380, "{shape:?} {regular}");
        }
    }

    #[test]
    fn booleans_have_the_right_sign_and_slope() {
        let (a, b) = (primitives()[0].clone(), primitives()[1].clone());
        let union = Shape::Union(vec![a.clone(), b.clone()]);
        let both = Shape::Intersection(vec![a.clone(), b.clone()]);
        let minus = transformed(Shape::Difference(Box::new(a.clone()), Box::new(b.clone())));
        for n in 0..2000 {
            let x = 2.0 * unit_vec3(n, 9) - 1.0;
            let (in_a, in_b) = (a.distance(x) < 0.0, b.distance(x) < 0.0);
            assert_eq!(union.distance(x) < 0.0, in_a || in_b);
            assert_eq!(both.distance(x) < 0.0, in_a && in_b);
            let Shape::Transform { shape, .. } = &minus else { unreachable!() };
            assert_eq!(shape.distance(x) < 0.0, in_a && !in_b);
            let y = 2.0 * unit_vec3(n, 10) - 1.0;
            assert!((minus.distance(x) - minus.distance(y)).abs() <= x.distance(y) * (1.0 + 1e-5) + 1e-6);
        }
    }

    #[test]
    fn bounds_hold_the_shape_tightly() {
        for shape in primitives().into_iter().take(5).flat_map(|s| [s.clone(), transformed(s)]) {
            let bounds = shape.bounds();
            for n in 0..20_000 {
                let x = 4.0 * unit_vec3(n, 3) - 2.0;
                assert!(shape.distance(x) > 0.0 || bounds.expand(1e-5).contains(x), "{shape:?} {x}");
            }
            if !matches!(shape, Shape::Transform { .. }) {
                // every side is touched
                for axis in 0..3 {
                    for side in [bounds.min, bounds.max] {
                        let near = (0..40_000).map(|n| {
                            let mut x = bounds.min + unit_vec3(n, 4) * bounds.size();
                            x[axis] = side[axis];
                            shape.distance(x)
                        });
                        assert!(near.fold(f32::INFINITY, f32::min) < 5e-3, "{shape:?} axis {axis}");
                    }
                }
            }
        }
    }

    #[test]
    fn fingerprints_tell_shapes_apart() {
        let mut seen: Vec<u64> = primitives()
            .into_iter()
            .flat_map(|s| [s.clone(), transformed(s)])
            .map(|s| s.fingerprint())
            .collect();
        seen.push(Shape::Union(primitives()).fingerprint());
        seen.push(Shape::Intersection(primitives()).fingerprint());
        seen.push(Shape::Sphere { center: Vec3::new(0.1, -0.2, 0.3), radius: 0.41 }.fingerprint());
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
