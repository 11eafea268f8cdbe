//! Keeping the band evenly filled: seeding, thinning, removal of deep particles.

use crate::particles::Seed;
use crate::sort::{BinPlan, CELLS_PER_BIN, NEW};
use crate::velocity::VelocitySampler;
use crate::{CellRanges, Particles, Scratch, Transfer};
use fluvial_foundation::parallel;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::{FaceField, Lattice, UniformGrid};

/// New liquid gets one particle per octant.
const SEEDS_PER_CELL: usize = 8;
/// A cell with fewer particles gets new ones in its empty octants.
const FEWEST_PER_CELL: usize = 4;
/// A cell with more loses the surplus.
const MOST_PER_CELL: usize = 16;
/// Where there are particles already, new ones keep this far from the surface (in cells): there the
/// particles decide, and the level set must not give back what they have lost.
const RESEED_DEPTH_IN_CELLS: f32 = 0.6;
/// Seeds keep this distance from solids, in cells.
const SOLID_MARGIN_IN_CELLS: f32 = 0.02;

/// What resampling changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResampleReport {
    /// New particles.
    pub seeded: usize,
    /// Removed because their cell lies deeper than the band and one cell.
    pub deleted_deep: usize,
    /// Removed because they lay outside the box.
    pub deleted_outside: usize,
    /// Removed because their cell held too many.
    pub deleted_surplus: usize,
}

impl ResampleReport {
    fn add(&mut self, other: ResampleReport) {
        self.seeded += other.seeded;
        self.deleted_deep += other.deleted_deep;
        self.deleted_outside += other.deleted_outside;
        self.deleted_surplus += other.deleted_surplus;
    }

    /// Particles removed for any reason.
    pub fn deleted(&self) -> usize {
        self.deleted_deep + self.deleted_outside + self.deleted_surplus
    }
}

/// Keeps the particles of the band -`band_m` < phi between 4 and 16 a cell, and 8 where they are new.
///
/// A cell has eight octants with one candidate position in each, jittered by counters. Cells with fewer than
/// 4 particles get one in every empty octant whose candidate lies in liquid (phi < 0 where the cell's whole
/// neighbourhood is empty: fresh liquid; phi < -0.6 dx elsewhere) and outside solids; it takes its velocity
/// (and rows, with APIC) from `u_face`. Near the surface the candidates do not depend on `step_seed`, so
/// that liquid at rest is never seeded twice. Cells deeper than `band_m` + dx lose all particles, cells with
/// more than 16 lose them from their fullest octants, particles outside the box go.
/// An infinite `band_m` fills the whole liquid. Particles are sorted on return, and `ranges` describe them.
/// [Ferstl et al. 2016, §3.2]
/// Tests: `seeding_fills_the_band_with_eight_per_cell`, `resampling_at_rest_changes_nothing`,
/// `surplus_and_deep_particles_go`, `ids_are_unique_and_stable`.
#[allow(clippy::too_many_arguments)]
pub fn resample(
    particles: &mut Particles,
    ranges: &mut CellRanges,
    phi_cell: &[f32],
    u_face: &FaceField,
    phi_solid_node: &[f32],
    grid: &UniformGrid,
    band_m: f32,
    transfer: &Transfer,
    step_seed: u64,
    scratch: &mut Scratch,
) -> ResampleReport {
    let none = |_| false;
    resample_with_new_liquid(
        particles,
        ranges,
        phi_cell,
        u_face,
        phi_solid_node,
        grid,
        band_m,
        transfer,
        step_seed,
        scratch,
        none,
    )
}

