//! An octree as a pyramid of sparse paged grids, one per level [power §2.1, §4.2].
//!
//! A leaf of the tree is an **active** cell of one level. Beside a transition the finer level also has
//! **ghost** cells, which lie inside a larger leaf: an operator then works on one level at a time, as on a
//! uniform grid. [`Pyramid::propagate`] copies leaves' values to the ghosts inside them before such a sweep,
//! [`Pyramid::accumulate`] adds what the sweep left on ghosts to their leaves after it.
//!
//! Ghosts are spawned beyond faces and edges of active cells, in the directions that point out of a cell's
//! parent: in others the larger leaf is met across a face already [power §6.1].
//!
//! **Grading** [power §6.1]. A leaf and the leaves that share a face or an edge with it span two levels at
//! most, and no leaf has both a larger and a smaller one beside it. With `D_l` the divided cells of level `l`
//! and `N` the growth by one ring of face and edge neighbours, this is `N(N(D_l)) ⊂ children(D_{l+1})`: the
//! first ring holds all leaves with a smaller neighbour, the second all that they may touch.
//! [`Pyramid::build`] makes it hold from fine to coarse, dividing no cell that the rule does not ask for.
//! Level 0 is the finest, as in [`crate::octree`].

mod sets;
mod transfer;

pub use sets::{CellSet, Halo, NEIGHBOURS, bits, domain_mask, opposite, outward, parent_cell, parent_page};

use crate::octree::{Cell, Shape};
use crate::paged::{Backing, Layout, Reader, SolverGrid};
use fluvial_foundation::parallel;
use std::io;
use transfer::Transfers;

/// The cells of a block that a level knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCells {
    /// Leaves of the tree.
    pub active: u64,
    /// Cells inside larger leaves, next to active ones.
    pub ghost: u64,
}

/// One level of a pyramid.
pub struct Level {
    /// Edge of a cell, metres.
    pub dx: f32,
    /// Fields of the level. Committed are the blocks with active or ghost cells and those that hold the
    /// faces, edges and nodes on these cells' high sides.
    pub grid: SolverGrid,
    cells: Vec<BlockCells>,
    /// Positions of blocks with active or ghost cells.
    used: Vec<u32>,
    /// Number of the first active cell of each block.
    first: Vec<u32>,
    active: CellSet,
    ghost: CellSet,
    transfers: Transfers,
}

/// An octree, level by level.
pub struct Pyramid {
    shape: Shape,
    levels: Vec<Level>,
    active_count: usize,
}

impl Pyramid {
    /// The graded tree in which every cell is divided that `divide` asks for; it is asked for every cell that
    /// comes to exist before grading and is not of the finest level.
    pub fn build(
        backing: Backing,
        shape: Shape,
        divide: impl Fn(Cell) -> bool + Sync,
    ) -> io::Result<Pyramid> {
        Pyramid::from_divided(backing, shape, graded(&shape, divided(&shape, divide)))
    }

    /// From the divided cells of every level, graded.
    fn from_divided(backing: Backing, shape: Shape, divided: Vec<CellSet>) -> io::Result<Pyramid> {
        let exists = |l: usize| match divided.get(l + 1) {
            Some(above) => above.children(layout(&shape, l)),
            None => CellSet::full(layout(&shape, l)),
        };
        let mut active_count = 0;
        let mut levels = vec![];
        for l in 0..shape.levels {
            let exists = exists(l);
            let level = Level::new(backing, shape.dx_of(l), &exists, &divided[l], active_count)?;
            active_count += level.active.count();
            levels.push(level);
        }
        assert!(active_count < u32::MAX as usize, "cells are numbered in 32 bits");
        for l in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(l);
            fine[l - 1].transfers = Transfers::new(&fine[l - 1], &coarse[0]);
        }
        Ok(Pyramid { shape, levels, active_count })
    }

    /// The box and its levels.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Levels, finest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Levels, for writing fields.
    pub fn levels_mut(&mut self) -> &mut [Level] {
        &mut self.levels
    }

    /// Number of leaves.
    pub fn active_count(&self) -> usize {
        self.active_count
    }

    /// Bytes of committed pages.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|l| l.grid.bytes()).sum()
    }

    /// Copies a field from leaves to the ghosts inside them, from coarse to fine (`GhostValuePropagate`).
    pub fn propagate(&mut self, channel: usize) {
        for l in (1..self.levels.len()).rev() {
            let (fine, coarse) = self.levels.split_at_mut(l);
            transfer::propagate(&mut fine[l - 1], &coarse[0].grid, channel);
        }
    }

    /// Adds a field's values on ghosts to the leaves around them, from fine to coarse
    /// (`GhostValueAccumulate`).
    pub fn accumulate(&mut self, channel: usize) {
        for l in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(l);
            transfer::accumulate(&mut coarse[0], &fine[l - 1], channel);
        }
    }

    /// Sets a field in all leaves from values in their numbering; zero elsewhere.
    pub fn scatter(&mut self, channel: usize, values: &[f32]) {
        assert_eq!(values.len(), self.active_count, "one value per leaf");
        for level in &mut self.levels {
            let (cells, first) = (&level.cells, &level.first);
            level.grid.for_each_block(None, [channel], |n, _, _, [out]| {
                out.fill(0.0);
                bits(cells[n].active).zip(first[n] as usize..).for_each(|(cell, i)| out[cell] = values[i]);
            });
        }
    }

    /// A field's values in all leaves, in their numbering.
    pub fn gather(&self, values: &mut [f32], channel: usize) {
        assert_eq!(values.len(), self.active_count, "one value per leaf");
        for level in &self.levels {
            for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
                let field = level.grid.channel(page, channel);
                let out = &mut values[level.first[n] as usize..];
                bits(level.cells[n].active).zip(out).for_each(|(cell, out)| *out = field[cell]);
            }
        }
    }
}

