//! A set of cells, one bit each: growing it by one cell costs a few operations for 64 cells.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

const BITS: usize = u64::BITS as usize;

/// Cells of a lattice; every x-row starts a new word.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellSet {
    pub(crate) words: Vec<u64>,
    size: [usize; 3],
}

impl CellSet {
    /// Words of one x-row.
    fn row(&self) -> usize {
        self.size[0].div_ceil(BITS)
    }

    /// Words of one z-slab.
    fn slab(&self) -> usize {
        self.row() * self.size[1]
    }

    /// Empties the set and fits it to a lattice.
    pub fn clear(&mut self, lattice: &Lattice) {
        self.size = lattice.size;
        self.words.clear();
        self.words.resize(self.slab() * self.size[2], 0);
    }

    /// Adds a cell by its flat index.
    #[inline]
    pub fn insert(&mut self, cell: u32) {
        let nx = self.size[0] as u32;
        let (row, i) = ((cell / nx) as usize, (cell % nx) as usize);
        let at = row * self.row() + i / BITS;
        self.words[at] |= 1 << (i % BITS);
    }

    /// Takes a cell out again.
    #[inline]
    pub fn remove(&mut self, cell: u32) {
        let nx = self.size[0] as u32;
        let (row, i) = ((cell / nx) as usize, (cell % nx) as usize);
        let at = row * self.row() + i / BITS;
        self.words[at] &= !(1 << (i % BITS));
    }

    /// The cells of a lattice that `is_in` says are, by their flat index.
    pub fn set_where(&mut self, lattice: &Lattice, is_in: impl Fn(usize) -> bool + Sync + Send) {
        self.clear(lattice);
        let ([nx, ny, _], width, slab) = (self.size, self.row(), self.slab());
        parallel::for_each_chunk_mut(&mut self.words, slab, |k, words| {
            for (j, words) in words.chunks_mut(width).enumerate() {
                for i in 0..nx {
                    words[i / BITS] |= (is_in(nx * (j + ny * k) + i) as u64) << (i % BITS);
                }
            }
        });
    }

    /// The listed cells and no others, one list of flat indices a z-slab.
    pub fn set_to(&mut self, cells: &[Vec<u32>]) {
        let ([nx, ny, _], width, slab) = (self.size, self.row(), self.slab());
        parallel::for_each_chunk_mut(&mut self.words, slab, |k, words| {
            words.fill(0);
            for &cell in &cells[k] {
                let at = cell as usize - nx * ny * k;
                words[width * (at / nx) + at % nx / BITS] |= 1 << (at % nx % BITS);
            }
        });
    }

    /// Adds the 6-neighbours of the cells of `front` that are not yet in the set, and lists them by their
    /// flat index, one list a z-slab.
    pub fn grow(&mut self, added: &mut Vec<Vec<u32>>, front: &CellSet) {
        let ([nx, ny, nz], width, slab) = (self.size, self.row(), self.slab());
        // No cell lies beyond the end of a row.
        let last_word = if nx.is_multiple_of(BITS) { u64::MAX } else { (1 << (nx % BITS)) - 1 };
        added.resize(nz, Vec::new());
        parallel::for_each_chunk_mut2((&mut self.words, slab), (added, 1), |k, words, added| {
            let added = &mut added[0];
            added.clear();
            let row_of = |j: usize, k: usize| &front.words[slab * k + width * j..slab * k + width * (j + 1)];
            for (j, words) in words.chunks_mut(width).enumerate() {
                let here = row_of(j, k);
                let sides = [
                    row_of(j.saturating_sub(1), k),
                    row_of((j + 1).min(ny - 1), k),
                    row_of(j, k.saturating_sub(1)),
                    row_of(j, (k + 1).min(nz - 1)),
                ];
                for w in 0..width {
                    let below = if w > 0 { here[w - 1] >> (BITS - 1) } else { 0 };
                    let above = if w + 1 < width { here[w + 1] << (BITS - 1) } else { 0 };
                    let along = here[w] << 1 | below | here[w] >> 1 | above;
                    let across = sides.iter().fold(0, |all, side| all | side[w]);
                    let inside = if w + 1 == width { last_word } else { u64::MAX };
                    let mut new = (along | across) & inside & !words[w];
                    words[w] |= new;
                    while new != 0 {
                        let i = BITS * w + new.trailing_zeros() as usize;
                        added.push((nx * (j + ny * k) + i) as u32);
                        new &= new - 1;
                    }
                }
            }
        });
    }
}
