//! What places beside thin solids see: particles behind one are none of theirs.

use crate::cells::{box_sums, dilate};
use fluvial_foundation::parallel;
use std::sync::Arc;

/// A cell beside a thin solid knows of the cells this far around, along each axis: as far as the density's kernel
/// reaches by default. With a longer reach it sees less than that.
const REACH: isize = 2;
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
        own_corners: impl Fn(usize) -> Option<u8>,
        is_barred: impl Fn(usize, usize, bool) -> bool,
    ) -> Self {
        let index = |at: [usize; 3]| at[0] + size[0] * (at[1] + size[1] * at[2]);
        let mut place = vec![NOT_BESIDE; size.iter().product()];
        let mut sides = vec![];
        for cell in 0..place.len() {
            let Some(own_corners) = own_corners(cell) else { continue };
            let at = [cell % size[0], cell / size[0] % size[1], cell / (size[0] * size[1])];
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
            place[cell] = sides.len() as u32;
            sides.push(Side { seen, own_corners });
        }
        ThinSides { place: place.into(), sides: sides.into() }
    }

    /// The sum over the 5^3 cells around every cell, as far as they exist and are seen.
    /// Test: `sums_count_what_is_seen`.
    pub fn sums(&self, values: &[f32], size: [usize; 3]) -> Vec<f32> {
        let mut sums = box_sums(values, size, REACH as usize);
        self.for_each_beside(&mut sums, size, |sum, cell, seen| {
            *sum = values[cell] + seen.map(|c| values[c]).sum::<f32>();
        });
        sums
    }

    /// Is any of the 5^3 cells around every cell marked that exist and are seen?
    /// Test: `sums_count_what_is_seen`.
    pub fn any(&self, marked: &[bool], size: [usize; 3]) -> Vec<bool> {
        let mut any = dilate(marked, size, REACH as usize);
        self.for_each_beside(&mut any, size, |any, cell, seen| {
            *any = marked[cell];
            seen.for_each(|c| *any |= marked[c]);
        });
        any
    }

    /// Runs `body` for the cells beside thin solids, with the others of the 5^3 cells around that each sees.
    fn for_each_beside<T: Send>(
        &self,
        values: &mut [T],
        size: [usize; 3],
        body: impl Fn(&mut T, usize, &mut dyn Iterator<Item = usize>) + Sync + Send,
    ) {
        if self.is_empty() {
            return;
        }
        let strides = [1, size[0] as isize, (size[0] * size[1]) as isize];
        parallel::for_each_indexed_mut(values, |cell, value| {
            if let Some(side) = self.sides.get(self.place[cell] as usize) {
                let seen = STEPS.iter().filter(|step| side.seen >> bit(**step) & 1 == 1);
                let away = |step: &[isize; 3]| (0..3).map(|a| step[a] * strides[a]).sum::<isize>();
                body(value, cell, &mut seen.map(|step| (cell as isize + away(step)) as usize));
            }
        });
    }

    /// Is there no thin solid?
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The own corners of a cell beside a thin solid, and what it sees.
    #[inline]
    pub(crate) fn of_cell(&self, cell: usize, from: [usize; 3]) -> Option<(u8, Seen)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A wall between x = 3 and x = 4 that ends at y = 6.
    #[test]
    fn cells_behind_a_thin_solid_are_not_seen() {
        let size = [8, 10, 6];
        let at = |cell: usize| [cell % 8, cell / 8 % 10, cell / 80];
        let is_barred = |cell: usize, axis: usize, up: bool| {
            let [x, y, _] = at(cell);
            axis == 0 && y < 6 && (x == 3 && up || x == 4 && !up)
        };
        let sides = ThinSides::new(size, |cell| (2..6).contains(&at(cell)[0]).then_some(0xff), is_barred);
        let cell = |at: [usize; 3]| at[0] + 8 * (at[1] + 10 * at[2]);
        let seen_from = |from: [usize; 3]| sides.of_cell(cell(from), from).unwrap().1;
        let low = seen_from([3, 2, 2]);
        assert!(low.sees([3, 2, 2]) && low.sees([1, 4, 0]) && low.sees([3, 0, 4]));
        assert!(!low.sees([4, 2, 2]) && !low.sees([5, 4, 3]) && !low.sees([0, 2, 2]));
        // Over the edge, by a way that goes up.
        let edge = seen_from([3, 5, 2]);
        assert!(
            edge.sees([4, 6, 2]) && edge.sees([5, 7, 1]) && !edge.sees([4, 5, 2]) && !edge.sees([4, 4, 2])
        );
        assert!(seen_from([4, 2, 2]).sees([5, 2, 2]) && !seen_from([4, 2, 2]).sees([3, 3, 3]));
        assert!(sides.of_cell(cell([0, 0, 0]), [0, 0, 0]).is_none());
    }

    /// Sums of ones count the cells that are seen: all 5^3 away from the wall, those before it beside it.
    #[test]
    fn sums_count_what_is_seen() {
        let size = [12, 8, 8];
        let x = |cell: usize| cell % 12;
        let is_barred =
            |cell: usize, axis: usize, up: bool| axis == 0 && (x(cell) == 5 && up || x(cell) == 6 && !up);
        let sides = ThinSides::new(size, |cell| (4..8).contains(&x(cell)).then_some(0xff), is_barred);
        let sums = sides.sums(&vec![1.0; 12 * 8 * 8], size);
        let middle = |x: usize| sums[x + 12 * (4 + 8 * 4)];
        assert_eq!([3, 4, 5, 6, 7, 8].map(middle), [125.0, 100.0, 75.0, 75.0, 100.0, 125.0]);
        let marked: Vec<bool> = (0..12 * 8 * 8).map(|cell| x(cell) == 6).collect();
        let any = sides.any(&marked, size);
        assert_eq!(
            [4, 5, 6, 7, 8, 9].map(|x| any[x + 12 * (4 + 8 * 4)]),
            [false, false, true, true, true, false]
        );
    }
}
