//! Spray, foam and bubbles in a picture.
//!
//! Foam is a white cover of the water's surface: at every point of the surface its density is found from the particles around, in the
//! world, so that patches move with the water and do not flicker. Spray and bubbles are discs that cover as much of a pixel
//! as they are large, in front of what is seen and behind the water's surface.

use crate::camera::View;
use crate::optics::WaterColor;
use crate::shade::Seen;
use fluvial_foundation::{Aabb, Vec3};

/// What a particle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhiteKind {
    /// A drop in the air.
    Spray,
    /// On the surface.
    Foam,
    /// Air in the liquid.
    Bubble,
    /// Drops so small that they hang in the air.
    Mist,
}

/// A particle of whitewater.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhitePoint {
    /// Where, metres.
    pub x: Vec3,
    /// Metres.
    pub radius: f32,
    /// What it is.
    pub kind: WhiteKind,
}

/// Reach of a foam particle, radii.
const FOAM_REACH: f32 = 14.0;
/// A foam particle stands for so much cover, in parts of its section: bubbles of foam are many in one.
const FOAM_COVER: f32 = 7.0;
/// Density of cover above which bubbles hold together as foam; single ones on the surface are hardly seen. Patches tear where they
/// thin out instead of ending in dots.
const FOAM_HOLDS: f32 = 0.35;
/// Along its normal foam covers the surface no farther than this part of its reach.
const FOAM_THICKNESS: f32 = 0.5;
/// Spray's drops are drawn with this part of their section: mist lets light through.
const SPRAY_COVER: f32 = 0.85;
const BUBBLE_COVER: f32 = 0.35;
const MIST_COVER: f32 = 0.3;

/// Foam particles by the cubes in which they lie.
pub struct FoamMap {
    min: Vec3,
    cube: f32,
    size: [usize; 3],
    /// First particle of each cube, and one beyond the last.
    starts: Vec<u32>,
    points: Vec<(Vec3, f32)>,
}

impl FoamMap {
    /// The foam among particles; `None` where there is none.
    pub fn new(points: &[WhitePoint], domain: Aabb) -> Option<FoamMap> {
        let foam = || points.iter().filter(|p| p.kind == WhiteKind::Foam);
        let largest = foam().map(|p| p.radius).fold(0.0, f32::max);
        if largest <= 0.0 {
            return None;
        }
        // No more cubes than a few million, however small the particles are.
        let cube = (FOAM_REACH * largest).max(domain.size().max_element() / 160.0);
        let size = domain.size().to_array().map(|s| (s / cube).ceil().max(1.0) as usize);
        let mut map = FoamMap { min: domain.min, cube, size, starts: vec![], points: vec![] };
        let mut order: Vec<(usize, &WhitePoint)> = foam().map(|p| (map.cube_of(p.x), p)).collect();
        order.sort_by_key(|(cube, _)| *cube);
        map.starts = vec![0; size.iter().product::<usize>() + 1];
        order.iter().for_each(|(cube, _)| map.starts[cube + 1] += 1);
        (1..map.starts.len()).for_each(|n| map.starts[n] += map.starts[n - 1]);
        map.points = order.iter().map(|(_, p)| (p.x, p.radius)).collect();
        Some(map)
    }

    fn place(&self, x: Vec3) -> [usize; 3] {
        let at = (x - self.min) / self.cube;
        std::array::from_fn(|a| (at[a].max(0.0) as usize).min(self.size[a] - 1))
    }

