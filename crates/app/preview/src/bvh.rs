//! Eight-wide bounding volume hierarchy over triangles, built top-down with the binned surface area
//! heuristic [Wald 2007; wide nodes: Wald, Benthin, Boulos 2008].
//!
//! Eight boxes a node and four triangles a leaf fill the vector registers: `Vec4` here is four lanes, not a
//! vector in space. Built in parallel, node for node the same with any number of threads.

use fluvial_foundation::{Vec3, parallel};
use glam::Vec4;

const WIDTH: usize = 8;
/// Triangles per leaf block.
pub const LEAF: usize = 4;
const BINS: usize = 16;
const EMPTY: u32 = u32::MAX;
const LEAF_BIT: u32 = 1 << 31;
/// Levels cut by the heuristic; below them ranges are halved, which bounds the depth of any tree: 8^8
/// leaves need [`STACK`] entries at most.
const HEURISTIC_LEVELS: usize = 10;
/// Seven siblings wait on each of 10 + 8 levels.
const STACK: usize = 128;
/// Ranges above this size split their children among threads.
const PARALLEL_ABOVE: usize = 2048;

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

/// What of a ray the tests against boxes and triangles need, spread over lanes.
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

/// A box in four lanes (the last unused), so that minima and maxima are single instructions.
#[derive(Clone, Copy)]
struct Box4 {
    low: [f32; 4],
    high: [f32; 4],
}

impl Box4 {
    const EMPTY: Box4 = Box4 { low: [f32::INFINITY; 4], high: [f32::NEG_INFINITY; 4] };

    #[inline(always)]
    fn grow(&mut self, low: &[f32; 4], high: &[f32; 4]) {
        for l in 0..4 {
            self.low[l] = if low[l] < self.low[l] { low[l] } else { self.low[l] };
            self.high[l] = if high[l] > self.high[l] { high[l] } else { self.high[l] };
        }
    }

    fn half_area(&self) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|a| self.high[a] - self.low[a]);
        x * y + y * z + z * x
    }
}

#[derive(Clone, Copy)]
struct Primitive {
    low: [f32; 4],
    high: [f32; 4],
    id: u32,
}

impl Primitive {
    /// Twice the centre of its box.
    #[inline(always)]
    fn center2(&self) -> [f32; 4] {
        std::array::from_fn(|l| self.low[l] + self.high[l])
    }
}

/// Boxes around a range of primitives and around their (doubled) centres.
#[derive(Clone, Copy)]
struct Extent {
    bounds: Box4,
    centers: Box4,
}

impl Extent {
    const EMPTY: Extent = Extent { bounds: Box4::EMPTY, centers: Box4::EMPTY };

    #[inline(always)]
    fn add(&mut self, p: &Primitive) {
        self.bounds.grow(&p.low, &p.high);
        let center = p.center2();
        self.centers.grow(&center, &center);
    }

    fn join(&mut self, other: &Extent) {
        self.bounds.grow(&other.bounds.low, &other.bounds.high);
        self.centers.grow(&other.centers.low, &other.centers.high);
    }

    fn of(primitives: &[Primitive]) -> Extent {
        let mut all = Extent::EMPTY;
        primitives.iter().for_each(|p| all.add(p));
        all
    }
}

/// A range of primitives with its extent, on the way to become a child.
struct Range<'a> {
    extent: Extent,
    primitives: &'a mut [Primitive],
}

/// The hierarchy; owns copies of the triangles' corners.
#[derive(Default)]
pub struct Bvh {
    nodes: Vec<Node>,
    blocks: Vec<Block>,
}

/// A subtree under construction: indices count from its own start.
#[derive(Default)]
struct Subtree {
    nodes: Vec<Node>,
    blocks: Vec<Block>,
}

