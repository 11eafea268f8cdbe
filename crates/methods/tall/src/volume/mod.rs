//! Volume kept by columns.
//!
//! What flows between two columns is the sum over all cells and sub-cells of the wall between them, so that nothing
//! that enters a tall cell through its middle is missed, whatever the projection knew of it. A column holds what
//! phi says and a residual; the fluxes change their sum, and phi is displaced to it. The sum over all columns
//! then changes by what enters and leaves the domain alone.

use crate::field::{Around, Velocity, around, at, for_each_sample};
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;

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

/// What phi, displaced by `shift` cells (positive: less liquid), says of a column.
pub fn held(grid: &TallGrid, phi: &[f32], open: &Open, [i, k]: [usize; 2], shift: f32) -> Held {
    let (mut volume, mut surface) = (0.0f32, 0.0f32);
    let mut add = |phi: f32, open: f32| {
        let cells = phi / grid.dx_m + shift;
        volume += share(cells) * open;
        surface += (1.0 - cells.abs()).max(0.0) * open;
    };
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
    for row in 2..grid.rows() {
        let n = grid.index(i, row, k);
        add(phi[n], open.cell[n]);
    }
    Held { volume, surface }
}

/// What phi says of every column.
pub fn measure(out: &mut [Held], grid: &TallGrid, phi: &[f32], open: &Open) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        row.iter_mut().enumerate().for_each(|(i, out)| *out = held(grid, phi, open, [i, k], 0.0));
    });
}

/// Liquid that flows in a step from every column to the next one along x and along z, in cells.
pub fn fluxes(out: &mut [[f32; 2]], grid: &TallGrid, u: &[Velocity], phi: &[f32], open: &Open, dt_s: f32) {
    let step = Step { grid, u, phi, open, per_cell: dt_s / grid.dx_m };
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let x = if i + 1 < grid.nx { step.wall([i, k], [i + 1, k], 0) } else { 0.0 };
            let z = if k + 1 < grid.nz { step.wall([i, k], [i, k + 1], 2) } else { 0.0 };
            *out = [x, z];
        }
    });
}

struct Step<'a> {
    grid: &'a TallGrid,
    u: &'a [Velocity],
    phi: &'a [f32],
    open: &'a Open<'a>,
    /// dt / dx.
    per_cell: f32,
}

/// Cells beside a surface and as far as a share of one cell can see it.
const CLEAR_CELLS: f32 = 1.1;

impl Step<'_> {
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
                let ends = self.face(a, b, axis, first) + self.face(a, b, axis, last - 1);
                sum += 0.5 * (last - first) as f32 * ends;
                y = last;
                continue;
            }
            sum += self.face(a, b, axis, y);
            y += 1;
        }
        sum
    }

    /// Is the liquid of both columns deep at this height?
    fn deep(&self, a: [usize; 2], b: [usize; 2], y: i32) -> bool {
        let phi = |c: [usize; 2]| at(self.phi, self.grid.locate(c[0], c[1], y as f32));
        phi(a).max(phi(b)) < -4.0 * self.grid.dx_m
    }

    /// Liquid that flows through the face at height `y`: its velocity times the liquid share of what it sweeps
    /// backwards along the flow. The shares are taken at the middles of pieces no longer than a cell.
    fn face(&self, a: [usize; 2], b: [usize; 2], axis: usize, y: i32) -> f32 {
        let grid = self.grid;
        let area = self.open.part(grid, a, y).min(self.open.part(grid, b, y));
        if area == 0.0 {
            return 0.0;
        }
        let places = [a, b].map(|c| grid.locate(c[0], c[1], y as f32));
        let [ua, ub] = places.map(|p| at(self.u, p));
        let travel: [f32; 3] = std::array::from_fn(|c| 0.5 * (ua[c] + ub[c]) * self.per_cell);
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
        let start = [0.5 * (a[0] + b[0]) as f32, y as f32, 0.5 * (a[1] + b[1]) as f32];
        let mut sum = 0.0;
        for piece in 0..pieces as i32 {
            let back = (piece as f32 + 0.5) / pieces;
            let there: Around = around(grid, std::array::from_fn(|c| start[c] - back * travel[c]));
            sum += share(there.value(self.phi) / grid.dx_m);
        }
        swept * (sum / pieces)
    }
}

