//! Fine correction of the advected level set: liquid that particles show to be lost or left over.

use crate::surface::solid_distance;
use crate::{CellRanges, Particles, Scratch};
use fluvial_foundation::parallel;
use fluvial_grids::UniformGrid;

/// Cells farther from the surface are not shifted (in cells): the 27 cells around them do not hold all of the
/// surface layer. Neighbours across the surface are never farther from it than this.
const REACH_IN_CELLS: f32 = 1.0;
/// Particles farther outside are no part of the surface layer; [`combine_narrow_band`](crate::combine_narrow_band)
/// sees to them. In cells.
const ESCAPE_IN_CELLS: f32 = 0.75;
/// Particles that a full cell holds.
const PER_CELL: f32 = 8.0;
/// Thickness of the layer under the surface whose particles are counted, in cells.
const LAYER_IN_CELLS: f32 = 0.4;
/// Outward shifts below the first are left, from the second on they are made in full; in cells.
const OUTWARD_IN_CELLS: [f32; 2] = [0.01, 0.05];
/// An outward shift may leave the layer this much too empty, in cells.
const OUTWARD_SLACK_IN_CELLS: f32 = 0.03;
/// An inward shift starts where the layer lacks this many standard deviations of its random count.
const INWARD_DEVIATIONS: f32 = 3.0;

