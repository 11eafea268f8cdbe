//! Key light on the floor: shadows and caustics, by tracing light through the water onto a texture.
//!
//! One ray per texel starts so that, undisturbed, it would end on that texel; refracted, it ends elsewhere
//! with what absorption and Fresnel losses have left. The sum on a texel is the irradiance relative to open
//! floor: above one where light is focused, below one in shadow.

use crate::bvh::Ray;
use crate::environment::Environment;
use crate::optics::{IOR_WATER, WaterColor, fresnel, reflect, refract};
use crate::scene::Prepared;
use crate::shadow::ShadowMap;
use fluvial_foundation::{Aabb, Vec3, parallel};

/// Relative irradiance on the floor.
pub struct LightMap {
    low: [f32; 2],
    texel: f32,
    size: [usize; 2],
    key: Vec<Vec3>,
    /// The same, widely blurred: stands for the sky light that the bodies hide from the floor.
    soft: Vec<f32>,
}

/// A ray of light is followed through at most this many surfaces.
const EVENTS: usize = 8;

impl LightMap {
    /// Traces `resolution` texels along the longer side of the lit floor; balls, where there are any,
    /// cast their shadows.
    pub fn trace(
        scene: &Prepared,
        environment: &Environment,
        water: &WaterColor,
        resolution: usize,
        shadows: Option<&ShadowMap>,
    ) -> LightMap {
        let lit = lit_floor(scene.domain, environment.sun);
        let extent = [lit.max.x - lit.min.x, lit.max.z - lit.min.z];
        let texel = extent[0].max(extent[1]) / resolution as f32;
        let size = extent.map(|e| (e / texel).ceil().max(1.0) as usize);
        let mut map = LightMap { low: [lit.min.x, lit.min.z], texel, size, key: vec![], soft: vec![] };
        let floor = scene.floor();
        let far = 4.0 * scene.size / environment.sun.y.max(0.1);
        let rows = parallel::map_indices(size[1], |j| {
            let ends = (0..size[0]).map(|i| {
                let x = map.low[0] + (i as f32 + 0.5) * texel;
                let z = map.low[1] + (j as f32 + 0.5) * texel;
                let end = Vec3::new(x, floor, z);
                let ray = Ray { origin: end + far * environment.sun, direction: -environment.sun };
                let open = shadows.map_or(1.0, |balls| balls.visible(end));
                follow(scene, water, ray).map(|(end, light)| (end, open * light))
            });
            ends.collect::<Vec<_>>()
        });
        map.key = vec![Vec3::ZERO; size[0] * size[1]];
        for (end, light) in rows.into_iter().flatten().flatten() {
            map.splat(end, light);
        }
        blur(&mut map.key, size, 1);
        map.soft = map.key.iter().map(|c| c.y.min(1.0)).collect();
        let radius = (0.06 * scene.size / texel).ceil() as usize;
        blur(&mut map.soft, size, radius);
        map
    }

    fn splat(&mut self, end: Vec3, light: Vec3) {
        let x = (end.x - self.low[0]) / self.texel - 0.5;
        let z = (end.z - self.low[1]) / self.texel - 0.5;
        let (i, j) = (x.floor(), z.floor());
        for (di, dj) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let (ti, tj) = (i + di, j + dj);
            if ti >= 0.0 && tj >= 0.0 && (ti as usize) < self.size[0] && (tj as usize) < self.size[1] {
                let weight = (1.0 - (x - ti).abs()) * (1.0 - (z - tj).abs());
                self.key[ti as usize + self.size[0] * tj as usize] += weight * light;
            }
        }
    }

    /// Key light and sky light at a point of the floor, relative to open floor.
    pub fn at(&self, x: f32, z: f32) -> (Vec3, f32) {
        let (u, v) = ((x - self.low[0]) / self.texel - 0.5, (z - self.low[1]) / self.texel - 0.5);
        let (w, h) = (self.size[0] as f32 - 1.0, self.size[1] as f32 - 1.0);
        // The rim of the map is open floor; fade to it so that no border shows.
        let inside = u.min(w - u).min(v).min(h - v);
        if inside <= 1.0 {
            return (Vec3::ONE, 1.0);
        }
        let fade = ((inside - 1.0) / 6.0).min(1.0);
        let (i, j) = (u as usize, v as usize);
        let (f, g) = (u - i as f32, v - j as f32);
        let n = i + self.size[0] * j;
        let k = &self.key;
        let key = (k[n].lerp(k[n + 1], f)).lerp(k[n + self.size[0]].lerp(k[n + self.size[0] + 1], f), g);
        (Vec3::ONE.lerp(key, fade), 1.0 + fade * (self.soft[n] - 1.0))
    }
}

