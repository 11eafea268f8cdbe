//! Signed distance over the whole tree [octree §7.1].
//!
//! The paper marches serially from the surface outwards. Here cells beside the surface, the seeds, fit a quadratic to phi in
//! the cells that touch them, whatever their sizes, and find the closest point of its zero set; all others take over,
//! in parallel rounds, the seed among their neighbours' whose patch of surface is nearest: a disc, curved as the seed's quadratic
//! is. A distance thus is one to a piece of surface, never a sum of steps, and does not lose accuracy on its way through large
//! cells. Linear interpolation would not do for the seeds: its zero lies inside of every convex surface, and twenty
//! calls would shrink a ball of five cells' diameter by a twentieth. Every round reads the last one's seeds, so that
//! results do not depend on threads. Verified by `redistance.rs`.

use crate::quadric::{Quadric, for_touching};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// No seed yet.
const NONE: u32 = u32::MAX;
/// Radius of a seed's disc, in cells: somewhat farther than to the middle between seeds across a corner.
const DISC: f32 = 1.0;
/// Least slope of phi that tells a direction.
const STEEP_MIN: f64 = 0.1;

/// Memory of [`redistance`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct RedistanceScratch {
    seeds: Vec<Seed>,
    seed_of: Vec<u32>,
    /// Cells that took a nearer seed in the last round, and cells that touch one of these.
    changed: Vec<u32>,
    woken: Vec<u32>,
    /// Rounds in which a cell was last woken and last took a seed.
    woken_in: Vec<u32>,
    changed_in: Vec<u32>,
}

/// A cell beside the surface, and its patch of it.
#[derive(Clone, Copy, Debug, Default)]
struct Seed {
    /// Closest point of the surface.
    point: Vec3,
    /// Unit normal there, out of the liquid.
    normal: Vec3,
    /// Second derivatives over the slope there, 1/m: xx yy zz, then yz zx xy.
    bend: [Vec3; 2],
    radius: f32,
    /// Distance from the cell's centre to the surface.
    distance: f32,
}

impl Seed {
    /// Distance from a point to the seed's patch.
    #[inline]
    fn to(&self, x: Vec3) -> f32 {
        let r = x - self.point;
        let along = r.dot(self.normal);
        let mut aside = r - along * self.normal;
        let length = aside.length();
        let beyond = (length - self.radius).max(0.0);
        if beyond > 0.0 {
            aside *= self.radius / length;
        }
        // The surface falls away from the tangent plane by k t^2 / 2; seen from a distance a, by 1 / (1 + k a) of that.
        let [square, mixed] = self.bend;
        let fall = square.dot(aside * aside)
            + 2.0 * mixed.dot(Vec3::new(aside.y * aside.z, aside.z * aside.x, aside.x * aside.y));
        let near = length.min(self.radius).max(f32::MIN_POSITIVE);
        let along = along + 0.5 * fall / (1.0 + along * fall / (near * near)).max(0.5);
        (along * along + beyond * beyond).sqrt()
    }
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
pub fn redistance(phi_cell: &mut [f32], tree: &Octree, scratch: &mut RedistanceScratch) -> RedistanceInfo {
    let cells = tree.cell_count();
    assert_eq!(phi_cell.len(), cells, "one phi per cell");
    let mut info = RedistanceInfo::default();
    let RedistanceScratch { seeds, seed_of, changed, woken, woken_in, changed_in } = scratch;
    let phi = &*phi_cell;
    let beside = parallel::map_indices(cells, |cell| is_beside_surface(tree, phi, cell));
    let numbers: Vec<u32> = (0..cells as u32).filter(|&cell| beside[cell as usize]).collect();
    if numbers.is_empty() {
        return info;
    }
    let found = parallel::map_indices(numbers.len(), |n| seed(tree, phi, numbers[n] as usize));
    info.seeds = found.len();
    info.flat = found.iter().filter(|(_, steep)| !steep).count();
    seeds.clear();
    seeds.extend(found.iter().map(|(seed, _)| *seed));
    seed_of.clear();
    seed_of.resize(cells, NONE);
    changed.clear();
    for (n, &cell) in numbers.iter().enumerate() {
        seed_of[cell as usize] = n as u32;
        changed.push(cell);
    }
    for rounds in [&mut *woken_in, &mut *changed_in] {
        rounds.clear();
        rounds.resize(cells, 0);
    }
    let mut round = 0;
    while !changed.is_empty() {
        round += 1;
        woken.clear();
        for &cell in &*changed {
            for_touching(tree, cell as usize, |other| {
                if woken_in[other] != round {
                    woken_in[other] = round;
                    woken.push(other as u32);
                }
            });
        }
        let state = State { tree, seeds, seed_of, changed_in, round };
        let found = parallel::map_indices(woken.len(), |n| state.nearest(woken[n] as usize));
        changed.clear();
        for (&cell, &seed) in woken.iter().zip(&found) {
            if seed != seed_of[cell as usize] {
                seed_of[cell as usize] = seed;
                changed_in[cell as usize] = round;
                changed.push(cell);
            }
        }
    }
    info.rounds = round as usize;
    let numbers = &numbers;
    parallel::for_each_chunk_mut(phi_cell, parallel::CHUNK, |n, phi| {
        for (i, phi) in phi.iter_mut().enumerate() {
            let cell = n * parallel::CHUNK + i;
            let seed = seed_of[cell];
            let x = tree.cell_center(cell);
            let own = numbers[seed as usize] as usize == cell;
            let seed = &seeds[seed as usize];
            let distance = if own { seed.distance } else { seed.to(x) };
            // A sign must survive even where the distance rounds to nothing.
            *phi = if *phi < 0.0 { -distance.max(f32::MIN_POSITIVE) } else { distance };
        }
    });
    info
}

/// What a round reads.
struct State<'a> {
    tree: &'a Octree,
    seeds: &'a [Seed],
    seed_of: &'a [u32],
    changed_in: &'a [u32],
    round: u32,
}

