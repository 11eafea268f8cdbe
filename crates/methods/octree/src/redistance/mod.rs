//! Signed distance over the whole tree [octree §7.1].
//!
//! The paper marches serially from the surface outwards. Here cells beside the surface, the seeds, fit a
//! quadratic to phi in the cells that touch them, whatever their sizes, and find the closest point of its
//! zero set. All others look for the seed whose point is nearest: in rings from the surface outwards a cell
//! begins with the best seed of the neighbours that have one and walks from seed to seed as long as points
//! come nearer; then neighbours compare what they found until nothing changes. Only the winner's patch of
//! surface, a disc curved as the seed's quadratic is, is measured. A distance thus is one to a piece of
//! surface, never a sum of steps, and does not lose accuracy on its way through large cells. Linear
//! interpolation would not do for the seeds: its zero lies inside of every convex surface, and twenty calls
//! would shrink a ball of five cells' diameter by a twentieth. Every round reads the last one's seeds, so
//! that results do not depend on threads. Verified by `redistance.rs`.

mod cubic;
mod seeds;

use crate::quadric::{WallContact, is_right_angle};
use crate::sides::TreeSides;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::sides::UNSEEN_CELLS;
use seeds::{NONE, Seed, Seeds};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Distances up to this are sharpened, cells: as far as differences of a cell beside the surface reach.
const SHARP_CELLS: f32 = 3.0;
/// Patches of a resolved surface are off by less than this, cells; where they are off by twice as much, at kinks of phi, they are
/// taken as they are.
const RESOLVED_CELLS: f32 = 0.02;
/// Cells that one task of a round begins with.
const TASK: usize = 1024;

/// Memory of [`redistance`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct RedistanceScratch {
    seeds: Seeds,
    /// Nearest seed of every cell.
    seed_of: Vec<AtomicU32>,
    /// Best offer to every cell in the present round; see [`offer`].
    offers: Vec<AtomicU64>,
    /// Cells that took a seed in the last round.
    changed: Vec<u32>,
    /// phi before.
    before: Vec<f32>,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedistanceInfo {
    /// Cells beside the surface.
    pub seeds: usize,
    /// Those where phi hardly changes: their distances are held below two cells.
    pub flat: usize,
    /// Rounds until every cell had its seed.
    pub rounds: usize,
}

/// Makes `phi_cell` a signed distance, keeping the sign of every cell. Without a surface nothing changes.
///
/// A change of sign in or beside a `closed` cell is no surface: what a level set does inside solids is
/// invented, and distances to it would reach the liquid outside. No list means that none is closed.
pub fn redistance(
    phi_cell: &mut [f32],
    tree: &Octree,
    closed: &[bool],
    scratch: &mut RedistanceScratch,
) -> RedistanceInfo {
    redistance_on_sides(phi_cell, tree, closed, (TreeSides::NONE, Keeps::Curvature([None; 6])), scratch)
}

/// What redistancing keeps of the surface beside its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keeps {
    /// Patches alone make distances: a plane that lies askew in the cells stays one, and still water at rest.
    Planes,
    /// Distances near the surface are those of phi's cubic, whose second differences surface tension takes. Still water does not rest
    /// with it: short waves grow to 2.5e-4 m/s in eight seconds (`still_water_rests_for_long`). Beyond walls that the surface meets at their
    /// contact angles it goes on as it does for the curvature; without an angle only what is inside counts.
    Curvature(WallContact),
}

impl Keeps {
    /// Contact angles, where curvature is kept.
    fn contact(&self) -> Option<&WallContact> {
        match self {
            Keeps::Planes => None,
            Keeps::Curvature(contact) => Some(contact),
        }
    }
}

