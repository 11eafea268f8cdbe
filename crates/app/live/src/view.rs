//! What the shaders know of a picture: camera, sun, domain and map.

use crate::targets::SUPERSAMPLING;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_preview::Camera;
use glam::{Mat3, Mat4};

/// As `View` in `live.wgsl`.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct View {
    pub clip_from_world: [f32; 16],
    pub world_from_clip: [f32; 16],
    pub light_from_world: [f32; 16],
    pub eye: [f32; 4],
    pub sun: [f32; 4],
    pub low: [f32; 4],
    pub high: [f32; 4],
    pub size: [f32; 4],
    pub map: [f32; 4],
    pub columns: [f32; 4],
    pub tile: [f32; 4],
}

/// Matrices of a camera and of the sun over a domain.
pub(crate) fn view_of(domain: Aabb, camera: &Camera, [width, height]: [u32; 2]) -> View {
    let size = domain.size().max_element();
    let near = 0.02 * size;
    let eye = camera.position;
    let looking = looking_at(eye, camera.look_at);
    let aspect = width as f32 / height as f32;
    let lens = lens(camera.fov_degrees, aspect, [near, 80.0 * size]);
    let clip_from_world = lens * looking;
    // From behind the camera's left shoulder, so that what faces the camera is lit and shadows fall to the right.
    let forward = (camera.look_at - eye).with_y(0.0).normalize_or(Vec3::NEG_Z);
    let sun = (1.1 * Vec3::Y - 0.35 * forward - 0.75 * forward.cross(Vec3::Y)).normalize();
    let (middle, reach) = (domain.center(), 0.75 * domain.size().length());
    let from_sun = looking_at(middle + 2.0 * reach * sun, middle);
    // Parallel light: depths from 0 to 1 over four times the reach.
    let light_from_world = Mat4::from_scale(Vec3::new(1.0, 1.0, -0.25) / reach) * from_sun;
    let four = |v: Vec3, w: f32| [v.x, v.y, v.z, w];
    let pixels = [width, height].map(|n| (n * SUPERSAMPLING) as f32);
    View {
        clip_from_world: clip_from_world.to_cols_array(),
        world_from_clip: clip_from_world.inverse().to_cols_array(),
        light_from_world: light_from_world.to_cols_array(),
        eye: four(eye, 1.0),
        sun: four(sun, 0.0),
        low: four(domain.min, size),
        high: four(domain.max, SUPERSAMPLING as f32),
        size: [pixels[0], pixels[1], near, 0.0],
        map: [0.0; 4],
        columns: [0.0; 4],
        tile: [0.0; 4],
    }
}

/// Camera from world: x to the right, y up, looking along -z.
fn looking_at(eye: Vec3, at: Vec3) -> Mat4 {
    let forward = (at - eye).normalize_or(Vec3::NEG_Z);
    let right = forward.cross(Vec3::Y).normalize_or(Vec3::X);
    let turn = Mat3::from_cols(right, right.cross(forward), -forward).transpose();
    Mat4::from_mat3(turn) * Mat4::from_translation(-eye)
}

/// Clip from camera: depths from 0 at the near plane to 1 at the far one.
fn lens(fov_degrees: f32, aspect: f32, [near, far]: [f32; 2]) -> Mat4 {
    let tall = 1.0 / (0.5 * fov_degrees.to_radians()).tan();
    let depth = far / (near - far);
    Mat4::from_cols_array(&[
        tall / aspect,
        0.0,
        0.0,
        0.0,
        0.0,
        tall,
        0.0,
        0.0,
        0.0,
        0.0,
        depth,
        -1.0,
        0.0,
        0.0,
        near * depth,
        0.0,
    ])
}
