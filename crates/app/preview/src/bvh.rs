//! Eight-wide bounding volume hierarchy over triangles, built top-down with the binned surface area
//! heuristic [wald-2007], with wide nodes [wald-2008].
//!
//! Eight boxes a node and four triangles a leaf fill the vector registers: `Vec4` here is four lanes, not a
//! vector in space. Built in parallel, node for node the same with any number of threads.

mod build;

use fluvial_foundation::Vec3;
use glam::Vec4;

const WIDTH: usize = 8;
/// Triangles per leaf block.
pub const LEAF: usize = 4;
const EMPTY: u32 = u32::MAX;
const LEAF_BIT: u32 = 1 << 31;
/// Entries of the traversal's stack: seven siblings on each of 10 + 8 levels.
const STACK: usize = 128;

/// Half-line `origin + t direction`, t > 0.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Start, metres.
    pub origin: Vec3,
    /// Unit direction.
    pub direction: Vec3,
}

/// Nearest triangle along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance, metres.
    pub t: f32,
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric weight of the second vertex.
    pub u: f32,
    /// Barycentric weight of the third vertex.
    pub v: f32,
}

/// Boxes of eight children, four lanes twice for each axis.
#[derive(Clone)]
struct Node {
    low: [[Vec4; 2]; 3],
    high: [[Vec4; 2]; 3],
    child: [u32; WIDTH],
}

/// Four triangles side by side: a corner and two edges each.
#[derive(Clone)]
struct Block {
    corner: [Vec4; 3],
    edge1: [Vec4; 3],
    edge2: [Vec4; 3],
    id: [u32; LEAF],
}

/// What the tests against boxes and triangles need of a ray, copied to all lanes.
struct WideRay {
    origin: [Vec4; 3],
    direction: [Vec4; 3],
    inverse: [Vec4; 3],
    scaled_origin: [Vec4; 3],
    negative: [bool; 3],
}

impl WideRay {
    fn new(ray: &Ray) -> WideRay {
        // Zeros become something tiny, so that no NaN arises from 0 * infinity.
        let fix = |v: f32| if v.abs() < 1e-12 { 1e-12f32.copysign(v) } else { v };
        let inverse = ray.direction.to_array().map(|v| 1.0 / fix(v));
        let origin = ray.origin.to_array();
        WideRay {
            origin: origin.map(Vec4::splat),
            direction: ray.direction.to_array().map(Vec4::splat),
            inverse: inverse.map(Vec4::splat),
            scaled_origin: [0, 1, 2].map(|a| Vec4::splat(origin[a] * inverse[a])),
            negative: inverse.map(|v| v < 0.0),
        }
    }
}

/// The hierarchy; owns copies of the triangles' corners.
#[derive(Default)]
pub struct Bvh {
    nodes: Vec<Node>,
    blocks: Vec<Block>,
}

impl Bvh {
    /// Builds over triangles given by their corners; NaN corners are left out.
    pub fn build(corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send), count: usize) -> Bvh {
        let (nodes, blocks) = build::build(corners, count);
        Bvh { nodes, blocks }
    }

    /// Nearest hit with t in (t_min, t_max).
    pub fn intersect(&self, ray: &Ray, t_min: f32, t_max: f32) -> Option<Hit> {
        if self.nodes.is_empty() {
            return None;
        }
        let ray = WideRay::new(ray);
        let mut best = Hit { t: t_max, triangle: u32::MAX, u: 0.0, v: 0.0 };
        let mut stack = [(0u32, 0f32); STACK];
        let mut depth = 0;
        let mut node = 0u32;
        loop {
            if node & LEAF_BIT != 0 {
                self.blocks[(node & !LEAF_BIT) as usize].intersect(&ray, t_min, &mut best);
            } else {
                let n = &self.nodes[node as usize];
                let base = depth;
                for half in 0..2 {
                    let (near, mut mask) = n.entry_distances(half, &ray, t_min, best.t);
                    while mask != 0 {
                        let lane = mask.trailing_zeros() as usize;
                        mask &= mask - 1;
                        // Insertion keeps the nearest on top.
                        let mut at = depth;
                        while at > base && stack[at - 1].1 < near[lane] {
                            stack[at] = stack[at - 1];
                            at -= 1;
                        }
                        stack[at] = (n.child[4 * half + lane], near[lane]);
                        depth += 1;
                    }
                }
            }
            loop {
                if depth == 0 {
                    return (best.triangle != u32::MAX).then_some(best);
                }
                depth -= 1;
                if stack[depth].1 <= best.t {
                    node = stack[depth].0;
                    break;
                }
            }
        }
    }
}

impl Node {
    /// Where the ray enters four of the children's boxes, and a bit for each that it meets. The box of an
    /// empty lane is inside out and never met.
    #[inline(always)]
    fn entry_distances(&self, half: usize, ray: &WideRay, t_min: f32, t_max: f32) -> ([f32; 4], u32) {
        let (mut enter, mut leave) = (Vec4::splat(t_min), Vec4::splat(t_max));
        for a in 0..3 {
            let (low, high) = (self.low[a][half], self.high[a][half]);
            let (near, far) = if ray.negative[a] { (high, low) } else { (low, high) };
            enter = enter.max(near * ray.inverse[a] - ray.scaled_origin[a]);
            leave = leave.min(far * ray.inverse[a] - ray.scaled_origin[a]);
        }
        // Widened by rounding, so that flat boxes, of walls, are not missed.
        let met = enter.cmple(leave * (1.0 + 4.0 * f32::EPSILON));
        (enter.to_array(), met.bitmask())
    }
}

