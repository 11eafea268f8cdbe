//! The runs of cells that kernels go through, row by row, with the addresses of all that surrounds them.

use crate::kernels::PIECE;
use crate::layout::{BLOCK, EMPTY, GENERAL, Layout};
use crate::storage::{Storage, bit_runs};

/// Places of both colours in a row; whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub m0: u32,
    pub len: u32,
    /// Address of the first place, and of the same place in the rows beside: low y, high y, low z, high z.
    pub at: u32,
    pub beside: [u32; 4],
    /// Must coefficients be read?
    pub general: bool,
}

impl Span {
    pub fn m0(&self) -> usize {
        self.m0 as usize
    }

    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn at(&self) -> usize {
        self.at as usize
    }

    /// Parts that fit into a buffer.
    #[inline(always)]
    pub fn pieces(self) -> impl Iterator<Item = Span> {
        (0..self.len).step_by(PIECE).map(move |from| Span {
            m0: self.m0 + from,
            len: (self.len - from).min(PIECE as u32),
            at: self.at + from,
            beside: self.beside.map(|at| at + from),
            general: self.general,
        })
    }
}

/// The spans of every active row.
#[derive(Default)]
pub(crate) struct Spans {
    list: Vec<Span>,
    /// First span of each active row, and one more.
    start: Vec<u32>,
}

impl Spans {
    /// Finds the spans from the classes of all blocks.
    pub fn find(&mut self, class: &[u8], l: &Layout, storage: &Storage) {
        self.list.clear();
        self.start.clear();
        for active in &storage.rows {
            self.start.push(self.list.len() as u32);
            let row = active.row as usize;
            let class = &class[row * l.blocks..(row + 1) * l.blocks];
            for (first, end) in bit_runs(storage.active.row(row)) {
                let mut block = first;
                while block < end {
                    let (m0, general) = (block * BLOCK, class[block] == GENERAL);
                    // Empty blocks go with what is before them.
                    while block < end && (class[block] == EMPTY || (class[block] == GENERAL) == general) {
                        block += 1;
                    }
                    self.list.push(Span {
                        m0: m0 as u32,
                        len: (block * BLOCK - m0) as u32,
                        at: storage.at(row, m0) as u32,
                        beside: l.beside(row).map(|near| storage.at(near, m0) as u32),
                        general,
                    });
                }
            }
        }
        self.start.push(self.list.len() as u32);
    }

    /// Those of the `n`-th active row.
    #[inline(always)]
    pub fn of_row(&self, n: usize) -> &[Span] {
        &self.list[self.range(n)]
    }

    /// Their numbers.
    #[inline(always)]
    pub fn range(&self, n: usize) -> std::ops::Range<usize> {
        self.start[n] as usize..self.start[n + 1] as usize
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        size_of::<Span>() * self.list.capacity() + 4 * self.start.capacity()
    }
}

/// First place, places and first address of what is connected in a row.
pub(crate) fn stretches(spans: &[Span]) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = spans.get(next)?;
        let mut end = first.m0 + first.len;
        next += 1;
        while let Some(span) = spans.get(next).filter(|span| span.m0 == end) {
            end += span.len;
            next += 1;
        }
        Some((first.m0(), (end - first.m0) as usize, first.at()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PLAIN;
    use crate::storage::set_bit;

    #[test]
    fn spans_are_cut_where_coefficients_begin_to_matter_and_at_long_gaps() {
        let l = Layout::new([40 * 2 * BLOCK - 3, 1, 1]);
        let mut class = vec![EMPTY; l.rows * l.blocks];
        let row = l.row(0, 0);
        let blocks = &mut class[row * l.blocks..(row + 1) * l.blocks];
        blocks[0..2].fill(GENERAL);
        blocks[2..5].fill(PLAIN);
        blocks[10..20].fill(PLAIN);
        blocks[20..22].fill(GENERAL);
        blocks[22..24].fill(PLAIN);
        blocks[30..40].fill(GENERAL);
        let mut storage = Storage::default();
        storage.active.clear(&l);
        storage.active.fill_rows(|r, words| {
            let active = |block: &usize| class[r * l.blocks + block] != EMPTY;
            (0..l.blocks).filter(active).for_each(|block| set_bit(words, block));
        });
        storage.build(&l);
        let mut spans = Spans::default();
        spans.find(&class, &l, &storage);
        let found: Vec<_> = spans.of_row(0).iter().map(|s| (s.m0(), s.m0() + s.len(), s.general)).collect();
        let expected =
            [(0, 2, true), (2, 5, false), (10, 20, false), (20, 22, true), (22, 24, false), (30, 40, true)];
        assert_eq!(found, expected.map(|(a, b, general)| (a * BLOCK, b * BLOCK, general)));
        let joined: Vec<_> = stretches(spans.of_row(0)).map(|(m0, len, _)| (m0, len)).collect();
        assert_eq!(joined, [(0, 5), (10, 14), (30, 10)].map(|(a, b)| (a * BLOCK, b * BLOCK)));
    }
}
