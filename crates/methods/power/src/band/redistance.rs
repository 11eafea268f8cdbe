//! Distances anew, in parallel: pages sweep themselves, and again as long as a neighbour has changed.
//!
//! Voxels near the surface keep their values as long as those have the slope of a distance. All others solve `|grad phi| = 1` upwind (Godunov) by sweeps over the rows of a page, eight voxels at once,
//! against the neighbours' last values. The paper's fast marching was serial; here a page reads what others had before the
//! pass, so that the result does not depend on threads. First order, as theirs; verified by `band.rs`.

use super::{Band, CURRENT, NEXT, PHI, PageCubes, kept};
use fluvial_foundation::Vec3;
use fluvial_grids::paged::{Layout, Reader};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use wide::f32x8;

/// Passes at most; the band is no more pages wide.
const MOST_PASSES: usize = 64;
/// A change smaller than this part of a voxel is none.
const SMALLEST_CHANGE: f32 = 1e-4;
/// Whom a page can ask for another visit, a bit each, as directions of [`Layout::page_steps`]: itself, and the pages across its
/// sides.
const ASKED: [usize; 7] = [13, 12, 14, 10, 16, 4, 22];

/// A page and one voxel around it: 10 x 10 x 6.
const ROW: usize = 10;
const PLANE: usize = 100;
type Halo = [f32; 600];

/// Where the row of voxels at y and z of a page stands in its halo.
#[inline(always)]
fn row_at(y: usize, z: usize) -> usize {
    1 + ROW * (y + 1) + PLANE * (z + 1)
}

/// A page's values and those around it; corners and edges keep what they had.
#[inline]
fn load(halo: &mut Halo, reader: &Reader<256>, layout: &Layout, page: u64, channel: usize) {
    let around = layout.around(page);
    let at = |x: usize, y: usize, z: usize| reader.channel(around.page(x, y, z), channel);
    let (own, [xl, xh]) = (at(1, 1, 1), [at(0, 1, 1), at(2, 1, 1)]);
    for z in 0..4 {
        for y in 0..8 {
            let (from, to) = (8 * y + 64 * z, row_at(y, z));
            halo[to..to + 8].copy_from_slice(&own[from..from + 8]);
            halo[to - 1] = xl[from + 7];
            halo[to + 8] = xh[from];
        }
    }
    let ([yl, yh], [zl, zh]) = ([at(1, 0, 1), at(1, 2, 1)], [at(1, 1, 0), at(1, 1, 2)]);
    for z in 0..4 {
        let (low, high) = (row_at(0, z) - ROW, row_at(7, z) + ROW);
        halo[low..low + 8].copy_from_slice(&yl[64 * z + 56..64 * z + 64]);
        halo[high..high + 8].copy_from_slice(&yh[64 * z..64 * z + 8]);
    }
    for y in 0..8 {
        let (low, high) = (row_at(y, 0) - PLANE, row_at(y, 3) + PLANE);
        halo[low..low + 8].copy_from_slice(&zl[192 + 8 * y..192 + 8 * y + 8]);
        halo[high..high + 8].copy_from_slice(&zh[8 * y..8 * y + 8]);
    }
}

impl Band {
    /// Makes all values distances up to the band's reach. Returns the number of passes.
    pub fn redistance(&mut self) -> usize {
        let layout = *self.grid.layout();
        let (dx, reach) = (self.dx, self.reach);
        // Distances of voxels near the surface are kept negative: they are given.
        self.grid.for_each_block(None, [CURRENT], |_, page, reader, [current]| {
            let mut phi = [0.0; 600];
            load(&mut phi, reader, &layout, page, PHI);
            given_distances(current, &phi, dx, reach);
        });
        let passes = self.sweep();
        self.grid.for_each_block(None, [PHI], |_, page, reader, [phi]| {
            let distance = reader.channel(page, CURRENT);
            for (phi, distance) in phi.iter_mut().zip(distance).filter(|(phi, _)| **phi != 0.0) {
                *phi = kept(distance.abs().copysign(*phi));
            }
        });
        passes
    }