/// What every column lacks of its volume after the fluxes: what it held, its residual and what flowed, less what
/// phi says of it now.
pub fn lacking(
    out: &mut [f32],
    grid: &TallGrid,
    before: &[Held],
    residual: &[f32],
    flux: &[[f32; 2]],
    now: &[Held],
) {
    for (c, out) in out.iter_mut().enumerate() {
        let (i, k) = (c % grid.nx, c / grid.nx);
        let from_x = if i > 0 { flux[c - 1][0] } else { 0.0 };
        let from_z = if k > 0 { flux[c - grid.nx][1] } else { 0.0 };
        let flowed = (from_x - flux[c][0]) + (from_z - flux[c][1]);
        *out = (before[c].volume - now[c].volume) + (residual[c] + flowed);
    }
}

/// Columns with less open surface than this have none to displace, cells.
const LEAST_SURFACE: f32 = 0.05;

/// Passes that even out what columns lack.
pub const SPREAD_PASSES: usize = 2;

/// One pass that evens out what columns lack, without changing its sum: an eighth goes to each neighbour that has
/// a surface, a quarter from columns that have none.
pub fn spread_pass(out: &mut [f32], lacking: &[f32], grid: &TallGrid, now: &[Held]) {
    let has_surface = |c: usize| now[c].surface >= LEAST_SURFACE;
    let given = |from: usize, to: usize| match (has_surface(from), has_surface(to)) {
        (_, false) => 0.0,
        (true, true) => 0.125 * lacking[from],
        (false, true) => 0.25 * lacking[from],
    };
    let n = grid.nx;
    parallel::for_each_chunk_mut(out, n, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let c = i + n * k;
            let mut sum = lacking[c];
            for (there, is_there) in [
                (c.wrapping_sub(1), i > 0),
                (c + 1, i + 1 < n),
                (c.wrapping_sub(n), k > 0),
                (c + n, k + 1 < grid.nz),
            ] {
                if is_there {
                    sum += given(there, c) - given(c, there);
                }
            }
            *out = sum;
        }
    });
}

/// A surface is displaced by no more than this in a step, cells; what is left stays residual.
pub const MOST_DISPLACED: f32 = 0.5;
/// Rounds of Newton's method for a displacement.
const ROUNDS: usize = 4;

/// How far, in cells, each column's surfaces must be displaced outwards for it to hold what it lacks. 0 where it
/// has no surface. Second, whether the bound held it back.
pub fn displacements(
    out: &mut [(f32, bool)],
    grid: &TallGrid,
    phi: &[f32],
    open: &Open,
    (now, lacking): (&[Held], &[f32]),
) {
    parallel::for_each_chunk_mut(out, grid.nx, |k, row| {
        for (i, out) in row.iter_mut().enumerate() {
            let c = i + grid.nx * k;
            *out = (0.0, false);
            if now[c].surface < LEAST_SURFACE {
                continue;
            }
            let target = now[c].volume + lacking[c];
            let (mut shift, mut here) = (0.0f32, now[c]);
            for _ in 0..ROUNDS {
                if here.surface < LEAST_SURFACE {
                    break;
                }
                let wanted = shift + (target - here.volume) / here.surface;
                shift = wanted.clamp(-MOST_DISPLACED, MOST_DISPLACED);
                out.1 = shift != wanted;
                here = held(grid, phi, open, [i, k], -shift);
            }
            out.0 = shift;
        }
    });
}

/// A dry column that lacks as much as this gets a film, cells: half a cell is the least that the projection sees.
const LEAST_FILM: f32 = 0.5;

/// Displaces the surfaces of all columns, and lays films on dry ground that lacks enough for one.
pub fn displace(
    out: &mut [f32],
    grid: &TallGrid,
    phi: &[f32],
    (now, lacking): (&[Held], &[f32]),
    shift: &[(f32, bool)],
) {
    for_each_sample(grid, out, |s| {
        let c = s.i + grid.nx * s.k;
        let displaced = phi[s.index] - shift[c].0 * grid.dx_m;
        let is_dry = now[c].surface == 0.0 && phi[grid.index(s.i, 0, s.k)] > 0.0;
        if !is_dry || lacking[c] < LEAST_FILM {
            return displaced;
        }
        let over_ground = (s.y - grid.column(s.i, s.k)[0]) as f32 + 0.5;
        displaced.min((over_ground - lacking[c]) * grid.dx_m)
    });
}
