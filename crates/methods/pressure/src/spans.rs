//! The runs of cells that kernels go through, row by row.
//!
//! A kernel call costs as much as some dozens of cells. So runs are joined: over short gaps, whose cells are no unknowns and
//! stay zero, and over short stretches without coefficients of their own, which are read all the same.

use crate::kernels::PIECE;
use crate::layout::{BLOCK, EMPTY, GENERAL, Layout};

/// Gaps of up to so many blocks are gone through.
const GAP: usize = 4;
/// Stretches of fewer blocks have their coefficients read when those of a neighbour are.
const SHORT: usize = 4;

/// Places of both colours in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub m0: u32,
    pub len: u32,
    /// Must coefficients be read?
    pub general: bool,
}

impl Span {
    /// First place and places of parts that fit into a buffer.
    #[inline(always)]
    pub fn pieces(self) -> impl Iterator<Item = (usize, usize)> {
        let (m0, end) = (self.m0 as usize, (self.m0 + self.len) as usize);
        (m0..end).step_by(PIECE).map(move |start| (start, PIECE.min(end - start)))
    }
}

/// The spans of every row.
#[derive(Default)]
pub(crate) struct Spans {
    list: Vec<Span>,
    /// First span of each row, and one more.
    start: Vec<u32>,
}

impl Spans {
    /// Finds the spans from the classes of all blocks.
    pub fn find(&mut self, class: &[u8], l: &Layout) {
        self.list.clear();
        self.start.clear();
        self.start.reserve_exact(l.rows + 1);
        for row in class.chunks_exact(l.blocks) {
            self.start.push(self.list.len() as u32);
            let first = self.list.len();
            let mut block = 0;
            while block < row.len() {
                let start = block;
                while block < row.len() && row[block] == row[start] {
                    block += 1;
                }
                if row[start] != EMPTY {
                    self.add(first, start, block, row[start] == GENERAL);
                }
            }
            for span in &mut self.list[first..] {
                let end = ((span.m0 + span.len) as usize * BLOCK).min(l.half);
                let m0 = span.m0 as usize * BLOCK;
                *span = Span { m0: m0 as u32, len: (end - m0) as u32, general: span.general };
            }
        }
        self.start.push(self.list.len() as u32);
    }

    /// Adds a run of blocks to a row whose spans begin at `first`, in blocks for now.
    fn add(&mut self, first: usize, start: usize, end: usize, general: bool) {
        let next = Span { m0: start as u32, len: (end - start) as u32, general };
        let short = |span: &Span| !span.general && span.len < SHORT as u32;
        match self.list[first..].last_mut() {
            Some(last)
                if start <= (last.m0 + last.len) as usize + GAP
                    && (last.general == general || short(last) || short(&next)) =>
            {
                last.len = end as u32 - last.m0;
                last.general |= general;
            }
            _ => self.list.push(next),
        }
    }

    /// Those of a row.
    #[inline(always)]
    pub fn of_row(&self, row: usize) -> &[Span] {
        &self.list[self.start[row] as usize..self.start[row + 1] as usize]
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        size_of::<Span>() * self.list.capacity() + 4 * self.start.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PLAIN;

    #[test]
    fn short_neighbours_are_joined_and_long_ones_are_not() {
        // One row of cells: the second of a grid of one slab, between rim rows.
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
        let mut spans = Spans::default();
        spans.find(&class, &l);
        let found: Vec<(usize, usize, bool)> =
            spans.of_row(row).iter().map(|s| (s.m0 as usize, s.len as usize, s.general)).collect();
        let places = |from: usize, to: usize| (from * BLOCK, (to * BLOCK).min(l.half) - from * BLOCK);
        let expected = [(0, 5, true), (10, 20, false), (20, 24, true), (30, 40, true)];
        assert_eq!(found, expected.map(|(a, b, general)| (places(a, b).0, places(a, b).1, general)));
        assert!((0..l.rows).filter(|&r| r != row).all(|r| spans.of_row(r).is_empty()));
    }
}