    fn sweep(&mut self) -> usize {
        let layout = *self.grid.layout();
        let (dx, count) = (self.dx, self.grid.blocks().len());
        // Pages without given distances wait until a neighbour has some for them.
        let pages = self.grid.blocks().pages();
        let has_given = |n: &u32| self.grid.channel(pages[*n as usize], CURRENT).iter().any(|v| *v < 0.0);
        let mut active: Vec<u32> = (0..count as u32).filter(has_given).collect();
        let asks: Vec<AtomicU8> = (0..count).map(|_| AtomicU8::new(0)).collect();
        let mut next: Vec<u32> = vec![];
        for pass in 0..MOST_PASSES {
            if active.is_empty() {
                return pass;
            }
            self.grid.for_each_block(Some(&active), [NEXT], |n, page, reader, [next]| {
                let mut halo = [0.0; 600];
                load(&mut halo, reader, &layout, page, CURRENT);
                asks[n].store(sweep_page(next, &mut halo, dx, pass == 0), Relaxed);
            });
            self.grid.for_each_block(Some(&active), [CURRENT], |_, page, reader, [current]| {
                current.copy_from_slice(reader.channel(page, NEXT));
            });
            let (list, steps) = (self.grid.blocks(), layout.page_steps());
            next.clear();
            for &n in &active {
                let asks = asks[n as usize].load(Relaxed);
                for (bit, d) in ASKED.into_iter().enumerate().filter(|(bit, _)| asks >> bit & 1 == 1) {
                    let beside = layout.add_pages(list.pages()[n as usize], steps[d]);
                    next.extend(if bit == 0 { Some(n) } else { list.position(beside).map(|p| p as u32) });
                }
            }
            next.sort_unstable();
            next.dedup();
            std::mem::swap(&mut active, &mut next);
        }
        MOST_PASSES
    }

    /// Gives back the pages in which nothing is nearer to the surface than the reach, and in which all who read leaves instead find
    /// the same side: `is_liquid(x)`, the same for all of a leaf of edge `smallest_m` or more. (Of a drop that transport has lost the leaf is
    /// still full, and would fill itself again.)
    pub fn release_far_pages(&mut self, smallest_m: f32, is_liquid: impl Fn(Vec3) -> bool) {
        let (grid, reach, layout) = (&self.grid, 0.999 * self.reach, *self.grid.layout());
        let cubes = PageCubes::new(self, smallest_m);
        let is_far = |page: &u64| {
            let phi = grid.channel(*page, PHI);
            is_beyond(phi, reach)
                && cubes.of_page(layout.decode(layout.first_of(*page))).all(|(low, _)| {
                    let mut voxels = cubes.rows(low).flatten().filter(|&cell| phi[cell] != 0.0).peekable();
                    let Some(&first) = voxels.peek() else { return true };
                    let side = is_liquid(self.center(layout.decode(layout.first_of(*page) | first as u64)));
                    voxels.all(|cell| side == (phi[cell] < 0.0))
                })
        };
        let far: Vec<u64> = grid.blocks().pages().iter().copied().filter(is_far).collect();
        self.grid.release(&far);
    }

    /// The same where no leaf knows better: for a first band.
    pub fn release_pages_beyond_reach(&mut self) {
        let (grid, reach) = (&self.grid, 0.999 * self.reach);
        let is_far = |page: &u64| is_beyond(grid.channel(*page, PHI), reach);
        let far: Vec<u64> = grid.blocks().pages().iter().copied().filter(is_far).collect();
        self.grid.release(&far);
    }
}

fn is_beyond(phi: &[f32; 256], reach: f32) -> bool {
    phi.iter().all(|v| *v == 0.0 || v.abs() >= reach)
}

/// The least distance that is given, voxels: not zero, which would mean that there is no voxel.
const LEAST_GIVEN: f32 = 1e-6;