/// As [`redistance`], between thin solids. A thin solid is no surface, whatever lies on its two sides; cells next
/// to it see what is on their own side alone, and cells that no surface can reach keep their values.
pub fn redistance_on_sides(
    phi_cell: &mut [f32],
    tree: &Octree,
    closed: &[bool],
    (sides, keeps): (TreeSides, Keeps),
    scratch: &mut RedistanceScratch,
) -> RedistanceInfo {
    let cells = tree.cell_count();
    assert_eq!(phi_cell.len(), cells, "one phi per cell");
    assert!(closed.is_empty() || closed.len() == cells, "one mark per cell");
    let RedistanceScratch { seeds, seed_of, offers, changed, before } = scratch;
    let contact = keeps.contact();
    seeds.find(seed_of, tree, phi_cell, closed, (sides, contact.unwrap_or(&[None; 6])));
    if seeds.cells.is_empty() {
        return RedistanceInfo::default();
    }
    offers.clear();
    offers.resize_with(cells, || AtomicU64::new(u64::MAX));
    let search = Search { tree, sides, seeds, seed_of, offers };
    changed.clear();
    changed.extend(&seeds.cells);
    let mut rounds = 0;
    // Rings outwards: cells that have no seed yet take one.
    while !changed.is_empty() {
        rounds += 1;
        search.round(changed, |cell| seed_of[cell].load(Relaxed) == NONE);
    }
    // Then all compare with their neighbours, and again those beside a change. Cells beside the surface keep
    // their own.
    let is_free = |cell: usize| {
        let seed = seed_of[cell].load(Relaxed);
        seed != NONE && seeds.cells[seed as usize] as usize != cell
    };
    search.compare_all(changed, is_free);
    while !changed.is_empty() {
        rounds += 1;
        search.round(changed, is_free);
    }
    before.clear();
    if contact.is_some() {
        before.extend_from_slice(phi_cell);
    }
    let sharpening = contact.map(|contact| Sharpening { tree, seeds, phi_cell: before, contact, closed });
    parallel::for_each_indexed_mut(phi_cell, |cell, phi| {
        let (seed, x) = (seed_of[cell].load(Relaxed), tree.cell_center(cell));
        if seed == NONE {
            return;
        }
        let home = seeds.cells[seed as usize] as usize;
        let mut distance =
            if home == cell { seeds.own_distance(seed, x) } else { seeds.seeds[seed as usize].to(x) };
        if let Some(sharpening) = &sharpening
            && distance < SHARP_CELLS * tree.cell_dx(cell)
            && !sides.is_near(tree, cell)
        {
            distance += sharpening.change(seed, cell, *phi < 0.0);
        }
        // Seeds come around the edges of thin solids: the straight way to one may lead through the solid. To a cell that
        // touches this one any way leads that makes no detour: the straight one passes an edge, where rounding decides.
        let unseen_m = UNSEEN_CELLS * tree.cell_dx(cell);
        if distance < unseen_m && sides.is_near(tree, cell) {
            let there = tree.cell_center(home);
            let is_seen = sides.sees(tree, cell, home) || sides.walk(x, there) == there;
            distance = if is_seen { distance } else { unseen_m };
        }
        // A sign must survive even where the distance rounds to nothing.
        *phi = if *phi < 0.0 { -distance.max(f32::MIN_POSITIVE) } else { distance };
    });
    RedistanceInfo { seeds: seeds.cells.len(), flat: seeds.flat, rounds: rounds as usize }
}

/// Patches against the cubic of phi.
struct Sharpening<'a> {
    tree: &'a Octree,
    seeds: &'a Seeds,
    phi_cell: &'a [f32],
    contact: &'a WallContact,
    closed: &'a [bool],
}

impl Sharpening<'_> {
    /// By how much the surface is farther from a cell's centre than its seed's patch: phi of the cubic at the patch's closest point, over its slope.
    ///
    /// A patch is a quadratic fitted to 27 cells, and off by a thousandth of a cell that depends on where the surface lies in the cells.
    /// Second differences turned that into 1 % of a drop's curvature, which a drop of 16 cells that is bent by 2.4 % of a cell answered with 20 to
    /// 60 % less tension than it should. Verified by `redistancing_keeps_how_curvature_answers`.
    fn change(&self, seed: u32, cell: usize, is_wet: bool) -> f32 {
        let Sharpening { tree, seeds, phi_cell, closed, .. } = *self;
        let (seed, x, dx) = (&seeds.seeds[seed as usize], tree.cell_center(cell), tree.cell_dx(cell));
        let below = seed.below(x);
        if !seed.sure || below.beyond > 0.0 {
            return 0.0;
        }
        let is_out = |cell: usize| closed.get(cell) == Some(&true);
        let level = tree.cells()[cell].level as usize;
        let off = |mirrors: [bool; 6]| {
            let (at, phi) = cubic::value_at(tree, (phi_cell, mirrors), level, below.point, is_out)?;
            Some(phi / seed.steepness() - seed.below(at).along)
        };
        let (mirrors, met) = self.mirrors(seed, below.point, dx);
        let inside = if met < 1.0 { off([false; 6]) } else { None };
        let mirrored = if met > 0.0 { off(mirrors) } else { None };
        let off = match (inside, mirrored) {
            (Some(inside), Some(mirrored)) => inside + met * (mirrored - inside),
            (one, other) => one.or(other).unwrap_or(0.0),
        };
        let part = (2.0 - off.abs() / (RESOLVED_CELLS * dx)).clamp(0.0, 1.0);
        if is_wet { -part * off } else { part * off }
    }

    /// Which walls near a point of a seed's patch mirror phi, and by how much the patch meets them so, 0 to 1.
    fn mirrors(&self, seed: &Seed, point: Vec3, dx: f32) -> ([bool; 6], f32) {
        let bounds = self.tree.shape().bounds();
        let (mut mirrors, mut met) = ([false; 6], 1.0f32);
        for side in 0..6 {
            let (axis, wall) = (side / 2, [bounds.min, bounds.max][side % 2][side / 2]);
            if (point[axis] - wall).abs() < cubic::REACH * dx
                && self.contact[side].is_some_and(is_right_angle)
            {
                mirrors[side] = true;
                met = met.min(seed.meets(axis, wall));
            }
        }
        (mirrors, if mirrors == [false; 6] { 0.0 } else { met })
    }
}

