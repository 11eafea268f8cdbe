//! Who is near whom: particles sorted by cell, read in straight ranges of x-rows.

use crate::families::Families;
use crate::kernels::CLOSEST;
use crate::lanes::{LANES, Lanes};
use crate::particles::{Particles, radius_of};
use crate::sight::{Seen, ThinSides};
use fluvial_foundation::{Vec3, parallel};
use std::ops::Range;
use std::sync::Arc;

/// Larger balls are searched by rows clipped to them, smaller ones by their box.
const CLIP_IN_CELLS: f32 = 0.75;

/// The box of cells that particles are sorted into. Particles outside count to the nearest cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    /// Lower corner, metres.
    pub min: Vec3,
    /// Edge of a cell, metres.
    pub cell_m: f32,
    /// Cells along each axis.
    pub size: [usize; 3],
}

impl Bins {
    /// How many cells there are.
    pub fn count(&self) -> usize {
        self.size.iter().product()
    }

    /// The cell of a position, as far as it lies inside.
    #[inline]
    pub fn coordinates(&self, x: Vec3) -> [usize; 3] {
        [self.coordinate(x.x, 0), self.coordinate(x.y, 1), self.coordinate(x.z, 2)]
    }

    /// The cell along one axis of a coordinate.
    #[inline(always)]
    fn coordinate(&self, x: f32, axis: usize) -> usize {
        // A conversion to 32 bits takes half as long.
        (((x - self.min[axis]) / self.cell_m).max(0.0) as i32 as usize).min(self.size[axis] - 1)
    }

    /// Squared distance along an axis from a place to the slab of cells with this coordinate; the outermost
    /// have no end.
    #[inline(always)]
    fn gap2(&self, x: Vec3, axis: usize, at: usize) -> f32 {
        let low = self.min[axis] + at as f32 * self.cell_m;
        let below = if at == 0 { 0.0 } else { low - x[axis] };
        let above = if at + 1 == self.size[axis] { 0.0 } else { x[axis] - low - self.cell_m };
        below.max(above).max(0.0).powi(2)
    }

    /// Flat index of a cell, x fastest.
    #[inline]
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.size[0] * (j + self.size[1] * k)
    }
}

/// Walls and solids that mirror the particles: what lies beyond them counts as the mirror image of the
/// liquid, so that neither density nor surface knows that liquid ends there.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    /// Planes at these coordinates; infinite where there is none.
    pub low: [f32; 3],
    /// The same on the high sides.
    pub high: [f32; 3],
    /// Solids between them.
    pub solid: Option<SolidSamples>,
}

/// Distance to solids on a lattice of points, negative inside, metres.
#[derive(Clone, Debug)]
pub struct SolidSamples {
    /// The first point.
    pub origin: Vec3,
    /// Between neighbouring points, metres.
    pub spacing: f32,
    /// Points along each axis, at least two.
    pub size: [usize; 3],
    /// The distances, x fastest.
    pub phi: Arc<[f32]>,
    /// The sides of thin ones, by cell between the points; empty where there are none.
    pub sides: ThinSides,
}

impl SolidSamples {
    /// The cell between the points that a place lies in.
    fn cell_at(&self, x: Vec3) -> [usize; 3] {
        let p = (x - self.origin) / self.spacing;
        std::array::from_fn(|a| (p[a].max(0.0) as usize).min(self.size[a] - 2))
    }

    /// The own corners of a cell beside a thin solid, and what it sees.
    fn side_of(&self, cell: [usize; 3]) -> Option<(u8, Seen)> {
        let [nx, ny] = [self.size[0] - 1, self.size[1] - 1];
        self.sides.of_cell(cell[0] + nx * (cell[1] + ny * cell[2]), cell)
    }

