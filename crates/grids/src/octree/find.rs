//! Looking up places and points.

use super::level::{Block, Level};
use super::{OUTSIDE, Octree, bits, each, wide};
use fluvial_foundation::{Axis, Vec3};

/// Where a point lies: its leaf, and what the leaf's surroundings allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The leaf that holds the point.
    pub cell: u32,
    /// Its level.
    pub level: usize,
    /// Its coordinates on the level.
    pub at: [u32; 3],
    /// Does the leaf touch a finer one, be it in a corner?
    pub near_finer: bool,
    /// Does it touch a coarser one?
    pub near_coarser: bool,
    /// Are all 26 neighbours leaves of the same level (or beyond a wall)?
    pub uniform: bool,
    /// Do in addition the two neighbours along the axis touch no coarser leaf? No coarser face's kernel then
    /// reaches this one.
    pub uniform_along: [bool; 3],
    /// Number of its block.
    block: u32,
}

/// Number of a place that is a member of a block's set.
#[inline(always)]
pub(super) fn number(set: u64, first: u32, at: [u32; 3]) -> Option<u32> {
    let bit = bits::bit_of(at);
    ((set >> bit) & 1 != 0).then(|| first + bits::rank(set, bit))
}

impl Octree {
    #[inline(always)]
    fn block(&self, level: usize, at: [u32; 3]) -> Option<&Block> {
        self.levels.get(level).map(|l: &Level| l.block(at))
    }

    /// The leaf at a place of a level, if there is one. Places outside the domain have none; coordinates may
    /// have wrapped below zero.
    #[inline]
    pub fn leaf_at(&self, level: usize, at: [u32; 3]) -> Option<u32> {
        let block = self.block(level, at)?;
        number(block.leaves, block.first_leaf, at)
    }

    /// The face of an axis on the low side of a place, if it is one of this level.
    #[inline]
    pub fn face_at(&self, level: usize, axis: Axis, at: [u32; 3]) -> Option<u32> {
        let block = self.block(level, at)?;
        number(block.faces[axis], block.first_face[axis], at)
    }

    /// The node at the low corner of a place, whatever leaves it belongs to: nodes are kept on the level of
    /// the finest.
    #[inline]
    pub fn node_at(&self, level: usize, at: [u32; 3]) -> Option<u32> {
        let find = |l: usize| {
            let at = each(|a| at[a] << (level - l));
            let block = self.block(l, at)?;
            number(block.corners, block.first_corner, at)
        };
        find(level).or_else(|| (0..level).rev().find_map(find))
    }

    /// Numbers at a place and at its seven neighbours on the high sides, x fastest, [`OUTSIDE`] without one:
    /// blocks are looked up once for all places that share one.
    #[inline(always)]
    fn around(&self, level: usize, at: [u32; 3], of: impl Fn(&Block) -> (u64, u32)) -> [u32; 8] {
        let mut numbers = [OUTSIDE; 8];
        let Some(level) = self.levels.get(level) else { return numbers };
        let crosses = |a: usize| ((at[a] & 3) == 3) as usize;
        let crossed = crosses(0) | (crosses(1) << 1) | (crosses(2) << 2);
        let block = level.block(at);
        for (o, (out, bit)) in numbers.iter_mut().zip(bits::bits_around(at)).enumerate() {
            let mut found = block.high[o & crossed];
            if block.high[0] == 0 {
                // The empty block knows no neighbours.
                found = level.number(each(|a| at[a].wrapping_add((o as u32 >> a) & 1)));
            }
            // Without branches: what exists where is as good as random.
            let (set, first) = of(&level.blocks[found as usize]);
            let n = first + bits::rank(set, bit);
            *out = if (set >> bit) & 1 != 0 { n } else { OUTSIDE };
        }
        numbers
    }

    /// The same on the level of a located leaf where all eight are known to exist, and `at` is its place or
    /// the one before along some axes.
    #[inline(always)]
    fn all_around(&self, located: &Located, at: [u32; 3], of: impl Fn(&Block) -> (u64, u32)) -> [u32; 8] {
        let blocks = &self.levels[located.level].blocks;
        let bit = |a: usize, is: bool| (is as usize) << a;
        let before = (0..3).fold(0, |m, a| m | bit(a, at[a] >> 2 != located.at[a] >> 2));
        let crossed = (0..3).fold(0, |m, a| m | bit(a, (at[a] & 3) == 3));
        let block = &blocks[blocks[located.block as usize].low[before] as usize];
        let mut numbers = [0; 8];
        for (o, (out, bit)) in numbers.iter_mut().zip(bits::bits_around(at)).enumerate() {
            let (set, first) = of(&blocks[block.high[o & crossed] as usize]);
            *out = first + bits::rank(set, bit);
        }
        numbers
    }

