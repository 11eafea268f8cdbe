//! Constructive shapes and their signed distance (negative inside, metres).

use fluvial_foundation::{Aabb, Quat, Vec3};

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
        /// Direction of the hole.
        axis: Vec3,
        /// From the centre to the tube's middle.
        major_radius: f32,
        /// The tube's.
        minor_radius: f32,
    },
    /// Half space below a plane.
    Plane {
        /// A point on the plane.
        point: Vec3,
        /// Points out of the shape.
        normal: Vec3,
    },
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
    /// Signed distance (a bound of it inside booleans), metres.
    pub fn distance(&self, x: Vec3) -> f32 {
        match self {
            Shape::Box { min, max } => {
                let q = (x - 0.5 * (*min + *max)).abs() - 0.5 * (*max - *min);
                q.max(Vec3::ZERO).length() + q.max_element().min(0.0)
            }
            Shape::Sphere { center, radius } => x.distance(*center) - radius,
            _ => unreachable!("written next"),
        }
    }

    /// A box that holds the shape (infinite for planes).
    pub fn bounds(&self) -> Aabb {
        Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY }
    }
}