impl Bvh {
    /// Builds over triangles given by their corners; NaN corners are left out.
    pub fn build(corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send), count: usize) -> Bvh {
        let chunks = parallel::chunk_count(count, parallel::CHUNK);
        let mut primitives = parallel::map_indices(chunks, |c| {
            let range = parallel::chunk_range(c, parallel::CHUNK, count);
            let of = |id: usize| {
                let [a, b, c] = corners(id as u32);
                let finite = a.is_finite() && b.is_finite() && c.is_finite();
                let wide = |v: Vec3| [v.x, v.y, v.z, 0.0];
                let (low, high) = (wide(a.min(b).min(c)), wide(a.max(b).max(c)));
                finite.then_some(Primitive { low, high, id: id as u32 })
            };
            range.filter_map(of).collect::<Vec<_>>()
        })
        .concat();
        if primitives.is_empty() {
            return Bvh::default();
        }
        let extent = Extent::of(&primitives);
        let whole = Range { extent, primitives: &mut primitives };
        let tree = parallel::on_worker(|| build_node(whole, 0, corners));
        Bvh { nodes: tree.nodes, blocks: tree.blocks }
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
    /// A node with the boxes of its children; where they are is filled in later.
    fn around(ranges: &[Range]) -> Node {
        let mut node =
            Node { low: [[Vec4::INFINITY; 2]; 3], high: [[Vec4::NEG_INFINITY; 2]; 3], child: [EMPTY; WIDTH] };
        for (lane, range) in ranges.iter().enumerate() {
            for a in 0..3 {
                node.low[a][lane / 4][lane % 4] = range.extent.bounds.low[a];
                node.high[a][lane / 4][lane % 4] = range.extent.bounds.high[a];
            }
        }
        node
    }

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

/// Builds the subtree over a range; its root is node 0.
fn build_node(range: Range, level: usize, corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send)) -> Subtree {
    let mut out = Subtree::default();
    if range.primitives.len() <= PARALLEL_ABOVE {
        append_node(&mut out, range, level, corners);
        return out;
    }
    let ranges = split_eightfold(range, level);
    out.nodes.push(Node::around(&ranges));
    let slots: Vec<_> = ranges.into_iter().map(|r| std::sync::Mutex::new(Some(r))).collect();
    let subtrees = parallel::map_indices(slots.len(), |c| {
        let range = slots[c].lock().expect("no panic while held").take().expect("each slot is taken once");
        if range.primitives.len() <= LEAF {
            let mut leaf = Subtree::default();
            leaf.blocks.push(make_block(range.primitives, corners));
            return leaf;
        }
        build_node(range, level + 1, corners)
    });
    for (lane, subtree) in subtrees.into_iter().enumerate() {
        let (nodes, blocks) = (out.nodes.len() as u32, out.blocks.len() as u32);
        out.nodes[0].child[lane] = if subtree.nodes.is_empty() { blocks | LEAF_BIT } else { nodes };
        out.nodes.extend(subtree.nodes.into_iter().map(|mut n| {
            for child in n.child.iter_mut().filter(|c| **c != EMPTY) {
                *child += if *child & LEAF_BIT != 0 { blocks } else { nodes };
            }
            n
        }));
        out.blocks.extend(subtree.blocks);
    }
    out
}

/// Appends the subtree over a range; returns its child word.
fn append_node(
    out: &mut Subtree,
    range: Range,
    level: usize,
    corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send),
) -> u32 {
    let at = out.nodes.len();
    let ranges = split_eightfold(range, level);
    out.nodes.push(Node::around(&ranges));
    for (lane, range) in ranges.into_iter().enumerate() {
        let child = if range.primitives.len() <= LEAF {
            out.blocks.push(make_block(range.primitives, corners));
            (out.blocks.len() - 1) as u32 | LEAF_BIT
        } else {
            append_node(out, range, level + 1, corners)
        };
        out.nodes[at].child[lane] = child;
    }
    at as u32
}

fn make_block(primitives: &[Primitive], corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send)) -> Block {
    // Unused lanes keep zero edges: determinant zero, never hit.
    let mut block = Block {
        corner: [Vec4::ZERO; 3],
        edge1: [Vec4::ZERO; 3],
        edge2: [Vec4::ZERO; 3],
        id: [u32::MAX; LEAF],
    };
    for (lane, p) in primitives.iter().enumerate() {
        let [a, b, c] = corners(p.id);
        for axis in 0..3 {
            block.corner[axis][lane] = a[axis];
            block.edge1[axis][lane] = b[axis] - a[axis];
            block.edge2[axis][lane] = c[axis] - a[axis];
        }
        block.id[lane] = p.id;
    }
    block
}