/// As [`resample`], where the liquid of cells with `is_new(cell)` has just been made (a source): there every
/// empty octant is filled right up to the surface, whatever lies around. Elsewhere liquid without particles
/// counts as the grid's error, and is cut back by the next correction.
/// Test: `new_liquid_is_seeded_up_to_its_surface`.
#[allow(clippy::too_many_arguments)]
pub fn resample_with_new_liquid(
    particles: &mut Particles,
    ranges: &mut CellRanges,
    phi_cell: &[f32],
    u_face: &FaceField,
    phi_solid_node: &[f32],
    grid: &UniformGrid,
    band_m: f32,
    transfer: &Transfer,
    step_seed: u64,
    scratch: &mut Scratch,
    is_new: impl Fn(usize) -> bool + Sync,
) -> ResampleReport {
    assert_eq!(phi_cell.len(), grid.cell_count());
    particles.set_affine(*transfer == Transfer::Apic);
    particles.sort_by_cell(grid, ranges, scratch);
    let planner = Planner {
        x: &particles.x,
        ranges,
        phi_cell,
        velocity: VelocitySampler::new(u_face, grid),
        phi_solid_node,
        grid,
        band_m,
        affine: *transfer == Transfer::Apic,
        step_seed,
        is_new,
    };
    scratch.bins.resize_with(parallel::chunk_count(grid.cell_count(), CELLS_PER_BIN), BinPlan::default);
    parallel::for_each_chunk_mut(&mut scratch.bins, 1, |bin, plan| planner.plan_bin(bin, &mut plan[0]));
    let mut report = ResampleReport::default();
    scratch.bins.iter().for_each(|plan| report.add(plan.report));
    if report != ResampleReport::default() {
        apply(particles, ranges, scratch);
    }
    report
}

/// Carries out what the bins decided.
fn apply(particles: &mut Particles, ranges: &mut CellRanges, scratch: &mut Scratch) {
    let Scratch { bins, order, gather, .. } = scratch;
    let old_len = particles.len();
    // Seeds go behind the old particles, in cell order, which also numbers them.
    let mut first_seed = old_len as u32;
    order.clear();
    for plan in bins.iter() {
        order.extend(plan.source.iter().map(|&s| if s & NEW == 0 { s } else { first_seed + (s & !NEW) }));
        first_seed += plan.seeds.len() as u32;
        for seed in &plan.seeds {
            particles.push(seed.x, seed.v, seed.affine);
        }
    }
    particles.gather(order, gather);
    let mut total = 0;
    for (starts, plan) in ranges.start.chunks_mut(CELLS_PER_BIN).zip(bins.iter()) {
        for (start, count) in starts.iter_mut().zip(&plan.counts) {
            *start = total;
            total += count;
        }
    }
    if let Some(last) = ranges.start.last_mut() {
        *last = total;
    }
}

struct Planner<'a, F> {
    x: &'a [Vec3],
    ranges: &'a CellRanges,
    phi_cell: &'a [f32],
    velocity: VelocitySampler<'a>,
    phi_solid_node: &'a [f32],
    grid: &'a UniformGrid,
    band_m: f32,
    affine: bool,
    step_seed: u64,
    is_new: F,
}

