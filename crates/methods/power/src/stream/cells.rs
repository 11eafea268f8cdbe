//! Which cells a stream holds, and which blocks lie beside, above and below each other.

use super::parts::Parts;
use crate::kernels::Block;
use crate::rows::Rows;
use fluvial_foundation::parallel;
use fluvial_grids::paged::{Layout, PageList};
use fluvial_grids::pyramid::{NEIGHBOURS, Pyramid, bits, parent_cell, parent_page};
use fluvial_linear::krylov::Real;
use std::ops::Range;

/// The cells of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCells {
    /// Unknown leaves with the stencil of a uniform grid.
    pub uniform: u64,
    /// Leaves and ghosts with a row.
    pub special: u64,
    /// Those of them that are ghosts.
    pub ghost: u64,
    /// Cells with unknowns of the finer level in them.
    pub parent: u64,
    /// Leaves with rows of ghosts in them: some have no other connections.
    pub joined: u64,
    /// All leaves of the tree, unknown or not.
    pub active: u64,
    /// Place of the first special cell in [`StreamLevel::row_of`].
    pub first_row: u32,
    /// Number of the first leaf.
    pub first_leaf: u32,
}

impl BlockCells {
    /// Unknown leaves.
    #[inline(always)]
    pub fn unknown(&self) -> u64 {
        self.uniform | self.special & !self.ghost | self.joined
    }
}

/// Blocks of one level.
#[derive(Clone, Debug, Default)]
pub struct StreamLevel {
    /// Edge of a cell, m.
    pub dx: f32,
    layout: Layout,
    pages: PageList,
    /// Number of the level's first block.
    pub first: usize,
    /// What each block holds.
    pub cells: Vec<BlockCells>,
    /// Number of the row of every special cell.
    pub row_of: Vec<u32>,
    /// Numbers of the blocks beyond faces, in the order of [`NEIGHBOURS`].
    pub(super) faces: Vec<[u32; 6]>,
    /// The same beyond edges.
    pub(super) edges: Vec<[u32; 12]>,
    /// Number of the block of the next coarser level around each, and the octant of it.
    pub(super) above: Vec<(u32, u8)>,
    /// Numbers of the eight blocks of the next finer level in each.
    pub(super) below: Vec<[u32; 8]>,
}

impl StreamLevel {
    /// The page of a block.
    pub(super) fn page(&self, n: usize) -> u64 {
        self.pages.pages()[n]
    }

    /// Numbers of the level's blocks.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.cells.len()
    }
}

/// The blocks of all levels.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Levels from fine to coarse: those of the tree, then larger cells.
    pub levels: Vec<StreamLevel>,
    /// Number of blocks, which is that of the block of zeros behind them.
    pub blocks: usize,
    /// Connected parts of the unknowns.
    pub parts: Parts,
}

/// Blocks per task.
pub(super) const TASK: usize = 128;
/// No more unknowns than this are left on the coarsest level.
const COARSEST: usize = 300;