    /// Distance, and direction away from the solid, unit length; trilinear. Beside thin solids they are those of the
    /// cell's own side: what is behind them counts as solid.
    fn at(&self, x: Vec3) -> (f32, Vec3) {
        let p = (x - self.origin) / self.spacing;
        let [i, j, k] = self.cell_at(x);
        let own = self.side_of([i, j, k]).map_or(0xff, |(own, _)| if own == 0 { 0xff } else { own });
        let f = (p - Vec3::new(i as f32, j as f32, k as f32)).clamp(Vec3::ZERO, Vec3::ONE);
        let [row, slab] = [self.size[0], self.size[0] * self.size[1]];
        let first = i + row * j + slab * k;
        let v = |n: usize| {
            let phi = self.phi[first + (n & 1) + row * (n >> 1 & 1) + slab * (n >> 2)];
            if own >> n & 1 == 1 { phi } else { -phi.abs() }
        };
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let along_x = [0, 2, 4, 6].map(|n| lerp(v(n), v(n + 1), f.x));
        let dx = [0, 2, 4, 6].map(|n| v(n + 1) - v(n));
        let bilinear = |c: [f32; 4]| lerp(lerp(c[0], c[1], f.y), lerp(c[2], c[3], f.y), f.z);
        let dy = lerp(along_x[1] - along_x[0], along_x[3] - along_x[2], f.z);
        let dz = lerp(along_x[2] - along_x[0], along_x[3] - along_x[1], f.y);
        (bilinear(along_x), Vec3::new(bilinear(dx), dy, dz).normalize_or_zero())
    }
}

impl Walls {
    /// No walls.
    pub const NONE: Walls = Walls { low: [f32::NEG_INFINITY; 3], high: [f32::INFINITY; 3], solid: None };

    /// Has a place no image nearer than twice `reach`?
    pub fn are_far(&self, x: Vec3, reach: f32) -> bool {
        let mut count = 0;
        self.for_each_image(x, reach, |_| count += 1);
        count == 1
    }

    /// Is a solid nearer than `reach`?
    pub fn solid_is_near(&self, x: Vec3, reach: f32) -> bool {
        self.solid_distance(x) < reach
    }

    /// Distance from solids, on the own side of thin ones; infinite without any.
    pub fn solid_distance(&self, x: Vec3) -> f32 {
        self.solid.as_ref().map_or(f32::INFINITY, |solid| solid.at(x).0)
    }

    /// What a place beside a thin solid sees; none where everything is seen.
    #[inline]
    pub fn seen_from(&self, x: Vec3) -> Option<Seen> {
        let solid = self.solid.as_ref().filter(|solid| !solid.sides.is_empty())?;
        solid.side_of(solid.cell_at(x)).map(|(_, seen)| seen)
    }

    /// Calls `seen` with `x` and its mirror images in walls and solids that are nearer than `reach`, corners
    /// included.
    #[inline]
    pub fn for_each_image(&self, x: Vec3, reach: f32, mut seen: impl FnMut(Vec3)) {
        self.for_each_image_in_walls(x, reach, &mut seen);
        if let Some(solid) = &self.solid {
            let (distance, away) = solid.at(x);
            if distance < reach && away != Vec3::ZERO {
                self.for_each_image_in_walls(x - 2.0 * distance * away, reach, &mut seen);
            }
        }
    }

    #[inline]
    fn for_each_image_in_walls(&self, x: Vec3, reach: f32, seen: &mut impl FnMut(Vec3)) {
        // Per axis: the coordinate, and its image where a wall is near. Boxes narrower than the reach have no
        // more.
        let mut images = [[0.0f32; 2]; 3];
        let mut counts = [1usize; 3];
        for axis in 0..3 {
            images[axis][0] = x[axis];
            let (low, high) = (self.low[axis], self.high[axis]);
            if x[axis] - low < reach {
                (images[axis][1], counts[axis]) = (2.0 * low - x[axis], 2);
            } else if high - x[axis] < reach {
                (images[axis][1], counts[axis]) = (2.0 * high - x[axis], 2);
            }
        }
        for z in &images[2][..counts[2]] {
            for y in &images[1][..counts[1]] {
                for x in &images[0][..counts[0]] {
                    seen(Vec3::new(*x, *y, *z));
                }
            }
        }
    }
}