impl State<'_> {
    /// The nearest among a cell's seed and the new ones of the cells that touch it, be it in a corner: a seed may be the best
    /// of none of the face neighbours. Of two equally near the one with the smaller number.
    fn nearest(&self, cell: usize) -> u32 {
        let x = self.tree.cell_center(cell);
        let mut best = self.seed_of[cell];
        let mut distance = if best == NONE { f32::INFINITY } else { self.seeds[best as usize].to(x) };
        for_touching(self.tree, cell, |other| {
            let candidate = self.seed_of[other];
            // Seeds that are older were compared when they were new.
            if candidate == best || candidate == NONE || self.changed_in[other] + 1 != self.round {
                return;
            }
            let d = self.seeds[candidate as usize].to(x);
            if d < distance || (d == distance && candidate < best) {
                (best, distance) = (candidate, d);
            }
        });
        best
    }
}

/// The cells across a leaf's six sides.
fn neighbours(tree: &Octree, cell: usize, mut body: impl FnMut(usize)) {
    for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
        match tree.sides(face as usize)[side % 2] {
            Side::Outside => {}
            Side::Cell(other) => body(other as usize),
            Side::Quad(others) => others.iter().for_each(|&other| body(other as usize)),
        }
    }
}

fn is_beside_surface(tree: &Octree, phi: &[f32], cell: usize) -> bool {
    let wet = phi[cell] < 0.0;
    let mut beside = false;
    neighbours(tree, cell, |other| beside |= (phi[other] < 0.0) != wet);
    beside
}

/// A seed's patch, and whether the quadratic led to one. Where not, the tangent plane seen from the centre stands for it.
fn seed(tree: &Octree, phi: &[f32], cell: usize) -> (Seed, bool) {
    let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
    let quadric = Quadric::fit(tree, phi, cell);
    let found = quadric.closest_zero(STEEP_MIN);
    let (foot, slope) = found.unwrap_or_else(|| {
        let slope = quadric.slope([0.0; 3]);
        let steep = slope.iter().map(|g| g * g).sum::<f64>().sqrt();
        let reach = (quadric.value([0.0; 3]) / steep.max(STEEP_MIN)).clamp(-2.0, 2.0);
        (slope.map(|g| -reach * g / steep.max(f64::MIN_POSITIVE)), slope)
    });
    let steep = slope.iter().map(|g| g * g).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let vector = |v: [f64; 3]| Vec3::new(v[0] as f32, v[1] as f32, v[2] as f32);
    let foot = vector(foot) * dx;
    // The fit is in cells: its second derivatives are per cell.
    let bend = if found.is_some() {
        quadric.bend().map(|b| vector(b) / (steep as f32 * dx))
    } else {
        [Vec3::ZERO; 2]
    };
    let normal = vector(slope.map(|g| g / steep));
    let seed = Seed { point: x + foot, normal, bend, radius: DISC * dx, distance: foot.length() };
    (seed, found.is_some())
}
