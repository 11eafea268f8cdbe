//! Which cells exist on which level: subdivision from coarse to fine, then adaptivity smoothing from fine to
//! coarse [octree §6.3].

use super::blocks::{BlockAt, BlockIndex, morton};
use super::{Cell, Shape, bits, each};
use fluvial_foundation::{AXES, Axis, parallel};

/// The cells of one level, leaves and subdivided ones, block by block. Block 0 is empty and stands for all
/// absent ones.
#[derive(Clone, Debug, Default)]
pub struct LevelNodes {
    pub at: Vec<BlockAt>,
    pub nodes: Vec<u64>,
    pub index: BlockIndex,
}

impl LevelNodes {
    fn new(cells: [usize; 3]) -> Self {
        LevelNodes { at: vec![[0; 3]], nodes: vec![0], index: BlockIndex::new(cells) }
    }

    /// The block's number, added with no cells where it is new.
    fn block(&mut self, at: BlockAt) -> usize {
        let number = self.index.get(at) as usize;
        if number != 0 {
            return number;
        }
        self.index.set(at, self.at.len() as u32);
        self.at.push(at);
        self.nodes.push(0);
        self.at.len() - 1
    }

    /// Numbers blocks in Morton order.
    #[inline]
    pub fn sort(&mut self) {
        let mut order: Vec<(u64, u32)> =
            self.at.iter().enumerate().skip(1).map(|(n, &at)| (morton(at), n as u32)).collect();
        if order.is_sorted() {
            return;
        }
        order.sort_unstable();
        let (at, nodes) = (self.at.clone(), self.nodes.clone());
        for (n, &(_, old)) in order.iter().enumerate() {
            self.at[n + 1] = at[old as usize];
            self.nodes[n + 1] = nodes[old as usize];
            self.index.set(self.at[n + 1], n as u32 + 1);
        }
    }

    /// Adds empty blocks where only faces and corners on the high sides of this level's cells lie: at walls
    /// and beside coarser cells.
    #[inline]
    pub fn add_high_sides(&mut self) {
        for n in 1..self.at.len() {
            let (at, set) = (self.at[n], self.nodes[n]);
            for beyond in 1..8u32 {
                let step = each(|a| (beyond >> a) & 1);
                let corner =
                    AXES.iter().filter(|&&a| step[a] == 1).fold(set, |s, &a| s & bits::layer(a, true));
                if corner != 0 {
                    self.block(each(|a| at[a] + step[a]));
                }
            }
        }
        self.sort();
    }
}

/// The cells of a block that lie in a domain of so many cells.
#[inline]
pub fn domain(at: BlockAt, cells: [usize; 3]) -> u64 {
    AXES.iter().fold(!0, |set, &a| set & bits::below(cells[a].saturating_sub(4 * at[a] as usize), a))
}

/// Passes of face neighbours that reach the neighbour across a corner.
const CORNER_PASSES: u32 = 3;

/// The cells of every level, finest first.
#[inline]
pub fn build(shape: &Shape, passes: u32, subdivide: &(dyn Fn(Cell) -> bool + Sync)) -> Vec<LevelNodes> {
    let mut levels: Vec<LevelNodes> = vec![roots(shape)];
    for level in (1..shape.levels).rev() {
        let finer = refine(levels.last().expect("the coarsest level"), shape, level, subdivide);
        levels.push(finer);
    }
    levels.reverse();
    for level in 0..shape.levels - 1 {
        let cells = shape.cells(level);
        let (fine, coarse) = levels.split_at_mut(level + 1);
        let (fine, coarse) = (&mut fine[level], &mut coarse[0]);
        (0..passes).for_each(|_| dilate(fine, cells, &AXES));
        fine.nodes.iter_mut().for_each(|set| *set = bits::complete_octets(*set));
        fine.sort();
        if passes >= CORNER_PASSES {
            add_parents(fine, coarse);
        } else {
            // The next level's own dilation does not reach across corners: all 26 neighbours get parents.
            let mut ring = fine.clone();
            AXES.iter().for_each(|&axis| dilate(&mut ring, cells, &[axis]));
            add_parents(&ring, coarse);
        }
    }
    levels
}

/// All cells of the coarsest level.
fn roots(shape: &Shape) -> LevelNodes {
    let cells = shape.cells(shape.levels - 1);
    let mut level = LevelNodes::new(cells);
    let [nx, ny, nz] = cells.map(|n| n.div_ceil(4) as u32);
    for at in (0..nz).flat_map(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k]))) {
        let block = level.block(at);
        level.nodes[block] = domain(at, cells);
    }
    level.sort();
    level
}

/// The children of the cells of `level` that want to be subdivided.
fn refine(
    coarse: &LevelNodes,
    shape: &Shape,
    level: usize,
    subdivide: &(dyn Fn(Cell) -> bool + Sync),
) -> LevelNodes {
    let split = parallel::map_indices(coarse.at.len(), |n| {
        let base = each(|a| 4 * coarse.at[n][a]);
        bits::members(coarse.nodes[n])
            .filter(|&bit| {
                let p = bits::place_of(bit);
                let at = each(|a| (base[a] + p[a]) as u16);
                subdivide(Cell { at, level: level as u8 })
            })
            .fold(0u64, |set, bit| set | (1 << bit))
    });
    let mut fine = LevelNodes::new(shape.cells(level - 1));
    for (n, &split) in split.iter().enumerate() {
        for octant in 0..8u32 {
            let octet = (split >> (8 * octant)) & 0xFF;
            if octet != 0 {
                let at = each(|a| 2 * coarse.at[n][a] + ((octant >> a) & 1));
                let block = fine.block(at);
                fine.nodes[block] = bits::children(octet);
            }
        }
    }
    fine
}

/// Adds the neighbours of every cell along some axes.
fn dilate(level: &mut LevelNodes, cells: [usize; 3], axes: &[Axis]) {
    let blocks = cells.map(|n| n.div_ceil(4) as u32);
    for n in 1..level.at.len() {
        let (at, set) = (level.at[n], level.nodes[n]);
        for &axis in axes {
            for last in [false, true] {
                let mut next = at;
                next[axis] = if last { at[axis] + 1 } else { at[axis].wrapping_sub(1) };
                if next[axis] < blocks[axis] && set & bits::layer(axis, last) != 0 {
                    level.block(next);
                }
            }
        }
    }
    let before = &*level;
    let grown = parallel::map_indices(level.at.len(), |n| {
        let (at, own) = (before.at[n], before.nodes[n]);
        let mut set = own;
        for &axis in axes.iter().filter(|_| n > 0) {
            let neighbour = |v: u32| {
                let mut next = at;
                next[axis] = v;
                before.nodes[before.index.get(next) as usize]
            };
            set |= bits::from_low(own, neighbour(at[axis].wrapping_sub(1)), axis);
            set |= bits::from_high(own, neighbour(at[axis] + 1), axis);
        }
        set & domain(at, cells)
    });
    level.nodes = grown;
}

/// Gives every cell its parent.
fn add_parents(fine: &LevelNodes, coarse: &mut LevelNodes) {
    for (at, &set) in fine.at.iter().zip(&fine.nodes).skip(1) {
        let parents = bits::parents(set);
        if parents != 0 {
            let octant = AXES.iter().fold(0, |o, &a| o | ((at[a] & 1) << a));
            let block = coarse.block(each(|a| at[a] >> 1));
            coarse.nodes[block] |= parents << (8 * octant);
        }
    }
    coarse.sort();
}