/// Particles by cell: where each cell's particles start, and their coordinates and weights for fast sums.
#[derive(Clone, Debug)]
pub struct Neighbours {
    bins: Bins,
    /// First particle of each cell, and the end.
    start: Vec<u32>,
    /// Coordinates, one array per axis, in the particles' order, padded by a set of lanes.
    x: [Vec<f32>; 3],
    /// Mass relative to a small particle.
    weight: Vec<f32>,
    /// Squared radius relative to a small particle.
    radius2: Vec<f32>,
    keys: Vec<u32>,
    order: Vec<u32>,
}

impl Neighbours {
    /// An empty search over a box of cells. A cell of two small radii is the best size.
    pub fn new(bins: Bins) -> Self {
        Neighbours {
            bins,
            start: vec![],
            x: Default::default(),
            weight: vec![],
            radius2: vec![],
            keys: vec![],
            order: vec![],
        }
    }

    /// The cells.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// Sorts the particles by cell (those of a cell keep their order) and takes down where they are.
    ///
    /// Tests: `neighbours_are_those_that_brute_force_finds`, `thread_count_changes_no_bit`.
    pub fn sort(&mut self, particles: &mut Particles, families: &mut Families) {
        self.file(&particles.x);
        if self.order.iter().enumerate().any(|(n, &i)| n != i as usize) {
            particles.rearrange(&self.order);
            families.follow(particles);
        }
        self.take_down(&particles.x);
        self.weigh(particles);
    }

    /// How the last sorting rearranged the particles: particle `i` was the particle `order[i]`.
    pub fn last_order(&self) -> &[u32] {
        &self.order
    }

    /// Files positions that are not to be moved; returns the order that sorts them.
    pub(crate) fn sort_points(&mut self, x: &mut Vec<Vec3>) -> &[u32] {
        self.file(x);
        *x = self.order.iter().map(|&i| x[i as usize]).collect();
        self.take_down(x);
        self.weight.clear();
        self.weight.resize(x.len() + LANES, 1.0);
        self.radius2.clear();
        self.radius2.resize(x.len() + LANES, 1.0);
        &self.order
    }

    fn file(&mut self, x: &[Vec3]) {
        let bins = self.bins;
        self.keys.resize(x.len(), 0);
        parallel::for_each_beside_mut(&mut self.keys, x, |key, &x| {
            *key = bins.index(bins.coordinates(x)) as u32;
        });
        self.start.clear();
        self.start.resize(bins.count() + 1, 0);
        self.keys.iter().for_each(|&key| self.start[key as usize + 1] += 1);
        let mut total = 0;
        for start in &mut self.start {
            total += *start;
            *start = total;
        }
        self.order.resize(x.len(), 0);
        // Places are handed out from the end, so that `start` is right again afterwards.
        let ends = &mut self.start[1..];
        for (i, &key) in self.keys.iter().enumerate().rev() {
            ends[key as usize] -= 1;
            self.order[ends[key as usize] as usize] = i as u32;
        }
        // Each cell's end has become its start: put the array back in line.
        self.start.copy_within(1.., 0);
        *self.start.last_mut().expect("has an end") = x.len() as u32;
    }

    fn take_down(&mut self, x: &[Vec3]) {
        for axis in 0..3 {
            let out = &mut self.x[axis];
            out.clear();
            out.resize(x.len() + LANES, 0.0);
            parallel::for_each_beside_mut(&mut out[..x.len()], x, |out, x| *out = x[axis]);
        }
    }

    /// Takes over masses and sizes that have changed.
    pub fn weigh(&mut self, particles: &Particles) {
        self.weight.clear();
        self.weight.extend((0..particles.len()).map(|i| particles.weight(i)));
        self.weight.resize(particles.len() + LANES, 0.0);
        self.radius2.clear();
        self.radius2.extend(particles.count.iter().map(|&count| radius_of(count, 1.0).powi(2)));
        self.radius2.resize(particles.len() + LANES, 1.0);
    }

    /// The particles of a cell.
    #[inline]
    pub fn of_cell(&self, cell: usize) -> Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    /// The particles of consecutive cells.
    #[inline]
    pub fn of_cells(&self, cells: Range<usize>) -> Range<usize> {
        self.start[cells.start] as usize..self.start[cells.end] as usize
    }