impl Streams {
    /// The cells of a pyramid that have rows.
    pub fn new(pyramid: &Pyramid, rows: &Rows) -> Streams {
        let mut levels: Vec<StreamLevel> = vec![];
        let mut layout = *pyramid.levels()[0].grid.layout();
        let mut first = 0;
        loop {
            let l = levels.len();
            let mut found = levels.last().map_or(vec![], |finer| finer.parents(&layout));
            if let Some(level) = pyramid.levels().get(l) {
                let pages = level.grid.blocks().pages();
                found.extend(level.used().iter().map(|&n| {
                    let n = n as usize;
                    let (cells, row) = (level.cells()[n], rows.levels[l].blocks[n]);
                    let block = BlockCells {
                        uniform: row.uniform,
                        special: row.special,
                        ghost: row.special & cells.ghost,
                        active: cells.active,
                        first_row: row.first,
                        first_leaf: level.first()[n],
                        ..BlockCells::default()
                    };
                    (pages[n], block)
                }));
            }
            found.sort_by_key(|(page, _)| *page);
            let mut merged: Vec<(u64, BlockCells)> = Vec::with_capacity(found.len());
            for (page, cells) in found {
                match merged.last_mut() {
                    // From below come parents and joined leaves, and first.
                    Some((last, own)) if *last == page => {
                        *own = BlockCells { parent: own.parent, joined: own.joined, ..cells };
                    }
                    _ => merged.push((page, cells)),
                }
            }
            merged.retain(|(_, c)| c.uniform | c.special | c.parent | c.joined != 0);
            let (pages, cells): (Vec<u64>, Vec<BlockCells>) = merged.into_iter().unzip();
            first += levels.last().map_or(0, |level| level.cells.len());
            levels.push(StreamLevel {
                dx: pyramid.shape().dx_of(l),
                layout,
                pages: PageList::new(pages),
                first,
                row_of: rows.levels.get(l).map_or(vec![], |level| level.row_of.clone()),
                cells,
                ..StreamLevel::default()
            });
            let unknowns = levels[l].cells.iter().map(|c| (c.unknown() | c.parent).count_ones() as usize);
            if l + 1 >= pyramid.levels().len() && unknowns.sum::<usize>() <= COARSEST {
                break;
            }
            layout = match pyramid.levels().get(l + 1) {
                Some(level) => *level.grid.layout(),
                None => Layout::new(layout.cells().map(|n| n.div_ceil(2)), [2; 3]),
            };
        }
        let blocks = levels.iter().map(|level| level.cells.len()).sum();
        let mut streams = Streams { levels, blocks, parts: Parts::default() };
        streams.connect();
        streams.parts = Parts::find(&streams, &rows.rows);
        streams
    }

    /// Connects blocks with those beside, above and below them.
    fn connect(&mut self) {
        let none = self.blocks as u32;
        for l in 0..self.levels.len() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let (level, coarser) = rest.split_first_mut().expect("a level");
            let StreamLevel { layout, pages, first, .. } = &*level;
            let (layout, pages, first) = (*layout, pages.pages(), *first);
            let find = |page: u64| level.pages.position(page).map_or(none, |n| (first + n) as u32);
            let beside = parallel::map_indices(pages.len(), |n| {
                let around = layout.around(pages[n]);
                NEIGHBOURS.map(|o| {
                    let [x, y, z] = o.map(|v| (v + 1) as usize);
                    find(around.page(x, y, z))
                })
            });
            let above = coarser.first().map_or(vec![], |coarse| {
                parallel::map_indices(pages.len(), |n| {
                    let (page, octant) = parent_page(&layout, &coarse.layout, pages[n]);
                    let number = coarse.pages.position(page).map_or(none, |n| (coarse.first + n) as u32);
                    (number, octant as u8)
                })
            });
            level.faces = beside.iter().map(|all| std::array::from_fn(|k| all[k])).collect();
            level.edges = beside.iter().map(|all| std::array::from_fn(|k| all[6 + k])).collect();
            level.above = above;
            level.below = vec![[none; 8]; level.cells.len()];
            if let Some(fine) = finer.last() {
                for (n, &(above, octant)) in fine.above.iter().enumerate().filter(|(_, a)| a.0 != none) {
                    let own = above as usize - level.first;
                    level.below[own][octant as usize] = (fine.first + n) as u32;
                }
            }
        }
    }

    /// A field, zero everywhere.
    pub fn field<T: Real>(&self) -> Vec<Block<T>> {
        vec![[T::default(); 64]; self.blocks + 1]
    }

    /// Unknown leaves.
    pub fn unknowns(&self) -> usize {
        let cells = self.levels.iter().flat_map(|level| &level.cells);
        cells.map(|cells| cells.unknown().count_ones() as usize).sum()
    }

    /// By number of leaf: is it an unknown?
    pub fn are_unknown(&self, leaves: usize) -> Vec<bool> {
        let mut out = vec![false; leaves];
        for cells in self.levels.iter().flat_map(|level| &level.cells) {
            for (cell, leaf) in bits(cells.active).zip(cells.first_leaf as usize..) {
                out[leaf] = cells.unknown() >> cell & 1 == 1;
            }
        }
        out
    }

    /// Bytes of what connects the blocks.
    pub fn bytes(&self) -> usize {
        let block = size_of::<BlockCells>() + 4 * (6 + 12 + 8) + 8 + 16;
        self.blocks * block + self.levels.iter().map(|level| 4 * level.row_of.len()).sum::<usize>()
    }

    /// Sets unknown leaves from values by number of leaf; all else becomes zero.
    pub fn scatter(&self, field: &mut [Block<f64>], values: &[f64]) {
        field.as_flattened_mut().fill(0.0);
        for level in &self.levels {
            let blocks = &mut field[level.range()];
            parallel::for_each_indexed_mut(blocks, |n, block| {
                let cells = &level.cells[n];
                for (cell, leaf) in bits(cells.active).zip(cells.first_leaf as usize..) {
                    if cells.unknown() >> cell & 1 == 1 {
                        block[cell] = values[leaf];
                    }
                }
            });
        }
    }

    /// The values of unknown leaves, by number of leaf; others are left alone.
    pub fn gather(&self, values: &mut [f64], field: &[Block<f64>]) {
        for level in &self.levels {
            for (cells, block) in level.cells.iter().zip(&field[level.range()]) {
                for (cell, leaf) in bits(cells.active).zip(cells.first_leaf as usize..) {
                    if cells.unknown() >> cell & 1 == 1 {
                        values[leaf] = block[cell];
                    }
                }
            }
        }
    }

    /// Copies leaves to the ghosts inside them.
    pub fn propagate<T: Real>(&self, field: &mut [Block<T>]) {
        for l in (1..self.levels.len()).rev() {
            self.propagate_to(field, l - 1);
        }
    }

    /// Copies leaves to the ghosts of one level.
    pub(super) fn propagate_to<T: Real>(&self, field: &mut [Block<T>], l: usize) {
        let level = &self.levels[l];
        let before = level.range().end;
        let (fine, coarse) = field.split_at_mut(before);
        let coarse = &*coarse;
        parallel::for_each_chunk_mut(&mut fine[level.first..], TASK, |task, blocks| {
            for (i, block) in blocks.iter_mut().enumerate() {
                let n = task * TASK + i;
                let ghost = level.cells[n].ghost;
                if ghost != 0 {
                    let (above, octant) = level.above[n];
                    let from = &coarse[above as usize - before];
                    bits(ghost).for_each(|cell| block[cell] = from[parent_cell(cell, octant as usize)]);
                }
            }
        });
    }
}

