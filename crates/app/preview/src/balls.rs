//! Particles as matte balls: a depth buffer of discs, lit by the studio's lamps, with their shadows on each
//! other, on solids and on the floor.

use crate::camera::{Camera, View};
use crate::environment::{Environment, srgb8, tone_map};
use crate::image::Image;
use crate::light_map::LightMap;
use crate::render::{RenderParams, TankEdges};
use crate::scene::{Prepared, RenderScene};
use crate::shade::Shader;
use crate::shadow::ShadowMap;
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::TriangleMesh;

/// A ball to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Centre, metres.
    pub center: Vec3,
    /// Radius, metres.
    pub radius: f32,
    /// Colour of its surface, linear.
    pub color: Vec3,
}

/// Samples around a pixel, on two rings, that may hide ambient light from it.
const TAPS: usize = 12;
/// Radius of the outer ring, in radii of the ball.
const HIDDEN_REACH: f32 = 5.0;
/// Texels of the shadow map along each side.
const SHADOW_TEXELS: usize = 1500;
/// What no ball covers.
const NOBODY: u32 = u32::MAX;

/// Draws balls among solids, in the studio of [`crate::render`]. `params.edge_samples` is the number of
/// samples of every pixel, rounded to a square. The same bytes with any number of threads.
pub fn render_balls(
    balls: &[Ball],
    solids: &[TriangleMesh],
    domain: Aabb,
    camera: &Camera,
    params: &RenderParams,
) -> Image {
    let (width, height) = (params.width, params.height);
    let side = (params.edge_samples as f32).sqrt().round().max(1.0) as usize;
    let view = camera.view(width as f32 / height as f32);
    let nothing = TriangleMesh::default();
    let scene = RenderScene { liquid: &nothing, solids, domain, whitewater: &[] };
    let prepared = Prepared::new(&scene);
    let scale = domain.size().element_product().cbrt();
    let environment = Environment::studio(camera.look_at - camera.position, scale);
    let shadows = ShadowMap::new(balls, domain, environment.sun, SHADOW_TEXELS);
    let water = params.water(scale);
    let light_map = LightMap::trace(&prepared, &environment, &water, params.light_map, Some(&shadows));
    let pixel_angle = view.pixel_angle(height);
    let shader = Shader {
        scene: &prepared,
        environment,
        light_map,
        water,
        pixel_angle,
        shadows: Some(&shadows),
        foam: None,
        drop_light: Vec3::ZERO, // there is no liquid, and so there are no drops of it
    };
    let edges = TankEdges::new(&scene, &view, height);
    let buffer = DepthBuffer::of(balls, &view, [width * side, height * side]);
    let lamps = Lamps { environment, shadows: &shadows };

    let mut rgb = vec![0u8; 3 * width * height];
    parallel::for_each_chunk_mut(&mut rgb, 3 * width, |row, out| {
        for (column, out) in out.chunks_exact_mut(3).enumerate() {
            let mut sum = Vec3::ZERO;
            for n in 0..side * side {
                let at = [column * side + n % side, row * side + n / side];
                let [px, py] = buffer.image_place(at);
                let ray = view.ray(px, py);
                let (behind, _, t) = shader.camera_ray(&ray);
                let (depth, index) = buffer.at(at);
                let far = view.depth(&ray, t);
                let light = if index != NOBODY && depth < far {
                    let along = depth / view.depth(&ray, 1.0);
                    let point = ray.origin + along * ray.direction;
                    lamps.light(&balls[index as usize], point, buffer.openness(at))
                } else {
                    behind
                };
                sum += tone_map(edges.over(light, [px, py], depth.min(far)));
            }
            let color = sum / (side * side) as f32;
            out.copy_from_slice(&[srgb8(color.x), srgb8(color.y), srgb8(color.z)]);
        }
    });
    Image { width, height, rgb }
}

/// What lights the balls.
struct Lamps<'a> {
    environment: Environment,
    shadows: &'a ShadowMap,
}

impl Lamps<'_> {
    /// Light from a point of a ball's surface that sees a given share of the sky.
    fn light(&self, ball: &Ball, point: Vec3, open: f32) -> Vec3 {
        let e = &self.environment;
        let n = (point - ball.center).normalize_or(Vec3::Y);
        let up = 0.5 + 0.5 * n.y;
        let bounce = 0.25 * (e.sun_color * e.sun.y + e.ambient) * (1.0 - up);
        let facing = n.dot(e.sun).max(0.0);
        let key = facing * self.shadows.visible(point + 0.5 * ball.radius * n);
        // The lamp beside the camera is soft: it wraps around a ball, and crevices get less of it.
        let fill = (0.75 * n.dot(e.fill) + 0.25).max(0.0);
        ball.color * (open * (1.1 * e.ambient * up + bounce + 2.4 * fill * e.fill_color) + key * e.sun_color)
    }
}

/// The nearest ball at every sample.
struct DepthBuffer {
    size: [usize; 2],
    /// Depth along the view axis and the ball's index; infinite where there is no ball.
    samples: Vec<(f32, u32)>,
    /// Samples per metre at depth 1.
    per_metre: f32,
    /// Radius of a typical ball, metres.
    typical: f32,
}

