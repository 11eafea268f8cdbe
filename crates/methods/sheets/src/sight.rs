//! What places beside thin solids see: particles behind one are none of theirs.

use crate::cells::{TENT, dilate, tent_sums};
use fluvial_foundation::parallel;
use std::sync::Arc;

/// A cell beside a thin solid knows of the cells this far around, along each axis: as far as the density's kernel
/// reaches by default. With a longer reach it sees less than that.
const REACH: isize = TENT as isize;
/// Cells along the edge of that box.
const WIDTH: isize = 2 * REACH + 1;

/// The side of thin solids that a cell belongs to.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Bit `(dx + 2) + 5 (dy + 2) + 25 (dz + 2)`: the cell there is seen.
    seen: u128,
    /// Bit n: corner n of the cell, x fastest, is open and on its side.
    own_corners: u8,
}

/// The sides of thin solids, for the cells beside them.
#[derive(Clone, Debug, Default)]
pub struct ThinSides {
    /// Place of each cell in `sides`; [`NOT_BESIDE`] elsewhere.
    place: Arc<[u32]>,
    sides: Arc<[Side]>,
}

const NOT_BESIDE: u32 = u32::MAX;

/// What is seen from a cell.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    from: [usize; 3],
    seen: u128,
}

impl Seen {
    /// Is a cell seen?
    #[inline]
    pub fn sees(&self, cell: [usize; 3]) -> bool {
        let step: [isize; 3] = std::array::from_fn(|a| cell[a] as isize - self.from[a] as isize);
        step.iter().all(|s| s.abs() <= REACH) && self.seen >> bit(step) & 1 == 1
    }

    /// Calls `run` with the runs of cells along x that are seen among `first` to `last` of the row (j, k).
    ///
    /// Test: `runs_of_seen_cells_are_those_of_the_single_ones`.
    #[inline]
    pub fn for_each_run(
        &self,
        [first, last]: [usize; 2],
        [j, k]: [usize; 2],
        mut run: impl FnMut([usize; 2]),
    ) {
        let [x, y, z] = self.from.map(|c| c as isize);
        let [dy, dz] = [j as isize - y, k as isize - z];
        let (low, high) = ((first as isize - x).max(-REACH), (last as isize - x).min(REACH));
        if dy.abs() > REACH || dz.abs() > REACH || low > high {
            return;
        }
        let mut bits = (self.seen >> bit([low, dy, dz])) as u32 & ((1 << (high - low + 1)) - 1);
        let mut at = (x + low) as usize;
        while bits != 0 {
            let skipped = bits.trailing_zeros();
            let length = (bits >> skipped).trailing_ones();
            at += skipped as usize;
            run([at, at + length as usize - 1]);
            at += length as usize;
            bits >>= skipped + length;
        }
    }
}

#[inline]
fn bit(step: [isize; 3]) -> isize {
    (step[0] + REACH) + WIDTH * ((step[1] + REACH) + WIDTH * (step[2] + REACH))
}

impl ThinSides {
    /// The sides on a grid of `size` cells: `own_corners(cell)` of those beside a thin solid, none elsewhere;
    /// `is_barred(cell, axis, up)` says which faces are closed.
    ///
    /// A cell sees those that a way leads to which never turns back and passes no closed face.
    /// Test: `cells_behind_a_thin_solid_are_not_seen`.
    pub fn new(
        size: [usize; 3],
        own_corners: impl Fn(usize) -> Option<u8> + Sync + Send,
        is_barred: impl Fn(usize, usize, bool) -> bool + Sync + Send,
    ) -> Self {
        let index = |at: [usize; 3]| at[0] + size[0] * (at[1] + size[1] * at[2]);
        let slab = size[0] * size[1];
        let found = parallel::map_indices(size[2], |k| {
            let cells = slab * k..slab * (k + 1);
            let beside = cells.filter_map(|cell| own_corners(cell).map(|own_corners| (cell, own_corners)));
            let side = |(cell, own_corners): (usize, u8)| {
                let at = [cell % size[0], cell / size[0] % size[1], k];
                let mut seen = 1u128 << bit([0; 3]);
                for step in STEPS {
                    let through = |axis: usize| {
                        let mut before = step;
                        before[axis] -= step[axis].signum();
                        let from: [isize; 3] = std::array::from_fn(|a| at[a] as isize + before[a]);
                        let to = from[axis] + step[axis].signum();
                        step[axis] != 0
                            && seen >> bit(before) & 1 == 1
                            && (0..size[axis] as isize).contains(&to)
                            && !is_barred(index(from.map(|v| v as usize)), axis, step[axis] > 0)
                    };
                    seen |= ((0..3).any(through) as u128) << bit(step);
                }
                (cell, Side { seen, own_corners })
            };
            beside.map(side).collect::<Vec<_>>()
        });
        let mut place = vec![NOT_BESIDE; size.iter().product()];
        let mut sides = vec![];
        for (cell, side) in found.into_iter().flatten() {
            place[cell] = sides.len() as u32;
            sides.push(side);
        }
        ThinSides { place: place.into(), sides: sides.into() }
    }

