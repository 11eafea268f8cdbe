//! Light along a ray: water that reflects and refracts, matte solids, the floor, the sky.
//!
//! The path splits once, where the camera ray enters water: one reflected and one refracted ray. Deeper
//! down only the stronger branch is traced; the weaker one, and the end of a path that is too long, take the
//! floor, the sky or the water's own colour in their direction: every share of light is counted, once.

use crate::bvh::Ray;
use crate::environment::Environment;
use crate::light_map::LightMap;
use crate::optics::{IOR_WATER, WaterColor, fresnel, reflect, refract};
use crate::scene::{Prepared, Surface};
use crate::shadow::ShadowMap;
use crate::white::FoamMap;
use fluvial_foundation::Vec3;

/// What a camera ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// Nothing but the backdrop.
    Sky,
    /// The floor.
    Floor,
    /// A solid.
    Solid,
    /// The liquid.
    Liquid,
}

/// Everything that shading needs.
pub struct Shader<'a> {
    /// Geometry.
    pub scene: &'a Prepared,
    /// Lights and floor.
    pub environment: Environment,
    /// Key light on the floor.
    pub light_map: LightMap,
    /// Colour of the liquid.
    pub water: WaterColor,
    /// Angle of a pixel, for the footprint of floor tiles.
    pub pixel_angle: f32,
    /// Shadows of balls, where there are any.
    pub shadows: Option<&'a ShadowMap>,
    /// Foam on the liquid, where there is any.
    pub foam: Option<&'a FoamMap>,
    /// Mean light of a drop; see [`Shader::light_of_a_drop`].
    pub drop_light: Vec3,
}

/// A drop with a smaller radius than this, pixels, shows its mean light; from the larger one on its picture of the world is
/// traced. Between drop and drop a ray meets a lamp or the dark by chance: traced, small ones are dots of black and white.
const DROP_PX: [f32; 2] = [0.75, 2.5];

/// Bodies of water that one camera ray is followed through.
const BODIES: usize = 3;
/// Reflections inside one body.
const INNER_BOUNCES: usize = 4;
const SOLID_ALBEDO: Vec3 = Vec3::new(0.25, 0.225, 0.2);
const FOAM_ALBEDO: Vec3 = Vec3::new(0.86, 0.89, 0.91);

