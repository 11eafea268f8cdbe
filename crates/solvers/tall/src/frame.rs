//! Where the columns stand in the world, and which of them lie in the domain.

use fluvial_foundation::parallel;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_solver_interface::{Setup, Wall};
use fluvial_tall::exchange::{Beyond, CellList, Entry};

/// Columns beyond an open wall: liquid that arrives there has left.
const RING: usize = 2;

/// The columns' place in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Lower corner of cell (0, 0, 0), metres.
    pub origin: Vec3,
    /// Edge of a cell, metres.
    pub dx: f32,
    /// Columns along x and z.
    pub columns: [usize; 2],
    /// First column of the domain along x and z.
    pub first: [usize; 2],
    /// Cells of the domain.
    pub cells: [usize; 3],
    /// Is the domain open above?
    pub is_open_above: bool,
}

impl Frame {
    pub fn new(setup: &Setup) -> Frame {
        let (grid, walls) = (&setup.domain.grid, &setup.domain.walls);
        let ring = |side: usize| if walls[side] == Wall::Open { RING } else { 0 };
        let first = [ring(0), ring(4)];
        let columns = [grid.cells[0] + ring(0) + ring(1), grid.cells[2] + ring(4) + ring(5)];
        let shift = Vec3::new(first[0] as f32, 0.0, first[1] as f32);
        Frame {
            origin: grid.min - grid.dx * shift,
            dx: grid.dx,
            columns,
            first,
            cells: grid.cells,
            is_open_above: walls[3] == Wall::Open,
        }
    }

    /// Height of the domain in cells.
    pub fn height(&self) -> i32 {
        self.cells[1] as i32
    }

    /// What lies beyond open walls.
    pub fn beyond(&self) -> Beyond {
        let first = self.first.map(|n| n as i32);
        let height = if self.is_open_above { self.height() } else { i32::MAX };
        Beyond { first, end: [first[0] + self.cells[0] as i32, first[1] + self.cells[2] as i32], height }
    }

    /// Does a column lie beyond an open wall?
    pub fn is_outside(&self, i: usize, k: usize) -> bool {
        self.beyond().is_outside([i, k])
    }

    /// Is cell `y` of a column outside the domain, where liquid has left?
    pub fn is_left(&self, i: usize, y: i32, k: usize) -> bool {
        self.beyond().is_left([i, k], y)
    }

    /// Centre of a cell, metres.
    pub fn center(&self, i: usize, y: i32, k: usize) -> Vec3 {
        self.origin + self.dx * (Vec3::new(i as f32, y as f32, k as f32) + 0.5)
    }

    /// A point in cells, whole at cell centres.
    pub fn in_cells(&self, x: Vec3) -> [f32; 3] {
        ((x - self.origin) / self.dx - 0.5).to_array()
    }

    /// The column that a vertical through (x, z) passes.
    pub fn column_at(&self, x: f32, z: f32) -> [usize; 2] {
        let [i, _, k] = self.in_cells(Vec3::new(x, 0.0, z));
        let nearest = |v: f32, n: usize| (v.round().max(0.0) as usize).min(n - 1);
        [nearest(i, self.columns[0]), nearest(k, self.columns[1])]
    }

    /// Calls `body(column, lowest cell)` for the columns that a box touches.
    pub fn for_each_column(&self, bounds: Aabb, mut body: impl FnMut(usize, i32)) {
        let (low, high) = (self.in_cells(bounds.min), self.in_cells(bounds.max));
        let span = |axis: usize, n: usize| {
            let first = (low[axis] + 0.5).floor().clamp(0.0, n as f32) as usize;
            first..(high[axis] + 0.5).ceil().clamp(0.0, n as f32) as usize
        };
        let lowest = (low[1] + 0.5).floor().max(0.0) as i32;
        for k in span(2, self.columns[1]) {
            for i in span(0, self.columns[0]) {
                body(i + self.columns[0] * k, lowest);
            }
        }
    }

    /// A list of the cells of the columns that boxes touch: `entry(i, y, k)` says what a cell has, if anything.
    pub fn list(
        &self,
        boxes: impl IntoIterator<Item = Aabb>,
        entry: impl Fn(usize, i32, usize) -> Option<Entry> + Sync,
    ) -> CellList {
        let columns = self.columns[0] * self.columns[1];
        let mut spans: Vec<[i32; 2]> = vec![];
        for bounds in boxes {
            spans.resize(columns, [i32::MAX, 0]);
            let end = (self.in_cells(bounds.max)[1] + 0.5).ceil().clamp(0.0, 1e6) as i32;
            self.for_each_column(bounds, |column, lowest| {
                let [low, high] = &mut spans[column];
                (*low, *high) = ((*low).min(lowest), (*high).max(end));
            });
        }
        if spans.is_empty() {
            return CellList::empty(columns);
        }
        CellList::new(parallel::map_indices(columns, |c| {
            let (i, k) = (c % self.columns[0], c / self.columns[0]);
            (spans[c][0]..spans[c][1]).filter_map(|y| entry(i, y, k)).collect()
        }))
    }

    pub fn cell_m3(&self) -> f64 {
        f64::from(self.dx).powi(3)
    }
}