    /// Calls `row` with the ranges of particles in the cells that a ball touches, and perhaps a few more.
    #[inline(always)]
    fn for_each_row(&self, center: Vec3, reach: f32, row: impl FnMut(Range<usize>)) {
        self.for_each_seen_row(center, reach, None, row);
    }

    /// The same for the cells that are seen.
    #[inline(always)]
    fn for_each_seen_row(
        &self,
        center: Vec3,
        reach: f32,
        seen: Option<&Seen>,
        mut row: impl FnMut(Range<usize>),
    ) {
        let bins = &self.bins;
        let (low, high) = (bins.coordinates(center - reach), bins.coordinates(center + reach));
        // Small balls fill most of their box.
        let clip = reach > CLIP_IN_CELLS * bins.cell_m;
        // Roundings must not take a cell away.
        let reach2 = (reach + 1e-4 * bins.cell_m).powi(2);
        for k in low[2]..=high[2] {
            let z2 = if clip { bins.gap2(center, 2, k) } else { 0.0 };
            for j in low[1]..=high[1] {
                let (mut first, mut last) = (low[0], high[0]);
                if clip {
                    let left2 = reach2 - z2 - bins.gap2(center, 1, j);
                    if left2 <= 0.0 {
                        continue;
                    }
                    let half = left2.sqrt();
                    (first, last) =
                        (bins.coordinate(center.x - half, 0), bins.coordinate(center.x + half, 0));
                }
                let mut run = |[first, last]: [usize; 2]| {
                    let cell = bins.index([first, j, k]);
                    let range = self.start[cell] as usize..self.start[cell + last - first + 1] as usize;
                    if !range.is_empty() {
                        row(range);
                    }
                };
                match seen {
                    Some(seen) => seen.for_each_run([first, last], [j, k], run),
                    None => run([first, last]),
                }
            }
        }
    }

