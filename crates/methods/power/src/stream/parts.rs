//! Connected parts of the unknowns: those on which constants are in the null space, and leaves on their own.

use super::cells::{StreamLevel, Streams};
use super::faces::across;
use crate::rows::{Row, place};
use fluvial_grids::pyramid::{bits, parent_cell};
use fluvial_linear::krylov::Real;

/// No sealed part.
const OPEN: u32 = u32::MAX;

/// What the connections of a stream's unknowns make of them.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// By value of a field, the sealed part that it is in, or none; empty if there is none at all.
    label: Vec<u32>,
    /// Number of unknowns of each sealed part.
    members: Vec<usize>,
    /// Numbers of unknown leaves that no other is connected with.
    pub alone: Vec<u32>,
}

impl Parts {
    /// Union-find over coefficients. A part is sealed if nothing leads to the surface from it.
    pub(super) fn find(streams: &Streams, rows: &[Row]) -> Parts {
        let mut parent: Vec<u32> = (0..64 * streams.blocks as u32).collect();
        let mut linked = vec![0u64; streams.blocks];
        let mut outlets = vec![];
        for (l, level) in streams.levels.iter().enumerate() {
            for (n, cells) in level.cells.iter().enumerate() {
                let own = level.first + n;
                linked[own] |= cells.uniform;
                for cell in bits(cells.uniform) {
                    // The three low sides are others' high ones, or in their rows.
                    for k in [1, 3, 5] {
                        let (block, at) = level.beside(n, cell, k);
                        linked[block] |= 1 << at;
                        join(&mut parent, slot(own, cell), slot(block, at));
                    }
                }
                for (cell, i) in bits(cells.special).zip(cells.first_row as usize..) {
                    let row = &rows[level.row_of[i] as usize];
                    let (block, at) = leaf(streams, l, own, cell);
                    if row.excess > 0.0 {
                        outlets.push(slot(block, at));
                    }
                    for k in (0..18).filter(|&k| row.weight[place(k).0][place(k).1] > 0.0) {
                        let (next, next_at) = across(level, n, cell, k);
                        let (next, next_at) = leaf(streams, l, next, next_at);
                        linked[next] |= 1 << next_at;
                        linked[block] |= 1 << at;
                        join(&mut parent, slot(block, at), slot(next, next_at));
                    }
                }
            }
        }
        let mut open = vec![0u64; streams.blocks];
        for outlet in outlets {
            let root = root(&mut parent, outlet);
            open[root as usize / 64] |= 1 << (root % 64);
        }
        let mut parts = Parts::default();
        for level in &streams.levels {
            for (n, cells) in level.cells.iter().enumerate() {
                let alone = cells.unknown() & !linked[level.first + n];
                parts.alone.extend(bits(alone).map(|cell| number(level, n, cell)));
            }
        }
        parts.label_sealed(streams, &mut parent, &open);
        parts
    }

    fn label_sealed(&mut self, streams: &Streams, parent: &mut [u32], open: &[u64]) {
        let mut part_of = std::collections::BTreeMap::new();
        for level in &streams.levels {
            for (n, cells) in level.cells.iter().enumerate() {
                for cell in bits(cells.unknown()) {
                    let own = slot(level.first + n, cell);
                    let root = root(parent, own);
                    if open[root as usize / 64] >> (root % 64) & 1 == 1 {
                        continue;
                    }
                    if self.label.is_empty() {
                        self.label = vec![OPEN; parent.len()];
                    }
                    let next = part_of.len() as u32;
                    let part = *part_of.entry(root).or_insert(next);
                    self.members.resize(part_of.len(), 0);
                    self.members[part as usize] += 1;
                    self.label[own as usize] = part;
                }
            }
        }
    }

    /// Number of sealed parts.
    pub fn sealed(&self) -> usize {
        self.members.len()
    }

    /// Takes from every sealed part its mean.
    pub(super) fn remove_means<T: Real>(&self, v: &mut [T]) {
        if self.members.is_empty() {
            return;
        }
        let mut mean = vec![0.0f64; self.members.len()];
        let labelled = || self.label.iter().enumerate().filter(|(_, l)| **l != OPEN);
        labelled().for_each(|(n, &label)| mean[label as usize] += v[n].into());
        mean.iter_mut().zip(&self.members).for_each(|(mean, &count)| *mean /= count as f64);
        labelled().for_each(|(n, &label)| v[n] = T::from_f64(v[n].into() - mean[label as usize]));
    }
}

fn slot(block: usize, cell: usize) -> u32 {
    (64 * block + cell) as u32
}

/// Number of a leaf in the tree.
fn number(level: &StreamLevel, n: usize, cell: usize) -> u32 {
    let cells = &level.cells[n];
    cells.first_leaf + (cells.active & ((1 << cell) - 1)).count_ones()
}

/// The leaf that a cell of a level stands for: itself, or the one around a ghost.
fn leaf(streams: &Streams, l: usize, block: usize, cell: usize) -> (usize, usize) {
    let level = &streams.levels[l];
    let n = block - level.first;
    if level.cells[n].ghost >> cell & 1 == 0 {
        return (block, cell);
    }
    let (above, octant) = level.above[n];
    (above as usize, parent_cell(cell, octant as usize))
}

fn join(parent: &mut [u32], a: u32, b: u32) {
    if parent[a as usize] != parent[b as usize] {
        let (a, b) = (root(parent, a), root(parent, b));
        parent[a.max(b) as usize] = a.min(b);
    }
}

fn root(parent: &mut [u32], mut n: u32) -> u32 {
    while parent[n as usize] != n {
        let up = parent[parent[n as usize] as usize];
        parent[n as usize] = up;
        n = up;
    }
    n
}