/// A seed at a squared distance as one number: the smaller the better, of two equally near the one with the
/// smaller number.
#[inline]
fn offer(square: f32, seed: u32) -> u64 {
    (square.to_bits() as u64) << 32 | seed as u64
}

/// What rounds read and write.
struct Search<'a> {
    tree: &'a Octree,
    sides: TreeSides<'a>,
    seeds: &'a Seeds,
    seed_of: &'a [AtomicU32],
    offers: &'a [AtomicU64],
}

impl Search<'_> {
    /// Changed cells offer their seeds to those neighbours that are `free` to take one; `changed` becomes
    /// those that did. The least of all offers and the set of these cells do not depend on threads; the order
    /// of the list may.
    fn round(&self, changed: &mut Vec<u32>, free: impl Fn(usize) -> bool + Sync) {
        let offered = parallel::map_indices(parallel::chunk_count(changed.len(), TASK), |n| {
            let mut offered = vec![];
            for &cell in &changed[parallel::chunk_range(n, TASK, changed.len())] {
                let seed = self.seed_of[cell as usize].load(Relaxed);
                self.tree.for_neighbours(cell as usize, |other| {
                    let asks = free(other) && self.seed_of[other].load(Relaxed) != seed;
                    if asks && !self.sides.divides(self.tree, cell as usize, other) {
                        let new = offer(self.seeds.square(seed, self.tree.cell_center(other)), seed);
                        let best = &self.offers[other];
                        if new < best.load(Relaxed) && best.fetch_min(new, Relaxed) == u64::MAX {
                            offered.push(other as u32);
                        }
                    }
                });
            }
            offered
        });
        let taken = parallel::map_indices(offered.len(), |n| {
            let mut taken = vec![];
            for &cell in &offered[n] {
                let new = self.offers[cell as usize].swap(u64::MAX, Relaxed);
                let (last, x) = (&self.seed_of[cell as usize], self.tree.cell_center(cell as usize));
                let own = last.load(Relaxed);
                if own == NONE || new < offer(self.seeds.square(own, x), own) {
                    last.store(self.seeds.settle(x, new as u32), Relaxed);
                    taken.push(cell);
                }
            }
            taken
        });
        changed.clear();
        changed.extend(taken.into_iter().flatten());
    }

    /// All cells that are `free` compare their seed with those of their neighbours.
    fn compare_all(&self, changed: &mut Vec<u32>, free: impl Fn(usize) -> bool + Sync) {
        let cells = self.tree.cell_count();
        let found = parallel::map_indices(parallel::chunk_count(cells, TASK), |n| {
            let mut found = vec![];
            for cell in parallel::chunk_range(n, TASK, cells).filter(|&cell| free(cell)) {
                let (own, x) = (self.seed_of[cell].load(Relaxed), self.tree.cell_center(cell));
                let mut best = offer(self.seeds.square(own, x), own);
                self.tree.for_neighbours(cell, |other| {
                    let seed = self.seed_of[other].load(Relaxed);
                    let known = seed != NONE && seed != best as u32;
                    if known && !self.sides.divides(self.tree, cell, other) {
                        best = best.min(offer(self.seeds.square(seed, x), seed));
                    }
                });
                if best as u32 != own {
                    found.push((cell as u32, self.seeds.settle(x, best as u32)));
                }
            }
            found
        });
        changed.clear();
        for (cell, seed) in found.into_iter().flatten() {
            self.seed_of[cell as usize].store(seed, Relaxed);
            changed.push(cell);
        }
    }
}
