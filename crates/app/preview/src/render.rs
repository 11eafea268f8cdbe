//! From a scene to an image: one sample a pixel, more where neighbours differ.

use crate::camera::{Camera, View, corners};
use crate::environment::{Environment, srgb8, tone_map};
use crate::image::Image;
use crate::light_map::LightMap;
use crate::optics::WaterColor;
use crate::scene::{Prepared, RenderScene};
use crate::shade::{Seen, Shader};
use crate::white::{Discs, FoamMap};
use fluvial_foundation::{Vec3, parallel};

/// Size and effort of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderParams {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Samples of a pixel on an edge; 1 turns anti-aliasing off.
    pub edge_samples: usize,
    /// Texels of the light map along the floor's longer side; more gives finer caustics.
    pub light_map: usize,
    /// Water looks like a metre of clear water over this length, m; by default the edge of a cube as large
    /// as the domain.
    pub clarity: Option<f32>,
}

impl RenderParams {
    /// The water's colour in a scene of this size, metres.
    pub(crate) fn water(&self, size: f32) -> WaterColor {
        WaterColor::for_size(self.clarity.unwrap_or(size))
    }
}

impl Default for RenderParams {
    fn default() -> Self {
        RenderParams { width: 640, height: 360, edge_samples: 4, light_map: 320, clarity: None }
    }
}

/// A pixel before encoding: light, its tone-mapped colour, and what was seen.
#[derive(Clone, Copy)]
struct Sample {
    light: Vec3,
    color: Vec3,
    seen: Seen,
}

/// The most light that one sample adds to the mean of a pixel. Lamps reflected in drops smaller than a pixel are
/// brighter, and their pixels would flicker from frame to frame.
const MOST_LIGHT: f32 = 4.0;

/// Draws the scene. The same bytes with any number of threads.
pub fn render(scene: &RenderScene, camera: &Camera, params: &RenderParams) -> Image {
    let (width, height) = (params.width, params.height);
    let view = camera.view(width as f32 / height as f32);
    let prepared = Prepared::new(scene);
    let forward = camera.look_at - camera.position;
    // The edge of a cube as large as the domain: a channel is as blue as a pool of its cross-section.
    let scale = scene.domain.size().element_product().cbrt();
    let environment = Environment::studio(forward, scale);
    let water = params.water(scale);
    let light_map = LightMap::trace(&prepared, &environment, &water, params.light_map, None);
    let pixel_angle = view.pixel_angle(height);
    let (shadows, drop_light) = (None, Vec3::ZERO);
    let foam = FoamMap::new(scene.whitewater, scene.domain);
    let foam = foam.as_ref();
    let mut shader =
        Shader { scene: &prepared, environment, light_map, water, pixel_angle, shadows, foam, drop_light };
    shader.drop_light = shader.light_of_a_drop(forward);
    let edges = TankEdges::new(scene, &view, height);
    let discs = Discs::new(scene.whitewater, &view, width, height);
    let white = shader.light_of_mist();

    let sample_at = |x: f32, y: f32| {
        let (px, py) = (2.0 * x / width as f32 - 1.0, 1.0 - 2.0 * y / height as f32);
        let ray = view.ray(px, py);
        let (light, seen, t) = shader.camera_ray(&ray);
        let depth = view.depth(&ray, t);
        // Shares are those of the pixel: samples beside its centre see the same discs.
        let pixel = (x as usize).min(width - 1) + width * (y as usize).min(height - 1);
        let light = discs.over(pixel, light, (seen, depth), white, &shader.water);
        let light = edges.over(light, [px, py], depth);
        Sample { light: light.min(Vec3::splat(MOST_LIGHT)), color: tone_map(light), seen }
    };
    let blank = Sample { light: Vec3::ZERO, color: Vec3::ZERO, seen: Seen::Sky };
    let mut first = vec![blank; width * height];
    parallel::for_each_chunk_mut(&mut first, width, |y, row| {
        for (x, out) in row.iter_mut().enumerate() {
            *out = sample_at(x as f32 + 0.5, y as f32 + 0.5);
        }
    });
    let mut rgb = vec![0u8; 3 * width * height];
    parallel::for_each_chunk_mut(&mut rgb, 3 * width, |y, row| {
        for (x, out) in row.chunks_exact_mut(3).enumerate() {
            let Sample { mut light, mut color, .. } = first[x + width * y];
            if params.edge_samples > 1 && is_edge(&first, width, height, x, y) {
                // The centre is reused; the others lie on a rank-1 lattice around it.
                let n = params.edge_samples;
                for s in 1..n {
                    let (u, v) = (s as f32 / n as f32, (s as f32 * 0.618_034).fract());
                    let shift = |w: f32| if w < 0.5 { w + 0.5 } else { w - 0.5 };
                    light += sample_at(x as f32 + shift(u), y as f32 + shift(v)).light;
                }
                color = tone_map(light / n as f32);
            }
            out.copy_from_slice(&[srgb8(color.x), srgb8(color.y), srgb8(color.z)]);
        }
    });
    Image { width, height, rgb }
}

