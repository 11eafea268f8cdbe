//! Keeping the band evenly filled: seeding, thinning, removal of deep particles.

use crate::particles::fit;
use crate::sight::{self, Sight};
use crate::sort::{CELLS_PER_BIN, NEW, split_lengths};
use crate::velocity::VelocitySampler;
use crate::{CellRanges, Particles, Scratch, Surroundings, Transfer};
use fluvial_foundation::parallel;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::FaceField;

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
    fn plus(mut self, other: ResampleReport) -> ResampleReport {
        self.seeded += other.seeded;
        self.deleted_deep += other.deleted_deep;
        self.deleted_outside += other.deleted_outside;
        self.deleted_surplus += other.deleted_surplus;
        self
    }

    /// Particles removed for any reason.
    pub fn deleted(&self) -> usize {
        self.deleted_deep + self.deleted_outside + self.deleted_surplus
    }
}

/// The liquid that particles shall fill.
#[derive(Clone, Copy, Debug)]
pub struct Liquid<'a> {
    /// Signed distance at cell centres, metres.
    pub phi_cell: &'a [f32],
    /// Where new particles take their velocity from.
    pub u_face: &'a FaceField,
    /// Cells whose liquid has just been made by a source, not 0; empty where there is none.
    pub is_new_cell: &'a [u8],
    /// Depth of the band that particles fill, metres; infinite: all liquid.
    pub band_m: f32,
    /// Do new particles need APIC rows?
    pub transfer: Transfer,
    /// Number of the step: draws other places for new particles each time.
    pub step_seed: u64,
}

/// What resampling decided for one bin of cells: the particles of each cell in order.
#[derive(Debug, Default)]
pub(crate) struct BinPlan {
    /// Old particle index, or `NEW | index into seeds`.
    source: Vec<u32>,
    seeds: Vec<Seed>,
    /// Particles per cell of the bin.
    counts: Vec<u32>,
    report: ResampleReport,
}

/// A particle about to be born.
#[derive(Clone, Copy, Debug)]
struct Seed {
    x: Vec3,
    v: Vec3,
    rows: [Vec3; 3],
}

/// Keeps the particles of the band -`band_m` < phi between 4 and 16 a cell, and 8 where they are new.
///
/// A cell has eight octants with one candidate position in each, jittered by counters. Cells with fewer than
/// 4 particles get one in every empty octant whose candidate lies in liquid (phi < 0 where the cell's whole
/// neighbourhood is empty: fresh liquid; phi < -0.6 dx elsewhere) and outside solids; it takes its velocity
/// (and rows, with APIC) from `u_face`. Near the surface the candidates do not depend on `step_seed`, so
/// that liquid at rest is never seeded twice. In the cells of new liquid every empty octant is filled right
/// up to the surface, whatever lies around; elsewhere liquid without particles counts as the grid's error,
/// and is cut back by the next correction. Cells deeper than `band_m` + dx lose all particles, cells with
/// more than 16 lose them from their fullest octants, particles outside the box go.
///
/// `particles` must be sorted; `out` gets what is left and new, sorted, and `ranges` describe them.
/// [ferstl-2016 §3.2]
/// Tests: `seeding_fills_the_band_with_eight_per_cell`, `resampling_at_rest_changes_nothing`,
/// `surplus_and_deep_particles_go`, `ids_are_unique_and_stable`, `new_liquid_is_seeded_up_to_its_surface`.
pub fn resample(
    out: &mut Particles,
    ranges: &mut CellRanges,
    particles: &Particles,
    liquid: &Liquid,
    around: &Surroundings,
    scratch: &mut Scratch,
) -> ResampleReport {
    let cells = around.grid.cell_count();
    assert_eq!(liquid.phi_cell.len(), cells);
    debug_assert!(ranges.describe(particles, around.grid));
    let velocity = VelocitySampler::new(liquid.u_face, around.grid);
    let sight = Sight::new(around.sides, around.grid);
    let planner = Planner { x: &particles.x, ranges, liquid, velocity, around, sight };
    let bins = &mut scratch.bins;
    bins.resize_with(parallel::chunk_count(cells, CELLS_PER_BIN), BinPlan::default);
    parallel::for_each_chunk_mut(bins, 1, |bin, plan| planner.plan_bin(bin, &mut plan[0]));
    carry_out(out, ranges, particles, bins, liquid.transfer == Transfer::Apic);
    bins.iter().fold(ResampleReport::default(), |sum, plan| sum.plus(plan.report))
}