/// Voxels nearer to the surface than this keep what transport has given them.
const NEAR_VOXELS: f32 = 1.5;
/// As long as their slope differs from one by no more than this.
const SLOPE_OFF: f32 = 0.1;

/// Distance of a voxel near the surface, metres. Where the slope is sane the value is left as it is: to divide by the slope
/// in every step moves the surface, by 0.2 % of the volume of a ball of ten voxels with differences across it, and without
/// bound with central ones. Else a voxel beside the surface divides by the differences across it.
fn near_surface(phi: &Halo, at: usize, dx: f32) -> Option<f32> {
    let own = phi[at];
    let (mut central, mut mixed, mut is_beside) = (0.0, 0.0, false);
    for stride in [1, ROW, PLANE] {
        let [low, high] = [phi[at - stride], phi[at + stride]];
        let step = match (low != 0.0, high != 0.0) {
            (true, true) => 0.5 * (high - low),
            (true, false) => own - low,
            (false, true) => high - own,
            (false, false) => 0.0,
        };
        let crosses = |v: f32| v != 0.0 && (v < 0.0) != (own < 0.0);
        let over = |v: f32| if crosses(v) { (v - own).abs() } else { 0.0 };
        let over = over(low).max(over(high));
        is_beside |= over > 0.0;
        central += step * step;
        mixed += if over > 0.0 { over * over } else { step * step };
    }
    let is_sane = (central.sqrt() / dx - 1.0).abs() < SLOPE_OFF;
    match is_sane {
        true => (is_beside || own.abs() < NEAR_VOXELS * dx).then_some(own.abs()),
        false => is_beside.then(|| own.abs() * dx / mixed.sqrt()),
    }
}

/// Distances near the surface as negative numbers, the reach as a bound in all other voxels, zero where there is none.
fn given_distances(out: &mut [f32; 256], phi: &Halo, dx: f32, reach: f32) {
    let near = NEAR_VOXELS * dx;
    for z in 0..4 {
        for y in 0..8 {
            let row = row_at(y, z);
            let around = [1, ROW, PLANE].map(|stride| (&phi[row - stride..][..8], &phi[row + stride..][..8]));
            let own: &[f32; 8] = phi[row..row + 8].try_into().expect("a row");
            // Voxels that neither lie beside the surface nor are near it find their distance from their neighbours.
            let mut is_asked = [false; 8];
            for x in 0..8 {
                let crosses = |v: f32| (v != 0.0) & ((v < 0.0) != (own[x] < 0.0));
                is_asked[x] = own[x].abs() < near;
                for (low, high) in around {
                    is_asked[x] |= crosses(low[x]) | crosses(high[x]);
                }
            }
            for x in 0..8 {
                let given = || near_surface(phi, row + x, dx).map(|d| -d.clamp(LEAST_GIVEN * dx, reach));
                out[8 * y + 64 * z + x] = match (own[x] == 0.0, is_asked[x]) {
                    (true, _) => 0.0,
                    (_, true) => given().unwrap_or(reach),
                    (_, false) => reach,
                };
            }
        }
    }
}

/// What a voxel that does not exist has for a distance: nobody takes it.
const NOWHERE: f32 = 1e15;
/// Times that a row is solved in a visit: along it, values travel by one voxel each time.
const ROUNDS: usize = 2;