impl Shader<'_> {
    /// Light along a camera ray, what was seen and how far away.
    pub fn camera_ray(&self, ray: &Ray) -> (Vec3, Seen, f32) {
        let hit = self.scene.intersect(ray);
        let floor = self.distance_to_floor(ray);
        match hit {
            Some(s) if s.t < floor => match s.is_liquid {
                true => (self.liquid(ray, &s, BODIES), Seen::Liquid, s.t),
                false => (self.solid(&s), Seen::Solid, s.t),
            },
            _ if floor.is_finite() => (self.floor(ray, floor, floor), Seen::Floor, floor),
            _ => (self.environment.backdrop(ray.direction), Seen::Sky, f32::INFINITY),
        }
    }

    fn distance_to_floor(&self, ray: &Ray) -> f32 {
        if ray.direction.y >= -1e-6 {
            return f32::INFINITY;
        }
        let t = (self.scene.floor() - ray.origin.y) / ray.direction.y;
        if t > 0.0 { t } else { f32::INFINITY }
    }

    /// Light along a ray in air; `travelled` is the length of the path so far, `bodies` what it may enter.
    fn air(&self, ray: &Ray, travelled: f32, bodies: usize) -> Vec3 {
        let floor = self.distance_to_floor(ray);
        match self.scene.intersect(ray) {
            Some(s) if s.t < floor => match s.is_liquid {
                true => self.liquid(ray, &s, bodies),
                false => self.solid(&s),
            },
            _ if floor.is_finite() => self.floor(ray, floor, travelled + floor),
            _ => self.environment.sky(ray.direction),
        }
    }

    /// Light from a water surface met from either side.
    fn liquid(&self, ray: &Ray, s: &Surface, bodies: usize) -> Vec3 {
        if s.geometric.dot(ray.direction) > 0.0 {
            return self.inside(*ray, s.t, bodies); // the ray began in the water
        }
        let cover = self.foam.map_or(0.0, |foam| foam.cover(s.point, s.normal));
        if cover > 0.01 {
            return self.bare_liquid(ray, s, bodies).lerp(self.matte(s, FOAM_ALBEDO), cover);
        }
        self.bare_liquid(ray, s, bodies)
    }

    /// Light from a water surface without foam, met from outside.
    fn bare_liquid(&self, ray: &Ray, s: &Surface, bodies: usize) -> Vec3 {
        let radius_px = s.body_radius / (s.t * self.pixel_angle).max(f32::MIN_POSITIVE);
        let traced = ((radius_px - DROP_PX[0]) / (DROP_PX[1] - DROP_PX[0])).clamp(0.0, 1.0);
        if traced == 0.0 {
            return self.drop_light;
        }
        let cos_in = -ray.direction.dot(s.normal);
        let (share, cos_out) = fresnel(cos_in, 1.0 / IOR_WATER);
        let mirrored = reflect(ray.direction, s.normal);
        let out = Ray { origin: s.point, direction: mirrored };
        let reflected = if bodies == BODIES && share > 0.03 && mirrored.dot(s.geometric) > 0.0 {
            self.air(&out, s.t, 0)
        } else {
            self.open_air(&out)
        };
        let direction = refract(ray.direction, s.normal, 1.0 / IOR_WATER, cos_in, cos_out);
        let inward = Ray { origin: s.point, direction };
        let refracted =
            if bodies == 0 { self.open_air(&inward) } else { self.inside(inward, s.t, bodies - 1) };
        self.drop_light.lerp(share * reflected + (1.0 - share) * refracted, traced)
    }

    /// Mean light of a ball of water in the middle of the scene, seen along a direction: reflected, refracted straight
    /// through, and refracted after one reflection inside.
    pub fn light_of_a_drop(&self, forward: Vec3) -> Vec3 {
        const SIDE: usize = 12;
        let view = forward.normalize_or(Vec3::NEG_Z);
        let across = view.any_orthonormal_vector();
        let along = view.cross(across);
        let seen = |direction: Vec3| {
            self.open_air(&Ray { origin: self.scene.domain.center(), direction: direction.normalize() })
        };
        let (mut sum, mut count) = (Vec3::ZERO, 0.0);
        for n in 0..SIDE * SIDE {
            let place = |k: usize| (2 * k + 1) as f32 / SIDE as f32 - 1.0;
            let (x, y) = (place(n % SIDE), place(n / SIDE));
            let r2 = x * x + y * y;
            if r2 >= 1.0 {
                continue;
            }
            let normal = x * across + y * along - (1.0 - r2).sqrt() * view;
            let cos_in = -view.dot(normal);
            let (share, cos_out) = fresnel(cos_in, 1.0 / IOR_WATER);
            let inner = refract(view, normal, 1.0 / IOR_WATER, cos_in, cos_out);
            // All surfaces of a ball are met at one angle.
            let leave = |direction: Vec3, at: Vec3| refract(direction, -at, IOR_WATER, cos_out, cos_in);
            let far = normal + 2.0 * cos_out * inner;
            let turned = reflect(inner, -far);
            let back = far + 2.0 * cos_out * turned;
            let through = (1.0 - share) * seen(leave(inner, far)) + share * seen(leave(turned, back));
            sum += share * seen(reflect(view, normal)) + (1.0 - share) * through;
            count += 1.0;
        }
        sum / count
    }

    /// Floor or sky without looking for bodies in the way.
    fn open_air(&self, ray: &Ray) -> Vec3 {
        let floor = self.distance_to_floor(ray);
        if floor.is_finite() { self.floor(ray, floor, floor) } else { self.environment.sky(ray.direction) }
    }

    /// Light that water scatters towards the eye in place of what it absorbs.
    fn water_glow(&self) -> Vec3 {
        3.0 * self.water.scattered
    }

    /// Light along a ray that starts in water and is followed through inner reflections until it leaves.
    fn inside(&self, mut ray: Ray, travelled: f32, bodies: usize) -> Vec3 {
        let (mut gathered, mut left) = (Vec3::ZERO, Vec3::ONE);
        for _ in 0..INNER_BOUNCES {
            let floor = self.distance_to_floor(&ray);
            let hit = self.scene.intersect(&ray).filter(|s| s.t < floor);
            // Without a surface ahead the ray slipped out through an edge: go on as in air.
            let length = hit.map_or(0.0, |s| s.t);
            let transmitted = self.water.transmittance(length);
            gathered += left * (Vec3::ONE - transmitted) * self.water_glow();
            left *= transmitted;
            let Some(s) = hit else { return gathered + left * self.open_air(&ray) };
            if !s.is_liquid {
                return gathered + left * self.solid(&s);
            }
            if let Some(solid) = self.scene.wetted_solid(&ray, s.t) {
                return gathered + left * self.solid(&solid);
            }
            if self.scene.on_floor(s.point) {
                // Water wets the floor: no air between, no reflection.
                return gathered + left * self.floor(&ray, s.t, travelled + s.t);
            }
            let normal = if s.geometric.dot(ray.direction) > 0.0 { -s.normal } else { s.normal };
            let cos_in = -ray.direction.dot(normal);
            let (share, cos_out) = fresnel(cos_in, IOR_WATER);
            if share < 0.5 {
                let direction = refract(ray.direction, normal, IOR_WATER, cos_in, cos_out);
                let out = Ray { origin: s.point, direction };
                let mirrored = self.water_glow() * share;
                return gathered
                    + left * (mirrored + (1.0 - share) * self.air(&out, travelled + s.t, bodies));
            }
            if share < 1.0 {
                let direction = refract(ray.direction, normal, IOR_WATER, cos_in, cos_out);
                gathered += left * (1.0 - share) * self.environment.sky(direction);
                left *= share;
            }
            ray = Ray { origin: s.point, direction: reflect(ray.direction, normal) };
        }
        gathered + left * self.open_air(&ray)
    }

    fn floor(&self, ray: &Ray, t: f32, travelled: f32) -> Vec3 {
        let p = ray.origin + t * ray.direction;
        let e = &self.environment;
        let (key, sky) = self.light_map.at(p.x, p.z);
        let width = travelled * self.pixel_angle / (-ray.direction.y).max(0.05).sqrt();
        let albedo = e.floor_albedo(p.x, p.z, width);
        let lit = albedo * (e.ambient * (0.5 + 0.5 * sky) + e.sun.y * e.sun_color * key);
        let from_center = (p - self.scene.domain.center()).length();
        e.horizon.lerp(lit, e.floor_fade(from_center, self.scene.size))
    }

    fn solid(&self, s: &Surface) -> Vec3 {
        self.matte(s, SOLID_ALBEDO)
    }

    /// Light of a mist of drops: white from all sides.
    pub fn light_of_mist(&self) -> Vec3 {
        let e = &self.environment;
        FOAM_ALBEDO * (e.ambient + 0.5 * e.fill_color + 0.35 * e.sun_color)
    }

    /// Light from a matte surface.
    fn matte(&self, s: &Surface, albedo: Vec3) -> Vec3 {
        let e = &self.environment;
        let n = s.normal;
        let up = 0.5 + 0.5 * n.y;
        let bounce = 0.30 * (e.sun_color * e.sun.y + e.ambient) * (1.0 - up);
        let facing = n.dot(e.sun).max(0.0);
        let key = if facing > 0.0 { facing * self.sun_through(s) * e.sun_color } else { Vec3::ZERO };
        let fill = n.dot(e.fill).max(0.0) * e.fill_color;
        albedo * (e.ambient * up + bounce + fill + key)
    }

    /// Key light that reaches a point straight through whatever water is in the way.
    fn sun_through(&self, s: &Surface) -> Vec3 {
        let mut light = Vec3::splat(self.shadows.map_or(1.0, |balls| balls.visible(s.point)));
        let mut ray =
            Ray { origin: s.point + self.scene.epsilon * s.geometric, direction: self.environment.sun };
        for _ in 0..6 {
            match self.scene.intersect(&ray) {
                None => break,
                Some(h) if !h.is_liquid => return Vec3::ZERO,
                Some(h) => {
                    // Nothing is reflected where water wets the surface that the light falls on.
                    let is_wet = h.point.distance(s.point) < self.scene.wetted_m();
                    light *= if is_wet { 1.0 } else { 0.96 };
                    if h.geometric.dot(ray.direction) > 0.0 {
                        light *= self.water.transmittance(h.t);
                    }
                    ray.origin = h.point;
                }
            }
        }
        light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::RenderScene;
    use fluvial_foundation::{Aabb, random::unit_vec3};
    use fluvial_grids::UniformGrid;
    use fluvial_surface::{MeshParams, mesh_level_set};

    /// Where everything glows alike, absorbing water included, every ray must bring exactly that light:
    /// each split, loss and inner reflection is then accounted for.
    #[test]
    fn in_a_furnace_every_ray_brings_the_same_light() {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [30; 3], dx: 1.0 / 30.0 };
        let l = grid.cell_centers();
        let phi: Vec<f32> = (0..l.len())
            .map(|n| {
                let [i, j, k] = l.coordinates(n);
                let x = l.position(i, j, k);
                let pool = x.y - 0.35 - 0.08 * (11.0 * x.x).sin() * (9.0 * x.z).cos();
                pool.min(x.distance(Vec3::new(0.4, 0.75, 0.6)) - 0.14)
            })
            .collect();
        let liquid = mesh_level_set(&phi, &l, &MeshParams::default());
        let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let mut scene = Prepared::new(&RenderScene { liquid: &liquid, solids: &[], domain, whitewater: &[] });
        let environment = Environment::furnace();
        let water = WaterColor { absorption: Vec3::new(3.0, 1.0, 0.3), scattered: Vec3::splat(1.0 / 3.0) };
        let light_map = LightMap::trace(&scene, &environment, &water, 16, None);
        scene.size = 1e-6; // seen from so far the floor has faded to the horizon
        let (shadows, foam, drop_light, pixel_angle) = (None, None, Vec3::ONE, 1e-3);
        let mut shader =
            Shader { scene: &scene, environment, light_map, water, pixel_angle, shadows, foam, drop_light };
        shader.drop_light = shader.light_of_a_drop(Vec3::new(0.3, -0.5, 0.8));
        assert!((shader.drop_light - 1.0).abs().max_element() < 1e-4, "{}", shader.drop_light);
        let mut wet = 0;
        for n in 0..4000 {
            let origin = Vec3::splat(0.5) + 2.0 * (unit_vec3(n, 1) - 0.5).normalize().with_y(0.3);
            let direction = (unit_vec3(n, 2) - origin).normalize();
            let (light, seen, _) = shader.camera_ray(&Ray { origin, direction });
            assert!((light - 1.0).abs().max_element() < 1e-4, "ray {n} brings {light}");
            wet += (seen == Seen::Liquid) as usize;
        }
        assert!(wet > 1000, "{wet} rays met water");
    }
}
