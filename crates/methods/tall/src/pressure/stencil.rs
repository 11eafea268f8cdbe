//! The discrete Laplacian [tall eq. 15, 16] as seven numbers a sample. Twins in `stencil.wgsl`.
//!
//! For a liquid sample and each of its six neighbouring cells the difference of pressure is `weight p' - own
//! p`:
//! - solid (terrain, wall, solid fraction above [`SOLID_ABOVE`]): both zero;
//! - air: the ghost value p phi'/phi, so that p = 0 on the surface; `own` is 1 / theta with theta = phi /
//!   (phi - phi');
//! - otherwise 1 - s for both, s being the solid part of the face, which is the lesser fraction of its two cells.
//!
//! The paper takes the neighbour's fraction for that of the face, so that two cells disagree about the face between them: a solid that begins in the
//! middle of a cell then pushes one and a half times the water that it displaces, half before that cell and all of it inside.
//! Test: `momentum_of_body_and_water_is_accounted_for`.
//!
//! Inside a tall cell the next cell's value lies on the line between the ends: the difference is that between
//! the ends over their distance, so that the neighbour is the other end and both numbers are divided by h -
//! 1.
//!
//! The operator is without 1/dx^2. Checked first against still water: `still_water_solves_the_equations`.

use crate::field::{SIDES, Sample, for_each_sample, nearest};
use crate::walls::Walls;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;

/// Above this solid fraction a cell counts as solid [tall §3.9.1].
pub const SOLID_ABOVE: f32 = 0.9;

/// Least ghost distance in cells. Below it the diagonal would leave the range where f32 resolves its
/// neighbours; the surface is then seen at this distance. [`floored_distances`] counts where.
pub const LEAST_THETA: f32 = 1e-3;

/// Weights of the neighbours x-, x+, y-, y+, z-, z+, the diagonal (0 where there is no unknown), and how far below the air's the
/// pressure may be at walls that liquid lets go of (0: nothing bounds it).
pub type Row = [f32; 8];

/// Thickness, in cells, of the layers whose balances the two ends of a column's tall cell state ([`layer`]).
///
/// The vertical links of an end are divided by it. A coarse sub-cell is twice as thick, but there is no equation
/// inside a tall cell that the balance of its other half could come from. So a layer keeps its thickness in metres and
/// gets thinner in cells. Without this the corrections of coarse levels are off by two a level: too small with the
/// paper's zero residual inside tall cells (the README has the rates), and too large with an interpolated one, which
/// diverges.
pub type Layers = [f32; 2];

/// Layers are no thicker than this, cells: with thicker ones the ends of a tall cell hang together so loosely that
/// cycles take longer.
const THICKEST: f32 = 3.0;

/// Thickness of the layers of a column's tall cell on the finest grid, in cells.
///
/// The paper's equation at an end is that of its sub-cell, one cell thick. What the rest of the tall cell lets
/// through its sides is then nobody's, and the pressure that should balance it lags behind: a standing wave of 64 cells
/// over 16 of depth, 6 of them tall, lost two thirds of its height in four periods. With halves of tall cells as layers every
/// sub-cell counts once, and the wave keeps 0.96 of it. On slopes, where lower ends see the inside of their neighbours,
/// cycles do not bear thick layers: there they stay one cell thick.
/// Test: `a_standing_wave_over_tall_cells_keeps_its_height`.
pub fn layer(grid: &TallGrid, [i, k]: [usize; 2]) -> f32 {
    let [terrain, tall] = grid.column(i, k);
    let is_level = SIDES.iter().all(|[di, dk]| {
        let (i, k) = (i as i32 + di, k as i32 + dk);
        let is_inside = i >= 0 && k >= 0 && i < grid.nx as i32 && k < grid.nz as i32;
        !is_inside || grid.column(i as usize, k as usize)[0] == terrain
    });
    if is_level { (0.5 * tall as f32).min(THICKEST) } else { 1.0 }
}

/// Layers of all columns on the finest grid.
pub fn layers(out: &mut [Layers], grid: &TallGrid) {
    out.iter_mut().enumerate().for_each(|(c, out)| *out = [layer(grid, [c % grid.nx, c / grid.nx]); 2]);
}

