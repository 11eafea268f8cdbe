//! What the cells of coarser levels have that the leaves' rows do not: connections of cells that finer ones are gathered in.
//!
//! A **parent** holds cells of the finer level; a leaf beside one is connected with it where its ghosts are connected with what
//! the parent holds. Four faces of the first-order operator [power §4.3], of coefficients `w`, make such a face. Flow from centre to
//! centre has to pass them and, on the side of a parent, half an edge of the finer level more than they count:
//!
//! `1 / (2 W) = 1 / S + s / 8`, `S = sum of four w`,
//!
//! with `s` parents beside the face, in units of each level's edge. A whole face then has `W = 1`, as second differences of twice the
//! width ask for; a small opening has `W = S / 2`, which is the Galerkin product with constants: what hangs on the rest
//! by small openings alone moves as one piece, and with half of that, as a mean of four has, its correction would be twice
//! too large on one level, and four times on two. The part towards the free surface keeps the surface where
//! it is, as seen from the coarser cell's centre.

use super::cells::{StreamLevel, Streams};
use crate::kernels::Block;
use crate::rows::{Rows, place};
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::pyramid::{NEIGHBOURS, Pyramid, bits};

/// Coefficients towards the six sides, in units of the level's edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FaceRow {
    pub weight: [f32; 6],
    pub excess: f32,
}

impl FaceRow {
    const PLAIN: FaceRow = FaceRow { weight: [1.0; 6], excess: 0.0 };

    pub fn diagonal(&self) -> f32 {
        self.weight.iter().sum::<f32>() + self.excess
    }
}

/// Coefficients of a level besides those of leaves and ghosts.
#[derive(Clone, Debug, Default)]
pub(super) struct LevelFaces {
    /// By block: parents with the stencil of a uniform grid, cells with a row here, and the first of these.
    pub plain: Vec<u64>,
    pub extra: Vec<u64>,
    pub first: Vec<u32>,
    pub rows: Vec<FaceRow>,
    /// By block and side: parents whose values go on beyond it, to a neighbour's or to the surface's zero.
    pub open: Vec<[u64; 6]>,
}

impl LevelFaces {
    pub fn row(&self, n: usize, cell: usize) -> Option<&FaceRow> {
        let (mask, bit) = (self.extra[n], 1u64 << cell);
        (mask & bit != 0).then(|| &self.rows[(self.first[n] + (mask & (bit - 1)).count_ones()) as usize])
    }
}

/// Nearest that the surface comes to the centre of a coarser cell, in its edges.
const NEAREST: f32 = 0.02;
/// Values go on linearly beyond faces that are as open as this.
const OPEN: f32 = 0.5;

/// By cell and side: does it lie in the block beside, and where?
pub(super) const BESIDE: [[(bool, u8); 6]; 64] = {
    let mut all = [[(false, 0); 6]; 64];
    let mut n = 0;
    while n < 384 {
        let (cell, k) = (n / 6, n % 6);
        let stride = 1 << (2 * (k / 2));
        let at = cell / stride % 4;
        all[cell][k] = if k % 2 == 0 {
            if at == 0 { (true, (cell + 3 * stride) as u8) } else { (false, (cell - stride) as u8) }
        } else if at == 3 {
            (true, (cell - 3 * stride) as u8)
        } else {
            (false, (cell + stride) as u8)
        };
        n += 1;
    }
    all
};

/// The eight children of a cell: octant of their block and places in it; child `n` is on the high side of axis `a` if bit `a` is
/// set.
#[inline(always)]
pub(super) fn children(cell: usize) -> (usize, [usize; 8]) {
    let at = [cell & 3, cell >> 2 & 3, cell >> 4];
    let octant = at[0] >> 1 | (at[1] >> 1) << 1 | (at[2] >> 1) << 2;
    let base = 2 * (at[0] & 1) + 8 * (at[1] & 1) + 32 * (at[2] & 1);
    (octant, std::array::from_fn(|n| base + (n & 1) + 4 * (n >> 1 & 1) + 16 * (n >> 2)))
}

