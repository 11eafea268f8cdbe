//! Building the hierarchy, top down.

use super::{Block, EMPTY, LEAF, LEAF_BIT, Node, WIDTH};
use fluvial_foundation::{Vec3, parallel};
use glam::Vec4;

const BINS: usize = 16;
/// Levels cut by the heuristic; below them ranges are halved, which bounds the depth of any tree: 8^8
/// leaves need [`super::STACK`] entries at most.
const HEURISTIC_LEVELS: usize = 10;
/// Ranges above this size split their children among threads.
const PARALLEL_ABOVE: usize = 2048;

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
pub struct Primitive {
    pub low: [f32; 4],
    pub high: [f32; 4],
    pub id: u32,
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

/// A subtree under construction: indices count from its own start.
#[derive(Default)]
struct Subtree {
    nodes: Vec<Node>,
    blocks: Vec<Block>,
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
}

/// Nodes and leaves over triangles given by their corners; NaN corners are left out.
pub fn build(corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send), count: usize) -> (Vec<Node>, Vec<Block>) {
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
        return (vec![], vec![]);
    }
    let extent = Extent::of(&primitives);
    let whole = Range { extent, primitives: &mut primitives };
    let tree = parallel::on_worker(|| build_node(whole, 0, corners));
    (tree.nodes, tree.blocks)
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

pub fn make_block(primitives: &[Primitive], corners: &(impl Fn(u32) -> [Vec3; 3] + Sync + Send)) -> Block {
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
