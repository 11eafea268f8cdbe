//! Distances anew, in parallel: pages sweep themselves, and again as long as a neighbour has changed.
//!
//! Voxels near the surface keep their values as long as those have the slope of a distance. All others solve `|grad phi| = 1` upwind (Godunov) by sweeps in eight directions within a page
//! against the neighbours' last values. The paper's fast marching was serial; here a page reads what others had before the
//! pass, so that the result does not depend on threads. First order, as theirs; verified by `band.rs`.

use super::{Band, CURRENT, NEXT, PHI, kept};
use fluvial_foundation::AXES;
use fluvial_grids::paged::{Layout, Reader};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Passes at most; the band is no more pages wide.
const MOST_PASSES: usize = 64;
/// A change smaller than this part of a voxel is none.
const SMALLEST_CHANGE: f32 = 1e-4;

/// A page and one voxel around it: 10 x 10 x 6.
const ROW: usize = 10;
const PLANE: usize = 100;
type Halo = [f32; 600];

/// Where a voxel of a page stands in its halo.
#[inline]
fn place(cell: usize) -> usize {
    (cell & 7) + 1 + ROW * ((cell >> 3 & 7) + 1) + PLANE * ((cell >> 6) + 1)
}

/// A page's values and those around it; corners and edges stay zero.
fn load(halo: &mut Halo, reader: &Reader<256>, layout: &Layout, page: u64, channel: usize) {
    let around = layout.around(page);
    let own = reader.channel(page, channel);
    (0..256).for_each(|cell| halo[place(cell)] = own[cell]);
    let sides = [(1usize, 8usize), (ROW, 8), (PLANE, 4)];
    for axis in AXES {
        let (stride, length) = sides[axis];
        let cell_stride = 1 << (3 * axis);
        let mut at = [1; 3];
        at[axis] = 0;
        let low = reader.channel(around.page(at[0], at[1], at[2]), channel);
        at[axis] = 2;
        let high = reader.channel(around.page(at[0], at[1], at[2]), channel);
        for cell in (0..256usize).filter(|c| (c / cell_stride).is_multiple_of(length)) {
            let last = cell + (length - 1) * cell_stride;
            halo[place(cell) - stride] = low[last];
            halo[place(last) + stride] = high[cell];
        }
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
            for (cell, out) in current.iter_mut().enumerate() {
                *out = match phi[place(cell)] {
                    0.0 => 0.0,
                    _ => near_surface(&phi, place(cell), dx)
                        .map_or(reach, |d| -d.clamp(LEAST_GIVEN * dx, reach)),
                };
            }
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
        for pass in 0..MOST_PASSES {
            if active.is_empty() {
                return pass;
            }
            let changed: Vec<AtomicBool> = (0..count).map(|_| AtomicBool::new(false)).collect();
            self.grid.for_each_block(Some(&active), [NEXT], |n, page, reader, [next]| {
                let mut halo = [0.0; 600];
                load(&mut halo, reader, &layout, page, CURRENT);
                sweep_page(&mut halo, dx);
                let before = reader.channel(page, CURRENT);
                let mut has_changed = false;
                for cell in 0..256 {
                    next[cell] = halo[place(cell)];
                    has_changed |= (next[cell] - before[cell]).abs() > SMALLEST_CHANGE * dx;
                }
                changed[n].store(has_changed, Relaxed);
            });
            self.grid.for_each_block(Some(&active), [CURRENT], |_, page, reader, [current]| {
                current.copy_from_slice(reader.channel(page, NEXT));
            });
            let (list, steps) = (self.grid.blocks(), layout.page_steps());
            let mut next: Vec<u32> = vec![];
            for (n, _) in changed.iter().enumerate().filter(|(_, c)| c.load(Relaxed)) {
                // The page itself and the six across its sides.
                for d in [4, 10, 12, 13, 14, 16, 22] {
                    let beside = layout.add_pages(list.pages()[n], steps[d]);
                    next.extend(list.position(beside).map(|p| p as u32));
                }
            }
            next.sort_unstable();
            next.dedup();
            active = next;
        }
        MOST_PASSES
    }

    /// Gives back the pages in which nothing is nearer to the surface than the reach, and in which all who read leaves instead find
    /// the same side: `is_liquid(x)`. (Of a drop that transport has lost the leaf is still full, and would fill itself again.)
    pub fn release_far_pages(&mut self, is_liquid: impl Fn(fluvial_foundation::Vec3) -> bool) {
        let (grid, reach, layout) = (&self.grid, 0.999 * self.reach, *self.grid.layout());
        let is_far = |page: &u64| {
            let phi = grid.channel(*page, PHI);
            phi.iter().all(|v| *v == 0.0 || v.abs() >= reach)
                && (0..256).filter(|&cell| phi[cell] != 0.0).all(|cell| {
                    let x = self.center(layout.decode(layout.first_of(*page) | cell as u64));
                    is_liquid(x) == (phi[cell] < 0.0)
                })
        };
        let far: Vec<u64> = grid.blocks().pages().iter().copied().filter(is_far).collect();
        self.grid.release(&far);
    }
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

/// Eight sweeps over a page.
fn sweep_page(halo: &mut Halo, dx: f32) {
    for direction in 0..8usize {
        let along = |n: usize, a: usize, length: usize| {
            if direction >> a & 1 == 1 { length - 1 - n } else { n }
        };
        for z in 0..4 {
            for y in 0..8 {
                let row = ROW * (along(y, 1, 8) + 1) + PLANE * (along(z, 2, 4) + 1);
                for x in 0..8 {
                    let at = along(x, 0, 8) + 1 + row;
                    let own = halo[at];
                    if own > 0.0 {
                        let least = |stride: usize| {
                            let known = |v: f32| if v == 0.0 { f32::MAX } else { v.abs() };
                            known(halo[at - stride]).min(known(halo[at + stride]))
                        };
                        let around = [least(1), least(ROW), least(PLANE)];
                        // What solves the equation is that much larger than the least of its neighbours.
                        if own > around[0].min(around[1]).min(around[2]) + 0.577 * dx {
                            halo[at] = own.min(upwind(around, dx));
                        }
                    }
                }
            }
        }
    }
}

/// The solution of `sum max(d - a_k, 0)^2 = dx^2`.
#[inline]
fn upwind(a: [f32; 3], dx: f32) -> f32 {
    let [mut p, mut q, mut r] = a;
    if p > q {
        std::mem::swap(&mut p, &mut q);
    }
    if q > r {
        std::mem::swap(&mut q, &mut r);
    }
    if p > q {
        std::mem::swap(&mut p, &mut q);
    }
    let one = p + dx;
    if one <= q {
        return one;
    }
    let (sum, difference) = (p + q, p - q);
    let two = 0.5 * (sum + (2.0 * dx * dx - difference * difference).max(0.0).sqrt());
    if two <= r {
        return two;
    }
    let sum = p + q + r;
    let squares = p * p + q * q + r * r;
    (sum + (sum * sum - 3.0 * (squares - dx * dx)).max(0.0).sqrt()) / 3.0
}