    fn cube_of(&self, x: Vec3) -> usize {
        let [i, j, k] = self.place(x);
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// Share of the surface at a point, with this normal, that foam covers: `1 - e^-D` where the density D of the particles'
    /// sections is large, `D^2` over the density that holds together where it is small.
    pub fn cover(&self, x: Vec3, normal: Vec3) -> f32 {
        let density = self.density(x, normal);
        1.0 - (-density * density / (density + FOAM_HOLDS)).exp()
    }

    /// Density of the particles' sections along the surface, all that they stand for.
    fn density(&self, x: Vec3, normal: Vec3) -> f32 {
        let [i, j, k] = self.place(x);
        let range = |n: usize, a: usize| n.saturating_sub(1)..(n + 2).min(self.size[a]);
        let mut density = 0.0;
        for k in range(k, 2) {
            for j in range(j, 1) {
                let row = self.size[0] * (j + self.size[1] * k);
                let along = range(i, 0);
                let (first, last) = (self.starts[row + along.start], self.starts[row + along.end]);
                for &(at, radius) in &self.points[first as usize..last as usize] {
                    let reach = FOAM_REACH * radius;
                    let away = x - at;
                    let off = away.dot(normal);
                    let near = 1.0 - (away.length_squared() - off * off) / (reach * reach);
                    if near > 0.0 && off.abs() < FOAM_THICKNESS * reach {
                        // 3 near^2 / (pi reach^2) has the integral 1 over the disc; the particle's section is pi radius^2.
                        density += FOAM_COVER * 3.0 * near * near * (radius / reach).powi(2);
                    }
                }
            }
        }
        density
    }
}

/// Spray and bubbles as the pixels see them.
pub struct Discs {
    /// First entry of each pixel, and one beyond the last.
    starts: Vec<u32>,
    /// Depth along the view axis, share of the pixel, and whether it is a bubble.
    entries: Vec<(f32, f32, bool)>,
}

impl Discs {
    /// Spray and bubbles among particles, in an image of a size.
    pub fn new(points: &[WhitePoint], view: &View, width: usize, height: usize) -> Discs {
        let mut covered: Vec<(u32, (f32, f32, bool))> = vec![];
        for p in points.iter().filter(|p| p.kind != WhiteKind::Foam) {
            cover_pixels(&mut covered, p, view, [width, height]);
        }
        // Entries of one pixel keep the order of the particles.
        covered.sort_by_key(|(pixel, _)| *pixel);
        let mut starts = vec![0; width * height + 1];
        covered.iter().for_each(|(pixel, _)| starts[*pixel as usize + 1] += 1);
        (1..starts.len()).for_each(|n| starts[n] += starts[n - 1]);
        Discs { starts, entries: covered.into_iter().map(|(_, entry)| entry).collect() }
    }

