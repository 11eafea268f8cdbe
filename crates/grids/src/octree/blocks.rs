//! A sparse set of blocks on one level, found by coordinates through two small tables.

/// Blocks of 4 x 4 x 4 cells by their coordinates: a dense table of tiles (4 x 4 x 4 blocks each), a page per
/// tile in use. Number 0 stands for "no block"; tile 0 is the page of those.
#[derive(Clone, Debug, Default)]
pub struct BlockIndex {
    tiles_along: [usize; 3],
    tiles: Vec<u32>,
    pages: Vec<[u32; 64]>,
}

/// Coordinates of a block: those of its cells, divided by four.
pub type BlockAt = [u32; 3];

impl BlockIndex {
    /// An empty index for so many cells along each axis, and one layer of blocks beyond the high walls.
    #[inline]
    pub fn new(cells: [usize; 3]) -> Self {
        let tiles_along = cells.map(|n| n / 16 + 1);
        let count = tiles_along.iter().product();
        BlockIndex { tiles_along, tiles: vec![0; count], pages: vec![[0; 64]] }
    }

    #[inline(always)]
    fn tile(&self, at: BlockAt) -> Option<usize> {
        let t = [(at[0] >> 2) as usize, (at[1] >> 2) as usize, (at[2] >> 2) as usize];
        let n = self.tiles_along;
        (t[0] < n[0] && t[1] < n[1] && t[2] < n[2]).then(|| t[0] + n[0] * (t[1] + n[1] * t[2]))
    }

    #[inline(always)]
    fn in_page(at: BlockAt) -> usize {
        ((at[0] & 3) | ((at[1] & 3) << 2) | ((at[2] & 3) << 4)) as usize
    }

    /// The block's number; 0 where there is none, outside the table too (coordinates may have wrapped below
    /// zero).
    #[inline(always)]
    pub fn get(&self, at: BlockAt) -> u32 {
        self.tile(at).map_or(0, |t| self.pages[self.tiles[t] as usize][Self::in_page(at)])
    }

    /// Gives a block its number, which is not 0.
    #[inline]
    pub fn set(&mut self, at: BlockAt, number: u32) {
        let tile = self.tile(at).expect("a block of the level");
        if self.tiles[tile] == 0 {
            self.tiles[tile] = self.pages.len() as u32;
            self.pages.push([0; 64]);
        }
        self.pages[self.tiles[tile] as usize][Self::in_page(at)] = number;
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> usize {
        4 * self.tiles.capacity() + 256 * self.pages.capacity()
    }
}

/// Morton code of block coordinates below 2^16.
#[inline]
pub fn morton(at: BlockAt) -> u64 {
    let spread = |v: u32| {
        let v = v as u64;
        let v = (v | (v << 32)) & 0x001F_0000_0000_FFFF;
        let v = (v | (v << 16)) & 0x001F_0000_FF00_00FF;
        let v = (v | (v << 8)) & 0x100F_00F0_0F00_F00F;
        let v = (v | (v << 4)) & 0x10C3_0C30_C30C_30C3;
        (v | (v << 2)) & 0x1249_2492_4924_9249
    };
    spread(at[0]) | (spread(at[1]) << 1) | (spread(at[2]) << 2)
}