    /// [`Self::leaf_at`] for a place and its neighbours on the high sides, x fastest, [`OUTSIDE`] without
    /// one.
    #[inline]
    pub fn leaves_around(&self, level: usize, at: [u32; 3]) -> [u32; 8] {
        self.around(level, at, |b| (b.leaves, b.first_leaf))
    }

    /// [`Self::leaves_around`] a place of a leaf with uniform surroundings, or the one before it along some
    /// axes, without a look at the tables: all eight exist.
    #[inline(always)]
    pub fn leaves_near(&self, located: &Located, at: [u32; 3]) -> [u32; 8] {
        self.all_around(located, at, |b| (b.leaves, b.first_leaf))
    }

    /// [`Self::faces_around`] likewise, for a leaf that is uniform along the axis.
    #[inline(always)]
    pub fn faces_near(&self, located: &Located, axis: Axis, at: [u32; 3]) -> [u32; 8] {
        self.all_around(located, at, |b| (b.faces[axis], b.first_face[axis]))
    }

    /// [`Self::face_at`] for a place and its neighbours on the high sides, x fastest, [`OUTSIDE`] without
    /// one.
    #[inline]
    pub fn faces_around(&self, level: usize, axis: Axis, at: [u32; 3]) -> [u32; 8] {
        self.around(level, at, |b| (b.faces[axis], b.first_face[axis]))
    }

    /// The nodes at a leaf's corners, x fastest.
    #[inline]
    pub fn cell_nodes(&self, cell: usize) -> [u32; 8] {
        let place = self.leaves[cell];
        let (level, at) = (place.level as usize, wide(place.at));
        let mut nodes = self.around(level, at, |b| (b.corners, b.first_corner));
        for (o, node) in nodes.iter_mut().enumerate().filter(|(_, node)| **node == OUTSIDE) {
            let corner = each(|a| at[a] + ((o as u32 >> a) & 1));
            *node = self.node_at(level, corner).expect("a corner of a leaf");
        }
        nodes
    }

    /// Is there a cell of this level at the place that has children?
    #[inline]
    pub fn is_divided(&self, level: usize, at: [u32; 3]) -> bool {
        let bit = bits::bit_of(at);
        self.block(level, at).is_some_and(|b| ((b.nodes & !b.leaves) >> bit) & 1 != 0)
    }

    /// The leaf that holds a point; points outside are moved to the domain's hull. NaN is taken as the low
    /// corner.
    #[inline]
    pub fn locate(&self, x_in_world: Vec3) -> Located {
        self.locate_near(x_in_world, 0)
    }

    /// [`Self::locate`] for a point whose leaf is probably of this level, which is looked at first: points near a
    /// known leaf are found in one look at the tables instead of one for every finer level.
    #[inline]
    pub fn locate_near(&self, x_in_world: Vec3, level: usize) -> Located {
        let shape = &self.shape;
        let finest = shape.cells(0);
        let x = (x_in_world - shape.min) / shape.dx;
        // Rust's casts saturate, so that negative numbers and NaN become zero.
        let fine = each(|a| (x[a] as u32).min(finest[a] as u32 - 1));
        if let Some(found) = self.holding(level, fine) {
            return found;
        }
        let others = (0..self.levels.len()).filter(|&other| other != level);
        others.filter_map(|other| self.holding(other, fine)).next().expect("leaves fill the domain")
    }

    /// The leaf of a level that holds a finest place, if it is one of that level.
    #[inline(always)]
    fn holding(&self, level: usize, fine: [u32; 3]) -> Option<Located> {
        let of = &self.levels[level];
        let at = each(|a| fine[a] >> level);
        let found = of.number(at);
        let block = &of.blocks[found as usize];
        let bit = bits::bit_of(at);
        let has = |set: u64| (set >> bit) & 1 != 0;
        has(block.leaves).then(|| {
            let uniform = has(block.uniform);
            Located {
                cell: block.first_leaf + bits::rank(block.leaves, bit),
                level,
                at,
                near_finer: !uniform && has(block.near_finer),
                near_coarser: !uniform && has(block.near_coarser),
                uniform,
                uniform_along: each(|a| has(block.uniform_along[a])),
                block: found,
            }
        })
    }
}
