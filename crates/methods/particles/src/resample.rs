//! Moving mass between the particles and the liquid that holds none: seeding, thinning, the band's lower edge.

use crate::particles::fit;
use crate::reserve::PER_CELL;
use crate::sight::{self, Sight};
use crate::sort::{CELLS_PER_BIN, NEW, split_lengths};
use crate::velocity::VelocitySampler;
use crate::{CellRanges, Particles, Reserve, Scratch, Surroundings, Transfer};
use fluvial_foundation::parallel;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::FaceField;

/// A cell amid the liquid with fewer particles gets new ones in its empty octants.
const FEWEST_PER_CELL: f32 = 4.0;
/// A cell with more loses the surplus.
const MOST_PER_CELL: usize = 16;
/// Cells are amid the liquid from this depth on, in cells.
const AMID_IN_CELLS: f32 = 1.0;
/// Cells take up or give away what is left over from this depth on, and no seed is nearer to the surface, in
/// cells: above it the particles decide where the surface is.
const EVEN_DEPTH_IN_CELLS: f32 = 0.5;
/// Cells are full from this depth on, whatever the direction of the surface: half of a cell's diagonal, in cells.
const FULL_DEPTH_IN_CELLS: f32 = 0.87;
/// Particles that 27 cells lack or have too many by chance: two standard deviations of those at their faces.
const UNEVEN_AROUND: f32 = 10.0;
/// Seeds keep this distance from solids, in cells.
const SOLID_MARGIN_IN_CELLS: f32 = 0.02;
/// Places that are drawn in an octant of a film at the start, and how many particles too few or too many the
/// film's cells before may have got until more places are drawn or seeds are left out. One place gives the
/// right number on the whole; a film has so few seeds that its mass would be off by a twentieth.
const PLACES_DRAWN: u64 = 4;
const UNEVEN_FILM: f32 = 2.0;
/// Cells this near to an open wall are never deep: what leaves through it leaves as particles.
const OPEN_WALL_CELLS: usize = 5;

/// What resampling changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResampleReport {
    /// New particles.
    pub seeded: usize,
    /// Taken in by deep cells.
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

/// When particles are resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The liquid is new: the whole band is filled up to the surface.
    Start,
    /// A step has ended.
    Step,
}

/// The liquid that particles shall fill.
#[derive(Clone, Copy, Debug)]
pub struct Liquid<'a> {
    /// Signed distance at cell centres, metres.
    pub phi_cell: &'a [f32],
    /// Liquid share of every cell's volume.
    pub fraction_cell: &'a [f32],
    /// Open share of every cell's volume when the deep cells were marked, and now; empty: all of it.
    pub open_volume: [&'a [f32]; 2],
    /// Octants whose liquid comes from deep cells, from [`find_liquid_from_deep`](crate::find_liquid_from_deep): they get a
    /// particle. Empty where it is not known: cells that are deep no more then get one in each empty octant.
    pub from_deep_cell: &'a [u8],
    /// Where new particles take their velocity from.
    pub u_face: &'a FaceField,
    /// Depth of the band that particles fill, metres; infinite: all liquid.
    pub band_m: f32,
    /// Do new particles need APIC rows?
    pub transfer: Transfer,
    /// Number of the step: draws other places for new particles each time.
    pub step_seed: u64,
    /// Why now.
    pub occasion: Occasion,
}

/// What resampling decided for one bin of cells: the particles of each cell in order.
#[derive(Debug, Default)]
pub(crate) struct BinPlan {
    /// Old particle index, or `NEW | index into seeds`.
    source: Vec<u32>,
    seeds: Vec<Seed>,
    /// Particles per cell of the bin.
    counts: Vec<u32>,
    /// Particles that the cells of films so far lack at the start.
    lacking: f32,
    /// Which cells of the bin are deep now.
    deep: Vec<u8>,
    /// Volume that the bin's particles and deep cells held before and hold no more, where regions are not told apart and in cells of
    /// none; and by region, in the order of cells.
    freed_m3: f64,
    freed_of_region_m3: Vec<(u32, f64)>,
    report: ResampleReport,
}

/// A particle about to be born.
#[derive(Clone, Copy, Debug)]
struct Seed {
    x: Vec3,
    v: Vec3,
    rows: [Vec3; 3],
}

