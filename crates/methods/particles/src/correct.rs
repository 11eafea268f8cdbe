//! Correction of the advected level set: liquid that particles show to be lost or left over.

use crate::reserve::PER_CELL;
use crate::surface::{Averager, LOWEST_IN_CELLS};
use crate::{CellRanges, Particles, Scratch, Surroundings};
use fluvial_foundation::parallel;

/// Cells farther from the surface are not shifted (in cells): the 27 cells around them do not hold all of the
/// surface layer. Neighbours across the surface are never farther from it than this.
const REACH_IN_CELLS: f32 = 1.0;
/// Cells deeper than this say nothing about the surface, in cells.
const DEEPEST_OF_LAYER_IN_CELLS: f32 = 1.0;
/// Misfits up to this are noise of the particles' places, in cells.
const NOISE_IN_CELLS: f32 = 0.1;
/// Part of what is beyond the noise that a step makes up for, and the most, in cells.
const SHIFTED_PER_STEP: f32 = 0.5;
const LONGEST_SHIFT_IN_CELLS: f32 = 0.5;
/// Differences up to the first are noise of the particles' surface, from the second on they are liquid that
/// the grid has lost; in cells.
const LOST_LIQUID_IN_CELLS: [f32; 2] = [0.5, 1.0];
/// The same for liquid that the grid has kept where the particles have left. Wider: particles that are
/// missing (next to solids, in a strained surface) must not eat the liquid.
const LEFT_LIQUID_IN_CELLS: [f32; 2] = [0.8, 1.2];
/// A cell that holds less than this of its open volume cannot have been lost.
const LEAST_LOST_SHARE: f32 = 0.5;
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
/// particles must be sorted, and redistancing is to follow. `near_cell` marks the cells that phi reaches
/// ([`mark_near`](crate::mark_near)): the particles of all others fly, and are no part of this surface.
///
/// Fine: phi shifts to where the mass of its particles puts the surface. Over the 27 cells around each cell
/// next to the surface, with weights w = 1, 1/2 per axis, n particles and the liquid share f of each cell, and
/// A = sum w max(0, 1 - |phi| / dx) dx^2 the surface's area there,
///
/// misfit = sum w (n / 8 - f) dx^3 / A
///
/// is the thickness that the liquid under phi lacks: phi -= half of what is beyond 0.1 dx. Up to there the
/// misfit is noise of the particles' places; what it adds up to over a body is the caller's to make up for,
/// see `Reserve`. A surface with its particles evenly below it, as at rest, keeps every bit: unlike
/// a surface rebuilt from particles, it has none of their noise.
///
/// Coarse: [ferstl-2016 §3.3] take min(phi_particles, phi + dx) everywhere, phi_particles the particles'
/// own level set [zhu-2005], which prints their noise into every calm surface. Here the smooth advected
/// surface stands wherever the particles agree with it within their noise, as in the extended narrow band of
/// [sato-2018] without its heat:
/// - phi_particles < phi: the grid lost liquid (splashes, thin sheets); in cells that their particles fill by
///   half, phi goes over to phi_particles while the difference grows from 0.5 to 1 dx;
/// - phi_particles > max(phi, 0): the particles have left; phi goes over to min(phi_particles, phi + dx)
///   while that difference grows from 0.8 to 1.2 dx. Deeper than dx liquid stays, particles or not; deeper
///   than 2 dx nothing is touched, nor in cells nearer to a solid than dx, where particles are missing on its
///   side.
///
/// phi_particles is computed only where it can matter: in cells outside the surface that hold many particles,
/// and inside in those that hold next to none.
/// Tests: `a_pool_at_rest_stays_flat`, `a_shrunken_sphere_is_restored`, `a_swollen_sphere_is_cut_back`,
/// `a_lost_drop_comes_back`, `liquid_without_particles_goes`, `zalesak_sphere_keeps_volume_and_slot`,
/// `enright_deformation_returns`.
pub fn correct_by_particles(
    phi: &mut [f32],
    particles: &Particles,
    ranges: &CellRanges,
    near_cell: &[u8],
    around: &Surroundings,
    scratch: &mut Scratch,
) {
    let grid = around.grid;
    assert!(phi.len() == grid.cell_count() && near_cell.len() == phi.len());
    assert!(around.is_free() || around.phi_solid_node.len() == grid.nodes().len());
    debug_assert!(ranges.describe(particles, grid));
    let corrected = &mut scratch.phi;
    corrected.resize(phi.len(), 0.0);
    let averager = Averager { particles, ranges, grid };
    let corrector = Corrector { phi, ranges, near_cell, around, averager, inverse_dx: 1.0 / grid.dx };
    let slab = grid.cell_centers().slab();
    parallel::for_each_chunk_mut(corrected, SLABS * slab, |block, out| corrector.fill(block * SLABS, out));
    parallel::for_each_beside_mut(phi, corrected, |phi, &corrected| *phi = corrected);
}

/// What one cell adds to the estimate, in cells.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    area: f32,
    /// Volume of the particles less that under phi.
    misfit: f32,
}

