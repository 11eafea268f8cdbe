//! Solids on the columns [tall §3.9.1]: voxelised fractions, and the level set and the velocity inside them, so that
//! what is traced past a solid finds sensible values there. Twins in `solids.wgsl` and `ground.wgsl`.

use crate::exchange::CellList;
use crate::field::{Sample, Velocity, for_each_sample, nearest};
use crate::pressure::stencil::SOLID_ABOVE;
use crate::remesh::fit;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::{Holds, LEAST_TALL};

/// Solids that rest, above the terrain, by column.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// First entry of every column in `cells`, and the end.
    pub first: Vec<u32>,
    /// Cells that solids touch, lowest first: their y and the part that is solid.
    pub cells: Vec<[f32; 2]>,
    /// Cells from this height on lie above the domain.
    pub height: i32,
    /// The solid part of those: 1 under a closed ceiling.
    pub above: f32,
}

impl Ground {
    /// The solid part of cell `y` of a column, above its terrain.
    pub fn filled(&self, column: usize, y: i32) -> f32 {
        if y >= self.height {
            return self.above;
        }
        let cells = &self.cells[self.first[column] as usize..self.first[column + 1] as usize];
        let n = cells.partition_point(|cell| cell[0] < y as f32);
        if n < cells.len() && cells[n][0] == y as f32 { cells[n][1] } else { 0.0 }
    }

    /// Is a column open up to a height?
    fn is_clear(&self, column: usize, top: i32) -> bool {
        self.first[column] == self.first[column + 1] && top <= self.height
    }
}

/// What [`place`] writes.
pub struct Placed<'a> {
    /// Solid fraction by sample, as the projection sees it.
    pub fraction: &'a mut [f32],
    /// Open part of every sample's cell.
    pub open_cell: &'a mut [f32],
    /// Open volume of every column's tall cell, in cells.
    pub open_tall: &'a mut [f32],
    /// Velocity of what is solid by sample; left alone where nothing moves.
    pub u_solid: &'a mut [Velocity],
}

/// Solid fraction and open part of every sample's cell, and the open volume of every tall cell, from the solid part
/// of cells. `moving` has that of solids that move, added to the ground's, and their velocity.
///
/// The fraction at the ends of a tall cell is the line that fits its sub-cells, but for the lowest: a line shows no
/// cell that the ground cuts.
pub fn place(
    Placed { fraction, open_cell, open_tall, u_solid }: Placed,
    grid: &TallGrid,
    ground: &Ground,
    moving: Option<&CellList>,
) {
    let solid_part = |i: usize, y: i32, k: usize| {
        let resting = ground.filled(i + grid.nx * k, y);
        match moving.and_then(|moving| Some(moving.cells[moving.find(i + grid.nx * k, y)?][1])) {
            Some(part) => (resting + part).min(1.0),
            None => resting,
        }
    };
    let slab = grid.nx * grid.rows();
    parallel::for_each_chunk_mut2((fraction, slab), (open_cell, slab), |k, fraction, open| {
        for i in 0..grid.nx {
            for j in 0..grid.rows() {
                let part = solid_part(i, grid.y(i, j, k), k);
                (fraction[i + grid.nx * j], open[i + grid.nx * j]) = (part, 1.0 - part);
            }
            let [terrain, tall] = grid.column(i, k);
            if tall > LEAST_TALL {
                let part = |t: i32| if t == 0 { 0.0 } else { solid_part(i, terrain + t, k) };
                let (bottom, top) = fit(tall, part);
                fraction[i] = bottom.clamp(0.0, 1.0);
                fraction[i + grid.nx] = top.clamp(0.0, 1.0);
            }
        }
    });
    parallel::for_each_chunk_mut(open_tall, grid.nx, |k, row| {
        for (i, open) in row.iter_mut().enumerate() {
            let ([terrain, tall], c) = (grid.column(i, k), i + grid.nx * k);
            let is_clear = moving.is_none_or(|moving| moving.first[c] == moving.first[c + 1]);
            *open = match is_clear && ground.is_clear(c, terrain + tall) {
                true => tall as f32,
                false => (terrain..terrain + tall).fold(0.0, |sum, y| sum + (1.0 - solid_part(i, y, k))),
            };
        }
    });
    let Some(moving) = moving else { return };
    let fraction = &*fraction;
    for_each_sample(grid, u_solid, |s| match moving.find(s.i + grid.nx * s.k, s.y) {
        Some(entry) if fraction[s.index] > 0.0 => moving.u[entry],
        _ => [0.0; 4],
    });
}

