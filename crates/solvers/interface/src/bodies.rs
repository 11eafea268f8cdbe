//! Solids that are bodies: what moves them is the solver's to find.

use crate::{Setup, Solid};
use fluvial_bodies::{Body, Joint, JointKind, Start};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape, Twist};

/// What makes a solid a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeBody {
    /// How it begins.
    pub start: Start,
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

impl Solid {
    /// A body that the liquid moves.
    pub fn body(name: impl Into<String>, shape: Shape, free: FreeBody) -> Self {
        let Start { pose, velocity: linear, angular_velocity: angular, .. } = free.start;
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

    /// The velocities of the solids that move, in their order.
    pub fn moving_twists(&self, time_s: f64) -> Vec<Twist> {
        let moving = self.solids.iter().filter(|solid| !solid.motion.is_static());
        moving.map(|solid| solid.motion.twist(time_s)).collect()
    }

    /// The bodies as they are at the start.
    pub fn bodies(&self) -> Vec<Body> {
        let body = |solid: &Solid| {
            let free = solid.free.as_ref()?;
            Some(Body { name: solid.name.clone(), shape: solid.shape.clone(), start: free.start.clone() })
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