    /// Coordinates and weights of a row, in eights; the last may reach into other rows.
    #[inline(always)]
    fn eights(&self, range: &Range<usize>) -> Eights<'_> {
        let end = range.start + range.len().next_multiple_of(LANES);
        let x = self.x[0][range.start..end].as_chunks().0;
        Eights {
            x,
            y: &self.x[1][range.start..end].as_chunks().0[..x.len()],
            z: &self.x[2][range.start..end].as_chunks().0[..x.len()],
            weight: &self.weight[range.start..end].as_chunks().0[..x.len()],
        }
    }

    /// Calls `found(index, offset, squared distance)` for every particle within `reach` of `center`, in order
    /// of cells.
    #[inline]
    pub fn for_each_within(&self, center: Vec3, reach: f32, mut found: impl FnMut(usize, Vec3, f32)) {
        let (reach2, from) = (Lanes::splat(reach * reach), splat(center));
        self.for_each_row(center, reach, |range| {
            let row = self.eights(&range);
            for n in 0..row.x.len() {
                let at = range.start + LANES * n;
                let mut hits = squared(&row.offsets(n, &from)).at_most(reach2);
                // The arrays go on after the row.
                hits &= (1u32 << (range.end - at).min(LANES)) - 1;
                while hits != 0 {
                    let l = hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    let d = Vec3::new(row.x[n][l], row.y[n][l], row.z[n][l]) - center;
                    found(at + l, d, d.x * d.x + d.y * d.y + d.z * d.z);
                }
            }
        });
    }

    /// Calls `found(index, weight)` for every particle that weighs at a place, `m_i W_sharp(p_i - x, alpha
    /// d_i)` [sheets eq. 1], in order of cells. `reach` is that of the largest around, alpha d; `small`
    /// that of a small one, alpha d0.
    ///
    /// Test: `velocity_is_that_of_a_plain_sum`.
    #[inline]
    pub fn for_each_sharp(&self, center: Vec3, reach: f32, small: f32, mut found: impl FnMut(usize, f32)) {
        let (small2, from, zero) = (Lanes::splat(small * small), splat(center), Lanes::splat(0.0));
        let (one, closest2) = (Lanes::splat(1.0), Lanes::splat(CLOSEST * CLOSEST));
        self.for_each_row(center, reach, |range| {
            let row = self.eights(&range);
            let radius2 = &self.radius2[range.start..range.start + LANES * row.x.len()].as_chunks().0;
            for n in 0..row.x.len() {
                let h2 = small2 * Lanes::load(&radius2[n]);
                let r2 = squared(&row.offsets(n, &from));
                let near = zero.max(h2 / r2.max(closest2 * h2) - one) * Lanes::load(&row.weight[n]);
                let at = range.start + LANES * n;
                // The arrays go on after the row.
                let mut hits = !near.at_most(zero) & ((1u32 << (range.end - at).min(LANES)) - 1);
                let weights = near.to_array();
                while hits != 0 {
                    let l = hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    found(at + l, weights[l]);
                }
            }
        });
    }

    /// Is there no particle nearer than `reach`?
    #[inline]
    pub fn is_empty_within(&self, center: Vec3, reach: f32) -> bool {
        let (reach2, from) = (Lanes::splat(reach * reach), splat(center));
        let mut empty = true;
        self.for_each_row(center, reach, |range| {
            if empty {
                let row = self.eights(&range);
                for n in 0..row.x.len() {
                    let near = !reach2.at_most(squared(&row.offsets(n, &from)));
                    let left = range.len() - LANES * n;
                    empty &= near & ((1u32 << left.min(LANES)) - 1) == 0;
                }
            }
        });
        empty
    }

    /// The nearest particle within `reach`, the first in order where several are as near.
    pub fn nearest(&self, center: Vec3, reach: f32) -> Option<(usize, f32)> {
        let mut best = None;
        self.for_each_within(center, reach, |i, _, r2| {
            if best.is_none_or(|(_, b)| r2 < b) {
                best = Some((i, r2));
            }
        });
        best
    }

    /// Sums over the particles of the cells around a ball, eight at a time: `add(sums, offsets, weights)`,
    /// where offsets are from the centre; of cells that are seen, where not all are. Lanes without a particle lie far outside the ball.
    #[inline(always)]
    pub(crate) fn sums<const N: usize>(
        &self,
        center: Vec3,
        reach: f32,
        seen: Option<&Seen>,
        add: impl Fn(&mut [Lanes; N], [Lanes; 3], Lanes),
    ) -> [f32; N] {
        let mut sums = [Lanes::splat(0.0); N];
        let (far, from) = (4.0 * reach, splat(center));
        self.for_each_seen_row(center, reach, seen, |range| {
            let row = self.eights(&range);
            for n in 0..row.x.len() {
                let mut d = row.offsets(n, &from);
                let left = range.len() - LANES * n;
                if left < LANES {
                    // The arrays go on; what belongs to other cells is moved away.
                    d[0] = d[0].first(left, far);
                }
                add(&mut sums, d, Lanes::load(&row.weight[n]));
            }
        });
        sums.map(Lanes::sum)
    }
}

/// A row of particles in eights, slices of one length.
struct Eights<'a> {
    x: &'a [[f32; LANES]],
    y: &'a [[f32; LANES]],
    z: &'a [[f32; LANES]],
    weight: &'a [[f32; LANES]],
}

impl Eights<'_> {
    /// Offsets of the particles of an eight from a place.
    #[inline(always)]
    fn offsets(&self, n: usize, from: &[Lanes; 3]) -> [Lanes; 3] {
        [
            Lanes::load(&self.x[n]) - from[0],
            Lanes::load(&self.y[n]) - from[1],
            Lanes::load(&self.z[n]) - from[2],
        ]
    }
}

/// The same place in every lane.
#[inline(always)]
fn splat(x: Vec3) -> [Lanes; 3] {
    [Lanes::splat(x.x), Lanes::splat(x.y), Lanes::splat(x.z)]
}

#[inline(always)]
fn squared(d: &[Lanes; 3]) -> Lanes {
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// `1 - r^2 / h^2`, not below zero: the smooth kernel [sheets eq. 4] in every lane.
#[inline(always)]
pub(crate) fn smooth_lanes(d: &[Lanes; 3], inverse_h2: f32) -> Lanes {
    let r2 = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2]));
    r2.mul_add(Lanes::splat(-inverse_h2), Lanes::splat(1.0)).max(Lanes::splat(0.0))
}
