//! What all crates use: vectors, ordered parallel loops, seeded randomness, stage timers.
//!
//! Nothing here knows a grid or a liquid.

pub mod bits;
pub mod eigen;
pub mod parallel;
pub mod planes;
pub mod prefetch;
pub mod random;
pub mod timers;

pub use glam::{DMat3, DQuat, DVec3, Mat3, Quat, Vec3};
pub use timers::StageTimers;

/// One of the three coordinate axes; indexes positions, lattice sizes and face families alike.
pub type Axis = usize;
/// The three axes, x y z. Y is up.
pub const AXES: [Axis; 3] = [0, 1, 2];

/// Axis-aligned box in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower corner.
    pub min: Vec3,
    /// Upper corner.
    pub max: Vec3,
}

impl Aabb {
    /// The box that contains nothing; `union` with it is the identity.
    pub const EMPTY: Aabb = Aabb { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// Smallest box that holds both.
    pub fn union(self, other: Aabb) -> Aabb {
        Aabb { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Smallest box that holds this one and the point.
    pub fn include(self, point: Vec3) -> Aabb {
        Aabb { min: self.min.min(point), max: self.max.max(point) }
    }

    /// The box grown by `margin` on every side.
    pub fn expand(self, margin: f32) -> Aabb {
        Aabb { min: self.min - margin, max: self.max + margin }
    }

    /// Does it hold the point (boundary included)?
    pub fn contains(&self, point: Vec3) -> bool {
        point.cmpge(self.min).all() && point.cmple(self.max).all()
    }

    /// Do the two have a point in common?
    pub fn intersects(&self, other: &Aabb) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Edge lengths.
    pub fn size(&self) -> Vec3 {
        self.max - self.min
    }

    /// Centre point.
    pub fn center(&self) -> Vec3 {
        0.5 * (self.min + self.max)
    }
}
