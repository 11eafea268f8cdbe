//! Cells beside the surface and their patches of it.

use crate::quadric::{Quadric, Touching, WallContact, meets};
use crate::sides::TreeSides;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// No seed yet.
pub const NONE: u32 = u32::MAX;
/// Radius of a patch, in cells: somewhat farther than to the middle between seeds across a corner.
const DISC: f32 = 1.0;
/// The same beside coarser cells, where the next seed may be as far as theirs are.
const DISC_AT_COARSER: f32 = 2.0;
/// The same beside closed cells: beyond the line where the surface meets a solid it goes on as it comes, or the fits
/// there would bend it and still water would flow along the line.
const DISC_AT_SOLID: f32 = 2.0;
/// Cells to the surface of one that has a neighbour of the other sign, the neighbour being a larger one.
const FARTHEST: f32 = 1.5;
/// Part of its radius within which a patch is as good as any.
const BESIDE: f32 = 0.5;
/// Least slope of phi from which a direction can be read.
const STEEP_MIN: f64 = 0.1;
/// Seeds that one task fits.
const TASK: usize = 512;

/// A cell beside the surface, and its patch of it: a disc, curved as phi's quadratic is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seed {
    /// Closest point of the surface.
    point: Vec3,
    /// Unit normal there, out of the liquid.
    normal: Vec3,
    /// Second derivatives over the slope there, 1/m: xx yy zz, then yz zx xy.
    bend: [Vec3; 2],
    radius: f32,
    /// Slope of phi there.
    steepness: f32,
    /// Distance from the cell's centre to the surface.
    pub distance: f32,
    /// Was the surface found where it should be?
    pub sure: bool,
}

impl Seed {
    /// Distance from a point to the patch.
    #[inline]
    pub fn to(&self, x: Vec3) -> f32 {
        let Below { along, beyond, .. } = self.below(x);
        (along * along + beyond * beyond).sqrt()
    }

    /// The patch below a point.
    ///
    /// The surface falls away from the tangent plane by k t^2 / 2; seen from a distance a, by 1 / (1 + k a) of that.
    #[inline]
    pub fn below(&self, x: Vec3) -> Below {
        let r = x - self.point;
        let along = r.dot(self.normal);
        let mut aside = r - along * self.normal;
        let length = aside.length();
        let beyond = (length - self.radius).max(0.0);
        if beyond > 0.0 {
            aside *= self.radius / length;
        }
        let [square, mixed] = self.bend;
        let fall = square.dot(aside * aside)
            + 2.0 * mixed.dot(Vec3::new(aside.y * aside.z, aside.z * aside.x, aside.x * aside.y));
        let near = length.min(self.radius).max(f32::MIN_POSITIVE);
        let spread = (1.0 + along * fall / (near * near)).max(0.5);
        let foot = aside / spread;
        let point = self.point + foot - 0.5 * fall / (spread * spread) * self.normal;
        Below { along: along + 0.5 * fall / spread, beyond, point }
    }

    /// Does the patch, gone on as it is bent, meet a wall across an axis at a right angle? 1 where it does, 0 where not.
    pub fn meets(&self, axis: usize, wall: f32) -> f32 {
        meets(self.normal[axis] + self.bend[0][axis] * (wall - self.point[axis]))
    }

    /// Slope of phi across the surface.
    pub fn steepness(&self) -> f32 {
        self.steepness
    }
}

/// A patch as a point sees it.
#[derive(Clone, Copy, Debug)]
pub struct Below {
    /// Signed distance along the patch's normal, and how far the patch has ended before.
    pub along: f32,
    pub beyond: f32,
    /// Its closest point.
    pub point: Vec3,
}

/// All seeds, in the order of their cells, and which of them touch.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    pub cells: Vec<u32>,
    pub seeds: Vec<Seed>,
    /// The seeds' points once more, close together.
    points: Vec<Vec3>,
    /// First of a seed's neighbours, and one more.
    start: Vec<u32>,
    neighbours: Vec<u32>,
    /// Those where phi hardly changes.
    pub flat: usize,
}

/// Seeds of one task: with their cells' surroundings, and how many neighbours each has.
#[derive(Default)]
struct Piece {
    seeds: Vec<Seed>,
    lengths: Vec<u32>,
    neighbours: Vec<u32>,
    flat: usize,
}

