//! Sorting particles by cell, so that what is near in space is near in memory.

use crate::Particles;
use crate::particles::fit;
use crate::resample::BinPlan;
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{self, CHUNK};
use fluvial_grids::UniformGrid;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Consecutive cells that one task of the second sorting pass takes.
pub(crate) const CELLS_PER_BIN: usize = 1 << 12;

/// Which particles lie in which cell, after [`Particles::sort_by_cell`] or [`resample`](crate::resample).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellRanges {
    /// First particle of each cell, and one past the last particle at the end.
    pub(crate) start: Vec<u32>,
}

impl CellRanges {
    /// The particles of a cell (flat index in the layout of `grid.cell_centers()`).
    #[inline]
    pub fn of_cell(&self, cell: usize) -> Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    /// The particles of the consecutive cells `cells`.
    #[inline]
    pub fn of_cells(&self, cells: Range<usize>) -> Range<usize> {
        self.start[cells.start] as usize..self.start[cells.end] as usize
    }

    /// How many particles a cell holds.
    #[inline]
    pub fn count(&self, cell: usize) -> usize {
        (self.start[cell + 1] - self.start[cell]) as usize
    }

    /// Do these ranges describe `particles` as they are now?
    pub fn describe(&self, particles: &Particles, grid: &UniformGrid) -> bool {
        let n = particles.len();
        if self.start.len() != grid.cell_count() + 1 || self.start[grid.cell_count()] as usize != n {
            return false;
        }
        let locate = Locator::new(grid);
        parallel::map_indices(parallel::chunk_count(n, CHUNK), |chunk| {
            parallel::chunk_range(chunk, CHUNK, n)
                .all(|i| self.of_cell(locate.cell(particles.x[i]) as usize).contains(&i))
        })
        .into_iter()
        .all(|ok| ok)
    }
}

/// Memory that moving, sorting, resampling and correcting reuse from step to step.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Cell of each particle, [`GONE`] for those that go.
    pub(crate) keys: Vec<u32>,
    histogram: Vec<u32>,
    bin_start: Vec<u32>,
    by_bin: Vec<AtomicU32>,
    pub(crate) order: Vec<u32>,
    /// Velocities of the particles and of their flights, before they are put into order.
    pub(crate) v: Vec<[Vec3; 2]>,
    /// Velocity of each particle that flew in the last [`advect`](crate::advect), NaN of one that was carried.
    pub(crate) flown: Vec<Vec3>,
    /// Particles that the last [`advect`](crate::advect) found no way out of a solid for.
    pub(crate) trapped: Vec<u32>,
    pub(crate) bins: Vec<BinPlan>,
    pub(crate) phi: Vec<f32>,
}

impl Scratch {
    /// Velocity of each particle that flew in the last [`advect`](crate::advect), in the order that it left them
    /// in, m/s; NaN of one that the liquid carried.
    pub fn flown(&self) -> &[Vec3] {
        &self.flown
    }

    /// Particles that the last [`advect`](crate::advect) found no way out of a solid for, in the order before it.
    pub fn trapped(&self) -> &[u32] {
        &self.trapped
    }
}

/// Key of a particle that is left out.
pub(crate) const GONE: u32 = u32::MAX;

/// Finds the cell of a position: outside ones count to the nearest cell.
#[derive(Clone, Copy)]
pub(crate) struct Locator {
    min: Vec3,
    inverse_dx: f32,
    top: Vec3,
    stride: [u32; 2],
}

impl Locator {
    pub fn new(grid: &UniformGrid) -> Self {
        assert!(grid.cell_count() < u32::MAX as usize, "cells are numbered in 32 bits");
        let [nx, ny, nz] = grid.cells;
        Locator {
            min: grid.min,
            inverse_dx: 1.0 / grid.dx,
            top: Vec3::new((nx - 1) as f32, (ny - 1) as f32, (nz - 1) as f32),
            stride: [nx as u32, (nx * ny) as u32],
        }
    }

    #[inline]
    pub fn cell(&self, x: Vec3) -> u32 {
        // A cast truncates, which is the floor here because negative values are clamped first.
        let c = ((x - self.min) * self.inverse_dx).max(Vec3::ZERO).min(self.top);
        c.x as u32 + self.stride[0] * (c.y as u32) + self.stride[1] * (c.z as u32)
    }
}

impl Particles {
    /// Sorts all arrays by cell, x fastest, and finds where each cell's particles start.
    ///
    /// Particles of one cell keep the order they had, so the result depends on the particles alone. Particles
    /// outside the box are filed under the nearest cell. Nothing is moved if `ranges` already describe the
    /// order. Tests: `sorting_groups_particles_by_cell_and_keeps_the_order_within`,
    /// `thread_count_changes_no_bit`.
    pub fn sort_by_cell(&mut self, grid: &UniformGrid, ranges: &mut CellRanges, scratch: &mut Scratch) {
        if ranges.describe(self, grid) {
            return;
        }
        let locate = Locator::new(grid);
        fit(&mut scratch.keys, self.len());
        parallel::for_each_beside_mut(&mut scratch.keys, &self.x, |key, &x| *key = locate.cell(x));
        order_by_keys(ranges, scratch, grid.cell_count());
        self.rearrange(&scratch.order);
    }
}

