//! Sets of cells of one level, one bit a cell, in blocks of 4x4x4; and the ring of cells around a block.

use crate::paged::Layout;
use fluvial_foundation::{AXES, parallel};

/// The cells that share a face or an edge with a cell. Faces: x low, x high, y low, y high, z low, z high.
/// Then edges along x, y, z, each with the signs (-,-), (+,-), (-,+), (+,+) along the two other axes in
/// cyclic order.
pub const NEIGHBOURS: [[i8; 3]; 18] = {
    let mut all = [[0; 3]; 18];
    let mut a = 0;
    while a < 3 {
        all[2 * a][a] = -1;
        all[2 * a + 1][a] = 1;
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        let mut s = 0;
        while s < 4 {
            all[6 + 4 * a + s][b] = if s & 1 == 0 { -1 } else { 1 };
            all[6 + 4 * a + s][c] = if s & 2 == 0 { -1 } else { 1 };
            s += 1;
        }
        a += 1;
    }
    all
};

/// Number in [`NEIGHBOURS`] of the opposite direction.
pub const fn opposite(neighbour: usize) -> usize {
    if neighbour < 6 { neighbour ^ 1 } else { 6 + ((neighbour - 6) ^ 3) }
}

/// Cells of a block whose coordinate along each axis is even.
const EVEN: [u64; 3] = [0x5555_5555_5555_5555, 0x0f0f_0f0f_0f0f_0f0f, 0x0000_ffff_0000_ffff];
/// Cells on the low and on the high side of a block along each axis.
const SIDE: [[u64; 2]; 3] = [
    [0x1111_1111_1111_1111, 0x8888_8888_8888_8888],
    [0x000f_000f_000f_000f, 0xf000_f000_f000_f000],
    [0x0000_0000_0000_ffff, 0xffff_0000_0000_0000],
];

/// Cells whose coordinates have the parity that points out of their parent in a direction: even ones where it
/// goes down, odd ones where it goes up.
pub fn outward(direction: [i8; 3]) -> u64 {
    AXES.iter().fold(!0, |mask, &a| match direction[a] {
        -1 => mask & EVEN[a],
        1 => mask & !EVEN[a],
        _ => mask,
    })
}

/// The bits of a block and of the ring of cells around it: six planes of 6x6, x fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halo([u64; 6]);

impl Halo {
    /// From the masks of the 27 blocks around and at a block, in the order of [`Layout::page_steps`].
    pub fn new(mask: &[u64; 27]) -> Halo {
        let mut planes = [0; 6];
        for z in 0..6usize {
            let (block_z, cell_z) = (z.div_ceil(4), (z + 3) % 4);
            for y in 0..6usize {
                let (block_y, cell_y) = (y.div_ceil(4), (y + 3) % 4);
                let row = |x: usize| mask[x + 3 * block_y + 9 * block_z] >> (4 * (cell_y + 4 * cell_z)) & 0xf;
                planes[z] |= (row(0) >> 3 | row(1) << 1 | (row(2) & 1) << 5) << (6 * y);
            }
        }
        Halo(planes)
    }

    /// For every cell of the block, the bit of the cell at `offset` from it.
    #[inline]
    pub fn at_offset(&self, offset: [i8; 3]) -> u64 {
        let [x, y, z] = offset.map(|v| (v + 1) as usize);
        let mut out = 0;
        for k in 0..4 {
            let plane = self.0[k + z];
            for j in 0..4 {
                out |= (plane >> (6 * (j + y) + x) & 0xf) << (4 * (j + 4 * k));
            }
        }
        out
    }

    /// The bit of the cell at `offset` from a cell of the block.
    #[inline]
    pub fn bit(&self, cell: usize, offset: [i8; 3]) -> bool {
        let at = [cell & 3, cell >> 2 & 3, cell >> 4];
        let [x, y, z] = [0, 1, 2].map(|a: usize| (at[a] as i8 + 1 + offset[a]) as usize);
        self.0[z] >> (6 * y + x) & 1 == 1
    }
}

/// Cells of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSet {
    layout: Layout,
    /// Pages, ascending, with their cells; none empty.
    blocks: Vec<(u64, u64)>,
}

impl CellSet {
    /// No cells.
    pub fn empty(layout: Layout) -> CellSet {
        CellSet { layout, blocks: vec![] }
    }

