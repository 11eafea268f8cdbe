//! What is drawn, prepared for tracing: one mesh, its normals, one hierarchy.

use crate::bvh::{Bvh, Hit, Ray};
use crate::white::WhitePoint;
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::TriangleMesh;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct RenderScene<'a> {
    /// The liquid's closed surface.
    pub liquid: &'a TriangleMesh,
    /// Solids, closed or not, drawn matte.
    pub solids: &'a [TriangleMesh],
    /// The box of the simulation. The camera frames it, its edges are drawn as those of a glass tank, and the floor lies
    /// under it.
    pub domain: Aabb,
    /// Spray, foam and bubbles.
    pub whitewater: &'a [WhitePoint],
}

/// A surface met by a ray.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Distance along the ray.
    pub t: f32,
    /// Where, metres.
    pub point: Vec3,
    /// Outward normal of the triangle.
    pub geometric: Vec3,
    /// Outward normal for shading, unit length.
    pub normal: Vec3,
    /// Liquid, or a solid?
    pub is_liquid: bool,
    /// Half the largest extent of the connected liquid that it belongs to, metres; infinite for solids.
    pub body_radius: f32,
}

/// See [`Prepared::wetted_m`], in longest edges of the box.
const WETTED: f32 = 3e-3;

/// A [`RenderScene`] ready for tracing.
pub struct Prepared {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<Vec3>,
    flat: Vec<bool>,
    /// Of each vertex of the liquid.
    body_radius: Vec<f32>,
    liquid_triangles: u32,
    bvh: Bvh,
    /// The solids alone; their triangles are counted from the first one.
    solids: Bvh,
    /// The box of the simulation.
    pub domain: Aabb,
    /// Longest edge of the box.
    pub size: f32,
    /// Rays start this far off the surface they leave.
    pub epsilon: f32,
}

impl Prepared {
    /// Joins the meshes, finds normals and builds the hierarchy.
    pub fn new(scene: &RenderScene) -> Prepared {
        let size = scene.domain.size().max_element();
        let (mut positions, mut triangles) = (scene.liquid.positions.clone(), scene.liquid.triangles.clone());
        let liquid_triangles = triangles.len() as u32;
        for solid in scene.solids {
            let first = positions.len() as u32;
            positions.extend(&solid.positions);
            triangles.extend(solid.triangles.iter().map(|t| t.map(|v| v + first)));
        }
        let body_radius = body_radii(scene.liquid);
        let near = 1e-5 * size;
        let on_walls: Vec<u8> = positions.iter().map(|&p| walls_at(p, &scene.domain, near)).collect();
        // A triangle of liquid on a wall is flat, and must not bend the normals of the surface beside it.
        let is_flat = |(n, t): (usize, &[u32; 3])| {
            let [a, b, c] = t.map(|v| on_walls[v as usize]);
            (n as u32) < liquid_triangles && a & b & c != 0
        };
        let flat: Vec<bool> = triangles.iter().enumerate().map(is_flat).collect();
        let mut normals = vec![Vec3::ZERO; positions.len()];
        for (t, _) in triangles.iter().zip(&flat).filter(|(_, flat)| !**flat) {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            let n = (b - a).cross(c - a);
            t.iter().for_each(|&v| normals[v as usize] += n);
        }
        normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
        let bvh =
            Bvh::build(&|id: u32| triangles[id as usize].map(|v| positions[v as usize]), triangles.len());
        let solid = |id: u32| triangles[(liquid_triangles + id) as usize].map(|v| positions[v as usize]);
        let solids = Bvh::build(&solid, triangles.len() - liquid_triangles as usize);
        Prepared {
            positions,
            triangles,
            normals,
            flat,
            body_radius,
            liquid_triangles,
            bvh,
            solids,
            domain: scene.domain,
            size,
            epsilon: 2e-5 * size,
        }
    }

    /// Height of the floor: a hair under the domain, so that its lowest liquid lies on it.
    pub fn floor(&self) -> f32 {
        self.domain.min.y - 0.5 * self.epsilon
    }

