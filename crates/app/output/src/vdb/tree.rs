//! The tree of a grid as bytes: leaves are packed one by one in parallel, then strung together in the order
//! of their nodes.

use super::{
    ALL_BACKGROUND, ALL_MINUS, LEAF, LEAF_VOXELS, LEAF_WORDS, LOWER, LOWER_CHILDREN, MASK_SELECTS, UPPER,
    UPPER_CHILDREN, child_index,
};
use flate2::{Compress, Compression, FlushCompress, Status};
use fluvial_foundation::parallel;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A value of a voxel.
pub(super) trait Value: Copy + PartialEq + Send + Sync {
    /// What OpenVDB calls a tree of these.
    const TREE: &'static str;
    /// Appends the little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
}

impl Value for f32 {
    const TREE: &'static str = "Tree_float_5_4_3";
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Value for [f32; 3] {
    const TREE: &'static str = "Tree_vec3s_5_4_3";
    fn put(self, out: &mut Vec<u8>) {
        self.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
    }
}

/// The voxels of a leaf, before packing. Inactive voxels outside hold the background, inside minus the
/// background.
pub(super) struct LeafValues<T> {
    pub values: [T; LEAF_VOXELS],
    pub active: [bool; LEAF_VOXELS],
    pub inside: [bool; LEAF_VOXELS],
}

/// A leaf's worth of space.
enum Block {
    /// All background.
    Outside,
    /// All minus the background.
    Inside,
    /// In a box: most blocks of an adaptive liquid are empty.
    Leaf(Box<PackedLeaf>),
}

struct PackedLeaf {
    mask: [u64; LEAF_WORDS],
    /// Mask, kind of inactive values, packed active values.
    buffer: Vec<u8>,
    bounds: [[i32; 3]; 2],
    active: u64,
}

/// A grid's tree.
pub(super) struct Tree {
    pub topology: Vec<u8>,
    pub buffers: Vec<u8>,
    /// Lowest and highest active voxel; `None` where none is.
    pub bounds: Option<[[i32; 3]; 2]>,
    pub active_voxels: u64,
    pub leaves: u64,
}

/// A lower internal node: packed leaves by child number, and which children are inside tiles.
struct LowerNode {
    leaves: BTreeMap<u16, PackedLeaf>,
    inside: Vec<u64>,
}

impl LowerNode {
    fn new() -> LowerNode {
        LowerNode { leaves: BTreeMap::new(), inside: vec![0; LOWER_CHILDREN / 64] }
    }