impl Block {
    /// Moeller and Trumbore 1997 on four triangles at once. Edges count as inside by a hair, so that rays
    /// do not slip between neighbours.
    #[inline(always)]
    fn intersect(&self, ray: &WideRay, t_min: f32, best: &mut Hit) {
        const SLACK: f32 = 1e-5;
        let cross = |a: &[Vec4; 3], b: &[Vec4; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let dot = |a: &[Vec4; 3], b: &[Vec4; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let p = cross(&ray.direction, &self.edge2);
        let determinant = dot(&self.edge1, &p);
        let inverse = Vec4::ONE / determinant;
        let s = [0, 1, 2].map(|a| ray.origin[a] - self.corner[a]);
        let u = dot(&s, &p) * inverse;
        let q = cross(&s, &self.edge1);
        let v = dot(&ray.direction, &q) * inverse;
        let t = dot(&self.edge2, &q) * inverse;
        let low = Vec4::splat(-SLACK);
        let ok = u.cmpge(low) & v.cmpge(low) & (u + v).cmple(Vec4::splat(1.0 + SLACK));
        let ok =
            ok & t.cmpgt(Vec4::splat(t_min)) & t.cmple(Vec4::splat(best.t)) & determinant.cmpne(Vec4::ZERO);
        let mut mask = ok.bitmask();
        while mask != 0 {
            let l = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            // Equal distances go to the lower index, so that the order of the leaves does not matter.
            if t[l] < best.t || (t[l] == best.t && self.id[l] < best.triangle) {
                *best = Hit { t: t[l], triangle: self.id[l], u: u[l], v: v[l] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::build::{Primitive, make_block};
    use super::*;
    use fluvial_foundation::random::unit_vec3;

    fn soup(count: usize, size: f32) -> Vec<[Vec3; 3]> {
        (0..count as u64)
            .map(|n| {
                let a = unit_vec3(n, 1);
                [a, a + size * (unit_vec3(n, 2) - 0.5), a + size * (unit_vec3(n, 3) - 0.5)]
            })
            .collect()
    }

    fn brute_force(triangles: &[[Vec3; 3]], ray: &Ray) -> Option<Hit> {
        let mut best = Hit { t: f32::INFINITY, triangle: u32::MAX, u: 0.0, v: 0.0 };
        for id in 0..triangles.len() {
            let p = Primitive { low: [0.0; 4], high: [0.0; 4], id: id as u32 };
            make_block(&[p], &|id: u32| triangles[id as usize]).intersect(&WideRay::new(ray), 0.0, &mut best);
        }
        (best.triangle != u32::MAX).then_some(best)
    }

    #[test]
    fn the_tree_finds_what_brute_force_finds() {
        for (count, size) in [(1, 0.5), (3, 1.0), (9, 0.5), (700, 0.2), (6000, 0.05)] {
            let triangles = soup(count, size);
            let bvh = Bvh::build(&|id: u32| triangles[id as usize], count);
            let mut hits = 0;
            for n in 0..400u64 {
                let origin = 3.0 * unit_vec3(n, 9) - 1.0;
                let mut direction = (unit_vec3(n, 10) - origin).normalize();
                if n % 7 == 0 {
                    direction = Vec3::NEG_Y; // along an axis
                }
                let ray = Ray { origin, direction };
                let (a, b) = (bvh.intersect(&ray, 0.0, f32::INFINITY), brute_force(&triangles, &ray));
                assert_eq!(a, b, "{count} triangles, ray {n}");
                hits += a.is_some() as usize;
            }
            assert!(hits > 0 || count < 10);
        }
    }

    #[test]
    fn triangles_of_very_different_sizes_are_found() {
        // Each group is larger than the last: the heuristic's cuts take off a few at a time.
        let at = |id: u32| {
            let s = 1.3f32.powi(id as i32 / 6 - 75);
            [Vec3::new(s, 0.0, 0.0), Vec3::new(s, s, 0.0), Vec3::new(s, 0.0, s)]
        };
        let bvh = Bvh::build(&at, 900);
        for n in 0..150 {
            let s = 1.3f32.powi(n - 75);
            let ray = Ray { origin: Vec3::new(0.9 * s, 0.3 * s, 0.3 * s), direction: Vec3::X };
            let hit = bvh.intersect(&ray, 0.0, f32::INFINITY).expect("a triangle is in the way");
            assert_eq!(hit.triangle / 6, n as u32);
        }
    }

    #[test]
    fn flat_and_degenerate_scenes_are_found() {
        // All triangles in one plane, many identical.
        let triangle = [Vec3::ZERO, Vec3::X, Vec3::Z];
        let bvh = Bvh::build(&|_| triangle, 5000);
        let ray = Ray { origin: Vec3::new(0.2, 1.0, 0.2), direction: Vec3::NEG_Y };
        let hit = bvh.intersect(&ray, 0.0, 10.0).expect("the plane is hit");
        assert_eq!((hit.t, hit.triangle), (1.0, 0));
        assert_eq!(bvh.intersect(&ray, 0.0, 0.5), None);
        assert!(Bvh::build(&|_| triangle, 0).intersect(&ray, 0.0, 10.0).is_none());
    }
}
