//! Pinhole camera.

use crate::bvh::Ray;
use fluvial_foundation::{Aabb, Vec3};

/// A pinhole looking at a point, Y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands, metres.
    pub position: Vec3,
    /// What it looks at.
    pub look_at: Vec3,
    /// Vertical angle of view, degrees.
    pub fov_degrees: f32,
}

/// A camera with its frame of axes, for an image of a given shape.
#[derive(Clone, Copy, Debug)]
pub struct View {
    position: Vec3,
    forward: Vec3,
    right: Vec3,
    up: Vec3,
    /// Tangents of half the angles of view, horizontal and vertical.
    tangent: [f32; 2],
}

impl Camera {
    /// Three-quarter view from slightly above that shows the whole box, `aspect` = width / height.
    pub fn framing(domain: Aabb, aspect: f32) -> Camera {
        let size = domain.size();
        // Seen across its longer side; a long tank is seen flatter from the front.
        let slim = (size.x.max(size.z) / size.x.min(size.z).max(1e-9)).clamp(1.0, 4.0);
        let azimuth = (32.0 - 4.0 * (slim - 1.0)).to_radians();
        let elevation = 17f32.to_radians();
        let (side, front) = (azimuth.sin() * elevation.cos(), azimuth.cos() * elevation.cos());
        let toward = match size.x >= size.z {
            true => Vec3::new(side, elevation.sin(), front),
            false => Vec3::new(front, elevation.sin(), side),
        };
        let fov_degrees = 28.0;
        // Move back until all corners fit, then centre what is seen; a few rounds settle both.
        let mut camera = Camera { position: Vec3::ZERO, look_at: domain.center(), fov_degrees };
        let mut distance = 2.0 * size.length();
        for _ in 0..12 {
            camera.position = camera.look_at + distance * toward;
            let view = camera.view(aspect);
            let corners: Vec<[f32; 3]> = corners(&domain).iter().map(|&c| view.project(c)).collect();
            let extent = |a: usize| {
                let low = corners.iter().map(|c| c[a]).fold(f32::INFINITY, f32::min);
                (low, corners.iter().map(|c| c[a]).fold(f32::NEG_INFINITY, f32::max))
            };
            let ((left, right), (bottom, top)) = (extent(0), extent(1));
            let shift = Vec3::new(
                0.5 * (left + right) * view.tangent[0],
                0.5 * (bottom + top) * view.tangent[1],
                0.0,
            );
            camera.look_at += distance * (shift.x * view.right + shift.y * view.up);
            distance *= (0.5 * (right - left) / 0.88).max(0.5 * (top - bottom) / 0.84);
        }
        camera.position = camera.look_at + distance * toward;
        camera
    }

    /// The camera's axes for an image of shape `aspect` = width / height.
    pub fn view(&self, aspect: f32) -> View {
        let forward = (self.look_at - self.position).normalize_or(Vec3::NEG_Z);
        let side = forward.cross(Vec3::Y);
        let right = if side.length_squared() > 1e-8 { side.normalize() } else { Vec3::X };
        let tangent = (0.5 * self.fov_degrees.to_radians()).tan();
        View {
            position: self.position,
            forward,
            right,
            up: right.cross(forward),
            tangent: [tangent * aspect, tangent],
        }
    }
}

/// The eight corners of a box, x fastest.
pub fn corners(b: &Aabb) -> [Vec3; 8] {
    std::array::from_fn(|c| {
        let pick = |a: usize| if c >> a & 1 == 0 { b.min[a] } else { b.max[a] };
        Vec3::new(pick(0), pick(1), pick(2))
    })
}

impl View {
    /// The ray through image coordinates in [-1, 1], y up.
    pub fn ray(&self, x: f32, y: f32) -> Ray {
        let direction = self.forward + x * self.tangent[0] * self.right + y * self.tangent[1] * self.up;
        Ray { origin: self.position, direction: direction.normalize() }
    }

    /// Image coordinates and depth along the view axis of a world point.
    pub fn project(&self, x_in_world: Vec3) -> [f32; 3] {
        let d = x_in_world - self.position;
        let depth = d.dot(self.forward);
        [d.dot(self.right) / (depth * self.tangent[0]), d.dot(self.up) / (depth * self.tangent[1]), depth]
    }

    /// Depth along the view axis of the point at distance `t` along `ray`.
    pub fn depth(&self, ray: &Ray, t: f32) -> f32 {
        t * ray.direction.dot(self.forward)
    }

    /// Width over height.
    pub fn aspect(&self) -> f32 {
        self.tangent[0] / self.tangent[1]
    }

    /// Angle between neighbouring pixels of an image of `height` rows, radians.
    pub fn pixel_angle(&self, height: usize) -> f32 {
        2.0 * self.tangent[1] / height as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_view_shows_the_whole_box_and_fills_the_frame() {
        for (max, aspect) in [
            (Vec3::ONE, 16.0 / 9.0),
            (Vec3::new(4.0, 1.0, 1.0), 16.0 / 9.0),
            (Vec3::new(0.01, 0.05, 0.02), 1.0),
            (Vec3::new(10.0, 3.0, 40.0), 2.39),
        ] {
            let domain = Aabb { min: Vec3::splat(-0.3), max: max - 0.3 };
            let view = Camera::framing(domain, aspect).view(aspect);
            let seen = corners(&domain).map(|c| view.project(c));
            let reach = |a: usize| seen.iter().map(|c| c[a].abs()).fold(0.0, f32::max);
            assert!(reach(0) < 0.95 && reach(1) < 0.95, "{max}: {} {}", reach(0), reach(1));
            assert!(reach(0).max(reach(1)) > 0.7, "{max} is small in the frame: {} {}", reach(0), reach(1));
            assert!(seen.iter().all(|c| c[2] > 0.0));
        }
    }

    #[test]
    fn projection_inverts_the_ray() {
        let camera = Camera { position: Vec3::new(1.0, 2.0, 3.0), look_at: Vec3::ZERO, fov_degrees: 40.0 };
        let view = camera.view(1.5);
        let ray = view.ray(0.3, -0.7);
        let [x, y, depth] = view.project(ray.origin + 5.0 * ray.direction);
        assert!((x - 0.3).abs() < 1e-5 && (y + 0.7).abs() < 1e-5);
        assert!((depth - view.depth(&ray, 5.0)).abs() < 1e-5);
    }
}
