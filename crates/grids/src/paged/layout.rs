//! Where a cell of a paged grid lies: its coordinates' bits, spread over one number.
//!
//! A code holds the page in its high bits and the cell within the page in its low ones. Within a page x is
//! fastest, so that a row of cells is one vector load; across pages the axes' bits alternate (Morton order),
//! so that pages near in space are near in memory. Each axis owns the bits of its mask, and sums along an
//! axis are taken in place, with carries that run over the other axes' bits ([`Layout::add`], [power §2.1]).
//! Coordinates wrap around. Every axis has at least one layer of blocks beyond the domain, which stays empty:
//! one step below coordinate 0 arrives there.

use fluvial_foundation::{AXES, Axis, bits};

/// How coordinates become codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    cells: [u32; 3],
    block_log2: [u32; 3],
    mask: [u64; 3],
    cell_bits: u32,
    bits: u32,
}

/// A page and the 26 around it, as the axes' bits of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    along: [[u64; 3]; 3],
}

impl Around {
    /// The page below (0), at (1) or above (2) along each axis.
    #[inline(always)]
    pub fn page(&self, x: usize, y: usize, z: usize) -> u64 {
        self.along[0][x] | self.along[1][y] | self.along[2][z]
    }
}

impl Layout {
    /// For so many cells along each axis, in blocks with `2^block_log2` cells along each.
    pub fn new(cells: [u32; 3], block_log2: [u32; 3]) -> Layout {
        assert!(cells.iter().all(|&n| (1..=1 << 24).contains(&n)), "1 to 2^24 cells along an axis");
        let mut mask = [0u64; 3];
        let mut bits = 0;
        for axis in AXES {
            mask[axis] = ((1 << block_log2[axis]) - 1) << bits;
            bits += block_log2[axis];
        }
        let cell_bits = bits;
        // One empty layer of blocks more than the domain has.
        let block_bits =
            AXES.map(|a| (cells[a].div_ceil(1 << block_log2[a]) + 1).next_power_of_two().trailing_zeros());
        for round in 0..32 {
            for axis in AXES.into_iter().filter(|&a| round < block_bits[a]) {
                mask[axis] |= 1 << bits;
                bits += 1;
            }
        }
        Layout { cells, block_log2, mask, cell_bits, bits }
    }

    /// Cells of the domain along each axis.
    #[inline]
    pub fn cells(&self) -> [u32; 3] {
        self.cells
    }

    /// Cells of a block along an axis.
    #[inline]
    pub fn block_side(&self, axis: Axis) -> u32 {
        1 << self.block_log2[axis]
    }

    /// Number of pages that codes can name.
    #[inline]
    pub fn pages(&self) -> u64 {
        1 << (self.bits - self.cell_bits)
    }

    /// Page of a code.
    #[inline(always)]
    pub fn page(&self, code: u64) -> u64 {
        code >> self.cell_bits
    }

    /// Place of a code's cell within its page.
    #[inline(always)]
    pub fn cell_in_page(&self, code: u64) -> usize {
        (code & ((1 << self.cell_bits) - 1)) as usize
    }

    /// Code of a page's first cell.
    #[inline(always)]
    pub fn first_of(&self, page: u64) -> u64 {
        page << self.cell_bits
    }

    /// The code at some coordinates or of some offset; coordinates wrap around.
    #[inline(always)]
    pub fn encode(&self, at: [i64; 3]) -> u64 {
        let [x, y, z] = AXES.map(|axis| self.along(axis, at[axis]));
        x | y | z
    }

    /// The bits of a code that one coordinate owns.
    #[inline(always)]
    pub fn along(&self, axis: Axis, at: i64) -> u64 {
        bits::deposit(at as u64, self.mask[axis])
    }

    /// Coordinates of a code.
    #[inline(always)]
    pub fn decode(&self, code: u64) -> [u32; 3] {
        self.mask.map(|mask| bits::extract(code, mask) as u32)
    }

    /// The sum of two codes, axis by axis: other axes' bits are set to one in the first summand and hand
    /// carries on.
    #[inline(always)]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        let along = |m: u64| (a | !m).wrapping_add(b & m) & m;
        along(self.mask[0]) | along(self.mask[1]) | along(self.mask[2])
    }

    /// [`Self::add`] over pages, for a difference from [`Self::page_steps`].
    #[inline(always)]
    pub fn add_pages(&self, page: u64, step: u64) -> u64 {
        let along = |m: u64| (page | !m).wrapping_add(step & m) & m;
        let [x, y, z] = AXES.map(|a| self.mask[a] >> self.cell_bits);
        along(x) | along(y) | along(z)
    }

    /// What to add to a page to come to the 27 around it: number `(dx + 1) + 3 (dy + 1) + 9 (dz + 1)`.
    pub fn page_steps(&self) -> [u64; 27] {
        std::array::from_fn(|n| {
            let d = [n % 3, n / 3 % 3, n / 9];
            self.page(self.encode(AXES.map(|a| (d[a] as i64 - 1) * self.block_side(a) as i64)))
        })
    }

    /// A page and the 26 around it.
    #[inline(always)]
    pub fn around(&self, page: u64) -> Around {
        let along = |axis: Axis| {
            let m = self.mask[axis] >> self.cell_bits;
            // One block up is the mask's lowest bit, one down is all of its bits.
            let up = m & m.wrapping_neg();
            [(page | !m).wrapping_add(m) & m, page & m, (page | !m).wrapping_add(up) & m]
        };
        Around { along: [along(0), along(1), along(2)] }
    }

    /// Are these coordinates inside the domain?
    #[inline]
    pub fn contains(&self, at: [i64; 3]) -> bool {
        AXES.iter().all(|&a| (0..self.cells[a] as i64).contains(&at[a]))
    }
}