/// Steps to the six neighbouring cells: x-, x+, z-, z+, y-, y+.
const AROUND: [[i32; 3]; 6] = [[-1, 0, 0], [1, 0, 0], [0, 0, -1], [0, 0, 1], [0, -1, 0], [0, 1, 0]];

/// The neighbouring cell of a sample in direction `n`, where the grid has one.
fn beside(grid: &TallGrid, s: Sample, n: usize) -> Option<[i32; 3]> {
    let [di, dy, dk] = AROUND[n];
    let [i, y, k] = [s.i as i32 + di, s.y + dy, s.k as i32 + dk];
    (grid.holds(i, y, k) == Holds::Cell).then_some([i, y, k])
}

/// phi inside solids: the mean of the open neighbours on the same level, or else of the one above or below, one
/// cell deeper or higher; without any it spreads from cell to cell, step by step. Other samples keep theirs.
///
/// The paper takes the mean over all neighbours and blends it into partly solid cells; still water beside a
/// slope is then not at rest, since its phi is not the mean of its neighbours'.
pub fn phi_in_solids(out: &mut [f32], phi: &[f32], grid: &TallGrid, fraction: &[f32]) {
    let reach = crate::redistance::REACH_CELLS * grid.dx_m;
    for_each_sample(grid, out, |s| {
        if fraction[s.index] <= SOLID_ABOVE {
            return phi[s.index];
        }
        let (mut level, mut count, mut all, mut all_count) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
        let mut vertical = None;
        for n in 0..6 {
            let Some([i, y, k]) = beside(grid, s, n) else { continue };
            let value = nearest(grid, phi, [i, k], y as f32);
            all += value;
            all_count += 1.0;
            if nearest(grid, fraction, [i, k], y as f32) > SOLID_ABOVE {
                continue;
            }
            match n {
                4 => vertical = Some(value + grid.dx_m),
                5 => vertical = Some(value - grid.dx_m),
                _ => {
                    level += value;
                    count += 1.0;
                }
            }
        }
        let value = match vertical {
            _ if count > 0.0 => level / count,
            Some(value) => value,
            None if all_count > 0.0 => all / all_count,
            None => phi[s.index],
        };
        value.clamp(-reach, reach)
    });
}

/// Velocity inside solids: the mean of what the open neighbours ask for, so that liquid slips along and does not
/// flow through. Along the axis to a neighbour that is its mirror image about the solid's velocity, across the
/// axis its own. A solid's inside has the solid's velocity. Other samples keep theirs.
pub fn velocity_in_solids(
    out: &mut [Velocity],
    u: &[Velocity],
    grid: &TallGrid,
    fraction: &[f32],
    u_solid: &[Velocity],
) {
    for_each_sample(grid, out, |s| {
        if fraction[s.index] <= SOLID_ABOVE {
            return u[s.index];
        }
        let own = u_solid[s.index];
        let (mut sum, mut count) = ([0.0f32; 3], 0.0f32);
        for n in 0..6 {
            let Some([i, y, k]) = beside(grid, s, n) else { continue };
            if nearest(grid, fraction, [i, k], y as f32) > SOLID_ABOVE {
                continue;
            }
            let value = nearest(grid, u, [i, k], y as f32);
            let axis = [0, 0, 2, 2, 1, 1][n];
            for c in 0..3 {
                sum[c] += if c == axis { 2.0 * own[c] - value[c] } else { value[c] };
            }
            count += 1.0;
        }
        match count > 0.0 {
            true => [sum[0] / count, sum[1] / count, sum[2] / count, 1.0],
            false => [own[0], own[1], own[2], 1.0],
        }
    });
}