    /// Puts the discs of a pixel over and under what was seen there at a depth.
    pub fn over(
        &self,
        pixel: usize,
        light: Vec3,
        seen: (Seen, f32),
        white: Vec3,
        water: &WaterColor,
    ) -> Vec3 {
        let (what, depth) = seen;
        let entries = &self.entries[self.starts[pixel] as usize..self.starts[pixel + 1] as usize];
        let (mut light, mut open) = (light, 1.0);
        for &(at, share, is_bubble) in entries {
            if is_bubble && what == Seen::Liquid && at > depth {
                // Through the water above it, and as blue.
                let through = water.transmittance(at - depth);
                light = light.lerp(white * through, share * through.element_product().cbrt());
            } else if !is_bubble && at < depth {
                open *= 1.0 - share;
            }
        }
        light.lerp(white, 1.0 - open)
    }
}

/// The pixels that a particle covers, and how much of them.
fn cover_pixels(out: &mut Vec<(u32, (f32, f32, bool))>, p: &WhitePoint, view: &View, size: [usize; 2]) {
    let [x, y, depth] = view.project(p.x);
    if depth <= 2.0 * p.radius {
        return;
    }
    let (width, height) = (size[0] as f32, size[1] as f32);
    let center = [0.5 * width * (1.0 + x), 0.5 * height * (1.0 - y)];
    let radius = p.radius / (depth * view.pixel_angle(size[1]));
    // A disc smaller than a pixel is drawn as one of a pixel, as much fainter.
    let drawn = radius.max(0.6);
    let is_bubble = p.kind == WhiteKind::Bubble;
    // The edge is a pixel wide, which makes a disc of radius r cover pi (r^2 + 1/12).
    let cover = match p.kind {
        WhiteKind::Bubble => BUBBLE_COVER,
        WhiteKind::Mist => MIST_COVER,
        _ => SPRAY_COVER,
    };
    let opacity = radius * radius / (drawn * drawn + 1.0 / 12.0) * cover;
    let range = |center: f32, most: f32| {
        let (low, high) = (center - drawn - 0.5, center + drawn + 0.5);
        low.clamp(0.0, most) as usize..high.clamp(0.0, most).ceil() as usize
    };
    for row in range(center[1], height) {
        for column in range(center[0], width) {
            let away = (column as f32 + 0.5 - center[0]).hypot(row as f32 + 0.5 - center[1]);
            let share = (drawn - away + 0.5).clamp(0.0, 1.0) * opacity;
            if share > 0.004 {
                out.push(((column + row * size[0]) as u32, (depth, share, is_bubble)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::Camera;
    use fluvial_foundation::random::unit_f32;

    const DOMAIN: Aabb = Aabb { min: Vec3::ZERO, max: Vec3::ONE };

    fn camera() -> Camera {
        Camera { position: Vec3::new(0.5, 0.5, 3.0), look_at: Vec3::splat(0.5), fov_degrees: 30.0 }
    }

    /// Particles at random over a plane cover it as their number and section say, and nothing beside it.
    #[test]
    fn foam_covers_by_its_density() {
        let (count, radius) = (20_000, 2e-3);
        let place = |n: u64| Vec3::new(unit_f32(n, 0), 0.5, unit_f32(n, 1));
        let point = |n: u64| WhitePoint { x: place(n), radius, kind: WhiteKind::Foam };
        let points: Vec<WhitePoint> = (0..count).map(point).collect();
        let map = FoamMap::new(&points, DOMAIN).unwrap();
        let at = |n: u64| Vec3::new(0.1 + 0.8 * unit_f32(n, 2), 0.5, 0.1 + 0.8 * unit_f32(n, 3));
        let sum: f32 = (0..2000).map(|n| map.density(at(n), Vec3::Y)).sum();
        let density = FOAM_COVER * std::f32::consts::PI * radius * radius * count as f32;
        assert!((sum / 2000.0 / density - 1.0).abs() < 0.05, "{} {density}", sum / 2000.0);
        assert_eq!(map.cover(Vec3::new(0.5, 0.6, 0.5), Vec3::Y), 0.0);
        // One alone is hardly seen, many hide the water.
        let one = FoamMap::new(&points[..1], DOMAIN).unwrap();
        assert!(one.cover(points[0].x, Vec3::Y) < 0.05, "{}", one.cover(points[0].x, Vec3::Y));
        let crowd: Vec<WhitePoint> = (0..60).flat_map(|_| points[..1].to_vec()).collect();
        assert!(FoamMap::new(&crowd, DOMAIN).unwrap().cover(points[0].x, Vec3::Y) > 0.95);
        assert!(FoamMap::new(&[], DOMAIN).is_none());
    }

    /// A disc covers as many pixels as it is large, whether it is smaller than a pixel or larger.
    #[test]
    fn drops_cover_their_section() {
        let (width, height) = (200, 200);
        let view = camera().view(1.0);
        let pixel = 2.5 * view.pixel_angle(height);
        for (radius_px, tolerance) in [(0.3, 0.06), (0.8, 0.06), (3.0, 0.03)] {
            let covered = |n: u64| -> f32 {
                let x = Vec3::new(0.4 + 0.2 * unit_f32(n, 0), 0.4 + 0.2 * unit_f32(n, 1), 0.5);
                let drop = WhitePoint { x, radius: radius_px * pixel, kind: WhiteKind::Spray };
                Discs::new(&[drop], &view, width, height).entries.iter().map(|entry| entry.1).sum()
            };
            let sum: f32 = (0..50).map(covered).sum();
            let exact = 50.0 * SPRAY_COVER * std::f32::consts::PI * radius_px * radius_px;
            assert!((sum / exact - 1.0).abs() < tolerance, "{radius_px}: {sum} {exact}");
        }
    }

    #[test]
    fn what_lies_behind_is_hidden_and_bubbles_are_seen_through_water() {
        let view = camera().view(1.0);
        let water = WaterColor { absorption: Vec3::ONE, scattered: Vec3::ZERO };
        let seen = |kind, what, depth| {
            let point = WhitePoint { x: Vec3::splat(0.5), radius: 0.05, kind };
            let discs = Discs::new(&[point], &view, 41, 41);
            discs.over(20 + 41 * 20, Vec3::ZERO, (what, depth), Vec3::ONE, &water).x
        };
        assert!(seen(WhiteKind::Spray, Seen::Floor, 4.0) > 0.8);
        assert_eq!(seen(WhiteKind::Spray, Seen::Floor, 2.0), 0.0);
        let [shallow, deep] = [2.4, 1.5].map(|depth| seen(WhiteKind::Bubble, Seen::Liquid, depth));
        assert!(shallow > 0.2 && deep < 0.5 * shallow && deep > 0.0, "{shallow} {deep}");
        assert_eq!(seen(WhiteKind::Bubble, Seen::Floor, 2.4), 0.0);
    }
}