/// Smooth step from 0 at `from` to 1 at `to`.
pub(crate) fn share(value: f32, [from, to]: [f32; 2]) -> f32 {
    let t = ((value - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Shifts the advected level set `phi` (a distance near the surface) to where its particles show the surface.
///
/// Particles fill the liquid evenly up to its surface and move with it. Advection on the grid blunts
/// features, and then the particles under the surface are too many or too few. Over the 27 cells around each
/// cell next to the surface, with A = sum max(0, 1 - |phi| / dx) dx^2 the surface's area there (outside
/// solids: `phi_solid_node`, empty where there is none) and phi sampled at the particles,
///
/// outside = n(phi > 0) dx^3 / (8 A), net = (n(phi > -0.4 dx) dx^3 / 8 - V) / A
///
/// are the thickness of liquid beyond the surface and the surplus of the layer under it, of volume V: phi -= min(outside,
/// net + 0.03 dx, largest phi of a particle), in full from 0.05 dx on and not below 0.01 dx. Where net < 0 beyond three standard deviations
/// of the count (0.22 dx on an open surface), phi += the rest. A surface with its particles evenly below
/// it, as at rest, keeps every bit: unlike a surface rebuilt from particles, it has none of their noise.
/// Particles must be sorted; redistancing is to follow. The idea of correcting by escaped particles is
/// [Enright, Fedkiw, Ferziger, Mitchell 2002, §3.3]; counting them conserves volume without radii.
/// Tests: `a_pool_at_rest_stays_flat`, `a_shrunken_sphere_is_restored`, `a_swollen_sphere_is_cut_back`,
/// `enright_deformation_returns`.
pub fn shift_to_particles(
    phi: &mut [f32],
    particles: &Particles,
    ranges: &CellRanges,
    phi_solid_node: &[f32],
    grid: &UniformGrid,
    scratch: &mut Scratch,
) {
    assert_eq!(phi.len(), grid.cell_count());
    assert!(phi_solid_node.is_empty() || phi_solid_node.len() == grid.nodes().len());
    debug_assert!(ranges.describe(particles, grid));
    let [nx, ny, nz] = grid.cells;
    let Scratch { tallies, field, .. } = scratch;
    tallies.resize(grid.cell_count(), Tally::NONE);
    let advected = &*phi;
    parallel::for_each_chunk_mut(tallies, nx, |row, tallies| {
        for (tally, cell) in tallies.iter_mut().zip(row * nx..) {
            *tally = tally_cell(advected, particles, ranges, phi_solid_node, grid, cell);
        }
    });
    field.resize(grid.cell_count(), 0.0);
    let tallies = &*tallies;
    parallel::for_each_chunk_mut(field, nx, |row, shift| {
        let (j, k) = (row % ny, row / ny);
        for (i, shift) in shift.iter_mut().enumerate() {
            let near = advected[row * nx + i].abs() < REACH_IN_CELLS * grid.dx;
            *shift = if near { grid.dx * shift_in_cells(tallies, [nx, ny, nz], [i, j, k]) } else { 0.0 };
        }
    });
    let shift = &*field;
    parallel::for_each_chunk_mut(phi, parallel::CHUNK, |chunk, phi| {
        let shift = &shift[parallel::chunk_range(chunk, parallel::CHUNK, shift.len())];
        phi.iter_mut().zip(shift).for_each(|(phi, shift)| *phi -= shift);
    });
}

/// What one cell adds to the estimate, lengths in cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    area: f32,
    /// Particles that the layer under the surface should hold.
    expected: f32,
    /// Particles outside the surface, and these with those of the layer under it.
    outside: f32,
    layer: f32,
    /// The largest phi of a particle, in cells; -infinity where there is none.
    highest: f32,
}

impl Tally {
    const NONE: Tally =
        Tally { area: 0.0, expected: 0.0, outside: 0.0, layer: 0.0, highest: f32::NEG_INFINITY };
}

fn tally_cell(
    phi: &[f32],
    particles: &Particles,
    ranges: &CellRanges,
    phi_solid_node: &[f32],
    grid: &UniformGrid,
    cell: usize,
) -> Tally {
    let mut tally = Tally::NONE;
    let inverse_dx = 1.0 / grid.dx;
    let distance = phi[cell] * inverse_dx;
    if distance.abs() > 3.0 {
        return tally;
    }
    // Shares of the cell inside two level sets, as if they were flat; their difference is the layer.
    let share_inside = |distance: f32| (0.5 - distance).clamp(0.0, 1.0);
    tally.area = (1.0 - distance.abs()).max(0.0);
    tally.expected = PER_CELL * (share_inside(distance) - share_inside(distance + LAYER_IN_CELLS));
    if !phi_solid_node.is_empty() {
        let open = share_inside(-solid_distance(phi_solid_node, grid, cell) * inverse_dx);
        tally.area *= open;
        tally.expected *= open;
    }
    let centers = grid.cell_centers();
    for &x in &particles.x[ranges.of_cell(cell)] {
        let phi = centers.sample(phi, x) * inverse_dx;
        if phi < ESCAPE_IN_CELLS {
            tally.outside += if phi > 0.0 { 1.0 } else { 0.0 };
            tally.highest = tally.highest.max(phi);
            tally.layer += if phi > -LAYER_IN_CELLS { 1.0 } else { 0.0 };
        }
    }
    tally
}

fn shift_in_cells(tallies: &[Tally], [nx, ny, nz]: [usize; 3], [i, j, k]: [usize; 3]) -> f32 {
    let mut sum = Tally::NONE;
    let (i0, i1) = (i.saturating_sub(1), (i + 1).min(nx - 1));
    for k in k.saturating_sub(1)..=(k + 1).min(nz - 1) {
        for j in j.saturating_sub(1)..=(j + 1).min(ny - 1) {
            let row = nx * (j + ny * k);
            for tally in &tallies[row + i0..=row + i1] {
                sum.area += tally.area;
                sum.expected += tally.expected;
                sum.outside += tally.outside;
                sum.layer += tally.layer;
                sum.highest = sum.highest.max(tally.highest);
            }
        }
    }
    // Where hardly any surface is left the particles cannot be spread over it.
    let full = PER_CELL * sum.area.max(1.0);
    let outward = sum.outside / full;
    let net = (sum.layer - sum.expected) / full;
    let outward = outward.min(net + OUTWARD_SLACK_IN_CELLS).min(sum.highest);
    if outward > 0.0 {
        outward * share(outward, OUTWARD_IN_CELLS)
    } else if sum.highest > -1.5 {
        (net + INWARD_DEVIATIONS * (LAYER_IN_CELLS / full).sqrt()).min(0.0)
    } else {
        0.0 // no particles near: the coarse correction decides
    }
}
