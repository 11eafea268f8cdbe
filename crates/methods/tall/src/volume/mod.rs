//! Volume kept by columns.
//!
//! What flows between two columns is the sum over all cells and sub-cells of the wall between them, so that nothing
//! that enters a tall cell through its middle is missed, whatever the projection knew of it. A column holds what
//! phi says and a residual; the fluxes change their sum, and phi is displaced to it. The sum over all columns
//! then changes by what enters and leaves the domain alone.
//!
//! A column may hold liquid aloft, above air, beside what stands on its ground. Each keeps its own volume: were they one, what
//! transport adds to a sheet that is drawn out in the air would be taken from the pool below it, as if liquid had been lifted there.

mod flow;
mod settle;

pub use flow::{Flow, fluxes};
pub use settle::{
    Divided, MOST_DISPLACED, SPREAD_PASSES, Start, displace, displacements, divide, lacking, spread_pass,
};

use crate::field::at;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use std::ops::Range;

/// Liquid share of a cell whose centre has this phi, in cells.
pub fn share(phi_cells: f32) -> f32 {
    (0.5 - phi_cells).clamp(0.0, 1.0)
}

/// What solids leave open.
#[derive(Clone, Copy)]
pub struct Open<'a> {
    /// Open part of the cell of each sample.
    pub cell: &'a [f32],
    /// Open volume of each column's tall cell, in cells.
    pub tall: &'a [f32],
}

impl Open<'_> {
    /// Open part of cell `y` of a column; 0 below its terrain, 1 above its top. Inside a tall cell, away from its
    /// ends, what obstacles fill is spread evenly.
    pub fn part(&self, grid: &TallGrid, [i, k]: [usize; 2], y: i32) -> f32 {
        let [terrain, tall] = grid.column(i, k);
        let row = y - terrain - tall + 2;
        match y {
            _ if y < terrain => 0.0,
            _ if y == terrain => self.cell[grid.index(i, 0, k)],
            _ if row < 1 => self.inside(grid, [i, k]),
            _ if row < grid.rows() as i32 => self.cell[grid.index(i, row as usize, k)],
            _ => 1.0,
        }
    }

    /// Mean open part of a tall cell's sub-cells between its ends.
    fn inside(&self, grid: &TallGrid, [i, k]: [usize; 2]) -> f32 {
        let ends = self.cell[grid.index(i, 0, k)] + self.cell[grid.index(i, 1, k)];
        (self.tall[i + grid.nx * k] - ends) / (grid.column(i, k)[1] - 2).max(1) as f32
    }
}

/// A column's liquid, in cells, and how much it grows as its surfaces are displaced outwards by one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Volume that phi stands for.
    pub volume: f32,
    /// Open area of its surfaces, by weights that add up to 1 for a level one, wherever it lies between samples.
    pub surface: f32,
}

/// What phi says of a column.
pub fn held(grid: &TallGrid, phi: &[f32], open: &Open, column: [usize; 2]) -> Held {
    held_in(grid, phi, open, column, 0..grid.rows(), 0.0)
}

/// What phi, displaced by `shift` cells (positive: less liquid), says of some of a column's rows: the tall cell counts as a
/// whole, with its first row.
fn held_in(
    grid: &TallGrid,
    phi: &[f32],
    open: &Open,
    [i, k]: [usize; 2],
    rows: Range<usize>,
    shift: f32,
) -> Held {
    let (mut volume, mut surface) = (0.0f32, 0.0f32);
    let mut add = |phi: f32, open: f32| {
        let cells = phi / grid.dx_m + shift;
        volume += share(cells) * open;
        surface += (1.0 - cells.abs()).max(0.0) * open;
    };
    if rows.start == 0 {
        let [terrain, tall] = grid.column(i, k);
        let [bottom, top] = [0, 1].map(|row| phi[grid.index(i, row, k)]);
        let deepest = bottom.max(top) / grid.dx_m + shift;
        if deepest <= -0.5 {
            add(-grid.dx_m * (1.0 + shift.abs()), open.tall[i + grid.nx * k]);
        } else {
            let inside = open.inside(grid, [i, k]);
            for y in terrain..terrain + tall {
                let place = grid.locate(i, k, y as f32);
                let part = match y - terrain {
                    0 => open.cell[grid.index(i, 0, k)],
                    t if t == tall - 1 => open.cell[grid.index(i, 1, k)],
                    _ => inside,
                };
                add(at(phi, place), part);
            }
        }
    }
    for row in rows.start.max(2)..rows.end {
        let n = grid.index(i, row, k);
        add(phi[n], open.cell[n]);
    }
    Held { volume, surface }
}

/// What phi says of every column.
pub fn measure(out: &mut [Held], grid: &TallGrid, phi: &[f32], open: &Open) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        row.iter_mut().enumerate().for_each(|(i, out)| *out = held(grid, phi, open, [i, k]));
    });
}