/// What one bin writes.
struct BinTask<'a> {
    plan: &'a BinPlan,
    first: u32,
    first_id: u64,
    x: &'a mut [Vec3],
    v: &'a mut [Vec3],
    rows: [&'a mut [Vec3]; 3],
    id: &'a mut [u64],
    age_s: &'a mut [f32],
    start: &'a mut [u32],
}

/// Carries out what the bins decided.
fn carry_out(
    out: &mut Particles,
    ranges: &mut CellRanges,
    particles: &Particles,
    bins: &[BinPlan],
    affine: bool,
) {
    let total = bins.iter().map(|plan| plan.source.len()).sum();
    fit(&mut out.x, total);
    fit(&mut out.v, total);
    fit(&mut out.id, total);
    fit(&mut out.age_s, total);
    out.affine.iter_mut().for_each(|rows| fit(rows, if affine { total } else { 0 }));
    let cells = ranges.start.len() - 1;
    ranges.start[cells] = total as u32;
    let starts = &mut ranges.start[..cells];
    let lengths = || bins.iter().map(|plan| plan.source.len());
    let mut x = split_lengths(&mut out.x, lengths()).into_iter();
    let mut v = split_lengths(&mut out.v, lengths()).into_iter();
    let mut id = split_lengths(&mut out.id, lengths()).into_iter();
    let mut age_s = split_lengths(&mut out.age_s, lengths()).into_iter();
    let mut rows = out.affine.each_mut().map(|rows| {
        let lengths = lengths().map(|length| if affine { length } else { 0 });
        split_lengths(rows, lengths).into_iter()
    });
    let (mut first, mut first_id) = (0, particles.next_id);
    let mut tasks: Vec<BinTask> = (bins.iter().zip(starts.chunks_mut(CELLS_PER_BIN)))
        .map(|(plan, start)| {
            let task = BinTask {
                plan,
                first,
                first_id,
                x: x.next().expect("a piece a bin"),
                v: v.next().expect("a piece a bin"),
                rows: rows.each_mut().map(|rows| rows.next().expect("a piece a bin")),
                id: id.next().expect("a piece a bin"),
                age_s: age_s.next().expect("a piece a bin"),
                start,
            };
            first += plan.source.len() as u32;
            first_id += plan.seeds.len() as u64;
            task
        })
        .collect();
    parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| task[0].carry_out(particles, affine));
    out.next_id = first_id;
}

impl BinTask<'_> {
    fn carry_out(&mut self, particles: &Particles, affine: bool) {
        let old_rows = particles.has_affine();
        for (n, &source) in self.plan.source.iter().enumerate() {
            let (p, is_new) = ((source & !NEW) as usize, source & NEW != 0);
            if is_new {
                let seed = &self.plan.seeds[p];
                (self.x[n], self.v[n]) = (seed.x, seed.v);
                (self.id[n], self.age_s[n]) = (self.first_id + p as u64, 0.0);
            } else {
                (self.x[n], self.v[n]) = (particles.x[p], particles.v[p]);
                (self.id[n], self.age_s[n]) = (particles.id[p], particles.age_s[p]);
            }
            if affine {
                for axis in 0..3 {
                    self.rows[axis][n] = match (is_new, old_rows) {
                        (true, _) => self.plan.seeds[p].rows[axis],
                        (false, true) => particles.affine[axis][p],
                        (false, false) => Vec3::ZERO,
                    };
                }
            }
        }
        let mut total = self.first;
        for (start, count) in self.start.iter_mut().zip(&self.plan.counts) {
            *start = total;
            total += count;
        }
    }
}

struct Planner<'a> {
    x: &'a [Vec3],
    ranges: &'a CellRanges,
    liquid: &'a Liquid<'a>,
    velocity: VelocitySampler<'a>,
    around: &'a Surroundings<'a>,
    sight: Sight<'a>,
}