struct Corrector<'a> {
    phi: &'a [f32],
    ranges: &'a CellRanges,
    near_cell: &'a [u8],
    around: &'a Surroundings<'a>,
    averager: Averager<'a>,
    inverse_dx: f32,
}

/// Share of a cell inside a level set, as if that were flat.
fn share_inside(distance: f32) -> f32 {
    (0.5 - distance).clamp(0.0, 1.0)
}

impl Corrector<'_> {
    /// Corrected values of the slabs from `first` on.
    fn fill(&self, first: usize, out: &mut [f32]) {
        let [nx, ny, nz] = self.around.grid.cells;
        // Slab k waits in place k % 3 for its neighbours.
        let mut slabs: [Vec<Tally>; 3] = Default::default();
        let last = first + out.len() / (nx * ny) - 1;
        for k in first.saturating_sub(1)..=first {
            self.tally_slab(&mut slabs[k % 3], k);
        }
        for (k, out) in (first..=last).zip(out.chunks_mut(nx * ny)) {
            if k + 1 < nz {
                self.tally_slab(&mut slabs[(k + 1) % 3], k + 1);
            }
            for (j, out) in out.chunks_mut(nx).enumerate() {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = self.corrected([i, j, k], &slabs);
                }
            }
        }
    }

    fn tally_slab(&self, slab: &mut Vec<Tally>, k: usize) {
        let [nx, ny, _] = self.around.grid.cells;
        slab.clear();
        slab.extend((nx * ny * k..nx * ny * (k + 1)).map(|cell| self.tally(cell)));
    }

    /// Open share of a cell's volume.
    fn open(&self, cell: usize) -> f32 {
        match self.around.is_free() {
            true => 1.0,
            false => share_inside(-self.around.solid_distance(cell) * self.inverse_dx),
        }
    }

    fn tally(&self, cell: usize) -> Tally {
        let distance = self.phi[cell] * self.inverse_dx;
        if distance < -DEEPEST_OF_LAYER_IN_CELLS || self.near_cell[cell] == 0 {
            return Tally::default();
        }
        let open = self.open(cell);
        Tally {
            area: (1.0 - distance.abs()).max(0.0) * open,
            misfit: self.ranges.count(cell) as f32 / PER_CELL as f32 - share_inside(distance) * open,
        }
    }

    fn corrected(&self, at: [usize; 3], slabs: &[Vec<Tally>; 3]) -> f32 {
        let (cells, dx) = (self.around.grid.cell_centers(), self.around.grid.dx);
        let cell = cells.index(at[0], at[1], at[2]);
        let mut phi = self.phi[cell] * self.inverse_dx;
        let held = self.ranges.count(cell);
        if phi <= -2.0 || phi >= REACH_IN_CELLS && held == 0 {
            return self.phi[cell];
        }
        let shift = if phi.abs() < REACH_IN_CELLS { self.shift(at, slabs) } else { 0.0 };
        phi -= shift;
        let advected = self.phi[cell] - dx * shift;
        let may_be_lost = phi > LOWEST_IN_CELLS + LOST_LIQUID_IN_CELLS[0]
            && held as f32 >= LEAST_LOST_SHARE * PER_CELL as f32 * self.open(cell).max(0.25);
        let may_be_left = || {
            phi < 0.5
                && held < HELD_BY_CELL
                && self.count_around(at) < HELD_AROUND
                && (self.around.is_free() || self.around.solid_distance(cell) > dx)
        };
        if !may_be_lost && !may_be_left() {
            return advected;
        }
        let from_particles = self.averager.value(at) * self.inverse_dx;
        let lost = phi - from_particles;
        let left = from_particles - phi.max(0.0);
        if lost > 0.0 {
            advected - if may_be_lost { dx * lost * share(lost, LOST_LIQUID_IN_CELLS) } else { 0.0 }
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
    fn shift(&self, [i, j, k]: [usize; 3], slabs: &[Vec<Tally>; 3]) -> f32 {
        let [nx, ny, nz] = self.around.grid.cells;
        let (mut area, mut misfit) = (0.0, 0.0);
        let weight = |a: usize, b: usize| if a == b { 1.0 } else { 0.5 };
        for c in k.saturating_sub(1)..=(k + 1).min(nz - 1) {
            for b in j.saturating_sub(1)..=(j + 1).min(ny - 1) {
                let row = weight(c, k) * weight(b, j);
                for a in i.saturating_sub(1)..=(i + 1).min(nx - 1) {
                    let tally = &slabs[c % 3][nx * b + a];
                    let weight = row * weight(a, i);
                    area += weight * tally.area;
                    misfit += weight * tally.misfit;
                }
            }
        }
        // Where hardly any surface is left the particles cannot be spread over it.
        let misfit = misfit / area.max(0.5);
        let beyond = misfit - misfit.clamp(-NOISE_IN_CELLS, NOISE_IN_CELLS);
        (SHIFTED_PER_STEP * beyond).clamp(-LONGEST_SHIFT_IN_CELLS, LONGEST_SHIFT_IN_CELLS)
    }
}