impl Seeds {
    /// Finds and fits them; `seed_of` gets the numbers of seeds at their cells, [`NONE`] elsewhere.
    pub fn find(
        &mut self,
        seed_of: &mut Vec<AtomicU32>,
        tree: &Octree,
        phi: &[f32],
        closed: &[bool],
        (sides, contact): (TreeSides, &WallContact),
    ) {
        seed_of.clear();
        seed_of.resize_with(tree.cell_count(), || AtomicU32::new(NONE));
        mark(seed_of, tree, phi, closed);
        if !sides.sides.is_empty() {
            mark_on_sides(seed_of, tree, phi, closed, sides);
        }
        self.cells.clear();
        for (cell, seed) in seed_of.iter_mut().map(AtomicU32::get_mut).enumerate() {
            if *seed != NONE {
                *seed = self.cells.len() as u32;
                self.cells.push(cell as u32);
            }
        }
        let (cells, seed_of) = (&self.cells, &seed_of[..]);
        let pieces = parallel::map_indices(parallel::chunk_count(cells.len(), TASK), |n| {
            let mut piece = Piece::default();
            for seed in parallel::chunk_range(n, TASK, cells.len()) {
                piece.add(tree, phi, cells[seed] as usize, seed_of, closed, (sides, contact));
            }
            piece
        });
        self.seeds.clear();
        self.neighbours.clear();
        self.start.clear();
        self.start.push(0);
        self.flat = 0;
        let mut end = 0;
        for piece in pieces {
            self.seeds.extend(piece.seeds);
            self.neighbours.extend(piece.neighbours);
            self.start.extend(piece.lengths.iter().map(|length| {
                end += length;
                end
            }));
            self.flat += piece.flat;
        }
        self.points.clear();
        self.points.extend(self.seeds.iter().map(|seed| seed.point));
    }

    /// The seeds whose cells touch a seed's.
    #[inline]
    fn touching(&self, seed: u32) -> &[u32] {
        &self.neighbours[self.start[seed as usize] as usize..self.start[seed as usize + 1] as usize]
    }

    #[inline]
    pub fn square(&self, seed: u32, x: Vec3) -> f32 {
        self.points[seed as usize].distance_squared(x)
    }

    /// Walks from seed to seed as long as points come nearer, unless the first one's patch lies right below.
    /// Of two equally near the one with the smaller number.
    #[inline]
    pub fn settle(&self, x: Vec3, from: u32) -> u32 {
        let (mut best, mut square) = (from, self.square(from, x));
        let Seed { point, normal, radius, .. } = self.seeds[from as usize];
        let along = (x - point).dot(normal);
        let beside = BESIDE * radius;
        if square - along * along < beside * beside {
            return from;
        }
        loop {
            let last = best;
            for &seed in self.touching(last) {
                let other = self.square(seed, x);
                if other < square || (other == square && seed < best) {
                    (best, square) = (seed, other);
                }
            }
            if best == last {
                return best;
            }
        }
    }

    /// Distance of a seed's own cell. Only where the surface was not found, at sheets and where phi is flat,
    /// may a neighbour's patch be nearer: the least of all patches everywhere would let small errors grow
    /// from call to call.
    pub fn own_distance(&self, seed: u32, x: Vec3) -> f32 {
        if self.seeds[seed as usize].sure {
            return self.seeds[seed as usize].distance;
        }
        let others = self.touching(seed).iter().map(|&other| self.seeds[other as usize].to(x));
        others.fold(self.seeds[seed as usize].distance, f32::min)
    }
}

/// Marks open cells with an open neighbour of the other sign.
fn mark(seed_of: &[AtomicU32], tree: &Octree, phi: &[f32], closed: &[bool]) {
    let wet = |cell: u32| phi[cell as usize] < 0.0;
    let open = |cell: u32| closed.get(cell as usize) != Some(&true);
    let differ = |a: u32, b: u32| wet(a) != wet(b) && open(a) && open(b);
    let set = |cell: u32| seed_of[cell as usize].store(0, Relaxed);
    parallel::for_each_index(parallel::chunk_count(tree.face_count(), parallel::CHUNK), |n| {
        for face in parallel::chunk_range(n, parallel::CHUNK, tree.face_count()) {
            match tree.sides(face) {
                [Side::Cell(a), Side::Cell(b)] if differ(a, b) => [a, b].into_iter().for_each(set),
                [Side::Cell(a), Side::Quad(others)] | [Side::Quad(others), Side::Cell(a)] => {
                    others.into_iter().filter(|&b| differ(a, b)).for_each(|b| {
                        set(a);
                        set(b);
                    });
                }
                _ => {}
            }
        }
    });
}

