//! Rigid motion over time.

use fluvial_foundation::{Aabb, DQuat, DVec3, Quat, Vec3};

/// World from body: rotate, then translate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Rotation.
    pub rotation: Quat,
    /// Metres.
    pub translate: Vec3,
}

impl Pose {
    /// World and body frame agree.
    pub const IDENTITY: Pose = Pose { rotation: Quat::IDENTITY, translate: Vec3::ZERO };

    /// World position of a body point.
    #[inline]
    pub fn world_from_body(&self, x_in_body: Vec3) -> Vec3 {
        self.rotation * x_in_body + self.translate
    }

    /// Body position of a world point.
    #[inline]
    pub fn body_from_world(&self, x_in_world: Vec3) -> Vec3 {
        self.rotation.inverse() * (x_in_world - self.translate)
    }

    /// World box around a box of the body; infinite when that is.
    pub fn world_bounds(&self, in_body: Aabb) -> Aabb {
        if !(in_body.min.is_finite() && in_body.max.is_finite()) {
            return Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };
        }
        (0..8).fold(Aabb::EMPTY, |b, c| {
            let pick = |a: usize| if c >> a & 1 == 0 { in_body.min[a] } else { in_body.max[a] };
            b.include(self.world_from_body(Vec3::new(pick(0), pick(1), pick(2))))
        })
    }
}

/// A rigid body's velocity field at one moment: `v(x) = linear + angular x (x - center)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist {
    /// Velocity of the centre, m/s.
    pub linear: Vec3,
    /// rad/s.
    pub angular: Vec3,
    /// World position of the centre, metres.
    pub center: Vec3,
}

impl Twist {
    /// No motion.
    pub const ZERO: Twist = Twist { linear: Vec3::ZERO, angular: Vec3::ZERO, center: Vec3::ZERO };

    /// Velocity at a world position, m/s.
    #[inline]
    pub fn at(&self, x_in_world: Vec3) -> Vec3 {
        self.linear + self.angular.cross(x_in_world - self.center)
    }
}

/// One key frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Seconds.
    pub time_s: f64,
    /// Metres.
    pub translate: Vec3,
    /// About the motion's pivot.
    pub rotation: Quat,
}

/// How a body moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Motion {
    /// Not at all.
    #[default]
    Static,
    /// Constant velocity and spin from time 0, where body and world frame agree.
    Constant {
        /// m/s.
        linear: Vec3,
        /// rad/s, about the pivot.
        angular: Vec3,
        /// The pivot at time 0, which moves along with `linear`.
        about: Vec3,
    },
    /// Key frames, sorted by time: translation linear, rotation spherical-linear between them, held at the
    /// ends.
    Keys {
        /// The pivot of the rotations, in the body frame.
        about: Vec3,
        /// At least one, times strictly rising.
        keys: Vec<Key>,
    },
    /// As something outside moves it: from one pose to another during a step.
    Free {
        /// Both ends of the step, seconds.
        time_s: [f64; 2],
        /// At both ends.
        poses: [Pose; 2],
        /// Velocity at the end.
        twist: Twist,
    },
}

impl Motion {
    /// Key frames from one pose per frame, `fps` a second, the first at time 0.
    pub fn per_frame(fps: f64, poses: &[Pose]) -> Motion {
        let key = |(n, p): (usize, &Pose)| Key {
            time_s: n as f64 / fps,
            translate: p.translate,
            rotation: p.rotation,
        };
        Motion::Keys { about: Vec3::ZERO, keys: poses.iter().enumerate().map(key).collect() }
    }

