//! What enters and leaves: values of some cells by column, as the host makes them for a step, and what sources and
//! sinks do to the carried fields. Twins in `exchange.wgsl`.
//!
//! Shapes are asked for their distances by the host alone; kernels see lists, so that the same shapes serve the CPU and
//! the GPU, and a list is as short as its shapes are small.

use crate::field::{Velocity, for_each_sample};
use fluvial_grids::TallGrid;

/// A cell of a list: y, its value, and a velocity, whose fourth component says whether it counts.
pub type Entry = (i32, f32, Velocity);

/// Values of some cells, by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellList {
    /// First entry of every column, and the end.
    pub first: Vec<u32>,
    /// y and value, lowest first.
    pub cells: Vec<[f32; 2]>,
    /// A velocity for each.
    pub u: Vec<Velocity>,
}

impl CellList {
    /// The list of what columns hold, each lowest first.
    pub fn new(columns: impl IntoIterator<Item = Vec<Entry>>) -> CellList {
        let mut list = CellList { first: vec![0], ..CellList::default() };
        for entries in columns {
            for (y, value, u) in entries {
                list.cells.push([y as f32, value]);
                list.u.push(u);
            }
            list.first.push(list.cells.len() as u32);
        }
        list
    }

    /// Nothing, for so many columns.
    pub fn empty(columns: usize) -> CellList {
        CellList { first: vec![0; columns + 1], ..CellList::default() }
    }

    /// Has it no cells?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The entry of cell `y` of a column.
    pub fn find(&self, column: usize, y: i32) -> Option<usize> {
        let (from, to) = (self.first[column] as usize, self.first[column + 1] as usize);
        let n = from + self.cells[from..to].partition_point(|cell| cell[0] < y as f32);
        (n < to && self.cells[n][0] == y as f32).then_some(n)
    }
}

/// What lies beyond open walls: columns before `first` and from `end` on along x and z, cells from `height` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// First column inside.
    pub first: [i32; 2],
    /// First column outside again.
    pub end: [i32; 2],
    /// First cell above.
    pub height: i32,
}

impl Beyond {
    /// Does a column lie beyond a wall?
    pub fn is_outside(&self, [i, k]: [usize; 2]) -> bool {
        let inside = |n: usize, axis: usize| (self.first[axis]..self.end[axis]).contains(&(n as i32));
        !(inside(i, 0) && inside(k, 1))
    }

    /// Is cell `y` of a column outside, where liquid has left?
    pub fn is_left(&self, column: [usize; 2], y: i32) -> bool {
        self.is_outside(column) || y >= self.height
    }
}

/// Unites liquid with what has come into sources: distances and, where they count, velocities of a list.
pub fn pour(phi: &mut [f32], u: &mut [Velocity], grid: &TallGrid, poured: &CellList) {
    for k in 0..grid.nz {
        for i in 0..grid.nx {
            let column = i + grid.nx * k;
            if poured.first[column] == poured.first[column + 1] {
                continue;
            }
            for j in 0..grid.rows() {
                let Some(entry) = poured.find(column, grid.y(i, j, k)) else { continue };
                let n = grid.index(i, j, k);
                phi[n] = phi[n].min(poured.cells[entry][1]);
                if poured.u[entry][3] > 0.0 {
                    u[n] = poured.u[entry];
                }
            }
        }
    }
}

/// The velocity of what comes out of sources is theirs, whatever the pressure has made of it: what flows out of their columns is then what they let in.
pub fn impose(u: &mut [Velocity], grid: &TallGrid, poured: &CellList) {
    for k in 0..grid.nz {
        for i in 0..grid.nx {
            let column = i + grid.nx * k;
            if poured.first[column] == poured.first[column + 1] {
                continue;
            }
            for j in 0..grid.rows() {
                match poured.find(column, grid.y(i, j, k)) {
                    Some(entry) if poured.u[entry][3] > 0.0 => u[grid.index(i, j, k)] = poured.u[entry],
                    _ => {}
                }
            }
        }
    }
}

/// Takes liquid out of sinks, a list of least phi, and out of what lies beyond open walls.
pub fn drain(out: &mut [f32], phi: &[f32], grid: &TallGrid, drained: &CellList, beyond: &Beyond) {
    for_each_sample(grid, out, |s| {
        let mut value = phi[s.index];
        if let Some(entry) = drained.find(s.i + grid.nx * s.k, s.y) {
            value = value.max(drained.cells[entry][1]);
        }
        if beyond.is_left([s.i, s.k], s.y) { value.max(grid.dx_m) } else { value }
    });
}