    /// Does the point lie on the bottom of the domain?
    pub fn on_floor(&self, x: Vec3) -> bool {
        x.y < self.domain.min.y + self.epsilon
    }

    /// Nearest surface along a ray.
    pub fn intersect(&self, ray: &Ray) -> Option<Surface> {
        self.bvh.intersect(ray, self.epsilon, f32::INFINITY).map(|hit| self.surface(ray, hit))
    }

    /// The solid that liquid wets where a ray meets the liquid's surface, `t` along it. The two surfaces are one, but either
    /// may come first by what contours and rounding make of them: a ray that left the water there would look past the
    /// solid's surface into its inside.
    ///
    /// Test: `water_on_a_slope_shows_the_slope_everywhere`.
    pub fn wetted_solid(&self, ray: &Ray, t: f32) -> Option<Surface> {
        let gap = self.wetted_m();
        let found = self.solids.intersect(ray, (t - gap).max(self.epsilon), t + gap);
        found.map(|hit| self.surface(ray, Hit { triangle: hit.triangle + self.liquid_triangles, ..hit }))
    }

    /// No air is between water and a solid that are nearer to each other than this, metres.
    pub fn wetted_m(&self) -> f32 {
        WETTED * self.size
    }

    fn surface(&self, ray: &Ray, hit: Hit) -> Surface {
        let n = hit.triangle as usize;
        let is_liquid = hit.triangle < self.liquid_triangles;
        let t = self.triangles[n];
        let [a, b, c] = t.map(|v| self.positions[v as usize]);
        let geometric = (b - a).cross(c - a).normalize_or(Vec3::Y);
        let normal = if self.flat[n] {
            geometric
        } else {
            let [na, nb, nc] = t.map(|v| {
                let n = self.normals[v as usize];
                // Edges of solids stay edges.
                if is_liquid || n.dot(geometric) > 0.8 { n } else { geometric }
            });
            let smooth = ((1.0 - hit.u - hit.v) * na + hit.u * nb + hit.v * nc).normalize_or(geometric);
            // The normal must point to the side from which the triangle is seen; else light would leak through the surface.
            if smooth.dot(ray.direction) * geometric.dot(ray.direction) > 0.0 { smooth } else { geometric }
        };
        let body_radius = if is_liquid { self.body_radius[t[0] as usize] } else { f32::INFINITY };
        let point = ray.origin + hit.t * ray.direction;
        Surface { t: hit.t, point, geometric, normal, is_liquid, body_radius }
    }
}

/// For each vertex half the largest extent of the connected piece that it belongs to, metres.
fn body_radii(mesh: &TriangleMesh) -> Vec<f32> {
    let mut root: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    fn find(root: &mut [u32], mut v: u32) -> u32 {
        while root[v as usize] != v {
            root[v as usize] = root[root[v as usize] as usize];
            v = root[v as usize];
        }
        v
    }
    for &[a, b, c] in &mesh.triangles {
        for other in [b, c] {
            let (p, q) = (find(&mut root, a), find(&mut root, other));
            root[p.max(q) as usize] = p.min(q);
        }
    }
    let mut bounds = vec![Aabb::EMPTY; mesh.positions.len()];
    let roots: Vec<usize> = (0..mesh.positions.len() as u32).map(|v| find(&mut root, v) as usize).collect();
    for (&x, &of) in mesh.positions.iter().zip(&roots) {
        bounds[of] = bounds[of].include(x);
    }
    roots.iter().map(|&of| 0.5 * bounds[of].size().max_element()).collect()
}

/// Bit `2 axis + side` for each face of the box that the point lies on.
fn walls_at(p: Vec3, domain: &Aabb, near: f32) -> u8 {
    let mut walls = 0;
    for a in AXES {
        walls |= u8::from((p[a] - domain.min[a]).abs() < near) << (2 * a);
        walls |= u8::from((p[a] - domain.max[a]).abs() < near) << (2 * a + 1);
    }
    walls
}