    /// As [`tent_sums`], as far as cells are seen.
    /// Test: `sums_count_what_is_seen`.
    pub fn sums(&self, sums: &mut Vec<f32>, pass: &mut Vec<f32>, values: &[f32], size: [usize; 3]) {
        tent_sums(sums, pass, values, size);
        self.for_each_beside(sums, size, |sum, cell, seen| {
            *sum = 27.0 * values[cell] + seen.map(|(c, weight)| weight * values[c]).sum::<f32>();
        });
    }

    /// Is any of the 5^3 cells around every cell marked that exist and are seen?
    /// Test: `sums_count_what_is_seen`.
    pub fn any(&self, marked: &[bool], size: [usize; 3]) -> Vec<bool> {
        let mut any = dilate(marked, size, REACH as usize);
        self.for_each_beside(&mut any, size, |any, cell, seen| {
            *any = marked[cell];
            seen.for_each(|(c, _)| *any |= marked[c]);
        });
        any
    }

    /// Runs `body` for the cells beside thin solids, with the others of the 5^3 cells around that each sees and the weight of each. Closed cells
    /// belong to no side.
    fn for_each_beside<T: Send>(
        &self,
        values: &mut [T],
        size: [usize; 3],
        body: impl Fn(&mut T, usize, &mut dyn Iterator<Item = (usize, f32)>) + Sync + Send,
    ) {
        if self.is_empty() {
            return;
        }
        let strides = [1, size[0] as isize, (size[0] * size[1]) as isize];
        parallel::for_each_indexed_mut(values, |cell, value| {
            if let Some(side) = self.sides.get(self.place[cell] as usize).filter(|side| side.own_corners != 0)
            {
                let seen = STEPS.iter().filter(|step| side.seen >> bit(**step) & 1 == 1);
                let away = |step: &[isize; 3]| (0..3).map(|a| step[a] * strides[a]).sum::<isize>();
                let weight = |step: &[isize; 3]| step.map(|s| (3 - s.abs()) as f32).iter().product();
                body(
                    value,
                    cell,
                    &mut seen.map(|step| ((cell as isize + away(step)) as usize, weight(step))),
                );
            }
        });
    }

    /// Is there no thin solid?
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The own corners of a cell beside a thin solid, and what it sees.
    #[inline]
    pub fn of_cell(&self, cell: usize, from: [usize; 3]) -> Option<(u8, Seen)> {
        let side = self.sides.get(*self.place.get(cell)? as usize)?;
        Some((side.own_corners, Seen { from, seen: side.seen }))
    }
}

/// All steps within the box but none, the nearest first.
const STEPS: [[isize; 3]; 124] = {
    let (mut steps, mut count, mut length) = ([[0; 3]; 124], 0, 1);
    while length <= 3 * REACH {
        let mut n = 0;
        while n < WIDTH * WIDTH * WIDTH {
            let step = [n % WIDTH - REACH, n / WIDTH % WIDTH - REACH, n / (WIDTH * WIDTH) - REACH];
            if step[0].abs() + step[1].abs() + step[2].abs() == length {
                steps[count] = step;
                count += 1;
            }
            n += 1;
        }
        length += 1;
    }
    steps
};
