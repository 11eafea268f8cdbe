//! A camera that circles around a point.

use fluvial_foundation::Vec3;
use fluvial_preview::Camera;

/// A camera that circles around a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// What it looks at.
    pub center: Vec3,
    /// Metres.
    pub distance: f32,
    /// About the vertical, radians.
    pub azimuth: f32,
    /// Above the horizon, radians.
    pub elevation: f32,
    /// Vertical angle of view, degrees.
    pub fov_degrees: f32,
}

/// Straight up and down have no sides.
const STEEPEST_RAD: f32 = 1.5;

impl Orbit {
    /// As a camera stands.
    pub fn of(camera: &Camera) -> Orbit {
        let arm = camera.position - camera.look_at;
        let distance = arm.length().max(1e-6);
        Orbit {
            center: camera.look_at,
            distance,
            azimuth: arm.x.atan2(arm.z),
            elevation: (arm.y / distance).asin(),
            fov_degrees: camera.fov_degrees,
        }
    }

    /// The camera.
    pub fn camera(&self) -> Camera {
        let (sin, cos) = self.elevation.sin_cos();
        let arm = Vec3::new(self.azimuth.sin() * cos, sin, self.azimuth.cos() * cos);
        let position = self.center + self.distance * arm;
        Camera { position, look_at: self.center, fov_degrees: self.fov_degrees }
    }

    /// Turns by angles, radians.
    pub fn turn(&mut self, across: f32, up: f32) {
        self.azimuth += across;
        self.elevation = (self.elevation + up).clamp(-0.2, STEEPEST_RAD);
    }

    /// Nearer (less than 1) or farther.
    pub fn zoom(&mut self, factor: f32) {
        self.distance *= factor.clamp(0.2, 5.0);
    }

    /// Direction of the ray through image coordinates in [-1, 1], y up.
    pub fn ray(&self, x: f32, y: f32, aspect: f32) -> Vec3 {
        let camera = self.camera();
        let forward = (camera.look_at - camera.position).normalize_or(Vec3::NEG_Z);
        let right = forward.cross(Vec3::Y).normalize_or(Vec3::X);
        let tangent = (0.5 * self.fov_degrees.to_radians()).tan();
        (forward + x * tangent * aspect * right + y * tangent * right.cross(forward)).normalize()
    }
}