impl Level {
    fn new(
        backing: Backing,
        dx: f32,
        exists: &CellSet,
        divided: &CellSet,
        first: usize,
    ) -> io::Result<Level> {
        let layout = *exists.layout();
        let active = exists.minus(divided);
        let ghost = active.grown(&NEIGHBOURS, outward).minus(exists);
        let known = active.union(&ghost);
        let mut grid = SolverGrid::new(backing, layout.cells())?;
        let mut high: Vec<[i8; 3]> = NEIGHBOURS.into_iter().filter(|o| o.iter().all(|&v| v >= 0)).collect();
        high.push([1; 3]);
        let mut pages = known.reached_pages(&high);
        pages.sort_unstable();
        pages.dedup();
        grid.commit(&pages)?;
        let cells = parallel::map_indices(pages.len(), |n| BlockCells {
            active: active.mask(pages[n]),
            ghost: ghost.mask(pages[n]),
        });
        let is_used = |n: &u32| cells[*n as usize] != BlockCells::default();
        let used = (0..cells.len() as u32).filter(is_used).collect();
        let mut next = first as u32;
        let count = |c: &BlockCells| {
            let start = next;
            next += c.active.count_ones();
            start
        };
        let first = cells.iter().map(count).collect();
        Ok(Level { dx, grid, cells, used, first, active, ghost, transfers: Transfers::default() })
    }

    /// Cells of each committed block, by its position in the grid's list.
    pub fn cells(&self) -> &[BlockCells] {
        &self.cells
    }

    /// Positions of the blocks with active or ghost cells.
    pub fn used(&self) -> &[u32] {
        &self.used
    }

    /// Number of the first active cell of each committed block; its others follow in the order of bits.
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// The leaves of this level.
    pub fn active(&self) -> &CellSet {
        &self.active
    }

    /// The ghosts of this level.
    pub fn ghost(&self) -> &CellSet {
        &self.ghost
    }

    /// [`SolverGrid::for_each_block`] over the blocks with active or ghost cells.
    pub fn for_each_used_block<const W: usize>(
        &mut self,
        write: [usize; W],
        body: impl Fn(usize, u64, &Reader<64>, [&mut [f32; 64]; W]) + Sync + Send,
    ) {
        self.grid.for_each_block(Some(&self.used), write, body);
    }

    /// [`SolverGrid::for_each_block_with`] over the same blocks.
    pub fn for_each_used_block_with<const W: usize, M: Default>(
        &mut self,
        write: [usize; W],
        body: impl Fn(&mut M, usize, u64, &Reader<64>, [&mut [f32; 64]; W]) + Sync + Send,
    ) {
        self.grid.for_each_block_with(Some(&self.used), write, body);
    }

    /// Number of a leaf in the whole pyramid.
    pub fn number(&self, at: [u32; 3]) -> Option<u32> {
        self.number_at(self.grid.layout().encode(at.map(i64::from)))
    }

    /// The same by the cell's code.
    #[inline]
    pub fn number_at(&self, code: u64) -> Option<u32> {
        let layout = self.grid.layout();
        let position = self.grid.blocks().position(layout.page(code))?;
        let (active, bit) = (self.cells[position].active, 1u64 << layout.cell_in_page(code));
        (active & bit != 0).then(|| self.first[position] + (active & (bit - 1)).count_ones())
    }
}

/// Layout of a level's cells.
fn layout(shape: &Shape, level: usize) -> Layout {
    Layout::new(shape.cells(level).map(|n| n as u32), [2; 3])
}

/// What is divided on every level when nothing is graded.
fn divided(shape: &Shape, divide: impl Fn(Cell) -> bool + Sync) -> Vec<CellSet> {
    let mut all: Vec<CellSet> = (0..shape.levels).map(|l| CellSet::empty(layout(shape, l))).collect();
    let mut exists = CellSet::full(layout(shape, shape.levels - 1));
    for l in (1..shape.levels).rev() {
        let level_layout = *exists.layout();
        let pages = exists.blocks().iter().map(|b| b.0).collect();
        all[l] = CellSet::from_pages(level_layout, pages, |page| {
            let asked = bits(exists.mask(page)).filter(|&cell| {
                let at = level_layout.decode(level_layout.first_of(page) | cell as u64);
                divide(Cell { at: at.map(|v| v as u16), level: l as u8 })
            });
            asked.fold(0, |mask, cell| mask | 1 << cell)
        });
        exists = all[l].children(layout(shape, l - 1));
    }
    all
}

/// Adds what must be divided besides: `D_{l+1} ⊃ parents(N(N(D_l)))`.
fn graded(shape: &Shape, mut divided: Vec<CellSet>) -> Vec<CellSet> {
    for l in 1..shape.levels.saturating_sub(1) {
        let needed = divided[l].dilated().dilated().parents(layout(shape, l + 1));
        divided[l + 1] = divided[l + 1].union(&needed);
    }
    divided
}