/// Four sweeps over the rows of a page, up and down along y and z. Given distances are negative in the halo and in `next`, missing ones
/// zero. Returns the bits of [`ASKED`]: the page itself where any distance has changed, and a neighbour where one beside it has that is
/// nearer to the surface than the neighbour's own, which alone can make that one smaller. At the first visit given distances are such changes.
fn sweep_page(next: &mut [f32; 256], halo: &mut Halo, dx: f32, is_first: bool) -> u8 {
    let mut before = [[0.0f32; 8]; 32];
    for (n, before) in before.iter_mut().enumerate() {
        before.copy_from_slice(&halo[row_at(n % 8, n / 8)..][..8]);
    }
    halo.iter_mut().for_each(|v| *v = if *v == 0.0 { NOWHERE } else { v.abs() });
    for direction in 0..4usize {
        for n in 0..32 {
            let y = if direction & 1 == 1 { 7 - n % 8 } else { n % 8 };
            let z = if direction & 2 == 2 { 3 - n / 8 } else { n / 8 };
            let own = &before[y + 8 * z];
            if own.iter().any(|v| *v > 0.0) {
                solve_row(halo, row_at(y, z), own, dx);
            }
        }
    }
    let mut asks = 0;
    for (n, before) in before.iter().enumerate() {
        let (y, z) = (n % 8, n / 8);
        let at = row_at(y, z);
        let (mut changed, mut any) = ([false; 8], false);
        for x in 0..8 {
            let new = if before[x] > 0.0 { halo[at + x] } else { before[x] };
            next[8 * n + x] = new;
            let is_given = before[x] < 0.0;
            changed[x] = is_first && is_given || (new - before[x]).abs() > SMALLEST_CHANGE * dx;
            any |= changed[x];
        }
        if any {
            asks |= 1 | asked_across(halo, at, [y, z], changed);
        }
    }
    asks
}

/// The sides of a page across which a row's changed distances can matter.
fn asked_across(halo: &Halo, at: usize, [y, z]: [usize; 2], changed: [bool; 8]) -> u8 {
    let matters = |x: usize, beyond: usize| changed[x] && halo[at + x] < halo[beyond];
    let any = |is_at_side: bool, beyond: usize| is_at_side && (0..8).any(|x| matters(x, beyond + x));
    u8::from(matters(0, at - 1)) << 1
        | u8::from(matters(7, at + 8)) << 2
        | u8::from(any(y == 0, at - ROW)) << 3
        | u8::from(any(y == 7, at + ROW)) << 4
        | u8::from(any(z == 0, at - PLANE)) << 5
        | u8::from(any(z == 3, at + PLANE)) << 6
}

/// Solves the equation in the voxels of a row that are not given.
#[inline(always)]
fn solve_row(halo: &mut Halo, row: usize, given: &[f32; 8], dx: f32) {
    let eight = |halo: &Halo, at: usize| -> f32x8 {
        let values: [f32; 8] = halo[at..at + 8].try_into().expect("a row");
        f32x8::from(values)
    };
    let y = eight(halo, row - ROW).fast_min(eight(halo, row + ROW));
    let z = eight(halo, row - PLANE).fast_min(eight(halo, row + PLANE));
    let is_free = f32x8::from(*given).simd_gt(f32x8::ZERO);
    for _ in 0..ROUNDS {
        let own = eight(halo, row);
        let x = eight(halo, row - 1).fast_min(eight(halo, row + 1));
        // What solves the equation is that much larger than the least of its neighbours.
        let may_fall = is_free & own.simd_gt(x.fast_min(y).fast_min(z) + 0.577 * dx);
        if !may_fall.any() {
            return;
        }
        let solved = own.fast_min(upwind([x, y, z], dx));
        halo[row..row + 8].copy_from_slice(&may_fall.select(solved, own).to_array());
    }
}

/// The solution of `sum max(d - a_k, 0)^2 = dx^2`.
#[inline(always)]
fn upwind([a, b, c]: [f32x8; 3], dx: f32) -> f32x8 {
    let (low, high) = (a.fast_min(b), a.fast_max(b));
    let (p, q, r) = (low.fast_min(c), low.fast_max(c).fast_min(high), high.fast_max(c));
    let square = f32x8::splat(dx * dx);
    let one = p + dx;
    let difference = p - q;
    let two = 0.5 * (p + q + (square + square - difference * difference).fast_max(f32x8::ZERO).sqrt());
    let sum = p + q + r;
    let squares = p * p + q * q + r * r;
    let three = (sum + (sum * sum - 3.0 * (squares - square)).fast_max(f32x8::ZERO).sqrt()) * (1.0 / 3.0);
    one.simd_le(q).select(one, two.simd_le(r).select(two, three))
}