impl StreamLevel {
    /// Blocks of the next coarser level with the cells around unknowns, parents and ghosts of this one.
    fn parents(&self, coarse: &Layout) -> Vec<(u64, BlockCells)> {
        let up = |n: usize| {
            let (page, octant) = parent_page(&self.layout, coarse, self.pages.pages()[n]);
            let unknown = self.cells[n].unknown() | self.cells[n].parent;
            let above = |mask: u64| bits(mask).fold(0, |mask, cell| mask | 1 << parent_cell(cell, octant));
            let (parent, joined) = (above(unknown), above(self.cells[n].ghost));
            (page, BlockCells { parent, joined, ..BlockCells::default() })
        };
        let mut all = parallel::map_indices(self.cells.len(), up);
        all.sort_by_key(|(page, _)| *page);
        let mut merged: Vec<(u64, BlockCells)> = vec![];
        for (page, cells) in all {
            match merged.last_mut() {
                Some((last, own)) if *last == page => {
                    own.parent |= cells.parent;
                    own.joined |= cells.joined;
                }
                _ => merged.push((page, cells)),
            }
        }
        merged
    }
}

/// Where a place around a block stands in the order of [`NEIGHBOURS`], by `x + 3 y + 9 z` with 1 for the block itself.
pub(super) const PLACES: [usize; 27] = {
    let mut all = [usize::MAX; 27];
    let mut k = 0;
    while k < 18 {
        let [x, y, z] = NEIGHBOURS[k];
        all[(x + 1 + 3 * (y + 1) + 9 * (z + 1)) as usize] = k;
        k += 1;
    }
    all
};