impl<F: Fn(usize) -> bool + Sync> Planner<'_, F> {
    /// Decides which particles each cell of a bin keeps and gets.
    fn plan_bin(&self, bin: usize, plan: &mut BinPlan) {
        let cells = parallel::chunk_range(bin, CELLS_PER_BIN, self.grid.cell_count());
        plan.source.clear();
        plan.seeds.clear();
        plan.counts.clear();
        plan.report = ResampleReport::default();
        for cell in cells {
            let before = plan.source.len();
            self.plan_cell(cell, plan);
            plan.counts.push((plan.source.len() - before) as u32);
        }
    }

    fn plan_cell(&self, cell: usize, plan: &mut BinPlan) {
        let (members, phi, dx) = (self.ranges.of_cell(cell), self.phi_cell[cell], self.grid.dx);
        if phi < -(self.band_m + dx) {
            plan.report.deleted_deep += members.len();
            return;
        }
        // No point of the cell is farther from its centre than 0.87 dx.
        let in_band = phi > -self.band_m && phi < 0.87 * dx;
        let is_new = in_band && (self.is_new)(cell);
        let fewest = if is_new { SEEDS_PER_CELL } else { FEWEST_PER_CELL };
        let wants_seeds = in_band && members.len() < fewest;
        if members.is_empty() && !wants_seeds {
            return;
        }
        let center = self.cell_center(cell);
        let bounds = self.grid.bounds();
        let before = plan.source.len();
        let mut octants = [0u32; 8];
        for p in members.clone() {
            if bounds.contains(self.x[p]) {
                octants[octant(self.x[p] - center)] += 1;
                plan.source.push(p as u32);
            } else {
                plan.report.deleted_outside += 1;
            }
        }
        self.thin(before, &mut octants, center, plan);
        if wants_seeds {
            self.seed(cell, center, &octants, is_new, plan);
        }
    }

    /// Takes the surplus from the fullest octants, the last in order first.
    fn thin(&self, first: usize, octants: &mut [u32; 8], center: Vec3, plan: &mut BinPlan) {
        while plan.source.len() - first > MOST_PER_CELL {
            let fullest = (0..8).rev().max_by_key(|&o| octants[o]).unwrap_or(0);
            let is_there = |&p: &u32| octant(self.x[p as usize] - center) == fullest;
            let last = plan.source[first..].iter().rposition(is_there).unwrap_or(0);
            plan.source.remove(first + last);
            octants[fullest] -= 1;
            plan.report.deleted_surplus += 1;
        }
    }

    fn seed(&self, cell: usize, center: Vec3, octants: &[u32; 8], is_new: bool, plan: &mut BinPlan) {
        let (dx, phi) = (self.grid.dx, self.phi_cell[cell]);
        let near_surface = phi > -1.5 * dx;
        let to_surface = is_new || !near_surface || self.is_fresh(cell);
        let depth = if to_surface { 0.0 } else { RESEED_DEPTH_IN_CELLS * dx };
        let draw = if near_surface { 0 } else { random::splitmix64(self.step_seed) };
        for (o, _) in octants.iter().enumerate().filter(|&(_, &count)| count == 0) {
            // Not quite to the octant's faces, where rounding could file the seed under another cell.
            let jitter = 0.01 + 0.98 * random::unit_vec3((8 * cell + o) as u64, draw);
            let low = Vec3::new((o & 1) as f32, (o >> 1 & 1) as f32, (o >> 2) as f32);
            let x = center + (0.5 * dx) * (low + jitter - 1.0);
            if self.in_liquid(x, phi, depth) {
                let (v, rows) = self.velocity.velocity_and_gradient(&self.velocity.place(x));
                plan.source.push(NEW | plan.seeds.len() as u32);
                plan.seeds.push(Seed { x, v, affine: self.affine.then_some(rows) });
                plan.report.seeded += 1;
            }
        }
    }

    /// Is there no particle in the cell nor in the 26 around it?
    fn is_fresh(&self, cell: usize) -> bool {
        let lattice = self.grid.cell_centers();
        let [i, j, k] = lattice.coordinates(cell);
        let [nx, ny, nz] = self.grid.cells;
        let (i0, i1) = (i.saturating_sub(1), (i + 1).min(nx - 1));
        (k.saturating_sub(1)..=(k + 1).min(nz - 1)).all(|k| {
            (j.saturating_sub(1)..=(j + 1).min(ny - 1)).all(|j| {
                let row = lattice.index(0, j, k);
                self.ranges.of_cells(row + i0..row + i1 + 1).is_empty()
            })
        })
    }

    fn in_liquid(&self, x: Vec3, phi_center: f32, depth: f32) -> bool {
        let dx = self.grid.dx;
        let wet =
            phi_center < -(0.9 * dx + depth) || self.grid.cell_centers().sample(self.phi_cell, x) < -depth;
        let free = |nodes: Lattice| nodes.sample(self.phi_solid_node, x) > SOLID_MARGIN_IN_CELLS * dx;
        wet && (self.phi_solid_node.is_empty() || free(self.grid.nodes()))
    }

    fn cell_center(&self, cell: usize) -> Vec3 {
        let lattice = self.grid.cell_centers();
        let [i, j, k] = lattice.coordinates(cell);
        lattice.position(i, j, k)
    }
}

/// Which of the eight octants around a cell's centre.
fn octant(offset: Vec3) -> usize {
    usize::from(offset.x >= 0.0) | usize::from(offset.y >= 0.0) << 1 | usize::from(offset.z >= 0.0) << 2
}