/// Thickness of a sample's layer on the finest grid, in cells.
pub(crate) fn thickness(grid: &TallGrid, s: Sample) -> f32 {
    if s.j < 2 { layer(grid, [s.i, s.k]) } else { 1.0 }
}

/// One neighbour as seen from a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Factor of the neighbour's pressure.
    pub weight: f32,
    /// Factor of the sample's own pressure in the difference.
    pub own: f32,
    /// Solid part of the face between, 0 to 1.
    pub solid: f32,
}

/// Solid part of the face between an unknown and a cell with these solid fractions.
pub(crate) fn solid_part(own: f32, there: f32) -> f32 {
    if there > SOLID_ABOVE { 1.0 } else { own.min(there) }
}

/// The link of a sample with phi `here` to a neighbour with phi `there` across a face with a solid part, both ends
/// `distance` cells apart.
pub fn link(here: f32, there: f32, solid: f32, distance: f32) -> Link {
    let scale = 1.0 / distance;
    if solid >= 1.0 {
        Link { weight: 0.0, own: 0.0, solid }
    } else if there > 0.0 {
        let theta = (here / (here - there)).max(LEAST_THETA);
        Link { weight: 0.0, own: scale / theta, solid: 0.0 }
    } else {
        Link { weight: (1.0 - solid) * scale, own: (1.0 - solid) * scale, solid }
    }
}

const WALL: Link = Link { weight: 0.0, own: 0.0, solid: 1.0 };

/// Is the sample an unknown: liquid, and not inside a solid?
pub fn is_unknown(phi: f32, fraction: f32) -> bool {
    phi <= 0.0 && fraction <= SOLID_ABOVE
}

/// The six links of an unknown, in the order of [`Row`]. The air above the column is one cell away from the
/// surface.
pub fn links(grid: &TallGrid, phi: &[f32], fraction: &[f32], s: Sample) -> [Link; 6] {
    let (here, own) = (phi[s.index], fraction[s.index]);
    let mut all = [WALL; 6];
    for (side, [di, dk]) in SIDES.into_iter().enumerate() {
        let (i, k) = (s.i as i32 + di, s.k as i32 + dk);
        all[[0, 1, 4, 5][side]] = match grid.holds(i, s.y, k) {
            Holds::Solid => WALL,
            Holds::Air => link(here, grid.dx_m, 0.0, 1.0),
            Holds::Cell => {
                let y = s.y as f32;
                let part = solid_part(own, nearest(grid, fraction, [i, k], y));
                link(here, nearest(grid, phi, [i, k], y), part, 1.0)
            }
        };
    }
    let ends_apart = (grid.column(s.i, s.k)[1] - 1) as f32;
    if s.j > 0 {
        let (below, distance) = (s.index - grid.nx, if s.j == 1 { ends_apart } else { 1.0 });
        all[2] = link(here, phi[below], solid_part(own, fraction[below]), distance);
    }
    all[3] = if s.j + 1 < grid.rows() {
        let (above, distance) = (s.index + grid.nx, if s.j == 0 { ends_apart } else { 1.0 });
        link(here, phi[above], solid_part(own, fraction[above]), distance)
    } else {
        link(here, grid.dx_m, 0.0, 1.0)
    };
    all
}

/// Rows of the operator; all zero where there is no unknown. `layers` has one pair a column.
pub fn build_rows(
    out: &mut [Row],
    grid: &TallGrid,
    (phi, fraction): (&[f32], &[f32]),
    layers: &[Layers],
    walls: &Walls,
) {
    for_each_sample(grid, out, |s| {
        let mut row = [0.0; 8];
        if is_unknown(phi[s.index], fraction[s.index]) {
            let vertical = if s.j < 2 { 1.0 / layers[s.i + grid.nx * s.k][s.j] } else { 1.0 };
            for (d, l) in links(grid, phi, fraction, s).into_iter().enumerate() {
                let scale = if d / 2 == 1 { vertical } else { 1.0 };
                row[d] = scale * l.weight;
                row[6] += scale * l.own;
            }
            row[7] = walls.bears(grid, s);
        }
        row
    });
}