/// Does the pixel differ from one of its neighbours enough to show a stair? Floor and sky are smooth in
/// themselves: tiles and lines are filtered where they are drawn.
fn is_edge(samples: &[Sample], width: usize, height: usize, x: usize, y: usize) -> bool {
    const CONTRAST: f32 = 0.05;
    let here = samples[x + width * y];
    let smooth = matches!(here.seen, Seen::Floor | Seen::Sky);
    let tone = |c: Vec3| c.dot(Vec3::new(0.2126, 0.7152, 0.0722)).max(0.0).sqrt();
    let differs = |nx: usize, ny: usize| {
        let there = samples[nx + width * ny];
        here.seen != there.seen || (!smooth && (tone(here.color) - tone(there.color)).abs() > CONTRAST)
    };
    (x > 0 && differs(x - 1, y))
        || (x + 1 < width && differs(x + 1, y))
        || (y > 0 && differs(x, y - 1))
        || (y + 1 < height && differs(x, y + 1))
}

/// Edges of the glass tank, drawn as fine bright lines that bodies in front of them hide.
pub(crate) struct TankEdges {
    lines: Vec<Line>,
    aspect: f32,
    /// Distance at which a line has faded out, in units of the image's half height.
    reach: f32,
}

/// A line in the image, both coordinates in units of half its height.
struct Line {
    start: [f32; 2],
    along: [f32; 2],
    length: f32,
    /// 1 / depth at both ends: linear along the projected line.
    inverse_depth: [f32; 2],
}

impl TankEdges {
    pub fn new(scene: &RenderScene, view: &View, height: usize) -> TankEdges {
        let aspect = view.aspect();
        let ends = corners(&scene.domain).map(|c| view.project(c));
        let mut lines = vec![];
        for a in 0..8usize {
            for b in [1, 2, 4].map(|bit| a | bit).into_iter().filter(|&b| b != a) {
                let (p, q) = (ends[a], ends[b]);
                if p[2] <= 0.0 || q[2] <= 0.0 {
                    continue; // an end behind the camera has no image
                }
                let d = [(q[0] - p[0]) * aspect, q[1] - p[1]];
                let length = d[0].hypot(d[1]).max(1e-6);
                lines.push(Line {
                    start: [p[0] * aspect, p[1]],
                    along: d.map(|v| v / length),
                    length,
                    inverse_depth: [1.0 / p[2], 1.0 / q[2]],
                });
            }
        }
        TankEdges { lines, aspect, reach: 2.4 / height as f32 }
    }

    /// Blends the lines over `light` at image position `at`, where the nearest surface has this depth.
    pub fn over(&self, light: Vec3, at: [f32; 2], depth: f32) -> Vec3 {
        let mut cover: f32 = 0.0;
        for line in &self.lines {
            let (x, y) = (at[0] * self.aspect - line.start[0], at[1] - line.start[1]);
            let aside = (x * line.along[1] - y * line.along[0]).abs();
            if aside >= self.reach {
                continue;
            }
            let along = x * line.along[0] + y * line.along[1];
            let beyond = (along - along.clamp(0.0, line.length)).abs();
            let near = 1.0 - aside.hypot(beyond) / self.reach;
            let t = (along / line.length).clamp(0.0, 1.0);
            let inverse_depth = line.inverse_depth[0] + t * (line.inverse_depth[1] - line.inverse_depth[0]);
            if near > cover && 1.002 * depth * inverse_depth > 1.0 {
                cover = near;
            }
        }
        light.lerp(Vec3::new(0.95, 1.0, 1.02), 0.36 * cover)
    }
}