    /// All cells of the domain.
    pub fn full(layout: Layout) -> CellSet {
        let count = AXES.map(|a| layout.cells()[a].div_ceil(4) as usize);
        let pages = parallel::map_indices(count.iter().product(), |n| {
            let at = [n % count[0], n / count[0] % count[1], n / count[0] / count[1]];
            layout.page(layout.encode(at.map(|v| 4 * v as i64)))
        });
        CellSet::from_pages(layout, pages, |_| !0)
    }

    /// The cells that `mask` gives for pages in any order, within the domain.
    pub fn from_pages(
        layout: Layout,
        mut pages: Vec<u64>,
        mask: impl Fn(u64) -> u64 + Sync + Send,
    ) -> CellSet {
        pages.sort_unstable();
        pages.dedup();
        let masks = parallel::map_indices(pages.len(), |n| mask(pages[n]) & domain_mask(&layout, pages[n]));
        let blocks = pages.into_iter().zip(masks).filter(|b| b.1 != 0).collect();
        CellSet { layout, blocks }
    }

    /// The layout of the level.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Pages, ascending, with their cells; none empty.
    pub fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks
    }

    /// Number of cells.
    pub fn count(&self) -> usize {
        self.blocks.iter().map(|b| b.1.count_ones() as usize).sum()
    }

    /// The cells in a page.
    pub fn mask(&self, page: u64) -> u64 {
        self.blocks.binary_search_by_key(&page, |b| b.0).map_or(0, |n| self.blocks[n].1)
    }

    /// Is a cell in the set?
    pub fn contains(&self, at: [u32; 3]) -> bool {
        let code = self.layout.encode(at.map(i64::from));
        self.mask(self.layout.page(code)) >> self.layout.cell_in_page(code) & 1 == 1
    }

    /// The cells of a block and around it.
    pub fn halo(&self, page: u64) -> Halo {
        let around = self.layout.around(page);
        Halo::new(&std::array::from_fn(|n| self.mask(around.page(n % 3, n / 3 % 3, n / 9))))
    }

    /// Pages of the set and pages beside it that a step by one of the offsets reaches.
    pub(super) fn reached_pages(&self, offsets: &[[i8; 3]]) -> Vec<u64> {
        let steps = self.layout.page_steps();
        let reached = parallel::map_indices(self.blocks.len(), |n| {
            let (page, mask) = self.blocks[n];
            let mut out = vec![page];
            for d in (0..27usize).filter(|&d| d != 13) {
                let direction = [d % 3, d / 3 % 3, d / 9].map(|v| v as i8 - 1);
                let leaves = AXES.iter().fold(mask, |m, &a| match direction[a] {
                    0 => m,
                    s => m & SIDE[a][(s > 0) as usize],
                });
                let covers = |o: &[i8; 3]| AXES.iter().all(|&a| direction[a] == 0 || o[a] == direction[a]);
                if leaves != 0 && offsets.iter().any(covers) {
                    out.push(self.layout.add_pages(page, steps[d]));
                }
            }
            out
        });
        reached.into_iter().flatten().collect()
    }

    /// The set and its cells moved by each of the offsets, within the domain. Of a cell's moves only those
    /// are made for which `may_move(offset)` has the cell's bit.
    pub fn grown(&self, offsets: &[[i8; 3]], may_move: impl Fn([i8; 3]) -> u64 + Sync) -> CellSet {
        let allowed: Vec<Halo> = offsets.iter().map(|&o| Halo::new(&[may_move(o); 27])).collect();
        CellSet::from_pages(self.layout, self.reached_pages(offsets), |page| {
            let halo = self.halo(page);
            offsets.iter().zip(&allowed).fold(self.mask(page), |mask, (&offset, allowed)| {
                let from = offset.map(|v| -v);
                mask | halo.at_offset(from) & allowed.at_offset(from)
            })
        })
    }

    /// The set and all cells that share a face or an edge with one of it.
    pub fn dilated(&self) -> CellSet {
        self.grown(&NEIGHBOURS, |_| !0)
    }

    /// All cells of either set.
    pub fn union(&self, other: &CellSet) -> CellSet {
        let pages = self.blocks.iter().chain(&other.blocks).map(|b| b.0).collect();
        CellSet::from_pages(self.layout, pages, |page| self.mask(page) | other.mask(page))
    }

    /// The cells that are not in the other set.
    pub fn minus(&self, other: &CellSet) -> CellSet {
        let pages = self.blocks.iter().map(|b| b.0).collect();
        CellSet::from_pages(self.layout, pages, |page| self.mask(page) & !other.mask(page))
    }

    /// The cells of the next coarser level that hold cells of the set.
    pub fn parents(&self, coarse: Layout) -> CellSet {
        let up = |page: u64| parent_page(&self.layout, &coarse, page);
        let pages: Vec<u64> = self.blocks.iter().map(|b| up(b.0).0).collect();
        let mut out = CellSet::from_pages(coarse, pages, |_| !0);
        out.blocks.iter_mut().for_each(|b| b.1 = 0);
        for &(page, mask) in &self.blocks {
            let (parent, octant) = up(page);
            let at = out.blocks.binary_search_by_key(&parent, |b| b.0).expect("every parent is listed");
            out.blocks[at].1 |= coarsen(mask, octant);
        }
        out
    }

    /// The cells of the next finer level that cells of the set hold.
    pub fn children(&self, fine: Layout) -> CellSet {
        let pages = parallel::map_indices(self.blocks.len(), |n| {
            let (page, mask) = self.blocks[n];
            let used = (0..8).filter(move |&octant| refine(mask, octant) != 0);
            used.map(|octant| child_page(&self.layout, &fine, page, octant)).collect::<Vec<u64>>()
        });
        CellSet::from_pages(fine, pages.into_iter().flatten().collect(), |page| {
            let (parent, octant) = parent_page(&fine, &self.layout, page);
            refine(self.mask(parent), octant)
        })
    }
}