/// Cuts a range into at most eight, always the one with the most expensive box next.
fn split_eightfold(range: Range, level: usize) -> Vec<Range> {
    let cost = |r: &Range| match r.primitives.len() {
        n if n <= LEAF => f32::NEG_INFINITY,
        n => r.extent.bounds.half_area() * n as f32,
    };
    let mut ranges = Vec::with_capacity(WIDTH);
    ranges.push((cost(&range), range));
    while ranges.len() < WIDTH {
        let worst = (0..ranges.len()).fold(0, |w, n| if ranges[n].0 > ranges[w].0 { n } else { w });
        if ranges[worst].1.primitives.len() <= LEAF {
            break;
        }
        let (_, range) = ranges.swap_remove(worst);
        let halves = if level < HEURISTIC_LEVELS { partition(range) } else { halve(range.primitives) };
        for half in halves {
            ranges.push((cost(&half), half));
        }
    }
    ranges.into_iter().map(|(_, r)| r).collect()
}

/// Cuts a range by the best of [`BINS`] planes across the longest axis of its centres.
fn partition(range: Range) -> [Range; 2] {
    let Range { extent, primitives } = range;
    let centers = extent.centers;
    let size = [0, 1, 2].map(|a| centers.high[a] - centers.low[a]);
    let axis = if size[0] >= size[1] && size[0] >= size[2] { 0 } else { 1 + usize::from(size[2] > size[1]) };
    if size[axis] <= 0.0 {
        return halve(primitives);
    }
    let scale = BINS as f32 * (1.0 - 1e-6) / size[axis];
    let low = centers.low[axis];
    let bin_of = |p: &Primitive| (((p.low[axis] + p.high[axis] - low) * scale) as usize).min(BINS - 1);
    let mut bins = [(Extent::EMPTY, 0usize); BINS];
    for p in primitives.iter() {
        let bin = &mut bins[bin_of(p)];
        bin.0.add(p);
        bin.1 += 1;
    }
    // cost(cut) = area(left) count(left) + area(right) count(right), by sweeps from both ends
    let mut left = [(Extent::EMPTY, f32::INFINITY); BINS];
    let (mut extent, mut count) = (Extent::EMPTY, 0);
    for cut in 1..BINS {
        extent.join(&bins[cut - 1].0);
        count += bins[cut - 1].1;
        left[cut] =
            (extent, if count > 0 { extent.bounds.half_area() * count as f32 } else { f32::INFINITY });
    }
    let mut best = (f32::INFINITY, 0, Extent::EMPTY);
    (extent, count) = (Extent::EMPTY, 0);
    for cut in (1..BINS).rev() {
        extent.join(&bins[cut].0);
        count += bins[cut].1;
        if count > 0 && left[cut].1 + extent.bounds.half_area() * (count as f32) < best.0 {
            best = (left[cut].1 + extent.bounds.half_area() * count as f32, cut, extent);
        }
    }
    let (_, cut, right) = best;
    if cut == 0 {
        return halve(primitives);
    }
    let mut at = 0;
    for n in 0..primitives.len() {
        if bin_of(&primitives[n]) < cut {
            primitives.swap(at, n);
            at += 1;
        }
    }
    let (a, b) = primitives.split_at_mut(at);
    [Range { extent: left[cut].0, primitives: a }, Range { extent: right, primitives: b }]
}

/// Where no plane tells the centres apart: two equal halves in the order given.
fn halve(primitives: &mut [Primitive]) -> [Range<'_>; 2] {
    let (a, b) = primitives.split_at_mut(primitives.len() / 2);
    [Range { extent: Extent::of(a), primitives: a }, Range { extent: Extent::of(b), primitives: b }]
}

#[cfg(test)]
mod tests {
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
