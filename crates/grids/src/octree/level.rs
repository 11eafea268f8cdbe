//! One level of the pyramid: what exists where, as sets of bits, and the numbers that follow from them.

use super::blocks::{BlockAt, BlockIndex};
use super::nodes::{LevelNodes, domain};
use super::{Shape, bits, each};
use fluvial_foundation::{AXES, Axis, parallel};

/// 4 x 4 x 4 places of one level. Cell, low face of each axis and low corner of a place share its bit. What
/// finding a point and its dual cell needs comes first, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Block {
    /// Cells that are not subdivided.
    pub leaves: u64,
    /// Corners of leaves of this level and of none finer.
    pub corners: u64,
    /// Leaves whose 26 neighbours are leaves of this level (places beyond a wall count as such).
    pub uniform: u64,
    /// Leaves that are [`Self::uniform`] and whose two neighbours along an axis touch no coarser one.
    pub uniform_along: [u64; 3],
    pub first_leaf: u32,
    pub first_corner: u32,
    /// Numbers of the blocks on the low and on the high sides, by the axes (bits) along which they lie
    /// beyond; 0 is this one.
    pub low: [u32; 8],
    pub high: [u32; 8],
    /// Cells that exist, leaves and subdivided ones.
    pub nodes: u64,
    /// Leaves that touch a finer one, and leaves that touch a coarser one.
    pub near_finer: u64,
    pub near_coarser: u64,
    /// Faces of this level: between two leaves, between a leaf and four smaller ones, or between a leaf and
    /// a wall.
    pub faces: [u64; 3],
    /// Those of them that have four smaller cells on one side.
    pub junctions: [u64; 3],
    pub first_face: [u32; 3],
    pub first_junction: [u32; 3],
    pub at: BlockAt,
}

/// The blocks of one level; block 0 is empty.
#[derive(Clone, Debug, Default)]
pub struct Level {
    pub blocks: Vec<Block>,
    pub index: BlockIndex,
    pub cells: [usize; 3],
}

impl Level {
    /// The block that holds a place; the empty one where there is none.
    #[inline(always)]
    pub fn block(&self, at: [u32; 3]) -> &Block {
        &self.blocks[self.number(at) as usize]
    }

    /// Its number, 0 where there is none.
    #[inline(always)]
    pub fn number(&self, at: [u32; 3]) -> u32 {
        // Wrapped coordinates must stay out of the table: an arithmetic shift keeps them huge.
        self.index.get(each(|a| ((at[a] as i32) >> 2) as u32))
    }

    #[inline]
    pub fn neighbour(&self, at: BlockAt, offset: [i32; 3]) -> &Block {
        let next = each(|a| at[a].wrapping_add(offset[a] as u32));
        &self.blocks[self.index.get(next) as usize]
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> usize {
        size_of::<Block>() * self.blocks.capacity() + self.index.bytes()
    }
}

/// Levels with all sets and numbers, finest first.
pub fn build(shape: &Shape, nodes: Vec<LevelNodes>) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::with_capacity(nodes.len());
    for (number, mut nodes) in nodes.into_iter().enumerate() {
        let cells = shape.cells(number);
        nodes.add_high_sides();
        let LevelNodes { at, nodes, index } = nodes;
        let mut blocks: Vec<Block> = at
            .iter()
            .zip(&nodes)
            .map(|(&at, &nodes)| Block { at, nodes, leaves: nodes, ..Block::default() })
            .collect();
        if let Some(finer) = levels.last() {
            for child in &finer.blocks[1..] {
                let octant = AXES.iter().fold(0, |o, &a| o | ((child.at[a] & 1) << a));
                let parent = &mut blocks[index.get(each(|a| child.at[a] >> 1)) as usize];
                parent.leaves &= !(bits::parents(child.nodes) << (8 * octant));
            }
        }
        let mut level = Level { blocks, index, cells };
        level.blocks = parallel::map_indices(level.blocks.len(), |n| connect(&level, n));
        let near = parallel::map_indices(level.blocks.len(), |n| near(&level, n));
        let thick = cells.iter().all(|&n| n > 1);
        for (block, (finer, coarser)) in level.blocks.iter_mut().zip(near) {
            (block.near_finer, block.near_coarser) = (finer, coarser);
            block.uniform = if thick { block.leaves & !finer & !coarser } else { 0 };
        }
        let along = parallel::map_indices(level.blocks.len(), |n| uniform_along(&level, n));
        level.blocks.iter_mut().zip(along).for_each(|(block, along)| block.uniform_along = along);
        levels.push(level);
    }
    number(&mut levels);
    levels
}

