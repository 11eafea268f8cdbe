//! Rigid motion over time.

use fluvial_foundation::{Quat, Vec3};

/// World from body: rotate, then translate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Rotation.
    pub rotation: Quat,
    /// Metres.
    pub translate: Vec3,
}

/// How a body moves.
#[derive(Clone, Debug, Default)]
pub enum Motion {
    /// Not at all.
    #[default]
    Static,
}

impl Motion {
    /// World from body at a time.
    pub fn pose(&self, _time_s: f64) -> Pose {
        Pose { rotation: Quat::IDENTITY, translate: Vec3::ZERO }
    }

    /// Velocity of the body's material at a world position, m/s.
    pub fn velocity_at(&self, _time_s: f64, _x_in_world: Vec3) -> Vec3 {
        Vec3::ZERO
    }
}
