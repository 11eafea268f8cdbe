//! Sparse grids in pages of 4 KB: a huge index space of which only what is used takes memory [power §2.1].
//!
//! ```text
//!  word of a cell's value      page                      channel    cell in block
//!  in the reserved range   =   z y x z y x ... z y x  |  c c c c  |  z z y y x x
//!                              Morton order of blocks               x fastest
//!
//!  one page, 16 channels of 4x4x4 cells        one page, 4 channels of 8x8x4 cells
//!  +--------+--------+-- ... --+--------+      +----------+----------+----------+----------+
//!  | ch 0   | ch 1   |         | ch 15  |      | ch 0     | ch 1     | ch 2     | ch 3     |
//!  | 256 B  | 256 B  |         | 256 B  |      | 1024 B   | 1024 B   | 1024 B   | 1024 B   |
//!  +--------+--------+-- ... --+--------+      +----------+----------+----------+----------+
//! ```
//!
//! All fields of a block of cells share its page: what is committed for one is there for all, one look at the
//! page table serves all, and the range of addresses is one. Neighbours are found by sums of bits
//! ([`Layout`]).
//!
//! In page `n` the places of channels are exchanged by `channel xor n`: pages are as long as the period of
//! the first cache, and without it a field would only ever use a sixteenth of that cache.
//!
//! Differs from "Morton order within pages": rows of a block are consecutive, so that a row of four cells is
//! one vector load; across pages the order is Morton's.
//!
//! [`PagedGrid`] reads as zeros where nothing is committed, so stencils need not ask whether a neighbour
//! exists. Which blocks are written is fixed before a loop: each turn owns its block
//! ([`PagedGrid::for_each_block`]).

mod layout;
mod list;
mod store;

pub use layout::{Around, Layout};
pub use list::PageList;
pub use store::{Backing, MAX_RANGE_BYTES, PAGE_BYTES, PAGE_WORDS, Reader, Store};

use std::io;

/// 16 fields in blocks of 4x4x4 cells: for solvers.
pub type SolverGrid = PagedGrid<16, 64>;
/// 4 fields in blocks of 8x8x4 cells: for a fine level set.
pub type LevelSetGrid = PagedGrid<4, 256>;

/// A sparse grid with `CHANNELS` values in each of its cells, `CELLS` of which share a page.
pub struct PagedGrid<const CHANNELS: usize, const CELLS: usize> {
    layout: Layout,
    steps: [u64; 27],
    store: Store,
}

impl<const CHANNELS: usize, const CELLS: usize> PagedGrid<CHANNELS, CELLS> {
    /// Blocks fill pages, and their sides differ by a factor of two at most, the last ones being the shorter.
    const BLOCK_LOG2: [u32; 3] = {
        assert!(CHANNELS * CELLS == PAGE_WORDS && CELLS.is_power_of_two(), "blocks fill pages");
        let bits = CELLS.trailing_zeros();
        [bits.div_ceil(3), (bits + 1) / 3, bits / 3]
    };

    /// A grid of so many cells along each axis, none of them committed. With [`Backing::Reserved`] this fails
    /// where addresses are limited; [`Backing::Table`] always serves.
    pub fn new(backing: Backing, cells: [u32; 3]) -> io::Result<Self> {
        let layout = Layout::new(cells, Self::BLOCK_LOG2);
        Ok(PagedGrid { layout, steps: layout.page_steps(), store: Store::new(backing, layout.pages())? })
    }

    /// A reserved grid where the system grants one, else one with a table.
    pub fn new_anywhere(cells: [u32; 3]) -> io::Result<Self> {
        Self::new(Backing::Reserved, cells).or_else(|_| Self::new(Backing::Table, cells))
    }

    /// Where cells lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The committed blocks, as pages.
    pub fn blocks(&self) -> &PageList {
        self.store.list()
    }

    /// Bytes of memory that the committed blocks take.
    pub fn bytes(&self) -> usize {
        self.store.list().len() * PAGE_BYTES
    }

    /// Commits blocks, given by ascending pages; those that are committed already keep their values, new ones
    /// hold zeros.
    pub fn commit(&mut self, pages: &[u64]) -> io::Result<()> {
        self.store.commit(pages)
    }

    /// Gives blocks back, given by ascending pages; they read as zeros from then on.
    pub fn release(&mut self, pages: &[u64]) {
        self.store.release(pages);
    }

    /// The page beside a page in one of the directions of [`Layout::page_steps`].
    #[inline(always)]
    pub fn beside(&self, page: u64, direction: usize) -> u64 {
        self.layout.add_pages(page, self.steps[direction])
    }

    /// A field in a block.
    #[inline(always)]
    pub fn channel(&self, page: u64, channel: usize) -> &[f32; CELLS] {
        self.store.channel(page, channel)
    }

    /// A field in a committed block, to be written.
    #[inline(always)]
    pub fn channel_mut(&mut self, page: u64, channel: usize) -> &mut [f32; CELLS] {
        self.store.channel_mut(page, channel)
    }

    /// One value; zero where nothing is committed.
    pub fn get(&self, channel: usize, at: [u32; 3]) -> f32 {
        let code = self.layout.encode(at.map(i64::from));
        self.channel(self.layout.page(code), channel)[self.layout.cell_in_page(code)]
    }

    /// Sets one value in a committed block.
    pub fn set(&mut self, channel: usize, at: [u32; 3], value: f32) {
        let code = self.layout.encode(at.map(i64::from));
        let cell = self.layout.cell_in_page(code);
        self.channel_mut(self.layout.page(code), channel)[cell] = value;
    }

    /// Runs `body(position, page, reader, fields to be written)` in parallel over the committed blocks at
    /// ascending positions of [`Self::blocks`], or over all. Fields that are not written can be read in
    /// any block.
    pub fn for_each_block<const W: usize>(
        &mut self,
        positions: Option<&[u32]>,
        write: [usize; W],
        body: impl Fn(usize, u64, &Reader<CELLS>, [&mut [f32; CELLS]; W]) + Sync + Send,
    ) {
        self.sum_blocks(positions, write, |position, page, reader, out| {
            body(position, page, reader, out);
            0.0
        });
    }

    /// As [`Self::for_each_block`], and the sum of what `body` returns: the same bits with any number of
    /// threads.
    pub fn sum_blocks<const W: usize>(
        &mut self,
        positions: Option<&[u32]>,
        write: [usize; W],
        body: impl Fn(usize, u64, &Reader<CELLS>, [&mut [f32; CELLS]; W]) -> f64 + Sync + Send,
    ) -> f64 {
        self.store.sum_pages(positions, write, |(): &mut (), n, page, reader, out| body(n, page, reader, out))
    }

    /// As [`Self::for_each_block`], with a memory that `body` finds as its last call has left it, or new: for what is merely
    /// looked up again, since which calls share one is not defined.
    pub fn for_each_block_with<const W: usize, M: Default>(
        &mut self,
        positions: Option<&[u32]>,
        write: [usize; W],
        body: impl Fn(&mut M, usize, u64, &Reader<CELLS>, [&mut [f32; CELLS]; W]) + Sync + Send,
    ) {
        self.store.sum_pages(positions, write, |memory, n, page, reader, out| {
            body(memory, n, page, reader, out);
            0.0
        });
    }
}
