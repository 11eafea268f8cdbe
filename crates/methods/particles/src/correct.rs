//! Correction of the advected level set: liquid that particles show to be lost or left over.

use crate::sight::{self, Sight, bit};
use crate::surface::{Averager, LOWEST_IN_CELLS};
use crate::{CellRanges, Particles, Scratch, Surroundings};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Lattice;
use fluvial_grids::patch::Patch;

/// Cells farther from the surface are not shifted (in cells): the 27 cells around them do not hold all of the
/// surface layer. Neighbours across the surface are never farther from it than this.
const REACH_IN_CELLS: f32 = 1.0;
/// Particles farther outside are no part of the surface layer; the coarse correction sees to them. In cells.
const ESCAPE_IN_CELLS: f32 = 0.75;
/// Cells deeper than this hold no particle of the surface layer, in cells.
const DEEPEST_OF_LAYER_IN_CELLS: f32 = 1.5;
/// A cell whose centre is farther from solids than this is whole, in cells.
const HALF_DIAGONAL_IN_CELLS: f32 = 0.87;
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
/// Differences up to the first are noise of the particles' surface, from the second on they are liquid that
/// the grid has lost; in cells.
const LOST_LIQUID_IN_CELLS: [f32; 2] = [0.5, 1.0];
/// The same for liquid that the grid has kept where the particles have left. Wider: particles that are
/// missing (next to solids, in a strained surface) must not eat the liquid.
const LEFT_LIQUID_IN_CELLS: [f32; 2] = [0.8, 1.2];
/// No liquid is lost where no particle is farther outside than this, in cells: around a point y outside all
/// particles the averaged distance is y - 0.49 dx at least, or y is below 0.2 dx.
const OUTSIDE_IN_CELLS: f32 = 0.05;
/// Particles have not left a cell that holds this many, nor one with so many in the 27 cells around it: a
/// third of what they hold when full.
const HELD_BY_CELL: usize = 3;
const HELD_AROUND: usize = 72;
/// Slabs of cells that one task corrects; it tallies one more on either side.
const SLABS: usize = 8;

