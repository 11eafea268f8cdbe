//! Where a cell of a paged grid lies: its coordinates' bits, spread over one number.
//!
//! A code holds the page in its high bits and the cell within the page in its low ones. Within a page x is
//! fastest, so that a row of cells is one vector load; across pages the axes' bits alternate (Morton order),
//! so that pages near in space are near in memory. Each axis owns the bits of its mask, and sums along an
//! axis are taken in place, with carries that run over the other axes' bits ([`Layout::add`], [power §2.1]).
//! Coordinates wrap around. Every axis has at least one layer of blocks beyond the domain, which stays empty:
//! one step below coordinate 0 arrives there.

use fluvial_foundation::{AXES, Axis};

/// How coordinates become codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub fn cells(&self) -> [u32; 3] {
        self.cells
    }

    /// Cells of a block along an axis.
    pub fn block_side(&self, axis: Axis) -> u32 {
        1 << self.block_log2[axis]
    }

    /// Number of pages that codes can name.
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
    pub fn encode(&self, at: [i64; 3]) -> u64 {
        let spread = |axis: Axis| {
            let (mut mask, mut value, mut code) = (self.mask[axis], at[axis] as u64, 0);
            while mask != 0 {
                let bit = mask & mask.wrapping_neg();
                code |= if value & 1 == 1 { bit } else { 0 };
                mask ^= bit;
                value >>= 1;
            }
            code
        };
        spread(0) | spread(1) | spread(2)
    }

    /// Coordinates of a code.
    pub fn decode(&self, code: u64) -> [u32; 3] {
        AXES.map(|axis| {
            let (mut mask, mut value, mut place) = (self.mask[axis], 0, 0);
            while mask != 0 {
                let bit = mask & mask.wrapping_neg();
                value |= ((code & bit != 0) as u32) << place;
                mask ^= bit;
                place += 1;
            }
            value
        })
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
    pub fn contains(&self, at: [i64; 3]) -> bool {
        AXES.iter().all(|&a| (0..self.cells[a] as i64).contains(&at[a]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::random::splitmix64;

    const SHAPES: [([u32; 3], [u32; 3]); 4] = [
        ([64, 64, 64], [2, 2, 2]),
        ([37, 500, 9], [2, 2, 2]),
        ([1, 3, 4096], [3, 3, 2]),
        ([2048, 2048, 2048], [3, 3, 2]),
    ];

    #[test]
    fn coordinates_come_back_and_codes_are_dense() {
        for (cells, block) in SHAPES {
            let layout = Layout::new(cells, block);
            assert_eq!(layout.mask[0] | layout.mask[1] | layout.mask[2], (1 << layout.bits) - 1);
            for n in 0..2000u64 {
                let at = AXES.map(|a| (splitmix64(3 * n + a as u64) % cells[a] as u64) as i64);
                let code = layout.encode(at);
                assert!(layout.page(code) < layout.pages());
                assert_eq!(layout.decode(code), at.map(|v| v as u32));
            }
        }
    }

    #[test]
    fn masked_addition_moves_along_every_axis() {
        for (cells, block) in SHAPES {
            let layout = Layout::new(cells, block);
            let steps = layout.page_steps();
            for n in 0..2000u64 {
                let at = AXES.map(|a| (splitmix64(3 * n + a as u64) % cells[a] as u64) as i64);
                let by = AXES.map(|a| (splitmix64(7000 + 3 * n + a as u64) % 3) as i64 - 1);
                let sum = AXES.map(|a| at[a] + by[a]);
                let code = layout.add(layout.encode(at), layout.encode(by));
                assert_eq!(code, layout.encode(sum));
                // A step out of the domain never arrives at a block of the domain.
                let outside = AXES.iter().any(|&a| sum[a] < 0);
                assert!(!outside || !layout.contains(layout.decode(code).map(|v| v as i64)));
                let page = layout.page(layout.encode(at));
                let number = (by[0] + 1 + 3 * (by[1] + 1) + 9 * (by[2] + 1)) as usize;
                let beside = AXES.map(|a| at[a] + by[a] * layout.block_side(a) as i64);
                assert_eq!(layout.add_pages(page, steps[number]), layout.page(layout.encode(beside)));
                let [x, y, z] = by.map(|d| (d + 1) as usize);
                assert_eq!(layout.around(page).page(x, y, z), layout.page(layout.encode(beside)));
            }
        }
    }

    #[test]
    fn long_domains_reserve_no_cube() {
        let layout = Layout::new([4092, 60, 60], [2, 2, 2]);
        assert_eq!(layout.pages(), 1024 * 16 * 16);
    }
}