/// How many unknowns see the surface at the least distance, because it is nearer: what a step report gives.
pub fn floored_distances(grid: &TallGrid, phi: &[f32], fraction: &[f32]) -> usize {
    let slab = grid.nx * grid.rows();
    let floored = |s: Sample| {
        let all = links(grid, phi, fraction, s);
        let ends_apart = (grid.column(s.i, s.k)[1] - 1) as f32;
        let tall_link = |d: usize| (s.j == 1 && d == 2) || (s.j == 0 && d == 3);
        let distance = |d: usize| if tall_link(d) { ends_apart } else { 1.0 };
        (0..6).any(|d| all[d].weight == 0.0 && all[d].own * distance(d) >= 1.0 / LEAST_THETA)
    };
    let counts = parallel::map_indices(grid.nz, |k| {
        let in_slab = (0..slab).filter(|local| {
            let (i, j, index) = (local % grid.nx, local / grid.nx, slab * k + local);
            let s = Sample { i, j, k, y: grid.y(i, j, k), index };
            is_unknown(phi[index], fraction[index]) && floored(s)
        });
        in_slab.count()
    });
    counts.into_iter().sum()
}

/// Sum over neighbours of `weight p'` at an unknown.
pub fn neighbour_sum(grid: &TallGrid, row: &Row, p: &[f32], s: Sample) -> f32 {
    let side = |n: usize, w: f32| {
        let [di, dk] = SIDES[n];
        if w > 0.0 { w * nearest(grid, p, [s.i as i32 + di, s.k as i32 + dk], s.y as f32) } else { 0.0 }
    };
    let mut sum = ((side(0, row[0]) + side(1, row[1])) + side(2, row[4])) + side(3, row[5]);
    if row[2] > 0.0 {
        sum += row[2] * p[s.index - grid.nx];
    }
    if row[3] > 0.0 {
        sum += row[3] * p[s.index + grid.nx];
    }
    sum
}

/// The pressure of an unknown within its bound.
pub fn bounded(row: &Row, p: f32) -> f32 {
    if row[7] > 0.0 { p.max(-row[7]) } else { p }
}

/// How far liquid has let go there: 0 where the pressure is not below the air's, 1 at its bound.
pub fn let_go(row: &Row, p: f32) -> f32 {
    if row[7] > 0.0 { (-p / row[7]).clamp(0.0, 1.0) } else { 0.0 }
}

/// Is the pressure of an unknown at its bound?
pub fn is_held_back(row: &Row, p: f32) -> bool {
    row[7] > 0.0 && p <= -row[7]
}

/// phi as coarser levels see it: where the bound holds the pressure back there is no unknown, as in air.
pub fn mark_held_back(out: &mut [f32], grid: &TallGrid, phi: &[f32], rows: &[Row], p: &[f32]) {
    for_each_sample(grid, out, |s| {
        let here = phi[s.index];
        if is_held_back(&rows[s.index], p[s.index]) { here.max(grid.dx_m) } else { here }
    });
}

/// `b - A p`, zero where there is no unknown, and where the bound holds the pressure back.
pub fn residual(out: &mut [f32], grid: &TallGrid, rows: &[Row], p: &[f32], b: &[f32]) {
    for_each_sample(grid, out, |s| {
        let row = &rows[s.index];
        if row[6] == 0.0 {
            return 0.0;
        }
        let left = b[s.index] - (neighbour_sum(grid, row, p, s) - row[6] * p[s.index]);
        if left > 0.0 && is_held_back(row, p[s.index]) { 0.0 } else { left }
    });
}

/// Half a sweep of Gauss-Seidel: samples of one colour (parity of x + y + z) get the pressure that solves
/// their row; the others are copied.
///
/// The values of a tall cell's inside depend on both its ends, which may have the sample's own colour. Old
/// values are read there, so that the result depends on no order; elsewhere this is red-black Gauss-Seidel.
pub fn smooth_colour(out: &mut [f32], grid: &TallGrid, rows: &[Row], p: &[f32], b: &[f32], colour: i32) {
    for_each_sample(grid, out, |s| {
        let row = &rows[s.index];
        if row[6] == 0.0 {
            return 0.0;
        }
        if (s.i as i32 + s.y + s.k as i32) & 1 != colour {
            return p[s.index];
        }
        bounded(row, (neighbour_sum(grid, row, p, s) - b[s.index]) / row[6])
    });
}