/// The sets of faces and corners.
fn connect(level: &Level, n: usize) -> Block {
    let mut block = level.blocks[n];
    if n == 0 {
        return block;
    }
    for o in 0..8u32 {
        let step = each(|a| (o >> a) & 1);
        block.low[o as usize] = level.index.get(each(|a| block.at[a].wrapping_sub(step[a])));
        block.high[o as usize] = level.index.get(each(|a| block.at[a] + step[a]));
    }
    let inside = domain(block.at, level.cells);
    let split = block.nodes & !block.leaves;
    for axis in AXES {
        let mut offset = [0; 3];
        offset[axis] = -1;
        let low = level.neighbour(block.at, offset);
        let below = bits::from_low(inside, if block.at[axis] > 0 { !0 } else { 0 }, axis);
        let nodes_low = bits::from_low(block.nodes, low.nodes, axis);
        let leaves_low = bits::from_low(block.leaves, low.leaves, axis);
        let both = (block.nodes | !inside) & (nodes_low | !below);
        block.faces[axis] = (block.leaves | leaves_low) & both;
        block.junctions[axis] = block.faces[axis] & (split | (nodes_low & !leaves_low));
    }
    let around: [&Block; 8] =
        std::array::from_fn(|o| level.neighbour(block.at, each(|a| -(((o >> a) & 1) as i32))));
    let leaf = incident(around.map(|b| b.leaves));
    let finer = incident(around.map(|b| b.nodes & !b.leaves));
    block.corners = leaf & !finer;
    block
}

/// Corners that touch a member; `around` has the block itself and its neighbours on the low sides, x fastest.
fn incident(around: [u64; 8]) -> u64 {
    let mut sets = around;
    for axis in AXES {
        let step = 1 << axis;
        for o in 0..8 {
            if o & step == 0 {
                sets[o] |= bits::from_low(sets[o], sets[o | step], axis);
            }
        }
    }
    sets[0]
}

/// Leaves that touch finer ones and leaves that touch coarser ones.
fn near(level: &Level, n: usize) -> (u64, u64) {
    let block = &level.blocks[n];
    if block.leaves == 0 {
        return (0, 0);
    }
    // Two sets whose erosion tells: places that are not divided, and places with a cell; both hold beyond
    // walls.
    let sets = |offset: [i32; 3]| {
        let at = each(|a| block.at[a].wrapping_add(offset[a] as u32));
        let inside = if at.iter().any(|&v| v as i32 == -1) { 0 } else { domain(at, level.cells) };
        let of = level.neighbour(block.at, offset);
        [!(of.nodes & !of.leaves), of.nodes | !inside]
    };
    // Axis by axis: first along x in nine blocks, then along y in three, then along z.
    let mut planes = [[0; 2]; 3];
    for (z, plane) in planes.iter_mut().enumerate() {
        let mut rows = [[0; 2]; 3];
        for (y, row) in rows.iter_mut().enumerate() {
            let at = |x: i32| sets([x, y as i32 - 1, z as i32 - 1]);
            *row = erode2([at(-1), at(0), at(1)], 0);
        }
        *plane = erode2(rows, 1);
    }
    let [undivided, present] = erode2(planes, 2);
    (block.leaves & !undivided, block.leaves & !present)
}

fn erode2(sets: [[u64; 2]; 3], axis: Axis) -> [u64; 2] {
    let [low, own, high] = sets;
    [erode(low[0], own[0], high[0], axis), erode(low[1], own[1], high[1], axis)]
}

fn erode(low: u64, own: u64, high: u64, axis: Axis) -> u64 {
    own & bits::from_low(own, low, axis) & bits::from_high(own, high, axis)
}

fn uniform_along(level: &Level, n: usize) -> [u64; 3] {
    let block = &level.blocks[n];
    each(|axis| {
        let set = |step: i32| {
            let mut offset = [0; 3];
            offset[axis] = step;
            let at = each(|a| block.at[a].wrapping_add(offset[a] as u32));
            let inside = if at[axis] as i32 == -1 { 0 } else { domain(at, level.cells) };
            let of = level.neighbour(block.at, offset);
            (of.leaves & !of.near_coarser) | !inside
        };
        block.uniform & erode(set(-1), set(0), set(1), axis)
    })
}

/// Numbers leaves and corners level by level, faces and junctions axis by axis and level by level, in Morton
/// order.
fn number(levels: &mut [Level]) {
    let (mut leaf, mut corner) = (0, 0);
    for block in levels.iter_mut().flat_map(|l| &mut l.blocks) {
        (block.first_leaf, block.first_corner) = (leaf, corner);
        leaf += block.leaves.count_ones();
        corner += block.corners.count_ones();
    }
    let (mut face, mut junction) = (0, 0);
    for axis in AXES {
        for block in levels.iter_mut().flat_map(|l| &mut l.blocks) {
            (block.first_face[axis], block.first_junction[axis]) = (face, junction);
            face += block.faces[axis].count_ones();
            junction += block.junctions[axis].count_ones();
        }
    }
}