impl Planner<'_> {
    /// Decides which particles each cell of a bin keeps and gets.
    fn plan_bin(&self, bin: usize, plan: &mut BinPlan) {
        let cells = parallel::chunk_range(bin, CELLS_PER_BIN, self.around.grid.cell_count());
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
        let Liquid { phi_cell, is_new_cell, band_m, .. } = *self.liquid;
        let (members, phi, dx) = (self.ranges.of_cell(cell), phi_cell[cell], self.around.grid.dx);
        if phi < -(band_m + dx) {
            plan.report.deleted_deep += members.len();
            return;
        }
        // No point of the cell is farther from its centre than 0.87 dx.
        let in_band = phi > -band_m && phi < 0.87 * dx;
        let is_new = in_band && is_new_cell.get(cell).is_some_and(|&new| new != 0);
        let fewest = if is_new { SEEDS_PER_CELL } else { FEWEST_PER_CELL };
        let wants_seeds = in_band && members.len() < fewest;
        if members.is_empty() && !wants_seeds {
            return;
        }
        let at = self.around.grid.cell_centers().coordinates(cell);
        let at_wall = (0..3).any(|a| at[a] == 0 || at[a] + 1 == self.around.grid.cells[a]);
        if !wants_seeds && !at_wall && members.len() <= MOST_PER_CELL {
            plan.source.extend(members.map(|p| p as u32));
            return;
        }
        let center = self.around.grid.cell_centers().position(at[0], at[1], at[2]);
        let bounds = self.around.grid.bounds();
        let before = plan.source.len();
        let mut octants = [0u32; 8];
        for p in members {
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
        let (dx, phi) = (self.around.grid.dx, self.liquid.phi_cell[cell]);
        let near_surface = phi > -1.5 * dx;
        let to_surface = is_new || !near_surface || self.is_fresh(cell);
        let depth = if to_surface { 0.0 } else { RESEED_DEPTH_IN_CELLS * dx };
        let draw = if near_surface { 0 } else { random::splitmix64(self.liquid.step_seed) };
        let at = self.sight.cells.coordinates(cell);
        let seen = self.sight.seen(at);
        for (o, _) in octants.iter().enumerate().filter(|&(_, &count)| count == 0) {
            // Not quite to the octant's faces, where rounding could file the seed under another cell.
            let jitter = 0.01 + 0.98 * random::unit_vec3((8 * cell + o) as u64, draw);
            let low = Vec3::new((o & 1) as f32, (o >> 1 & 1) as f32, (o >> 2) as f32);
            let x = center + (0.5 * dx) * (low + jitter - 1.0);
            if self.in_liquid(x, at, seen, phi, depth) {
                let place = self.velocity.place(x);
                let (v, rows) = match seen {
                    sight::ALL => self.velocity.velocity_and_gradient(&place),
                    _ => self.velocity.velocity_and_gradient_on_side(&place, at, seen),
                };
                plan.source.push(NEW | plan.seeds.len() as u32);
                plan.seeds.push(Seed { x, v, rows });
                plan.report.seeded += 1;
            }
        }
    }

    /// Is there no particle in the cell nor in the 26 around it?
    fn is_fresh(&self, cell: usize) -> bool {
        let lattice = self.around.grid.cell_centers();
        let [i, j, k] = lattice.coordinates(cell);
        let [nx, ny, nz] = lattice.size;
        let (i0, i1) = (i.saturating_sub(1), (i + 1).min(nx - 1));
        (k.saturating_sub(1)..=(k + 1).min(nz - 1)).all(|k| {
            (j.saturating_sub(1)..=(j + 1).min(ny - 1)).all(|j| {
                let row = lattice.index(0, j, k);
                self.ranges.of_cells(row + i0..row + i1 + 1).is_empty()
            })
        })
    }

    fn in_liquid(&self, x: Vec3, at: [usize; 3], seen: u32, phi_center: f32, depth: f32) -> bool {
        let Surroundings { grid, phi_solid_node, .. } = *self.around;
        let wet = phi_center < -(0.9 * grid.dx + depth)
            || self.sight.sample(self.liquid.phi_cell, x, at, seen) < -depth;
        if self.sight.is_near(at) {
            let margin = SOLID_MARGIN_IN_CELLS * grid.dx;
            return wet && self.around.solid_on_side(x, at).0 > margin;
        }
        let free = || grid.nodes().sample(phi_solid_node, x) > SOLID_MARGIN_IN_CELLS * grid.dx;
        wet && (self.around.is_free() || free())
    }
}

/// Which of the eight octants around a cell's centre.
fn octant(offset: Vec3) -> usize {
    usize::from(offset.x >= 0.0) | usize::from(offset.y >= 0.0) << 1 | usize::from(offset.z >= 0.0) << 2
}
