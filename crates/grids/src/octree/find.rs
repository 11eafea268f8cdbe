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
    /// Are in addition the two neighbours along the axis uniform?
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

    /// The leaf at a place of a level, if there is one. Places outside the domain have none; coordinates may have
    /// wrapped below zero.
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

    /// The node at the low corner of a place, whatever leaves it belongs to: nodes are kept on the level of the finest.
    #[inline]
    pub fn node_at(&self, level: usize, at: [u32; 3]) -> Option<u32> {
        let find = |l: usize| {
            let at = each(|a| at[a] << (level - l));
            let block = self.block(l, at)?;
            number(block.corners, block.first_corner, at)
        };
        find(level).or_else(|| (0..level).rev().find_map(find))
    }

    /// The eight leaves around a corner of a leaf with uniform surroundings, the low corner of place `node` of its level; as
    /// [`Self::node_cells`].
    #[inline(always)]
    pub fn dual_cell(&self, located: &Located, node: [u32; 3]) -> &[u32; 8] {
        let level = &self.levels[located.level];
        let leaps = (0..3).fold(0, |leaps, a| leaps | ((node[a] ^ located.at[a]) >> 2));
        let block = if leaps == 0 { &level.blocks[located.block as usize] } else { level.block(node) };
        let node = number(block.corners, block.first_corner, node).expect("the corner of a leaf");
        &self.node_cells[node as usize]
    }

    /// Numbers at a place and at its seven neighbours on the high sides, x fastest, [`OUTSIDE`] without one: blocks are looked up
    /// once for all places that share one.
    #[inline(always)]
    fn around(&self, level: usize, at: [u32; 3], of: impl Fn(&Block) -> (u64, u32)) -> [u32; 8] {
        let mut numbers = [OUTSIDE; 8];
        let Some(blocks) = self.levels.get(level) else { return numbers };
        let crosses = |a: usize| ((at[a] & 3) == 3) as usize;
        let crossed = crosses(0) | (crosses(1) << 1) | (crosses(2) << 2);
        let mut found = [blocks.block(at); 8];
        for o in 0..8usize {
            let place = each(|a| at[a].wrapping_add((o as u32 >> a) & 1));
            if o & crossed != 0 {
                // Bits of axes along which the block stays the same do not matter.
                found[o] = if o & !crossed == 0 { blocks.block(place) } else { found[o & crossed] };
            }
            let (set, first) = of(found[o]);
            if let Some(n) = number(set, first, place) {
                numbers[o] = n;
            }
        }
        numbers
    }

    /// [`Self::leaf_at`] for a place and its neighbours on the high sides, x fastest, [`OUTSIDE`] without one.
    #[inline]
    pub fn leaves_around(&self, level: usize, at: [u32; 3]) -> [u32; 8] {
        self.around(level, at, |b| (b.leaves, b.first_leaf))
    }

    /// [`Self::face_at`] for a place and its neighbours on the high sides, x fastest, [`OUTSIDE`] without one.
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

    /// The leaf that holds a point; points outside are moved to the domain's hull. NaN is taken as the low corner.
    #[inline]
    pub fn locate(&self, x_in_world: Vec3) -> Located {
        let shape = &self.shape;
        let finest = shape.cells(0);
        let x = (x_in_world - shape.min) / shape.dx;
        // Rust's casts saturate, so that negative numbers and NaN become zero.
        let fine = each(|a| (x[a] as u32).min(finest[a] as u32 - 1));
        for (level, of) in self.levels.iter().enumerate() {
            let at = each(|a| fine[a] >> level);
            let found = of.number(at);
            let block = &of.blocks[found as usize];
            let bit = bits::bit_of(at);
            if (block.leaves >> bit) & 1 != 0 {
                let has = |set: u64| (set >> bit) & 1 != 0;
                let uniform = has(block.uniform);
                return Located {
                    cell: block.first_leaf + bits::rank(block.leaves, bit),
                    level,
                    at,
                    near_finer: !uniform && has(block.near_finer),
                    near_coarser: !uniform && has(block.near_coarser),
                    uniform,
                    uniform_along: each(|a| has(block.uniform_along[a])),
                    block: found,
                };
            }
        }
        unreachable!("leaves fill the domain")
    }
}