impl StreamLevel {
    /// The cell beyond a side: number of its block, and its place.
    #[inline(always)]
    pub(super) fn beside(&self, n: usize, cell: usize, k: usize) -> (usize, usize) {
        let (outside, place) = BESIDE[cell][k];
        (if outside { self.faces[n][k] as usize } else { self.first + n }, place as usize)
    }
}

/// The cell at neighbour `k`: number of its block, and its place. Beyond the level's blocks it is the block of zeros.
pub(super) fn across(level: &StreamLevel, n: usize, cell: usize, k: usize) -> (usize, usize) {
    let (mut at, mut place) = ([1usize; 3], cell);
    for axis in AXES {
        let side = match NEIGHBOURS[k][axis] {
            0 => continue,
            s => 2 * axis + usize::from(s > 0),
        };
        let (outside, next) = BESIDE[place][side];
        place = next as usize;
        if outside {
            at[axis] = 2 * (side % 2);
        }
    }
    (level.block_at(n, at), place)
}

/// The coefficients of all levels, from the first-order operator's rows.
pub(super) fn level_faces(streams: &Streams, pyramid: &Pyramid, first: &Rows) -> Vec<LevelFaces> {
    let mut all = vec![LevelFaces::none(streams.levels[0].cells.len())];
    for l in 1..streams.levels.len() {
        let source = Source { streams, pyramid, first, l: l - 1, faces: &all[l - 1] };
        let level = &streams.levels[l];
        let found = parallel::map_indices(level.cells.len(), |n| source.above(level, n));
        let mut faces = LevelFaces::default();
        for (plain, extra, open, rows) in found {
            faces.plain.push(plain);
            faces.extra.push(extra);
            faces.first.push(faces.rows.len() as u32);
            faces.open.push(open);
            faces.rows.extend(rows);
        }
        all.push(faces);
    }
    all
}

impl LevelFaces {
    fn none(blocks: usize) -> LevelFaces {
        LevelFaces {
            plain: vec![0; blocks],
            extra: vec![0; blocks],
            first: vec![0; blocks],
            rows: vec![],
            open: vec![[0; 6]; blocks],
        }
    }
}

/// The level that coefficients are gathered from.
struct Source<'a> {
    streams: &'a Streams,
    pyramid: &'a Pyramid,
    first: &'a Rows,
    l: usize,
    faces: &'a LevelFaces,
}

type Found = (u64, u64, [u64; 6], Vec<FaceRow>);

