//! `[[body]]`: bodies that the liquid moves.

use crate::error::SceneError;
use crate::format::Scene;
use crate::shapes::ShapeSpec;
use fluvial_bodies::mass_properties;
use fluvial_foundation::Vec3;
use fluvial_solver_interface::{FreeBody, JointKind, Solid, Start, Tie, Weight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rigid body that liquid, weight and contacts move. Bodies collide with solids, with the closed sides of the domain and
/// with each other; one that leaves through an open side is gone. Give `density` or `mass`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// Name in messages and in `bodies.csv`; `body 1`, `body 2` ... where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where, at the start.
    pub shape: ShapeSpec,
    /// Density throughout the shape, kg/m3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: Option<f64>,
    /// Mass, spread evenly over the shape, kg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: Option<f64>,
    /// Coefficient of friction; between two bodies the mean of both.
    #[serde(default = "default_friction")]
    #[schemars(range(min = 0))]
    pub friction: f32,
    /// Part of the speed that a bounce gives back; between two bodies the mean of both.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub restitution: f32,
    /// Velocity of the centre of mass at the start, m/s.
    #[serde(default)]
    pub velocity: [f32; 3],
    /// Turn at the start: axis times rad/s.
    #[serde(default)]
    pub angular_velocity: [f32; 3],
    /// Axes of the world along which it does not move, and about which it does not turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked: Vec<LockedAxis>,
    /// What it is tied to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<JointSpec>,
}

fn default_friction() -> f32 {
    0.5
}

/// A motion that a body does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockedAxis {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
    /// About x.
    TurnX,
    /// About y.
    TurnY,
    /// About z.
    TurnZ,
}

/// A joint of a body with another one or with the world.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JointSpec {
    /// What it leaves free.
    pub kind: JointKindSpec,
    /// Name of the other body; the world where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Where at the start, m; for a rope its end at this body.
    pub anchor: [f32; 3],
    /// Axis of a hinge or slider, of any length but zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f32; 3]>,
    /// Least and largest turn of a hinge, degrees, or shift of a slider, m, from the start; free where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f32; 2]>,
    /// The other end of a rope at the start, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_anchor: Option<[f32; 3]>,
    /// Length of a rope, m; the distance of its ends at the start where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub length: Option<f32>,
}

/// A kind of joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JointKindSpec {
    /// Turns about `axis` through `anchor`.
    Hinge,
    /// Shifts along `axis`.
    Slider,
    /// Keeps `anchor` no farther than `length` from `other_anchor`.
    Rope,
}

impl Scene {
    /// The bodies as solids; `solids` are those that have a name already.
    pub(crate) fn bodies(&self, solids: &[Solid]) -> Result<Vec<Solid>, SceneError> {
        let mut bodies: Vec<Solid> = vec![];
        for (n, spec) in self.body.iter().enumerate() {
            let path = format!("body.{n}");
            let name = spec.name.clone().unwrap_or_else(|| format!("body {}", n + 1));
            if solids.iter().chain(&bodies).any(|solid| solid.name == name) {
                let help = "give every solid and body a name of its own";
                return Err(self.fail(
                    &format!("{path}.name"),
                    format!("two solids have the name `{name}`"),
                    help,
                ));
            }
            let shape = self.shape(&spec.shape, &format!("{path}.shape"))?;
            if mass_properties(&shape).is_none() {
                let help = "give a shape with an end, such as a box, a sphere or a closed mesh";
                return Err(self.fail(&format!("{path}.shape"), "the body has no finite volume", help));
            }
            let weight = match (spec.density, spec.mass) {
                (Some(density), None) => Weight::Density(density),
                (None, Some(mass)) => Weight::Mass(mass),
                (Some(_), Some(_)) => {
                    let message = "`density` and `mass` exclude each other";
                    return Err(self.fail(&format!("{path}.mass"), message, "keep one of them"));
                }
                (None, None) => {
                    let help = "add `density = 500` (kg/m3; water has 1000) or `mass = ...` (kg)";
                    return Err(self.fail(&path, "the body has no mass", help));
                }
            };
            let locks = |axes: [LockedAxis; 3]| axes.map(|axis| spec.locked.contains(&axis));
            let start = Start {
                weight,
                friction: spec.friction,
                restitution: spec.restitution,
                velocity: Vec3::from_array(spec.velocity),
                angular_velocity: Vec3::from_array(spec.angular_velocity),
                locked_translation: locks([LockedAxis::X, LockedAxis::Y, LockedAxis::Z]),
                locked_rotation: locks([LockedAxis::TurnX, LockedAxis::TurnY, LockedAxis::TurnZ]),
                ..Start::default()
            };
            let free = FreeBody { start, joints: self.ties(n, spec)? };
            bodies.push(Solid::body(name, shape, free));
        }
        let is_known = |name: &str| bodies.iter().any(|body| body.name == name);
        for (n, body) in bodies.iter().enumerate() {
            let ties = body.free.iter().flat_map(|free| &free.joints);
            for (m, tie) in ties.enumerate() {
                if tie.to.as_ref().is_some_and(|to| !is_known(to) || *to == body.name) {
                    let help = "give the name of another [[body]], or leave `to` out for the world";
                    let message = "the joint is tied to no other body";
                    return Err(self.fail(&format!("body.{n}.joints.{m}.to"), message, help));
                }
            }
        }
        Ok(bodies)
    }

    fn ties(&self, n: usize, spec: &BodySpec) -> Result<Vec<Tie>, SceneError> {
        let tie = |(m, joint): (usize, &JointSpec)| {
            let path = |key: &str| format!("body.{n}.joints.{m}.{key}");
            let anchor = Vec3::from_array(joint.anchor);
            let axis = || match joint.axis.map(Vec3::from_array) {
                Some(axis) if axis.length() > 0.0 => Ok(axis),
                _ => Err(self.fail(&path("kind"), "the joint has no axis", "add `axis = [0, 0, 1]`")),
            };
            if let Some([least, most]) = joint.limits
                && least > most
            {
                let help = "write [least, largest]";
                return Err(self.fail(&path("limits"), "the limits leave nothing free", help));
            }
            let kind = match joint.kind {
                JointKindSpec::Hinge => JointKind::Hinge {
                    axis: axis()?,
                    limits: joint.limits.map(|limits| limits.map(f32::to_radians)),
                },
                JointKindSpec::Slider => JointKind::Slider { axis: axis()?, limits: joint.limits },
                JointKindSpec::Rope => {
                    let Some(to) = joint.other_anchor.map(Vec3::from_array) else {
                        let help = "add `other_anchor = [x, y, z]`";
                        return Err(self.fail(&path("kind"), "the rope has no other end", help));
                    };
                    JointKind::Rope { to, length: joint.length.unwrap_or(to.distance(anchor)) }
                }
            };
            Ok(Tie { to: joint.to.clone(), anchor, kind })
        };
        spec.joints.iter().enumerate().map(tie).collect()
    }
}