impl DepthBuffer {
    fn of(balls: &[Ball], view: &View, size: [usize; 2]) -> DepthBuffer {
        // Seen from far away a small ball is a disc: its centre in samples, its radius there, its depth.
        let half = [0.5 * size[0] as f32, 0.5 * size[1] as f32];
        let per_metre = 2.0 * half[1] / (view.pixel_angle(1));
        let discs: Vec<Option<Disc>> = parallel::map_indices(balls.len(), |n| {
            let [x, y, depth] = view.project(balls[n].center);
            let radius = balls[n].radius;
            (depth > 2.0 * radius).then(|| Disc {
                at: [half[0] * (1.0 + x), half[1] * (1.0 - y)],
                reach: radius * per_metre / depth,
                depth,
                radius,
            })
        });
        // Bands of rows, and the balls that each of them sees, in order.
        let band = size[1].div_ceil(64).max(1);
        let mut of_band: Vec<Vec<u32>> = vec![vec![]; size[1].div_ceil(band)];
        for (n, disc) in discs.iter().enumerate().filter_map(|(n, d)| d.as_ref().map(|d| (n, d))) {
            let row = |y: f32| (y.max(0.0) as usize / band).min(of_band.len() - 1);
            if disc.at[1] + disc.reach >= 0.0 && disc.at[1] - disc.reach <= size[1] as f32 {
                (row(disc.at[1] - disc.reach)..=row(disc.at[1] + disc.reach))
                    .for_each(|b| of_band[b].push(n as u32));
            }
        }
        let mut samples = vec![(f32::INFINITY, NOBODY); size[0] * size[1]];
        parallel::for_each_chunk_mut(&mut samples, band * size[0], |b, samples| {
            for &n in &of_band[b] {
                let disc = discs[n as usize].as_ref().expect("only seen ones are listed");
                disc.draw(n, samples, size[0], b * band);
            }
        });
        let mut radii: Vec<f32> = balls.iter().map(|b| b.radius).collect();
        radii.sort_by(f32::total_cmp);
        let typical = radii.get(radii.len() / 2).copied().unwrap_or(0.0);
        DepthBuffer { size, samples, per_metre, typical }
    }

    fn at(&self, [x, y]: [usize; 2]) -> (f32, u32) {
        self.samples[x + self.size[0] * y]
    }

    /// Image coordinates in [-1, 1] of a sample, y up.
    fn image_place(&self, [x, y]: [usize; 2]) -> [f32; 2] {
        [
            2.0 * (x as f32 + 0.5) / self.size[0] as f32 - 1.0,
            1.0 - 2.0 * (y as f32 + 0.5) / self.size[1] as f32,
        ]
    }

    /// Share of the sky that neighbouring samples leave open: one that stands out by as much as it is away hides
    /// all of its direction.
    fn openness(&self, at: [usize; 2]) -> f32 {
        let (depth, _) = self.at(at);
        let metres_per_sample = depth / self.per_metre;
        let reach = (HIDDEN_REACH * self.typical / metres_per_sample).max(2.0);
        // Directions differ from sample to sample, so that no pattern shows.
        let turn = ((at[0] * 7 + at[1] * 13) % 16) as f32 / 16.0;
        let mut hidden = 0.0;
        for tap in 0..TAPS {
            let angle = std::f32::consts::TAU * (tap as f32 + turn) / TAPS as f32;
            let r = reach * if tap % 2 == 0 { 0.4 } else { 1.0 };
            let [x, y] = [at[0] as f32 + r * angle.cos(), at[1] as f32 + r * angle.sin()];
            if x < 0.0 || y < 0.0 || x >= self.size[0] as f32 || y >= self.size[1] as f32 {
                continue;
            }
            let (other, _) = self.at([x as usize, y as usize]);
            let nearer = (depth - other) / (metres_per_sample * r);
            // A neighbour far in front does not hide the sky behind it.
            hidden +=
                if nearer > 0.0 { nearer.min(1.0) * (1.0 / (1.0 + (0.25 * nearer).powi(2))) } else { 0.0 };
        }
        1.0 - 0.75 * (hidden / TAPS as f32)
    }
}

/// A ball in the picture.
struct Disc {
    at: [f32; 2],
    reach: f32,
    depth: f32,
    radius: f32,
}

impl Disc {
    /// Draws into rows from `first` on.
    fn draw(&self, index: u32, samples: &mut [(f32, u32)], width: usize, first: usize) {
        let rows = samples.len() / width;
        let range = |center: f32, low: usize, count: usize| {
            let from = (center - self.reach - 0.5 - low as f32).ceil().max(0.0) as usize;
            let to = (center + self.reach - 0.5 - low as f32).floor();
            from..if to < 0.0 { 0 } else { (to as usize + 1).min(count) }
        };
        for y in range(self.at[1], first, rows) {
            for x in range(self.at[0], 0, width) {
                let dx = (x as f32 + 0.5 - self.at[0]) / self.reach;
                let dy = ((y + first) as f32 + 0.5 - self.at[1]) / self.reach;
                let r2 = dx * dx + dy * dy;
                if r2 < 1.0 {
                    let depth = self.depth - self.radius * (1.0 - r2).sqrt();
                    let sample = &mut samples[x + width * y];
                    if depth < sample.0 {
                        *sample = (depth, index);
                    }
                }
            }
        }
    }
}