/// Moves mass between the particles and the reserve, so that the band -`band_m` < phi stays evenly filled. The
/// sum of both stays the same, to rounding.
///
/// A cell has eight octants with one candidate position in each, jittered by counters; a seed takes its
/// velocity (and rows, with APIC) from `u_face`. At the end of a step
/// - cells deeper than `band_m` + dx become deep and take their particles in; liquid of deep cells that has come
///   into others gets a particle an octant [ferstl-2016 §3.2];
/// - cells amid the liquid with fewer than 4 particles get one in every empty octant, cells with more than 16
///   lose them from their fullest octants;
/// - while the reserve's rest is positive, cells below the surface with fewer than 8 particles, where those around
///   have fewer, too, get new ones; while it is negative, those with more lose some. Which ones is drawn by counters so that the rest is
///   used up, once.
///
/// Seeds and removals free or bind mass, and the reserve books it. Near the surface nothing is seeded nor
/// removed: there the particles decide.
///
/// `particles` must be sorted; `out` gets what is left and new, sorted, and `ranges` describe them.
/// Tests: `seeding_fills_the_band_with_eight_per_cell`, `resampling_at_rest_changes_nothing`,
/// `mass_is_the_same_whatever_moves`, `ids_are_unique_and_stable`.
pub fn resample(
    out: &mut Particles,
    ranges: &mut CellRanges,
    particles: &Particles,
    reserve: &mut Reserve,
    liquid: &Liquid,
    around: &Surroundings,
    scratch: &mut Scratch,
) -> ResampleReport {
    let cells = around.grid.cell_count();
    assert!(liquid.phi_cell.len() == cells && reserve.deep_cell.len() == cells);
    debug_assert!(ranges.describe(particles, around.grid));
    let velocity = VelocitySampler::new(liquid.u_face, around.grid);
    let sight = Sight::new(around.sides, around.grid);
    let mut planner = Planner {
        x: &particles.x,
        ranges,
        liquid,
        velocity,
        around,
        sight,
        reserve,
        share: 0.0,
        shares: vec![],
    };
    match liquid.occasion {
        Occasion::Start => {}
        Occasion::Step => (planner.share, planner.shares) = planner.shares_of_rest(),
    };
    let bins = &mut scratch.bins;
    bins.resize_with(parallel::chunk_count(cells, CELLS_PER_BIN), BinPlan::default);
    parallel::for_each_chunk_mut(bins, 1, |bin, plan| planner.plan_bin(bin, &mut plan[0]));
    let freed_m3: f64 = bins.iter().map(|plan| plan.freed_m3).sum();
    let deep = reserve.deep_cell.chunks_mut(CELLS_PER_BIN);
    deep.zip(&*bins).for_each(|(deep, plan)| deep.copy_from_slice(&plan.deep));
    carry_out(out, ranges, particles, bins, liquid.transfer == Transfer::Apic);
    reserve.rest_m3 += freed_m3;
    for &(region, freed_m3) in bins.iter().flat_map(|plan| &plan.freed_of_region_m3) {
        reserve.rest_of_region_m3[region as usize] += freed_m3;
    }
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
    reserve: &'a Reserve,
    /// Part of the particles that are missing (positive) or of those
    /// that are too many (negative), that the reserve asks for.
    share: f32,
    /// The same of every region of liquid; empty where they are not told apart.
    shares: Vec<f32>,
}

