//! One bit per sample (set: liquid), packed along x, with a ring of air around the lattice.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// Sign bits of the padded lattice: padded sample p is sample p - 1, the ring is air.
pub struct SignBits {
    /// Padded samples along each axis.
    pub size: [usize; 3],
    words: usize,
    bits: Vec<u64>,
}

impl SignBits {
    /// Packs `fill_row(j, k, out)`, which gives one x-row of values; NaN counts as air.
    pub fn pack(lattice: &Lattice, fill_row: impl Fn(usize, usize, &mut [f32]) + Sync) -> SignBits {
        let size = lattice.size.map(|n| n + 2);
        let words = size[0].div_ceil(64);
        let mut bits = vec![0u64; words * size[1] * size[2]];
        parallel::for_each_chunk_mut(&mut bits, words * size[1], |pk, slab| {
            if pk == 0 || pk + 1 == size[2] {
                return;
            }
            // The row buffer is padded like the bits, so that words cut it at multiples of 64.
            let mut row = vec![f32::INFINITY; words * 64];
            for pj in 1..size[1] - 1 {
                fill_row(pj - 1, pk - 1, &mut row[1..=lattice.size[0]]);
                for (word, values) in slab[pj * words..][..words].iter_mut().zip(row.chunks_exact(64)) {
                    *word = pack_word(values);
                }
            }
        });
        SignBits { size, words, bits }
    }

    /// Words per row.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The words of padded row (j, k).
    #[inline]
    pub fn row(&self, j: usize, k: usize) -> &[u64] {
        &self.bits[self.words * (j + self.size[1] * k)..][..self.words]
    }

    /// 1 where padded sample (i, j, k) is liquid.
    #[inline]
    pub fn get(&self, i: usize, j: usize, k: usize) -> usize {
        (self.row(j, k)[i / 64] >> (i % 64)) as usize & 1
    }

    /// Corner signs of padded cell (i, j, k), which spans padded samples (i, j, k) to (i+1, j+1, k+1).
    #[inline]
    pub fn cell(&self, i: usize, j: usize, k: usize) -> usize {
        (0..8).fold(0, |signs, c| signs | self.get(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)) << c)
    }
}

#[inline]
fn pack_word(values: &[f32]) -> u64 {
    let mut word = 0;
    for (byte, eight) in values.chunks_exact(8).enumerate() {
        let mut packed = 0u64;
        for (bit, &v) in eight.iter().enumerate() {
            packed |= u64::from(v < 0.0) << bit;
        }
        word |= packed << (8 * byte);
    }
    word
}

/// Word `w` of `row` shifted so that bit i holds what was bit i + 1.
#[inline]
pub fn next_bits(row: &[u64], w: usize) -> u64 {
    row[w] >> 1 | row.get(w + 1).map_or(0, |next| next << 63)
}

/// Calls `body` with the index of every set bit, lowest first.
#[inline]
pub fn for_each_bit(mut word: u64, mut body: impl FnMut(usize)) {
    while word != 0 {
        body(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}
