//! Particles among the finest cells of a tree: sorted by cell, and their velocity on faces
//! [octree §7.2; zhu-2005; ferstl-2016].
//!
//! [`seeding`]: where they are born. [`flight`]: how they move. [`surface`]: the liquid that they put back.

pub mod flight;
pub mod seeding;
pub mod surface;

use crate::sides::TreeSides;
use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// In no finest cell.
const NOWHERE: u32 = u32::MAX;

/// Which particles are in which finest cell: those of one stand together in the order of [`Bins::sort`].
#[derive(Clone, Debug, Default)]
pub struct Bins {
    /// Where each finest cell's particles start, and their end.
    start: Vec<u32>,
    /// The sorted order: particle numbers as they were handed in.
    order: Vec<u32>,
    key: Vec<u32>,
}

impl Bins {
    /// Finds the order in which particles stand cell by cell; those that `counts` leaves out or that are in
    /// no finest cell come last. Stable: it depends on nothing but the order they came in.
    pub fn sort(&mut self, tree: &Octree, x: &[Vec3], counts: impl Fn(usize) -> bool + Sync) -> &[u32] {
        let cells = tree.cells_of(0).len();
        debug_assert_eq!(tree.cells_of(0).start, 0, "finest cells come first");
        self.key.resize(x.len(), 0);
        parallel::for_each_indexed_mut(&mut self.key, |p, key| {
            let located = tree.locate(x[p]);
            *key = if counts(p) && located.level == 0 { located.cell } else { NOWHERE };
        });
        let slot = |key: u32| if key == NOWHERE { cells } else { key as usize };
        self.start.clear();
        self.start.resize(cells + 2, 0);
        for &key in &self.key {
            self.start[slot(key) + 1] += 1;
        }
        for n in 0..=cells {
            self.start[n + 1] += self.start[n];
        }
        self.order.resize(x.len(), 0);
        for (p, &key) in self.key.iter().enumerate() {
            let next = &mut self.start[slot(key)];
            self.order[*next as usize] = p as u32;
            *next += 1;
        }
        // Every start has moved on to the next one's.
        self.start.pop();
        self.start.rotate_right(1);
        self.start[0] = 0;
        &self.order
    }

    /// The order of the last sort.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Sorted numbers of a cell's particles; none for cells that are not of the finest.
    #[inline]
    pub fn of(&self, cell: usize) -> Range<usize> {
        match self.start.get(cell..cell + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// How many particles are in finest cells.
    pub fn count(&self) -> usize {
        self.start.last().map_or(0, |&end| end as usize)
    }

    /// Marks every finest cell within one of those that `is_center` picks, diagonals included.
    pub fn mark_around(
        &self,
        near_cell: &mut Vec<AtomicBool>,
        tree: &Octree,
        is_center: impl Fn(usize) -> bool + Sync,
    ) {
        let cells = tree.cells_of(0).len();
        near_cell.clear();
        near_cell.resize_with(cells, || AtomicBool::new(false));
        let near_cell = &near_cell[..];
        parallel::for_each_index(parallel::chunk_count(cells, parallel::CHUNK), |n| {
            for cell in parallel::chunk_range(n, parallel::CHUNK, cells) {
                if !self.of(cell).is_empty() && is_center(cell) {
                    for_around(tree, place(tree, cell), |other| near_cell[other].store(true, Relaxed));
                }
            }
        });
    }
}

/// Coordinates of a finest cell.
#[inline]
fn place(tree: &Octree, cell: usize) -> [u32; 3] {
    tree.cells()[cell].at.map(u32::from)
}

/// Calls `body` for the finest cells among a place and its 26 neighbours.
#[inline]
pub fn for_around(tree: &Octree, at: [u32; 3], mut body: impl FnMut(usize)) {
    let low = at.map(|c| c.wrapping_sub(1));
    for dz in [0, 2] {
        for dy in [0, 2] {
            for dx in [0, 2] {
                let corner = [low[0].wrapping_add(dx), low[1].wrapping_add(dy), low[2].wrapping_add(dz)];
                // Blocks of eight places, of which those beyond the neighbourhood are left out.
                for (o, cell) in tree.leaves_around(0, corner).into_iter().enumerate() {
                    let beyond =
                        (dx == 2 && o & 1 != 0) || (dy == 2 && o & 2 != 0) || (dz == 2 && o & 4 != 0);
                    if !beyond && cell != fluvial_grids::octree::OUTSIDE {
                        body(cell as usize);
                    }
                }
            }
        }
    }
}

/// Velocity of particles at the finest faces near them, `u_f = sum w v / sum w`, the weight `sum w`, and where they are, `sum w x / sum w`, w
/// the trilinear kernel of radius dx: `body(face, mean)` may change the face's value. `near_cell` are
/// the cells of [`Bins::mark_around`] all particles; `v` and `x` are in sorted order. Verified by
/// `particles.rs`.
pub fn to_faces(
    u_face: &mut [f32],
    tree: &Octree,
    (bins, near_cell): (&Bins, &[AtomicBool]),
    (x, v): (&[Vec3], &[Vec3]),
    sides: TreeSides,
    body: impl Fn(usize, Mean) -> f32 + Sync,
) {
    let is_near = |side: Side| match side {
        Side::Cell(cell) => near_cell.get(cell as usize).is_some_and(|near| near.load(Relaxed)),
        _ => false,
    };
    for axis in AXES {
        let faces = tree.faces_of(axis, 0);
        let first = faces.start;
        parallel::for_each_indexed_mut(&mut u_face[faces], |n, u| {
            let face = first + n;
            if tree.sides(face).into_iter().any(is_near) {
                let mean = at_face(tree, bins, (x, v), sides, face, axis);
                if mean.weight > 0.0 {
                    *u = body(face, mean);
                }
            }
        });
    }
}

/// Particles around a face.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// Their velocity along the face's axis, m/s.
    pub u: f32,
    /// Their place.
    pub x: Vec3,
    /// The sum of their weights.
    pub weight: f32,
}

/// The weighted mean of the particles around a finest face.
fn at_face(
    tree: &Octree,
    bins: &Bins,
    (x, v): (&[Vec3], &[Vec3]),
    sides: TreeSides,
    face: usize,
    axis: Axis,
) -> Mean {
    let at = tree.face_places()[face].at.map(u32::from);
    let (center, inverse) = (tree.face_center(face, axis), 1.0 / tree.shape().dx);
    let (mut u, mut away, mut weights) = (0.0f32, Vec3::ZERO, 0.0f32);
    for_around(tree, at, |cell| {
        let is_seen = || tree.cells_beside(face).any(|beside| sides.sees(tree, beside, cell));
        if bins.of(cell).is_empty() || !is_seen() {
            return;
        }
        for p in bins.of(cell) {
            let d = x[p] - center;
            let near = 1.0 - (d * inverse).abs();
            let weight = near.x.max(0.0) * near.y.max(0.0) * near.z.max(0.0);
            u += weight * v[p][axis];
            away += weight * d;
            weights += weight;
        }
    });
    let per_weight = 1.0 / weights.max(f32::MIN_POSITIVE);
    Mean { u: u * per_weight, x: center + away * per_weight, weight: weights }
}