impl Planner<'_> {
    /// Which part of the missing or surplus particles takes up the reserve's rest: where no region is, and in each region.
    fn shares_of_rest(&self) -> (f32, Vec<f32>) {
        let particle_m3 = Reserve::particle_m3(self.around.grid.dx);
        let regions = self.reserve.rest_of_region_m3.len();
        let rests = std::iter::once(&self.reserve.rest_m3).chain(&self.reserve.rest_of_region_m3);
        let rests: Vec<f64> = rests.map(|rest_m3| rest_m3 / particle_m3).collect();
        if rests.iter().all(|rest| rest.abs() < 1.0) {
            return (0.0, vec![0.0; regions]);
        }
        let cells = self.around.grid.cell_count();
        let pool = |cell: usize| self.reserve.region_of(cell).map_or(0, |region| region + 1);
        let found = parallel::map_indices(parallel::chunk_count(cells, CELLS_PER_BIN), |bin| {
            let range = parallel::chunk_range(bin, CELLS_PER_BIN, cells);
            let uneven = range.map(|cell| (cell, self.uneven(cell))).filter(|(_, uneven)| *uneven != 0);
            uneven.map(|(cell, uneven)| (pool(cell), uneven)).collect::<Vec<_>>()
        });
        let mut uneven = vec![[0usize; 2]; regions + 1];
        for (pool, count) in found.into_iter().flatten() {
            uneven[pool][usize::from(count < 0)] += count.unsigned_abs() as usize;
        }
        let mut shares = rests.iter().zip(uneven).map(|(&rest, [missing, surplus])| {
            let found = if rest > 0.0 { missing } else { surplus };
            let part = if found == 0 || rest.abs() < 1.0 { 0.0 } else { rest / found as f64 };
            part.clamp(-1.0, 1.0) as f32
        });
        (shares.next().unwrap_or(0.0), shares.collect())
    }

    /// The part of the missing or surplus particles of a cell's region that takes up the reserve's rest.
    fn share_at(&self, cell: usize) -> f32 {
        self.reserve.region_of(cell).and_then(|region| self.shares.get(region).copied()).unwrap_or(self.share)
    }

    /// Whole particles that a cell lacks (positive) or has too many (negative), where the cells around it do so,
    /// too; 0 near the surface and in the deep. Cells amid an even crowd differ by chance: were those with too
    /// few filled up one by one, a drop of 4 cells would hold 7 % too many after a tenth of a second.
    fn uneven(&self, cell: usize) -> i32 {
        let lacks = self.lacks(cell).trunc() as i32;
        if lacks == 0 {
            return 0;
        }
        let centers = self.around.grid.cell_centers();
        let (at, size) = (centers.coordinates(cell), centers.size);
        let reach = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
        let rows = reach(2).flat_map(|k| reach(1).map(move |j| (j, k)));
        let around = rows.flat_map(|(j, k)| reach(0).map(move |i| centers.index(i, j, k)));
        let lack_around: f32 = around.map(|other| self.lacks(other)).sum();
        if lack_around * lacks.signum() as f32 > UNEVEN_AROUND { lacks } else { 0 }
    }

    /// Particles that a cell lacks; 0 near the surface and in the deep.
    fn lacks(&self, cell: usize) -> f32 {
        let phi = self.liquid.phi_cell[cell];
        let is_full = phi < -FULL_DEPTH_IN_CELLS * self.around.grid.dx;
        if !is_full || phi <= -self.liquid.band_m || self.reserve.deep_cell[cell] != 0 {
            return 0.0;
        }
        PER_CELL as f32 * self.liquid.fraction_cell[cell] - self.ranges.count(cell) as f32
    }

    /// Decides which particles each cell of a bin keeps and gets.
    fn plan_bin(&self, bin: usize, plan: &mut BinPlan) {
        let cells = parallel::chunk_range(bin, CELLS_PER_BIN, self.around.grid.cell_count());
        plan.source.clear();
        plan.seeds.clear();
        plan.counts.clear();
        plan.deep.clear();
        plan.report = ResampleReport::default();
        plan.lacking = 0.0;
        plan.freed_m3 = 0.0;
        plan.freed_of_region_m3.clear();
        for cell in cells {
            let before = plan.source.len();
            let deep = self.is_deep(cell);
            self.plan_cell(cell, deep, plan);
            let held = plan.source.len() - before;
            plan.counts.push(held as u32);
            plan.deep.push(deep as u8);
            let open = |n: usize| self.liquid.open_volume[n].get(cell).map_or(1.0, |&open| open as f64);
            let was_deep = if self.reserve.deep_cell[cell] != 0 { open(0) } else { 0.0 };
            let deep_cells = was_deep - if deep { open(1) } else { 0.0 };
            let particles = self.ranges.count(cell) as f64 - held as f64;
            let freed_m3 =
                Reserve::particle_m3(self.around.grid.dx) * (particles + PER_CELL as f64 * deep_cells);
            match self.reserve.region_of(cell) {
                _ if freed_m3 == 0.0 => {}
                Some(region) => plan.freed_of_region_m3.push((region as u32, freed_m3)),
                None => plan.freed_m3 += freed_m3,
            }
        }
    }

    /// Is a cell deep from now on? Between the band's edge and a cell below it stays as it was.
    fn is_deep(&self, cell: usize) -> bool {
        let Liquid { phi_cell, band_m, occasion, .. } = *self.liquid;
        let (phi, was_deep) = (phi_cell[cell], self.reserve.deep_cell[cell] != 0);
        let from_m =
            if was_deep || occasion == Occasion::Start { band_m } else { band_m + self.around.grid.dx };
        phi <= -from_m && {
            let (at, size) = (self.around.grid.cell_centers().coordinates(cell), self.around.grid.cells);
            let near = |wall: usize| match wall % 2 {
                0 => at[wall / 2] < OPEN_WALL_CELLS,
                _ => at[wall / 2] + OPEN_WALL_CELLS >= size[wall / 2],
            };
            !(0..6).any(|wall| self.around.open_walls[wall] && near(wall))
        }
    }

    fn center(&self, cell: usize) -> Vec3 {
        let centers = self.around.grid.cell_centers();
        let [i, j, k] = centers.coordinates(cell);
        centers.position(i, j, k)
    }

    /// Does the liquid of a cell reach neither its centre nor that of a neighbour?
    fn is_film(&self, cell: usize) -> bool {
        let cells = self.around.grid.cell_centers();
        let (at, phi) = (cells.coordinates(cell), self.liquid.phi_cell);
        let is_wet = |other: usize| phi[other] < 0.0;
        let beside = |axis: usize| {
            let stride = cells.stride(axis);
            at[axis] > 0 && is_wet(cell - stride) || at[axis] + 1 < cells.size[axis] && is_wet(cell + stride)
        };
        !is_wet(cell) && !(0..3).any(beside)
    }

    /// How many particles a cell shall get or lose, and how near to the surface its seeds may lie, in cells.
    fn change(&self, cell: usize, held: usize) -> (i32, f32) {
        let Liquid { phi_cell, occasion, step_seed, .. } = *self.liquid;
        let (phi, dx) = (phi_cell[cell], self.around.grid.dx);
        let drawn = |n: f32| (n + random::unit_f32(cell as u64, step_seed)).floor() as i32;
        match occasion {
            // No point of the cell is farther from its centre than 0.87 dx.
            Occasion::Start => (if phi < 0.87 * dx { 8 } else { 0 }, 0.0),
            Occasion::Step if self.liquid.from_deep_cell.is_empty() && self.reserve.deep_cell[cell] != 0 => {
                (8, 0.0)
            }
            Occasion::Step => {
                let open = self.liquid.open_volume[1].get(cell).copied().unwrap_or(1.0);
                let is_void = phi < -AMID_IN_CELLS * dx && (held as f32) < FEWEST_PER_CELL * open;
                let surplus = held.saturating_sub(MOST_PER_CELL) as i32;
                let share = self.share_at(cell);
                let uneven = if share == 0.0 { 0 } else { self.uneven(cell) };
                if is_void {
                    (8, EVEN_DEPTH_IN_CELLS)
                } else if uneven > 0 && share > 0.0 {
                    (drawn(share * uneven as f32), EVEN_DEPTH_IN_CELLS)
                } else if uneven < 0 && share < 0.0 {
                    (-drawn(share * uneven as f32).max(surplus), 0.0)
                } else {
                    (-surplus, 0.0)
                }
            }
        }
    }

    fn plan_cell(&self, cell: usize, deep: bool, plan: &mut BinPlan) {
        let members = self.ranges.of_cell(cell);
        if deep {
            plan.report.deleted_deep += members.len();
            return;
        }
        let from_deep = match self.liquid.occasion {
            Occasion::Step => self.liquid.from_deep_cell.get(cell).copied().unwrap_or(0),
            _ => 0,
        };
        let (change, depth) = self.change(cell, members.len() + from_deep.count_ones() as usize);
        let is_film = self.liquid.occasion == Occasion::Start && change > 0 && self.is_film(cell);
        if is_film {
            plan.lacking += PER_CELL as f32 * self.liquid.fraction_cell[cell];
        }
        let at = self.around.grid.cell_centers().coordinates(cell);
        let at_wall = (0..3).any(|a| at[a] == 0 || at[a] + 1 == self.around.grid.cells[a]);
        if change == 0 && from_deep == 0 && (!at_wall || members.is_empty()) {
            plan.source.extend(members.map(|p| p as u32));
            return;
        }
        let center = self.center(cell);
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
        if change < 0 {
            let kept = (plan.source.len() - before).saturating_sub(change.unsigned_abs() as usize);
            self.thin(before, kept, &mut octants, center, plan);
        }
        if from_deep != 0 {
            let others = std::array::from_fn(|o| u32::from(from_deep >> o & 1 == 0));
            self.seed(cell, center, &others, (PER_CELL, 0.0, false), plan);
            octants.iter_mut().zip(others).for_each(|(held, other)| *held += 1 - other);
        }
        if change > 0 {
            self.seed(cell, center, &octants, (change as usize, depth, is_film), plan);
        }
    }

    /// Takes the surplus from the fullest octants, the last in order first.
    fn thin(&self, first: usize, kept: usize, octants: &mut [u32; 8], center: Vec3, plan: &mut BinPlan) {
        while plan.source.len() - first > kept {
            let fullest = (0..8).rev().max_by_key(|&o| octants[o]).unwrap_or(0);
            let is_there = |&p: &u32| octant(self.x[p as usize] - center) == fullest;
            let last = plan.source[first..].iter().rposition(is_there).unwrap_or(0);
            plan.source.remove(first + last);
            octants[fullest] -= 1;
            plan.report.deleted_surplus += 1;
        }
    }

    /// Puts particles into up to `most` empty octants, beginning with one that is drawn.
    fn seed(
        &self,
        cell: usize,
        center: Vec3,
        octants: &[u32; 8],
        (most, depth, is_film): (usize, f32, bool),
        plan: &mut BinPlan,
    ) {
        let mut octants = *octants;
        let draw = random::splitmix64(self.liquid.step_seed ^ 1);
        let first = (random::unit_f32(cell as u64, draw) * 8.0) as usize;
        let mut left = most;
        let at = self.sight.cells.coordinates(cell);
        let seen = self.sight.seen(at);
        for (round, o) in (0..PLACES_DRAWN).flat_map(|round| (0..8).map(move |n| (round, (first + n) % 8))) {
            let enough = match is_film {
                true => plan.lacking < if round == 0 { -UNEVEN_FILM } else { UNEVEN_FILM },
                false => round > 0,
            };
            if octants[o] > 0 || left == 0 || enough {
                continue;
            }
            if let Some(x) = self.seed_place(cell, center, (o, round), depth, is_film) {
                let place = self.velocity.place(x);
                let (v, rows) = match seen {
                    sight::ALL => self.velocity.velocity_and_gradient(&place),
                    _ => self.velocity.velocity_and_gradient_on_side(&place, at, seen),
                };
                plan.source.push(NEW | plan.seeds.len() as u32);
                plan.seeds.push(Seed { x, v, rows });
                plan.report.seeded += 1;
                plan.lacking -= if is_film { 1.0 } else { 0.0 };
                left -= 1;
                octants[o] += 1;
            }
        }
    }

    /// Where the seed of a round lies in an octant of a cell, if that place is liquid.
    fn seed_place(
        &self,
        cell: usize,
        center: Vec3,
        (o, round): (usize, u64),
        depth: f32,
        is_film: bool,
    ) -> Option<Vec3> {
        let dx = self.around.grid.dx;
        let draw = random::splitmix64(self.liquid.step_seed).wrapping_add(round);
        // Not quite to the octant's faces, where rounding could file the seed under another cell.
        let jitter = 0.01 + 0.98 * random::unit_vec3((8 * cell + o) as u64, draw);
        let low = Vec3::new((o & 1) as f32, (o >> 1 & 1) as f32, (o >> 2) as f32);
        let x = center + (0.5 * dx) * (low + jitter - 1.0);
        let at = self.sight.cells.coordinates(cell);
        let seen = self.sight.seen(at);
        // A film lies between the outermost centres and the wall; elsewhere seeds see the phi that the corrector
        // compares them with.
        let value = match seen {
            sight::ALL if is_film => self.phi(x),
            sight::ALL => self.sight.cells.sample(self.liquid.phi_cell, x),
            _ => self.sight.sample(self.liquid.phi_cell, x, at, seen),
        };
        self.in_liquid(x, at, (self.liquid.phi_cell[cell], value), depth * dx).then_some(x)
    }

    /// phi at a point, continued linearly from the outermost centres to the walls.
    fn phi(&self, x: Vec3) -> f32 {
        let (centers, phi) = (self.around.grid.cell_centers(), self.liquid.phi_cell);
        let half = Vec3::splat(0.5 * self.around.grid.dx);
        let bounds = self.around.grid.bounds();
        let inside = x.max(bounds.min + half).min(bounds.max - half);
        2.0 * centers.sample(phi, inside) - centers.sample(phi, 2.0 * inside - x)
    }

    fn in_liquid(&self, x: Vec3, at: [usize; 3], (phi_center, phi): (f32, f32), depth: f32) -> bool {
        let Surroundings { grid, phi_solid_node, .. } = *self.around;
        let wet = phi_center < -(0.9 * grid.dx + depth) || phi < -depth;
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