/// The floor under the domain and under its shadow, with a margin for light that is bent outwards.
fn lit_floor(domain: Aabb, sun: Vec3) -> Aabb {
    let throw = -domain.size().y / sun.y.max(0.1) * Vec3::new(sun.x, 0.0, sun.z);
    let shadow = Aabb { min: domain.min + throw, max: domain.max + throw };
    let all = domain.union(shadow);
    all.expand(0.12 * domain.size().max_element())
}

/// Follows light down to the floor: where it lands and what is left of it; nothing if a solid stops it.
fn follow(scene: &Prepared, water: &WaterColor, mut ray: Ray) -> Option<(Vec3, Vec3)> {
    let mut light = Vec3::ONE;
    for _ in 0..EVENTS {
        let to_floor = if ray.direction.y < 0.0 {
            (scene.floor() - ray.origin.y) / ray.direction.y
        } else {
            f32::INFINITY
        };
        let hit = scene.intersect(&ray).filter(|s| s.t < to_floor);
        let Some(s) = hit else {
            return to_floor.is_finite().then(|| (ray.origin + to_floor * ray.direction, light));
        };
        if !s.is_liquid {
            return None;
        }
        let entering = s.geometric.dot(ray.direction) < 0.0;
        if !entering {
            light *= water.transmittance(s.t);
            if scene.on_floor(s.point) {
                return Some((s.point, light));
            }
        }
        let (normal, eta) = if entering { (s.normal, 1.0 / IOR_WATER) } else { (-s.normal, IOR_WATER) };
        let cos_in = -ray.direction.dot(normal);
        let (share, cos_out) = fresnel(cos_in, eta);
        // The weaker branch is dropped: its light is lost, and no light is invented.
        let direction = if share < 0.5 {
            light *= 1.0 - share;
            refract(ray.direction, normal, eta, cos_in, cos_out)
        } else {
            light *= share;
            reflect(ray.direction, normal)
        };
        ray = Ray { origin: s.point, direction };
    }
    None
}

/// Three box filters of the given radius along each axis: nearly a Gaussian. Edges repeat.
fn blur<T>(map: &mut [T], size: [usize; 2], radius: usize)
where
    T: Copy + Default + std::ops::AddAssign + std::ops::SubAssign + std::ops::Mul<f32, Output = T>,
{
    if radius == 0 {
        return;
    }
    let scale = 1.0 / (2 * radius + 1) as f32;
    let mut line = vec![T::default(); size[0].max(size[1])];
    for (count, length, step, stride) in [(size[1], size[0], 1, size[0]), (size[0], size[1], size[0], 1)] {
        for row in 0..count {
            for _ in 0..2 {
                for n in 0..length {
                    line[n] = map[row * stride + n * step];
                }
                let at = |n: isize| line[n.clamp(0, length as isize - 1) as usize];
                let r = radius as isize;
                let mut sum = T::default();
                (-r..=r).for_each(|n| sum += at(n));
                for n in 0..length {
                    map[row * stride + n * step] = sum * scale;
                    sum += at(n as isize + r + 1);
                    sum -= at(n as isize - r);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blurring_keeps_the_mean_inside_and_constants_everywhere() {
        let mut map = vec![1.0f32; 40 * 30];
        blur(&mut map, [40, 30], 3);
        assert!(map.iter().all(|v| (v - 1.0).abs() < 1e-5));
        let mut spot = vec![0.0f32; 40 * 30];
        spot[20 + 40 * 15] = 1.0;
        blur(&mut spot, [40, 30], 2);
        assert!((spot.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!((spot[19 + 40 * 15] - spot[21 + 40 * 15]).abs() < 1e-6);
    }
}
