//! Solids that are bodies: what moves them is the solver's to find.

use crate::{Setup, Solid};
use fluvial_bodies::{Body, Joint, JointKind, Weight};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Pose, Shape, Twist};

/// What makes a solid a body.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeBody {
    /// How heavy it is.
    pub weight: Weight,
    /// Coulomb's coefficient against walls and solids.
    pub friction: f32,
    /// Part of the approaching speed that a bounce gives back, 0 to 1.
    pub restitution: f32,
    /// World from body at the start.
    pub pose: Pose,
    /// Of the centre of mass, m/s.
    pub velocity: Vec3,
    /// rad/s.
    pub angular_velocity: Vec3,
    /// World axes along which it does not move.
    pub locked_translation: [bool; 3],
    /// World axes about which it does not turn.
    pub locked_rotation: [bool; 3],
    /// What it is tied to: the name of another body, or the world, and where at the start.
    pub joints: Vec<Tie>,
}

/// A joint of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Tie {
    /// The other body's name; `None` for the world.
    pub to: Option<String>,
    /// World position at the start.
    pub anchor: Vec3,
    /// What it leaves free.
    pub kind: JointKind,
}

impl Default for FreeBody {
    fn default() -> Self {
        FreeBody {
            weight: Weight::Density(500.0),
            friction: 0.5,
            restitution: 0.2,
            pose: Pose::IDENTITY,
            velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
            locked_translation: [false; 3],
            locked_rotation: [false; 3],
            joints: vec![],
        }
    }
}

impl Solid {
    /// A body that the liquid moves.
    pub fn body(name: impl Into<String>, shape: Shape, free: FreeBody) -> Self {
        let (pose, linear, angular) = (free.pose, free.velocity, free.angular_velocity);
        let twist = Twist { linear, angular, center: pose.translate };
        let motion = Motion::Free { time_s: [0.0; 2], poses: [pose; 2], twist };
        Solid { free: Some(free), ..Solid::new(name, shape, motion) }
    }
}

impl Setup {
    /// Numbers of the solids that are bodies.
    pub fn body_numbers(&self) -> Vec<usize> {
        (0..self.solids.len()).filter(|&n| self.solids[n].free.is_some()).collect()
    }

    /// For each solid that moves, in their order, its number among the bodies where it is one.
    pub fn bodies_among_moving(&self) -> Vec<Option<usize>> {
        let moving = self.solids.iter().filter(|solid| !solid.motion.is_static());
        let mut next = 0;
        let number = |solid: &Solid| {
            next += solid.free.is_some() as usize;
            solid.free.is_some().then(|| next - 1)
        };
        moving.map(number).collect()
    }

    /// The bodies as they are at the start.
    pub fn bodies(&self) -> Vec<Body> {
        let body = |solid: &Solid| {
            let free = solid.free.clone()?;
            Some(Body {
                name: solid.name.clone(),
                shape: solid.shape.clone(),
                weight: free.weight,
                friction: free.friction,
                restitution: free.restitution,
                pose: free.pose,
                velocity: free.velocity,
                angular_velocity: free.angular_velocity,
                locked_translation: free.locked_translation,
                locked_rotation: free.locked_rotation,
            })
        };
        self.solids.iter().filter_map(body).collect()
    }

    /// The bodies' joints; one to a body that is not there has a number that none has.
    pub fn joints(&self) -> Vec<Joint> {
        let numbers = self.body_numbers();
        let number =
            |name: &str| numbers.iter().position(|&n| self.solids[n].name == name).unwrap_or(usize::MAX);
        let of_body = |(body, &n): (usize, &usize)| {
            let ties = self.solids[n].free.iter().flat_map(|free| &free.joints);
            let joint = |tie: &Tie| Joint {
                body,
                other: tie.to.as_deref().map(number),
                anchor: tie.anchor,
                kind: tie.kind,
            };
            ties.map(joint).collect::<Vec<_>>()
        };
        numbers.iter().enumerate().flat_map(of_body).collect()
    }
}