/// Finds the order of particles by their `keys`, less those that are gone, and the start of each cell in it.
///
/// A stable counting sort in two passes: bins of 4096 cells, then cells within a bin.
pub(crate) fn order_by_keys(ranges: &mut CellRanges, scratch: &mut Scratch, cells: usize) {
    assert!(scratch.keys.len() < NEW as usize, "particles are numbered in 31 bits");
    let bins = parallel::chunk_count(cells, CELLS_PER_BIN);
    count_bins(scratch, bins);
    scan_bins(scratch, bins);
    fill_bins(scratch, bins);
    order_cells(ranges, scratch, cells);
}

/// How many of each chunk of particles fall in each bin.
fn count_bins(scratch: &mut Scratch, bins: usize) {
    let Scratch { keys, histogram, .. } = scratch;
    histogram.clear();
    histogram.resize(parallel::chunk_count(keys.len(), CHUNK) * bins, 0);
    parallel::for_each_chunk_mut(histogram, bins, |chunk, histogram| {
        for &key in &keys[parallel::chunk_range(chunk, CHUNK, keys.len())] {
            if key != GONE {
                histogram[key as usize / CELLS_PER_BIN] += 1;
            }
        }
    });
}

/// Marks an entry of an order as a seed instead of an old particle.
pub(crate) const NEW: u32 = 1 << 31;

/// Turns counts per (chunk, bin) into the place where each chunk's share of each bin starts.
fn scan_bins(scratch: &mut Scratch, bins: usize) {
    let mut total = 0;
    scratch.bin_start.clear();
    for bin in 0..bins {
        scratch.bin_start.push(total);
        for count in scratch.histogram.iter_mut().skip(bin).step_by(bins) {
            total += std::mem::replace(count, total);
        }
    }
    scratch.bin_start.push(total);
}

/// Lists the particles of each bin, in their old order.
fn fill_bins(scratch: &mut Scratch, bins: usize) {
    let Scratch { keys, histogram, by_bin, bin_start, .. } = scratch;
    by_bin.resize_with(bin_start[bins] as usize, Default::default);
    parallel::for_each_chunk_mut(histogram, bins, |chunk, place| {
        for i in parallel::chunk_range(chunk, CHUNK, keys.len()).filter(|&i| keys[i] != GONE) {
            let place = &mut place[keys[i] as usize / CELLS_PER_BIN];
            // Chunks write disjoint places, so the order of these stores does not matter.
            by_bin[*place as usize].store(i as u32, Ordering::Relaxed);
            *place += 1;
        }
    });
}

/// Sorts each bin by cell, which gives the final order and the start of every cell.
fn order_cells(ranges: &mut CellRanges, scratch: &mut Scratch, cells: usize) {
    let n = scratch.by_bin.len();
    fit(&mut scratch.order, n);
    ranges.start.resize(cells + 1, 0);
    ranges.start[cells] = n as u32;
    let lengths = scratch.bin_start.windows(2).map(|w| (w[1] - w[0]) as usize);
    let orders = split_lengths(&mut scratch.order, lengths);
    let starts = ranges.start[..cells].chunks_mut(CELLS_PER_BIN);
    let mut tasks: Vec<_> = orders.into_iter().zip(starts).collect();
    let (keys, by_bin, bin_start) = (&scratch.keys, &scratch.by_bin, &scratch.bin_start);
    parallel::for_each_chunk_mut(&mut tasks, 1, |bin, task| {
        let (order, start) = &mut task[0];
        let first_cell = bin * CELLS_PER_BIN;
        let members = &by_bin[bin_start[bin] as usize..bin_start[bin + 1] as usize];
        let cell_of = |member: u32| keys[member as usize] as usize - first_cell;
        start.fill(0);
        for member in members {
            start[cell_of(member.load(Ordering::Relaxed))] += 1;
        }
        let mut total = 0;
        for count in start.iter_mut() {
            total += std::mem::replace(count, total);
        }
        for member in members {
            let member = member.load(Ordering::Relaxed);
            let place = &mut start[cell_of(member)];
            order[*place as usize] = member;
            *place += 1;
        }
        // Every start has advanced to the next cell's start: move back by one cell and to global numbers.
        let cells_here = start.len();
        start.copy_within(0..cells_here - 1, 1);
        start[0] = 0;
        start.iter_mut().for_each(|s| *s += bin_start[bin]);
    });
}

/// Cuts a slice into consecutive pieces of the given lengths.
pub(crate) fn split_lengths<T>(mut slice: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths
        .map(|length| {
            let (piece, rest) = std::mem::take(&mut slice).split_at_mut(length);
            slice = rest;
            piece
        })
        .collect()
}