/// Smooth step from 0 at `from` to 1 at `to`.
fn share(value: f32, [from, to]: [f32; 2]) -> f32 {
    let t = ((value - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Everything that particles know better than the advected level set `phi` (a distance near the surface);
/// particles must be sorted, and redistancing is to follow.
///
/// Fine: phi shifts to where its particles show the surface. They fill the liquid evenly up to its surface
/// and move with it. Advection on the grid blunts features, and then the particles under the surface are too
/// many or too few. Over the 27 cells around each cell next to the surface, with A = sum max(0, 1 - |phi| /
/// dx) dx^2 the surface's area there (outside solids) and phi sampled at the particles,
///
/// outside = n(phi > 0) dx^3 / (8 A), net = (n(phi > -0.4 dx) dx^3 / 8 - V) / A
///
/// are the thickness of liquid beyond the surface and the surplus of the layer under it, of volume V: phi -=
/// min(outside, net + 0.03 dx, largest phi of a particle), in full from 0.05 dx on and not below 0.01 dx.
/// Where net < 0 beyond three standard deviations of the count (0.22 dx on an open surface), phi += the rest.
/// A surface with its particles evenly below it, as at rest, keeps every bit: unlike a surface rebuilt from
/// particles, it has none of their noise. The idea of correcting by escaped particles is from [enright-2002
/// §3.3]; counting them conserves volume without radii.
///
/// Coarse: [ferstl-2016 §3.3] take min(phi_particles, phi + dx) everywhere, phi_particles the particles'
/// own level set [zhu-2005], which prints their noise into every calm surface. Here the smooth advected
/// surface stands wherever the particles agree with it within their noise, as in the extended narrow band of
/// [sato-2018] without its heat:
/// - phi_particles < phi: the grid lost liquid (splashes, thin sheets); phi goes over to phi_particles while
///   the difference grows from 0.5 to 1 dx;
/// - phi_particles > max(phi, 0): the particles have left; phi goes over to min(phi_particles, phi + dx)
///   while that difference grows from 0.8 to 1.2 dx. Deeper than dx liquid stays, particles or not; deeper
///   than 2 dx nothing is touched, nor in cells nearer to a solid than dx, where particles are missing on its
///   side.
///
/// Near thin solids a cell counts only what it sees. What cells that solids cut should hold of the layer is counted by their octants: in
/// the wedge below a slanted plate the open part of a cell lies below the layer, and the layer of a cell as full of solid everywhere was 3
/// particles, none of which was there; the surface sank by a tenth of a cell a step.
/// Test: `a_level_that_slanted_plates_pierce_begins_at_rest` in the uniform solver.
///
/// phi_particles is computed only where it can matter: around particles outside the surface, and in cells
/// that hold next to none.
/// Tests: `a_pool_at_rest_stays_flat`, `a_shrunken_sphere_is_restored`, `a_swollen_sphere_is_cut_back`,
/// `a_lost_drop_comes_back`, `liquid_without_particles_goes`, `zalesak_sphere_keeps_volume_and_slot`,
/// `enright_deformation_returns`.
pub fn correct_by_particles(
    phi: &mut [f32],
    particles: &Particles,
    ranges: &CellRanges,
    around: &Surroundings,
    scratch: &mut Scratch,
) {
    let grid = around.grid;
    assert_eq!(phi.len(), grid.cell_count());
    assert!(around.is_free() || around.phi_solid_node.len() == grid.nodes().len());
    debug_assert!(ranges.describe(particles, grid));
    let corrected = &mut scratch.phi;
    corrected.resize(phi.len(), 0.0);
    let sight = Sight::new(around.sides, grid);
    let averager = Averager { particles, ranges, grid };
    let corrector = Corrector { phi, particles, ranges, around, sight, averager, inverse_dx: 1.0 / grid.dx };
    let slab = grid.cell_centers().slab();
    parallel::for_each_chunk_mut(corrected, SLABS * slab, |block, out| corrector.fill(block * SLABS, out));
    parallel::for_each_beside_mut(phi, corrected, |phi, &corrected| *phi = corrected);
}

/// What one cell adds to the estimate, lengths in cells.
#[derive(Clone, Copy, Debug)]
struct Tally {
    area: f32,
    /// Particles that the layer under the surface should hold.
    expected: f32,
    /// Particles outside the surface, and these with those of the layer under it.
    outside: f32,
    layer: f32,
    /// The largest phi of a particle; -infinity where there is none.
    highest: f32,
}

impl Tally {
    const NONE: Tally =
        Tally { area: 0.0, expected: 0.0, outside: 0.0, layer: 0.0, highest: f32::NEG_INFINITY };
}

/// Tallies of one slab, and which of its cells hold a particle outside the surface.
#[derive(Clone, Default)]
struct Slab {
    tallies: Vec<Tally>,
    escaped: Vec<u8>,
}

struct Corrector<'a> {
    phi: &'a [f32],
    particles: &'a Particles,
    ranges: &'a CellRanges,
    around: &'a Surroundings<'a>,
    sight: Sight<'a>,
    averager: Averager<'a>,
    inverse_dx: f32,
}

impl Corrector<'_> {
    /// Corrected values of the slabs from `first` on.
    fn fill(&self, first: usize, out: &mut [f32]) {
        let [nx, ny, nz] = self.around.grid.cells;
        // Slab k waits in place k % 3 for its neighbours.
        let mut slabs = [Slab::default(), Slab::default(), Slab::default()];
        let last = first + out.len() / (nx * ny) - 1;
        for k in first.saturating_sub(1)..=first {
            self.tally_slab(&mut slabs[k % 3], k);
        }
        let mut escaped_near = vec![0; nx];
        for (k, out) in (first..=last).zip(out.chunks_mut(nx * ny)) {
            if k + 1 < nz {
                self.tally_slab(&mut slabs[(k + 1) % 3], k + 1);
            }
            let near = k.saturating_sub(1)..=(k + 1).min(nz - 1);
            for (j, out) in out.chunks_mut(nx).enumerate() {
                let rows = j.saturating_sub(1)..=(j + 1).min(ny - 1);
                escaped_near.fill(0);
                for k in near.clone() {
                    for j in rows.clone() {
                        let row = &slabs[k % 3].escaped[nx * j..nx * (j + 1)];
                        escaped_near.iter_mut().zip(row).for_each(|(any, escaped)| *any |= escaped);
                    }
                }
                for (i, out) in out.iter_mut().enumerate() {
                    let columns = i.saturating_sub(1)..=(i + 1).min(nx - 1);
                    let escaped = escaped_near[columns].iter().any(|&e| e != 0);
                    *out = self.corrected([i, j, k], &slabs, escaped);
                }
            }
        }
    }

    fn tally_slab(&self, slab: &mut Slab, k: usize) {
        let [nx, ny, _] = self.around.grid.cells;
        slab.tallies.clear();
        slab.escaped.clear();
        for row in (nx * ny * k..nx * ny * (k + 1)).step_by(nx) {
            let is_near = |phi: &f32| phi.abs() * self.inverse_dx <= 3.0;
            let no_particles = self.ranges.of_cells(row..row + nx).is_empty();
            if no_particles && !self.phi[row..row + nx].iter().any(is_near) {
                slab.tallies.extend(std::iter::repeat_n(Tally::NONE, nx));
                slab.escaped.extend(std::iter::repeat_n(0, nx));
                continue;
            }
            for cell in row..row + nx {
                let (tally, escaped) = self.tally(cell);
                slab.tallies.push(tally);
                slab.escaped.push(escaped as u8);
            }
        }
    }

    /// What a cell adds, and whether it holds a particle outside the surface.
    fn tally(&self, cell: usize) -> (Tally, bool) {
        let mut tally = Tally::NONE;
        let distance = self.phi[cell] * self.inverse_dx;
        if distance.abs() > 3.0 {
            return (tally, distance > 0.0 && self.ranges.count(cell) > 0);
        }
        let at = self.sight.cells.coordinates(cell);
        let surface = self.surface(at);
        tally.area = (1.0 - distance.abs()).max(0.0);
        let is_whole = self.around.is_free()
            || self.around.solid_distance(cell) * self.inverse_dx > HALF_DIAGONAL_IN_CELLS;
        if is_whole {
            tally.expected = PER_CELL * share_of_layer(distance, 1.0);
        } else {
            let (open, center) = (self.open_octants(cell), self.sight.cells.position(at[0], at[1], at[2]));
            let octant = |n: usize| center + self.around.grid.dx * octant_center(n);
            tally.area *= open.iter().sum::<f32>() / 8.0;
            let expected = |(n, open): (usize, &f32)| match *open > 0.0 {
                true => open * share_of_layer(surface.at(octant(n)), 0.5),
                false => 0.0,
            };
            tally.expected = PER_CELL / 8.0 * open.iter().enumerate().map(expected).sum::<f32>();
        }
        if distance < -DEEPEST_OF_LAYER_IN_CELLS {
            return (tally, false);
        }
        let mut escaped = false;
        for &x in &self.particles.x[self.ranges.of_cell(cell)] {
            let phi = surface.at(x);
            escaped |= phi > OUTSIDE_IN_CELLS;
            if phi < ESCAPE_IN_CELLS {
                tally.outside += if phi > 0.0 { 1.0 } else { 0.0 };
                tally.highest = tally.highest.max(phi);
                tally.layer += if phi > -LAYER_IN_CELLS { 1.0 } else { 0.0 };
            }
        }
        (tally, escaped)
    }

    /// phi in and around a cell: near thin solids as the cell sees it.
    fn surface(&self, at: [usize; 3]) -> SurfaceInCell<'_> {
        let (cells, sides) = (self.sight.cells, self.sight.sides);
        let near_thin = self.sight.is_near(at);
        let patch = near_thin.then(|| (Patch::new(|cell| self.phi[cell], &cells, sides, at, 1), at));
        SurfaceInCell { phi: self.phi, cells, patch, inverse_dx: self.inverse_dx }
    }

    /// The open parts of a cell's octants, on its own side of a thin solid.
    fn open_octants(&self, cell: usize) -> [f32; 8] {
        let nodes = self.around.grid.nodes();
        let [i, j, k] = self.sight.cells.coordinates(cell);
        let corners = nodes.corner_values(self.around.phi_solid_node, nodes.index(i, j, k));
        let own = self.sight.sides.own_corners.get(cell).copied().unwrap_or(0xff);
        let unit = Lattice { size: [2; 3], origin: Vec3::splat(-0.5), spacing: 1.0 };
        std::array::from_fn(|n| {
            let distance = unit.sample(&corners, octant_center(n)) * self.inverse_dx;
            if own >> n & 1 == 1 { (0.5 + 2.0 * distance).clamp(0.0, 1.0) } else { 0.0 }
        })
    }

    fn corrected(&self, at: [usize; 3], slabs: &[Slab; 3], escaped: bool) -> f32 {
        let (cells, dx) = (self.around.grid.cell_centers(), self.around.grid.dx);
        let cell = cells.index(at[0], at[1], at[2]);
        let mut phi = self.phi[cell] * self.inverse_dx;
        if phi <= -2.0 || phi >= REACH_IN_CELLS && !escaped {
            return self.phi[cell];
        }
        let shift = if phi.abs() < REACH_IN_CELLS { self.shift(at, slabs) } else { 0.0 };
        phi -= shift;
        let advected = self.phi[cell] - dx * shift;
        let may_be_lost = escaped && phi > LOWEST_IN_CELLS + LOST_LIQUID_IN_CELLS[0];
        let may_be_left = || {
            phi < 0.5
                && self.ranges.count(cell) < HELD_BY_CELL
                && self.count_around(at) < HELD_AROUND
                && (self.around.is_free() || self.around.solid_distance(cell) > dx)
        };
        if !may_be_lost && !may_be_left() {
            return advected;
        }
        let from_particles = self.averager.value(at, self.sight.seen(at)) * self.inverse_dx;
        let lost = phi - from_particles;
        let left = from_particles - phi.max(0.0);
        if lost > 0.0 {
            advected - dx * lost * share(lost, LOST_LIQUID_IN_CELLS)
        } else if left > LEFT_LIQUID_IN_CELLS[0] && phi > -2.0 && may_be_left() {
            advected + dx * (-lost).min(1.0) * share(left, LEFT_LIQUID_IN_CELLS)
        } else {
            advected
        }
    }

    /// Particles of the 27 cells around.
    fn count_around(&self, [i, j, k]: [usize; 3]) -> usize {
        let [nx, ny, nz] = self.around.grid.cells;
        let (i0, i1) = (i.saturating_sub(1), (i + 2).min(nx));
        let seen = self.sight.seen([i, j, k]);
        if seen != sight::ALL {
            let cells = self.sight.cells;
            return cells_of(seen, [i, j, k]).map(|[i, j, k]| self.ranges.count(cells.index(i, j, k))).sum();
        }
        let mut count = 0;
        for k in k.saturating_sub(1)..(k + 2).min(nz) {
            for j in j.saturating_sub(1)..(j + 2).min(ny) {
                let row = nx * (j + ny * k);
                count += self.ranges.of_cells(row + i0..row + i1).len();
            }
        }
        count
    }

    /// How far the surface moves outwards, in cells.
    fn shift(&self, [i, j, k]: [usize; 3], slabs: &[Slab; 3]) -> f32 {
        let [nx, ny, nz] = self.around.grid.cells;
        let mut sum = Tally::NONE;
        let seen = self.sight.seen([i, j, k]);
        let sees = |at: [usize; 3]| {
            let here = [i, j, k];
            seen == sight::ALL || seen & bit(std::array::from_fn(|a| at[a] as isize - here[a] as isize)) != 0
        };
        let (i0, i1) = (i.saturating_sub(1), (i + 1).min(nx - 1));
        for k in k.saturating_sub(1)..=(k + 1).min(nz - 1) {
            for j in j.saturating_sub(1)..=(j + 1).min(ny - 1) {
                let tallies = &slabs[k % 3].tallies[nx * j + i0..=nx * j + i1];
                for (tally, _) in tallies.iter().zip(i0..).filter(|(_, i)| sees([*i, j, k])) {
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
}

/// The level set in and around a cell.
struct SurfaceInCell<'a> {
    phi: &'a [f32],
    cells: Lattice,
    /// Near a thin solid: what the cell sees, continued behind, with the cell's place.
    patch: Option<(Patch, [usize; 3])>,
    inverse_dx: f32,
}

impl SurfaceInCell<'_> {
    /// phi at a point in the cell, in cells.
    #[inline]
    fn at(&self, x_in_world: Vec3) -> f32 {
        let x = (x_in_world - self.cells.origin) * self.inverse_dx;
        let Some((patch, at)) = &self.patch else {
            return self.cells.interpolate(self.phi, self.cells.stencil_at(x)) * self.inverse_dx;
        };
        let low = Vec3::from_array(std::array::from_fn(|a| (at[a] - patch.center[a]) as f32));
        patch.lattice.interpolate(patch.values(), patch.lattice.stencil_at(x - low)) * self.inverse_dx
    }
}

/// The middle of an octant, relative to its cell's centre, in cells.
fn octant_center(n: usize) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|a| if n >> a & 1 == 1 { 0.25 } else { -0.25 }))
}

/// The share of a box of an edge that lies in the layer under a surface at a distance from its middle, as if both were flat; in cells.
fn share_of_layer(distance: f32, edge: f32) -> f32 {
    let share_inside = |distance: f32| (0.5 - distance / edge).clamp(0.0, 1.0);
    share_inside(distance) - share_inside(distance + LAYER_IN_CELLS)
}

/// The cells around one that it sees.
fn cells_of(seen: u32, at: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..27).filter(move |n| seen >> n & 1 == 1).map(move |n| {
        let offset = [n % 3, n / 3 % 3, n / 9];
        std::array::from_fn(|a| at[a] + offset[a] - 1)
    })
}