    fn is_all_inside(&self) -> bool {
        self.inside.iter().all(|&w| w == u64::MAX)
    }
}

/// An upper internal node.
#[derive(Default)]
struct UpperNode {
    lower: BTreeMap<u16, LowerNode>,
}

/// Builds the tree of all voxels from `lo` to `hi` (exclusive). `fill(origin, leaf)` gives a leaf's voxels;
/// it is asked for every leaf that touches the box, in parallel. `blank` is what a leaf starts as.
pub(super) fn build<T: Value>(
    lo: [i32; 3],
    hi: [i32; 3],
    background: T,
    fill: impl Fn([i32; 3], &mut LeafValues<T>) + Sync + Send,
) -> Tree {
    let first = lo.map(|v| v.div_euclid(LEAF));
    let count: [usize; 3] =
        std::array::from_fn(|a| ((hi[a] - 1).div_euclid(LEAF) - first[a] + 1).max(0) as usize);
    let origin = |n: usize| {
        // In the order of the tree, z fastest: blocks of one node then lie together.
        let at = [n / (count[1] * count[2]), n / count[2] % count[1], n % count[2]];
        std::array::from_fn::<i32, 3, _>(|a| LEAF * (first[a] + at[a] as i32))
    };
    let blocks = parallel::map_indices(count.iter().product(), |n| {
        let mut leaf = LeafValues {
            values: [background; LEAF_VOXELS],
            active: [false; LEAF_VOXELS],
            inside: [false; LEAF_VOXELS],
        };
        fill(origin(n), &mut leaf);
        pack(origin(n), &leaf)
    });

    let mut uppers: BTreeMap<[i32; 3], UpperNode> = BTreeMap::new();
    for (n, block) in blocks.into_iter().enumerate() {
        if matches!(block, Block::Outside) {
            continue;
        }
        let at = origin(n);
        let upper = uppers.entry(at.map(|v| v.div_euclid(UPPER) * UPPER)).or_default();
        let lower = upper.lower.entry(child_index(at, LOWER, 5) as u16).or_insert_with(LowerNode::new);
        let child = child_index(at, LEAF, 4);
        match block {
            Block::Leaf(leaf) => drop(lower.leaves.insert(child as u16, *leaf)),
            _ => lower.inside[child / 64] |= 1 << (child % 64),
        }
    }
    assemble(&uppers, background)
}

/// Masks and packs a leaf.
fn pack<T: Value>(origin: [i32; 3], leaf: &LeafValues<T>) -> Block {
    let mut mask = [0u64; LEAF_WORDS];
    let mut outside = [0u64; LEAF_WORDS];
    let (mut any_active, mut any_inside, mut any_outside) = (false, false, false);
    for n in 0..LEAF_VOXELS {
        if leaf.active[n] {
            mask[n / 64] |= 1 << (n % 64);
            any_active = true;
        } else if leaf.inside[n] {
            any_inside = true;
        } else {
            outside[n / 64] |= 1 << (n % 64);
            any_outside = true;
        }
    }
    match (any_active, any_inside, any_outside) {
        (false, false, _) => return Block::Outside,
        (false, true, false) => return Block::Inside,
        _ => {}
    }
    let mut raw = Vec::with_capacity(LEAF_VOXELS * size_of::<T>());
    let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
    let mut active = 0;
    for n in (0..LEAF_VOXELS).filter(|&n| leaf.active[n]) {
        leaf.values[n].put(&mut raw);
        let at = [n >> 6, (n >> 3) & 7, n & 7];
        for a in 0..3 {
            low[a] = low[a].min(origin[a] + at[a] as i32);
            high[a] = high[a].max(origin[a] + at[a] as i32);
        }
        active += 1;
    }
    let mut buffer = Vec::with_capacity(raw.len() + 160);
    mask.iter().for_each(|w| buffer.extend_from_slice(&w.to_le_bytes()));
    put_inactive(&mut buffer, any_inside, any_outside, &outside);
    put_zipped(&mut buffer, &raw);
    Block::Leaf(Box::new(PackedLeaf { mask, buffer, bounds: [low, high], active }))
}

/// The kind of a node's inactive values, with the mask that tells outside from inside where it has both.
fn put_inactive(out: &mut Vec<u8>, any_inside: bool, any_outside: bool, outside: &[u64]) {
    match (any_inside, any_outside) {
        (false, _) => out.push(ALL_BACKGROUND),
        (true, false) => out.push(ALL_MINUS),
        (true, true) => {
            out.push(MASK_SELECTS);
            outside.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        }
    }
}

thread_local! {
    /// The packer's tables are large; a leaf is small.
    static PACKER: RefCell<(Compress, Vec<u8>)> =
        RefCell::new((Compress::new(Compression::fast(), true), Vec::new()));
}

/// Length and zlib stream of `raw`, or minus its length and the bytes as they are where zip gains nothing.
fn put_zipped(out: &mut Vec<u8>, raw: &[u8]) {
    let packed = PACKER.with_borrow_mut(|(packer, scratch)| {
        packer.reset();
        scratch.clear();
        scratch.reserve(raw.len() + 64);
        let status = packer.compress_vec(raw, scratch, FlushCompress::Finish);
        if matches!(status, Ok(Status::StreamEnd)) && scratch.len() < raw.len() {
            out.extend_from_slice(&(scratch.len() as i64).to_le_bytes());
            out.extend_from_slice(scratch);
            return true;
        }
        false
    });
    if !packed {
        out.extend_from_slice(&(-(raw.len() as i64)).to_le_bytes());
        out.extend_from_slice(raw);
    }
}

/// Strings the nodes together: all masks and tiles first, then all leaves' values, both in tree order.
fn assemble<T: Value>(uppers: &BTreeMap<[i32; 3], UpperNode>, background: T) -> Tree {
    let mut tree = Tree { topology: vec![], buffers: vec![], bounds: None, active_voxels: 0, leaves: 0 };
    let out = &mut tree.topology;
    out.extend_from_slice(&1u32.to_le_bytes()); // buffers per voxel
    background.put(out);
    out.extend_from_slice(&0u32.to_le_bytes()); // root tiles
    out.extend_from_slice(&(uppers.len() as u32).to_le_bytes());
    for (origin, upper) in uppers {
        origin.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
        put_upper(out, upper);
    }
    for leaf in uppers.values().flat_map(|u| u.lower.values()).flat_map(|l| l.leaves.values()) {
        tree.buffers.extend_from_slice(&leaf.buffer);
        tree.leaves += 1;
        if leaf.active > 0 {
            let [mut low, mut high] = tree.bounds.unwrap_or(leaf.bounds);
            for a in 0..3 {
                low[a] = low[a].min(leaf.bounds[0][a]);
                high[a] = high[a].max(leaf.bounds[1][a]);
            }
            tree.bounds = Some([low, high]);
            tree.active_voxels += leaf.active;
        }
    }
    tree
}

fn put_upper(out: &mut Vec<u8>, upper: &UpperNode) {
    let mut children = vec![0u64; UPPER_CHILDREN / 64];
    let mut inside = vec![0u64; UPPER_CHILDREN / 64];
    for (&n, lower) in &upper.lower {
        let mask = if lower.is_all_inside() { &mut inside } else { &mut children };
        mask[n as usize / 64] |= 1 << (n % 64);
    }
    put_node(out, &children, &inside);
    for lower in upper.lower.values().filter(|l| !l.is_all_inside()) {
        let mut children = vec![0u64; LOWER_CHILDREN / 64];
        lower.leaves.keys().for_each(|&n| children[n as usize / 64] |= 1 << (n % 64));
        put_node(out, &children, &lower.inside);
        for leaf in lower.leaves.values() {
            leaf.mask.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        }
    }
}

/// Masks and tiles of an internal node; no tile is active.
fn put_node(out: &mut Vec<u8>, children: &[u64], inside: &[u64]) {
    let outside: Vec<u64> = children.iter().zip(inside).map(|(c, i)| !(c | i)).collect();
    let any = |mask: &[u64]| mask.iter().any(|&w| w != 0);
    children.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    out.resize(out.len() + 8 * children.len(), 0); // no active tiles
    put_inactive(out, any(inside), any(&outside), &outside);
    out.extend_from_slice(&0i64.to_le_bytes()); // no active values
}