impl Source<'_> {
    /// What the cells of a block of the next coarser level have.
    fn above(&self, level: &StreamLevel, n: usize) -> Found {
        let fine = &self.streams.levels[self.l];
        let none = self.streams.blocks;
        let (mut plain, mut extra, mut open, mut rows) = (0, 0, [0; 6], vec![]);
        let below = &level.below[n];
        if below.iter().all(|&b| b as usize == none) {
            return (plain, extra, open, rows);
        }
        let cells = &level.cells[n];
        for cell in bits(cells.parent | cells.unknown()) {
            let is_parent = cells.parent >> cell & 1 == 1;
            let (octant, children) = children(cell);
            let Some(block) =
                (below[octant] as usize).checked_sub(fine.first).filter(|_| below[octant] as usize != none)
            else {
                continue;
            };
            let inside = &fine.cells[block];
            let known = if is_parent { inside.unknown() | inside.parent } else { inside.ghost };
            if children.iter().all(|&c| known >> c & 1 == 0) {
                continue;
            }
            let mut row = FaceRow::default();
            let mut to_surface = 0u64;
            for (number, &child) in children.iter().enumerate().filter(|(_, c)| known >> **c & 1 == 1) {
                let own = self.row(fine, block, child);
                for k in 0..6 {
                    let is_outer = (number >> (k / 2) & 1) == k % 2;
                    if is_outer {
                        row.weight[k] += own.weight[k];
                        to_surface |= u64::from(own.excess > 0.0) << k;
                    }
                }
                if own.excess > 0.0 {
                    // The surface is a quarter of the coarser cell's edge farther from its centre than from an outer child's, and
                    // nearer than from a child whose sibling is air.
                    let missing = is_parent && (0..3).any(|a| known >> children[number ^ 1 << a] & 1 == 0);
                    let distance = 0.5 / own.excess + if missing { -0.25 } else { 0.25 };
                    row.excess += 0.25 / distance.max(NEAREST);
                }
            }
            if row.diagonal() == 0.0 {
                continue;
            }
            for (k, weight) in row.weight.iter_mut().enumerate().filter(|(_, w)| **w > 0.0) {
                let is_beside_parent = || {
                    let (block, at) = level.beside(n, cell, k);
                    let beside = block.checked_sub(level.first).and_then(|n| level.cells.get(n));
                    beside.is_some_and(|cells| cells.parent >> at & 1 == 1)
                };
                let parents = if is_parent && is_beside_parent() { 0.5 } else { 0.25 };
                let whole = 2.0 / *weight + parents;
                *weight = if (whole - 1.0).abs() < 1e-6 { 1.0 } else { 1.0 / whole };
            }
            if is_parent {
                for (k, open) in open.iter_mut().enumerate() {
                    *open |= u64::from(row.weight[k] >= OPEN || to_surface >> k & 1 == 1) << cell;
                }
            }
            if is_parent && row == FaceRow::PLAIN {
                plain |= 1 << cell;
            } else {
                extra |= 1 << cell;
                rows.push(row);
            }
        }
        (plain, extra, open, rows)
    }

    /// Coefficients of a cell's faces in the first-order operator, and what leads to the surface.
    fn row(&self, level: &StreamLevel, n: usize, cell: usize) -> FaceRow {
        let (cells, bit) = (&level.cells[n], 1u64 << cell);
        if (cells.uniform | self.faces.plain[n]) & bit != 0 {
            return FaceRow::PLAIN;
        }
        let mut out = self.faces.row(n, cell).copied().unwrap_or_default();
        let (Some(rows), Some(tree)) = (self.first.levels.get(self.l), self.pyramid.levels().get(self.l))
        else {
            return out;
        };
        let Some(position) = tree.grid.blocks().position(level.page(n)) else { return out };
        let block = &rows.blocks[position];
        if block.special & bit == 0 {
            return out;
        }
        let at = block.first + (block.special & (bit - 1)).count_ones();
        let row = &self.first.rows[rows.row_of[at as usize] as usize];
        for (k, weight) in out.weight.iter_mut().enumerate() {
            let (line, at) = place(k);
            *weight += row.weight[line][at];
        }
        out.excess += row.excess;
        out
    }
}

/// By cell of a block what divides its residual: zero in cells that are no unknowns.
pub(super) fn inverse_diagonal(
    level: &StreamLevel,
    faces: &LevelFaces,
    n: usize,
    rows: &[crate::rows::Row],
) -> Option<Block<f32>> {
    let cells = &level.cells[n];
    let plain = cells.uniform | faces.plain[n];
    if plain == !0 {
        return None;
    }
    let mut out = [0.0f32; 64];
    bits(plain).for_each(|cell| out[cell] = 6.0);
    for (cell, i) in bits(cells.special).zip(cells.first_row as usize..) {
        if cells.ghost >> cell & 1 == 0 {
            out[cell] = rows[level.row_of[i] as usize].diagonal;
        }
    }
    for (cell, i) in bits(faces.extra[n]).zip(faces.first[n] as usize..) {
        out[cell] += faces.rows[i].diagonal();
    }
    out.iter_mut().filter(|d| **d > 0.0).for_each(|d| *d = 1.0 / (*d * level.dx));
    Some(out)
}