/// Marks the cells near thin solids with a neighbour of the other sign as they see it, and no others there.
fn mark_on_sides(seed_of: &[AtomicU32], tree: &Octree, phi: &[f32], closed: &[bool], sides: TreeSides) {
    parallel::for_each_index(parallel::chunk_count(tree.cell_count(), parallel::CHUNK), |n| {
        for cell in parallel::chunk_range(n, parallel::CHUNK, tree.cell_count()) {
            let Some(at) = sides.near_place(tree, cell) else { continue };
            let is_closed = |leaf: usize| closed.get(leaf) == Some(&true);
            let is_next = !is_closed(cell) && phi[cell].abs() < FARTHEST * tree.cell_dx(cell) && {
                let patch = sides.patch(tree, phi, at, 2);
                let (values, around, [i, j, k]) = (patch.values(), &patch.lattice, patch.center);
                let center = around.index(i, j, k);
                let own = sides.cells.index(at[0], at[1], at[2]);
                let differs = |other: usize, there: usize| {
                    (values[other] < 0.0) != (phi[cell] < 0.0) && !is_closed(sides.leaf(tree, there))
                };
                (0..3).any(|a| {
                    let (stride, way) = (around.stride(a), sides.cells.stride(a));
                    patch.center[a] > 0 && differs(center - stride, own - way)
                        || patch.center[a] + 1 < around.size[a] && differs(center + stride, own + way)
                })
            };
            seed_of[cell].store(if is_next { 0 } else { NONE }, Relaxed);
        }
    });
}

impl Piece {
    fn add(
        &mut self,
        tree: &Octree,
        phi: &[f32],
        cell: usize,
        seed_of: &[AtomicU32],
        closed: &[bool],
        (sides, contact): (TreeSides, &WallContact),
    ) {
        let touching = Touching::new(tree, cell);
        let (own, before) = (cell as u32, self.neighbours.len());
        let (mut coarser, mut at_solid) = (false, false);
        for &other in touching.cells().iter().filter(|&&other| other != own) {
            let seed = seed_of[other as usize].load(Relaxed);
            if seed != NONE && sides.sees(tree, cell, other as usize) {
                self.neighbours.push(seed);
            }
            at_solid |= closed.get(other as usize) == Some(&true);
            coarser |= other >= tree.cells_of(tree.cells()[cell].level as usize).end as u32;
        }
        self.lengths.push((self.neighbours.len() - before) as u32);
        let quadric = match sides.near_place(tree, cell) {
            None => {
                // Closed cells in the second row and deeper may have their values from the other side of a wall.
                let is_beside_open = |closed_cell: usize| {
                    let mut found = false;
                    tree.for_neighbours(closed_cell, |other| found |= closed.get(other) != Some(&true));
                    found
                };
                let counts = |other: usize| closed.get(other) != Some(&true) || is_beside_open(other);
                let inside = touching.only(counts);
                let fit = Quadric::fit_to(tree, phi, cell, &inside);
                if at_solid { fit } else { fit.meeting_walls(tree, phi, cell, (&inside, contact)) }
            }
            Some(at) => {
                let patch = sides.patch(tree, phi, at, 2);
                let value = |other: usize| match sides.place(tree, other) {
                    Some(to) => {
                        let [i, j, k] = std::array::from_fn(|a| patch.center[a] + to[a] - at[a]);
                        patch.values()[patch.lattice.index(i, j, k)]
                    }
                    None => phi[other],
                };
                Quadric::fit_values(tree, value, cell, &touching)
            }
        };
        let disc = match (at_solid, coarser) {
            (true, _) => DISC_AT_SOLID,
            (_, true) => DISC_AT_COARSER,
            _ => DISC,
        };
        let (seed, found) = patch(tree, cell, &quadric, disc);
        self.seeds.push(seed);
        self.flat += !found as usize;
    }
}

/// A seed's patch, and whether the quadratic led to one. Where not, the tangent plane seen from the centre
/// stands for it.
fn patch(tree: &Octree, cell: usize, quadric: &Quadric, disc: f32) -> (Seed, bool) {
    let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
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
    let distance = foot.length();
    let sure = found.is_some() && distance < FARTHEST * dx;
    let (radius, steepness) = (disc * dx, steep as f32);
    let seed = Seed { point: x + foot, normal, bend, radius, steepness, distance, sure };
    (seed, found.is_some())
}
