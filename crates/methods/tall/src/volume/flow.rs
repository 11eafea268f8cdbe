//! What flows between columns.

use super::{Open, share};
use crate::exchange::CellList;
use crate::field::{Around, Velocity, around, at};
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;

/// What flows in a step, and through what.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    /// The columns.
    pub grid: &'a TallGrid,
    /// Velocity, with values in the air.
    pub u: &'a [Velocity],
    /// phi before it is carried.
    pub phi: &'a [f32],
    /// What solids leave open before the step.
    pub open: &'a Open<'a>,
    /// Length of the step, s.
    pub dt_s: f32,
}

/// Liquid that flows in a step from every column to the next one along x and along z, in cells.
pub fn fluxes(out: &mut [[f32; 2]], flow: &Flow) {
    let grid = flow.grid;
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let x = if i + 1 < grid.nx { flow.wall([i, k], [i + 1, k], X) } else { 0.0 };
            let z = if k + 1 < grid.nz { flow.wall([i, k], [i, k + 1], Z) } else { 0.0 };
            *out = [x, z];
        }
    });
}

/// Axes of faces.
const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// Cells beside a surface and as far as a share of one cell can see it.
const CLEAR_CELLS: f32 = 1.1;

impl Flow<'_> {
    /// Liquid that flows from column `a` to its neighbour `b` along an axis.
    fn wall(&self, a: [usize; 2], b: [usize; 2], axis: usize) -> f32 {
        let grid = self.grid;
        let ([ta, ha], [tb, hb]) = (grid.column(a[0], a[1]), grid.column(b[0], b[1]));
        let (low, high) = (ta.max(tb), grid.above(a[0], a[1]).max(grid.above(b[0], b[1])));
        // Where both sides are tall cells, velocities are linear; deep inside, their sum is that of its ends.
        let (first, last) = (low + 1, (ta + ha).min(tb + hb) - 1);
        let (mut sum, mut y) = (0.0, low);
        while y < high {
            if y == first && last - first > 1 && self.deep(a, b, first) && self.deep(a, b, last - 1) {
                let ends = self.side(a, b, axis, first) + self.side(a, b, axis, last - 1);
                sum += 0.5 * (last - first) as f32 * ends;
                y = last;
                continue;
            }
            sum += self.side(a, b, axis, y);
            y += 1;
        }
        sum
    }

    /// Is the liquid of both columns deep at this height?
    fn deep(&self, a: [usize; 2], b: [usize; 2], y: i32) -> bool {
        let phi = |c: [usize; 2]| at(self.phi, self.grid.locate(c[0], c[1], y as f32));
        phi(a).max(phi(b)) < -4.0 * self.grid.dx_m
    }

    /// Liquid that flows from column `a` to its neighbour `b` along an axis at height `y`.
    fn side(&self, a: [usize; 2], b: [usize; 2], axis: usize, y: i32) -> f32 {
        self.face((a, y), (b, y), axis)
    }

    /// Liquid that flows in a step into what lies in a column's rows from `row` on, through its sides and from below.
    pub(super) fn entering_upper(&self, [i, k]: [usize; 2], row: usize) -> f32 {
        let (grid, lowest) = (self.grid, self.grid.y(i, row, k));
        let here = [i, k];
        let mut sum = self.face((here, lowest - 1), (here, lowest), Y);
        let mut side = |a: [usize; 2], b: [usize; 2], axis: usize, sign: f32| {
            let high = grid.above(a[0], a[1]).max(grid.above(b[0], b[1]));
            (lowest..high).for_each(|y| sum += sign * self.side(a, b, axis, y));
        };
        if i > 0 {
            side([i - 1, k], here, X, 1.0);
        }
        if i + 1 < grid.nx {
            side(here, [i + 1, k], X, -1.0);
        }
        if k > 0 {
            side([i, k - 1], here, Z, 1.0);
        }
        if k + 1 < grid.nz {
            side(here, [i, k + 1], Z, -1.0);
        }
        sum
    }

    /// What a sink takes of a column in a step, cells: what lay in its cells, what has flowed into them from around, less what phi says of them when they
    /// are drained. By phi alone a sink would take what transport has happened to carry there, and the surface above would get the rest back.
    /// None where no cell's centre lies in a sink.
    pub fn taken(&self, column: usize, drained: &CellList, phi_after: &[f32]) -> Option<f32> {
        let grid = self.grid;
        let (i, k) = (column % grid.nx, column / grid.nx);
        let in_sink = |[i, y, k]: [i32; 3]| {
            let is_inside = i >= 0 && k >= 0 && i < grid.nx as i32 && k < grid.nz as i32;
            is_inside
                && drained
                    .find(i as usize + grid.nx * k as usize, y)
                    .is_some_and(|n| drained.cells[n][1] >= 0.0)
        };
        let (mut sum, mut any) = (0.0, false);
        for entry in drained.first[column]..drained.first[column + 1] {
            let [y, least] = drained.cells[entry as usize];
            let y = y as i32;
            if least < 0.0 || grid.holds(i as i32, y, k as i32) != Holds::Cell {
                continue;
            }
            any = true;
            let place = grid.locate(i, k, y as f32);
            let [before, after] = [self.phi, phi_after].map(|phi| share(at(phi, place) / grid.dx_m));
            sum += (before - after) * self.open.part(grid, [i, k], y);
            for d in 0..6 {
                let (axis, up) = (d / 2, d % 2 == 1);
                let here = [i as i32, y, k as i32];
                let mut there = here;
                there[axis] += if up { 1 } else { -1 };
                if in_sink(there) || grid.holds(there[0], there[1], there[2]) != Holds::Cell {
                    continue;
                }
                let cell = |[i, y, k]: [i32; 3]| ([i as usize, k as usize], y);
                sum += match up {
                    true => -self.face(cell(here), cell(there), axis),
                    false => self.face(cell(there), cell(here), axis),
                };
            }
        }
        any.then_some(sum)
    }

    /// Liquid that flows through the face between two cells: its velocity times the liquid share of what it sweeps
    /// backwards along the flow. The shares are taken at the middles of pieces no longer than a cell.
    fn face(&self, (a, ya): ([usize; 2], i32), (b, yb): ([usize; 2], i32), axis: usize) -> f32 {
        let grid = self.grid;
        let area = self.open.part(grid, a, ya).min(self.open.part(grid, b, yb));
        if area == 0.0 {
            return 0.0;
        }
        let per_cell = self.dt_s / grid.dx_m;
        let places = [(a, ya), (b, yb)].map(|(c, y)| grid.locate(c[0], c[1], y as f32));
        let [ua, ub] = places.map(|p| at(self.u, p));
        let travel: [f32; 3] = std::array::from_fn(|c| 0.5 * (ua[c] + ub[c]) * per_cell);
        let swept = travel[axis] * area;
        if swept == 0.0 {
            return 0.0;
        }
        let [pa, pb] = places.map(|p| at(self.phi, p) / grid.dx_m);
        let length = travel[0].abs().max(travel[1].abs()).max(travel[2].abs());
        let (phi, clear) = (0.5 * (pa + pb), 1.5 * length + CLEAR_CELLS);
        if phi.abs() > clear.min(4.0) {
            return if phi < 0.0 { swept } else { 0.0 };
        }
        let pieces = length.ceil().max(1.0);
        let middle = |a: usize, b: usize| 0.5 * (a + b) as f32;
        let start = [middle(a[0], b[0]), 0.5 * (ya + yb) as f32, middle(a[1], b[1])];
        let mut sum = 0.0;
        for piece in 0..pieces as i32 {
            let back = (piece as f32 + 0.5) / pieces;
            let there: Around = around(grid, std::array::from_fn(|c| start[c] - back * travel[c]));
            sum += share(there.value(self.phi) / grid.dx_m);
        }
        swept * (sum / pieces)
    }
}
