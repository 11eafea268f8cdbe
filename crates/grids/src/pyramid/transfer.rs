//! Transfers between a level's ghosts and the leaves of the next coarser one, along lists that are fixed with
//! the tree.

use super::sets::{bits, parent_cell, parent_page};
use super::{Level, SolverGrid};
use fluvial_foundation::parallel;
use std::ops::Range;

/// A block with ghosts and the block of the coarser level that covers it.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    coarse: u32,
    fine_page: u64,
    coarse_page: u64,
    octant: u8,
    ghost: u64,
}

/// All transfers between a level and the next coarser one.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    by_fine: Vec<Transfer>,
    fine: Vec<u32>,
    by_coarse: Vec<Transfer>,
    coarse: Vec<u32>,
    /// Of `by_coarse`, those of each block in `coarse`.
    ranges: Vec<Range<usize>>,
    /// Where a block stands in `by_fine` or in `ranges`, by its position in its level.
    place_of_fine: Vec<u32>,
    place_of_coarse: Vec<u32>,
}

impl Transfers {
    pub fn new(fine: &Level, coarse: &Level) -> Transfers {
        let pages = fine.grid.blocks().pages();
        let with_ghosts: Vec<u32> =
            fine.used.iter().copied().filter(|&n| fine.cells[n as usize].ghost != 0).collect();
        let by_fine = parallel::map_indices(with_ghosts.len(), |n| {
            let position = with_ghosts[n];
            let fine_page = pages[position as usize];
            let (coarse_page, octant) = parent_page(fine.grid.layout(), coarse.grid.layout(), fine_page);
            let found = coarse.grid.blocks().position(coarse_page);
            Transfer {
                coarse: found.expect("ghosts lie in leaves of the next level") as u32,
                fine_page,
                coarse_page,
                octant: octant as u8,
                ghost: fine.cells[position as usize].ghost,
            }
        });
        let mut by_coarse = by_fine.clone();
        by_coarse.sort_by_key(|t| (t.coarse, t.octant));
        let mut ranges: Vec<Range<usize>> = vec![];
        for group in by_coarse.chunk_by(|a, b| a.coarse == b.coarse) {
            let start = ranges.last().map_or(0, |r| r.end);
            ranges.push(start..start + group.len());
        }
        let with_children: Vec<u32> = ranges.iter().map(|r| by_coarse[r.start].coarse).collect();
        Transfers {
            place_of_fine: places(&with_ghosts, fine.cells.len()),
            place_of_coarse: places(&with_children, coarse.cells.len()),
            fine: with_ghosts,
            coarse: with_children,
            by_fine,
            by_coarse,
            ranges,
        }
    }
}

fn places(positions: &[u32], blocks: usize) -> Vec<u32> {
    let mut places = vec![u32::MAX; blocks];
    positions.iter().zip(0..).for_each(|(&position, place)| places[position as usize] = place);
    places
}

/// Ghosts receive the value of the leaf around them.
pub fn propagate(fine: &mut Level, coarse: &SolverGrid, channel: usize) {
    let transfers = &fine.transfers;
    fine.grid.for_each_block(Some(&transfers.fine), [channel], |position, _, _, [out]| {
        let transfer = &transfers.by_fine[transfers.place_of_fine[position] as usize];
        let from = coarse.channel(transfer.coarse_page, channel);
        bits(transfer.ghost).for_each(|cell| out[cell] = from[parent_cell(cell, transfer.octant as usize)]);
    });
}

/// Leaves receive the sum over the ghosts inside them.
pub fn accumulate(coarse: &mut Level, fine: &Level, channel: usize) {
    let transfers = &fine.transfers;
    coarse.grid.for_each_block(Some(&transfers.coarse), [channel], |position, _, _, [out]| {
        let place = transfers.place_of_coarse[position] as usize;
        for transfer in &transfers.by_coarse[transfers.ranges[place].clone()] {
            let from = fine.grid.channel(transfer.fine_page, channel);
            bits(transfer.ghost)
                .for_each(|cell| out[parent_cell(cell, transfer.octant as usize)] += from[cell]);
        }
    });
}