    /// World from body at a time.
    pub fn pose(&self, time_s: f64) -> Pose {
        match self {
            Motion::Static => Pose::IDENTITY,
            Motion::Constant { linear, angular, about } => {
                let rotation = DQuat::from_scaled_axis(angular.as_dvec3() * time_s);
                pose_about(*about, rotation, linear.as_dvec3() * time_s)
            }
            Motion::Keys { about, keys } => match segment(keys, time_s) {
                Segment::Held(key) => pose_about(*about, key.rotation.as_dquat(), key.translate.as_dvec3()),
                Segment::Between(a, b, s) => {
                    let rotation = a.rotation.as_dquat().slerp(b.rotation.as_dquat(), s);
                    pose_about(*about, rotation, a.translate.as_dvec3().lerp(b.translate.as_dvec3(), s))
                }
                Segment::None => Pose::IDENTITY,
            },
            Motion::Free { time_s: [from_s, to_s], poses: [from, to], .. } => {
                match (time_s - from_s) / (to_s - from_s) {
                    _ if time_s >= *to_s => *to,
                    _ if time_s <= *from_s => *from,
                    s => Pose {
                        rotation: from.rotation.slerp(to.rotation, s as f32),
                        translate: from.translate.lerp(to.translate, s as f32),
                    },
                }
            }
        }
    }

    /// The velocity field at a time: the exact derivative of [`Self::pose`]
    /// (test `velocity_is_the_derivative_of_the_pose`).
    pub fn twist(&self, time_s: f64) -> Twist {
        match self {
            Motion::Static => Twist::ZERO,
            Motion::Constant { linear, angular, about } => Twist {
                linear: *linear,
                angular: *angular,
                center: (about.as_dvec3() + linear.as_dvec3() * time_s).as_vec3(),
            },
            Motion::Keys { about, keys } => match segment(keys, time_s) {
                Segment::Between(a, b, s) => {
                    let span = b.time_s - a.time_s;
                    let (qa, qb) = (a.rotation.as_dquat(), b.rotation.as_dquat());
                    let turn = qb * qa.inverse();
                    let turn = if turn.w < 0.0 { -turn } else { turn }; // the short way, as slerp goes
                    Twist {
                        linear: ((b.translate - a.translate).as_dvec3() / span).as_vec3(),
                        angular: (turn.to_scaled_axis() / span).as_vec3(),
                        center: *about + a.translate.lerp(b.translate, s as f32),
                    }
                }
                Segment::Held(_) | Segment::None => Twist::ZERO,
            },
            Motion::Free { twist, .. } => *twist,
        }
    }

    /// Velocity of the body's material at a world position, m/s.
    pub fn velocity_at(&self, time_s: f64, x_in_world: Vec3) -> Vec3 {
        self.twist(time_s).at(x_in_world)
    }

    /// The first key frame after a moment, seconds; one that the moment is nearer to than a ten-thousandth of the
    /// time between keys counts as reached.
    pub fn next_key_s(&self, time_s: f64) -> Option<f64> {
        let Motion::Keys { keys, .. } = self else { return None };
        let is_after = |n: usize| {
            let before_s = if n > 0 { keys[n - 1].time_s } else { 0.0 };
            keys[n].time_s - time_s > 1e-4 * (keys[n].time_s - before_s).abs()
        };
        (0..keys.len()).find(|&n| is_after(n)).map(|n| keys[n].time_s)
    }

    /// Does the pose never change?
    pub fn is_static(&self) -> bool {
        match self {
            Motion::Static => true,
            Motion::Free { .. } => false,
            Motion::Constant { linear, angular, .. } => *linear == Vec3::ZERO && *angular == Vec3::ZERO,
            Motion::Keys { keys, .. } => {
                keys.windows(2).all(|w| w[0].translate == w[1].translate && w[0].rotation == w[1].rotation)
            }
        }
    }
}

/// Rotation about `about`, then translation.
fn pose_about(about: Vec3, rotation: DQuat, translate: DVec3) -> Pose {
    let about = about.as_dvec3();
    Pose { rotation: rotation.as_quat(), translate: (translate + about - rotation * about).as_vec3() }
}

enum Segment<'a> {
    None,
    Held(&'a Key),
    Between(&'a Key, &'a Key, f64),
}

fn segment(keys: &[Key], time_s: f64) -> Segment<'_> {
    let after = keys.partition_point(|k| k.time_s <= time_s);
    match (after.checked_sub(1).map(|n| &keys[n]), keys.get(after)) {
        (Some(a), Some(b)) => Segment::Between(a, b, (time_s - a.time_s) / (b.time_s - a.time_s)),
        (Some(k), None) | (None, Some(k)) => Segment::Held(k),
        (None, None) => Segment::None,
    }
}
