//! Which side of a thin solid the samples of a grid lie on, and which neighbours see each other.
//!
//! A solid thinner than a cell or two divides cells that are neighbours. Each cell belongs to one side: the one
//! that holds more of it. A face is barred when the cells at it belong to different sides there; what lies
//! behind a barred face is no neighbour, whatever the open areas say. Faces that are open join cells whose own
//! corners are joined by grid edges that meet no solid: no chain of them passes a closed wall, however thin.

use crate::Lattice;
use fluvial_foundation::{Axis, Vec3};

/// Cells this near to a barred face, in cells along each axis, are [`Sides::is_near`]: as far as stencils
/// reach.
pub const NEAR_CELLS: usize = 2;
/// A surface that a cell does not see is taken to be at least this far from its centre, in cells.
pub const UNSEEN_CELLS: f32 = 1.5;
/// Paths that end at a barred face keep this distance from it, in cells.
pub const MARGIN: f32 = 0.01;
/// Upper bound on the number of faces that a path of one step passes.
const LONGEST_PATH: usize = 256;

/// The sides of thin solids on a grid; empty where there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides {
    /// Bit n: corner n of the cell (x fastest) is open and on the cell's side.
    pub own_corners: Vec<u8>,
    /// Bit 2 axis + up: the face is barred; [`Self::NEAR`]: there is one near.
    pub barred: Vec<u8>,
}

impl Sides {
    /// No thin solid anywhere.
    pub const NONE: &'static Sides = &Sides { own_corners: Vec::new(), barred: Vec::new() };
    /// The bit of cells that are near a barred face.
    pub const NEAR: u8 = 1 << 6;
    /// The bits of the six faces.
    pub const FACES: u8 = Self::NEAR - 1;

    /// Is there no thin solid?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.barred.is_empty()
    }

    /// Is a barred face near?
    #[inline]
    pub fn is_near(&self, cell: usize) -> bool {
        !self.is_empty() && self.barred[cell] & Self::NEAR != 0
    }

    /// Is the face of a cell along an axis barred?
    #[inline]
    pub fn is_barred(&self, cell: usize, axis: Axis, up: bool) -> bool {
        !self.is_empty() && self.barred[cell] >> (2 * axis + up as usize) & 1 == 1
    }

    /// Do a cell and the one beside it have an open corner of the same side in common? Where there is none, their face
    /// may still not be barred: inside a solid it is not where the sides meet nearby.
    #[inline]
    pub fn are_joined(&self, cell: usize, beside: usize, axis: Axis, up: bool) -> bool {
        let shared = || shared_corners(self.own_corners[cell], self.own_corners[beside], axis, up) != 0;
        self.is_empty() || !self.is_barred(cell, axis, up) && shared()
    }

    /// A place on the side that a divided or cut cell near a thin solid belongs to: the middle of its own corners.
    pub fn own_place(&self, cells: &Lattice, at: [usize; 3]) -> Option<Vec3> {
        let cell = cells.index(at[0], at[1], at[2]);
        let own = if self.is_near(cell) { self.own_corners[cell] } else { 0 };
        let corners = (0..8).filter(|n| own >> n & 1 == 1);
        let sum = corners.map(|n| Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5)));
        let middle = sum.sum::<Vec3>() / own.count_ones() as f32;
        (own != 0 && own != 0xff).then(|| cells.position(at[0], at[1], at[2]) + cells.spacing * middle)
    }

    /// Follows a straight path from the cell `start`; from and to are relative to its centre, in cells. The
    /// path slides along barred faces. Returns where it ends (relative to the same centre) and in which cell;
    /// the domain's own walls do not hold it.
    pub fn walk(
        &self,
        cells: &Lattice,
        start: [usize; 3],
        from: [f32; 3],
        to: [f32; 3],
    ) -> ([usize; 3], [f32; 3]) {
        let (mut at, mut here, mut goal) = (start, from, to);
        for _ in 0..LONGEST_PATH {
            let mut first: Option<(f32, Axis, bool, f32)> = None;
            for axis in 0..3 {
                let way = goal[axis] - here[axis];
                let up = way > 0.0;
                let middle = at[axis] as f32 - start[axis] as f32;
                let face = if up { middle + 0.5 } else { middle - 0.5 };
                let passes = if up { goal[axis] > face } else { goal[axis] < face };
                let at_edge = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                if passes && !at_edge {
                    let part = ((face - here[axis]) / way).max(0.0);
                    if first.is_none_or(|f| part < f.0) {
                        first = Some((part, axis, up, face));
                    }
                }
            }
            let Some((part, axis, up, face)) = first else { break };
            if self.is_barred(cells.index(at[0], at[1], at[2]), axis, up) {
                goal[axis] = if up { face - MARGIN } else { face + MARGIN };
            } else {
                here = std::array::from_fn(|a| here[a] + part * (goal[a] - here[a]));
                here[axis] = face;
                at[axis] = if up { at[axis] + 1 } else { at[axis] - 1 };
            }
        }
        // Who ends within rounding of a barred face without passing it would begin the next path behind it.
        let cell = cells.index(at[0], at[1], at[2]);
        for axis in 0..3 {
            let middle = at[axis] as f32 - start[axis] as f32;
            if self.is_barred(cell, axis, true) {
                goal[axis] = goal[axis].min(middle + 0.5 - MARGIN);
            }
            if self.is_barred(cell, axis, false) {
                goal[axis] = goal[axis].max(middle - 0.5 + MARGIN);
            }
        }
        (at, goal)
    }

    /// The cells around one that it sees, bit (dx + 1) + 3 (dy + 1) + 9 (dz + 1): those that a path of
    /// at most one step per axis leads to without passing a barred face.
    pub fn seen_around(&self, cells: &Lattice, at: [usize; 3]) -> u32 {
        const ALL: u32 = (1 << 27) - 1;
        let center = cells.index(at[0], at[1], at[2]);
        if !self.is_near(center) {
            return ALL;
        }
        let mut seen = 1u32 << 13;
        let bit = |d: [i32; 3]| (d[0] + 1) + 3 * (d[1] + 1) + 9 * (d[2] + 1);
        // A cell at n steps is seen from one at n - 1 steps on the way.
        for steps in 1..=3 {
            for n in 0..27 {
                let d = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
                if d.iter().filter(|v| **v != 0).count() != steps {
                    continue;
                }
                let through = (0..3).any(|axis| {
                    let mut before = d;
                    before[axis] = 0;
                    d[axis] != 0 && seen >> bit(before) & 1 == 1 && {
                        let p: [isize; 3] = std::array::from_fn(|a| at[a] as isize + before[a] as isize);
                        let q = p[axis] + d[axis] as isize;
                        let inside = q >= 0 && (q as usize) < cells.size[axis];
                        let [i, j, k] = p.map(|v| v as usize);
                        inside && !self.is_barred(cells.index(i, j, k), axis, d[axis] > 0)
                    }
                });
                seen |= (through as u32) << bit(d);
            }
        }
        seen
    }
}

/// Corners of a cell on the low side of each axis.
pub const LOW_CORNERS: [u8; 3] = [0b0101_0101, 0b0011_0011, 0b0000_1111];

/// Own corners that two neighbouring cells have in common, as corners of the first.
#[inline]
pub fn shared_corners(first: u8, second: u8, axis: Axis, up: bool) -> u8 {
    let low = LOW_CORNERS[axis];
    if up {
        first & !low & (second & low) << (1 << axis)
    } else {
        first & low & (second & !low) >> (1 << axis)
    }
}
