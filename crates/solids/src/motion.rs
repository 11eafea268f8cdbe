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
        }
    }

    /// Velocity of the body's material at a world position, m/s.
    pub fn velocity_at(&self, time_s: f64, x_in_world: Vec3) -> Vec3 {
        self.twist(time_s).at(x_in_world)
    }

    /// Does the pose never change?
    pub fn is_static(&self) -> bool {
        match self {
            Motion::Static => true,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Motion> {
        let key = |time_s, x: f32, turn: f32| Key {
            time_s,
            translate: Vec3::new(x, -0.5 * x, 0.2),
            rotation: Quat::from_scaled_axis(Vec3::new(0.3, 1.0, -0.4).normalize() * turn),
        };
        let about = Vec3::new(0.3, -0.2, 0.7);
        vec![
            Motion::Constant { linear: Vec3::new(0.3, 0.1, -0.2), angular: Vec3::new(0.5, 2.0, -1.0), about },
            Motion::Keys { about, keys: vec![key(0.0, 0.0, 0.0), key(1.0, 1.0, 2.0), key(1.5, -1.0, 5.0)] },
            Motion::per_frame(
                2.0,
                &[key(0.0, 0.0, 0.1), key(0.0, 0.4, 0.4), key(0.0, 1.0, -0.3)]
                    .map(|k| Pose { rotation: k.rotation, translate: k.translate }),
            ),
        ]
    }

    #[test]
    fn velocity_is_the_derivative_of_the_pose() {
        for motion in examples() {
            for t in [0.13, 0.37, 0.71, 0.93] {
                let x_in_body = Vec3::new(0.4, 0.9, -0.3);
                let h = 4e-3;
                let at = |t: f64| motion.pose(t).world_from_body(x_in_body);
                let difference = (at(t + h) - at(t - h)) / (2.0 * h as f32);
                let exact = motion.velocity_at(t, at(t));
                assert!((difference - exact).length() < 3e-4, "{motion:?} at {t}: {difference} {exact}");
                assert!(exact.length() > 0.05);
            }
        }
    }

    #[test]
    fn keys_are_met_and_held() {
        for motion in &examples()[1..] {
            let Motion::Keys { about, keys } = motion else { unreachable!() };
            for key in keys {
                let x = motion.pose(key.time_s).world_from_body(*about);
                assert!(x.distance(*about + key.translate) < 1e-6);
            }
            let last = keys.last().unwrap();
            assert_eq!(motion.pose(last.time_s), motion.pose(last.time_s + 7.0));
            assert_eq!(motion.velocity_at(last.time_s + 1.0, Vec3::ONE), Vec3::ZERO);
            assert_eq!(motion.pose(-3.0), motion.pose(0.0));
            assert!(!motion.is_static());
        }
    }

    #[test]
    fn body_and_world_are_inverse_and_bounds_hold() {
        let pose = examples()[0].pose(0.8);
        let x = Vec3::new(0.1, 0.2, 0.3);
        assert!(pose.body_from_world(pose.world_from_body(x)).distance(x) < 1e-6);
        let bounds = pose.world_bounds(Aabb { min: Vec3::ZERO, max: Vec3::ONE });
        assert!(bounds.expand(1e-6).contains(pose.world_from_body(Vec3::new(1.0, 0.0, 1.0))));
    }
}