/// The page of the next coarser level that covers a page, and which of its octants that is.
pub fn parent_page(fine: &Layout, coarse: &Layout, page: u64) -> (u64, usize) {
    let at = fine.decode(fine.first_of(page));
    let octant = AXES.iter().fold(0, |o, &a| o | ((at[a] as usize >> 2 & 1) << a));
    (coarse.page(coarse.encode(at.map(|v| v as i64 / 2))), octant)
}

fn child_page(coarse: &Layout, fine: &Layout, page: u64, octant: usize) -> u64 {
    let at = coarse.decode(coarse.first_of(page));
    fine.page(fine.encode([0, 1, 2].map(|a| 2 * at[a] as i64 + 4 * (octant as i64 >> a & 1))))
}

/// By octant and cell, the cell of a block that holds a cell of one of the eight blocks below.
const PARENT_CELL: [[u8; 64]; 8] = {
    let mut all = [[0; 64]; 8];
    let mut n = 0;
    while n < 512 {
        let (octant, cell) = (n / 64, n % 64);
        let x = (cell & 3) / 2 + 2 * (octant & 1);
        let y = (cell >> 2 & 3) / 2 + 2 * (octant >> 1 & 1);
        let z = (cell >> 4) / 2 + 2 * (octant >> 2);
        all[octant][cell] = (x + 4 * y + 16 * z) as u8;
        n += 1;
    }
    all
};

/// The cell of a block that holds a cell of one of the eight blocks below.
#[inline(always)]
pub fn parent_cell(cell: usize, octant: usize) -> usize {
    PARENT_CELL[octant][cell] as usize
}

fn coarsen(mask: u64, octant: usize) -> u64 {
    bits(mask).fold(0, |out, cell| out | 1 << parent_cell(cell, octant))
}

fn refine(mask: u64, octant: usize) -> u64 {
    (0..64).fold(0, |out, cell| out | (mask >> parent_cell(cell, octant) & 1) << cell)
}

/// Places of the ones of a mask, ascending.
#[inline]
pub fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

/// The cells of a page that lie in the domain.
pub fn domain_mask(layout: &Layout, page: u64) -> u64 {
    let at = layout.decode(layout.first_of(page));
    let inside = AXES.map(|a| (layout.cells()[a] as i64 - at[a] as i64).clamp(0, 4) as usize);
    if inside == [4; 3] {
        return !0;
    }
    let row = |n: usize| (1u64 << n) - 1;
    let plane = (0..inside[1]).fold(0, |m, y| m | row(inside[0]) << (4 * y));
    (0..inside[2]).fold(0, |m, z| m | plane << (16 * z))
}
