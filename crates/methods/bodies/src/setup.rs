//! What a world is made of.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_solids::{Motion, Pose, Shape};

/// How heavy a body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// kg/m3, throughout its shape.
    Density(f64),
    /// kg, spread evenly over its shape.
    Mass(f64),
}

/// How heavy a body is, how it touches others, and how it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// How heavy it is.
    pub weight: Weight,
    /// Coulomb's coefficient; against another body the mean of both counts.
    pub friction: f32,
    /// Part of the approaching speed that a bounce gives back, 0 to 1; against another body the mean of both.
    pub restitution: f32,
    /// World from body.
    pub pose: Pose,
    /// Of the centre of mass, m/s.
    pub velocity: Vec3,
    /// rad/s.
    pub angular_velocity: Vec3,
    /// World axes along which it does not move.
    pub locked_translation: [bool; 3],
    /// World axes about which it does not turn.
    pub locked_rotation: [bool; 3],
}

impl Default for Start {
    fn default() -> Self {
        Start {
            weight: Weight::Density(500.0),
            friction: 0.5,
            restitution: 0.2,
            pose: Pose::IDENTITY,
            velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
            locked_translation: [false; 3],
            locked_rotation: [false; 3],
        }
    }
}

/// A rigid body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Name in messages and outputs.
    pub name: String,
    /// In its own frame.
    pub shape: Shape,
    /// How it begins.
    pub start: Start,
}

/// What a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// A turn about an axis through the anchor.
    Hinge {
        /// World direction at the start, of any length but zero.
        axis: Vec3,
        /// Least and largest angle from the start, rad.
        limits: Option<[f32; 2]>,
    },
    /// A shift along an axis.
    Slider {
        /// World direction at the start, of any length but zero.
        axis: Vec3,
        /// Least and largest shift from the start, metres.
        limits: Option<[f32; 2]>,
    },
    /// Everything, as long as the anchor is no farther than this from the point `to`.
    Rope {
        /// World position of the other end at the start; it moves with the other body.
        to: Vec3,
        /// Metres.
        length: f32,
    },
}

/// Ties a body to another one or to the world.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Number of the body.
    pub body: usize,
    /// Number of the other body; `None` for the world.
    pub other: Option<usize>,
    /// World position of the joint at the start.
    pub anchor: Vec3,
    /// What it leaves free.
    pub kind: JointKind,
}

/// What bodies collide with beside each other.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// The scene's solids.
    pub solids: Vec<(&'a Shape, &'a Motion)>,
    /// The domain.
    pub domain: Aabb,
    /// Which of its walls are open, x_min, x_max, y_min, y_max, z_min, z_max: bodies leave through these.
    pub open_walls: [bool; 6],
}

/// Why there is no world.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// A shape without end, or without volume.
    #[error("the shape of body `{0}` has no finite volume: a body needs one")]
    NoVolume(String),
    /// Neither density nor mass may be zero or less.
    #[error("body `{0}` has no mass: density or mass must be positive")]
    NoMass(String),
    /// A joint names a body that is not there, or the body itself twice.
    #[error("a joint ties body {0} to nothing that it could be tied to")]
    Joint(usize),
    /// Rapier cannot make convex parts of it.
    #[error("the shape of body `{0}` cannot be divided into convex parts")]
    Shape(String),
    /// A saved world that is not one of this scene.
    #[error("the saved bodies do not fit the scene: {0}")]
    Saved(String),
}
