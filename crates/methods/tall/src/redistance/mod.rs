//! Making phi a distance again [tall §3.4], without moving the surface. Twins in
//! `redistance.wgsl`.
//!
//! Samples beside the surface, those with a neighbour of the other sign, keep their phi; the paper clamps it
//! there to one cell in every frame, and to five cells elsewhere.

use crate::field::{Sample, for_each_sample, neighbours};
use crate::volume::share;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;

/// Largest distance kept, in cells.
pub const REACH_CELLS: f32 = 5.0;

/// Is a neighbour on the other side of the surface?
fn beside_surface(grid: &TallGrid, phi: &[f32], s: Sample) -> bool {
    let liquid = phi[s.index] <= 0.0;
    neighbours(grid, phi, s).into_iter().flatten().any(|other| (other <= 0.0) != liquid)
}

/// Is the sample an end of a tall cell that holds a surface? There phi is the line that shows how much liquid the tall cell holds
/// and no distance (`remesh::transfer_phi`): other ends would have their zero elsewhere. Nor is it carried along: the liquid's end rests on the ground, the
/// air's moves with what passes there, and the zero between them with neither; what flows in and out of the column moves it
/// (`volume`).
pub(crate) fn holds_a_surface(grid: &TallGrid, phi: &[f32], s: Sample) -> bool {
    let [bottom, top] = [0, 1].map(|row| phi[grid.index(s.i, row, s.k)] / grid.dx_m);
    // The shortest tall cell stores what two cubic ones would.
    s.j < 2 && grid.column(s.i, s.k)[1] > LEAST_TALL && share(bottom) > 0.0 && share(top) < 1.0
}

/// The clamps of every frame: one cell beside the surface, [`REACH_CELLS`] elsewhere. These bound the
/// distance that is stored; they do not move the surface, since the sign stays and phi = 0 is far from
/// either.
pub fn clamp_frame(out: &mut [f32], phi: &[f32], grid: &TallGrid) {
    for_each_sample(grid, out, |s| {
        let is_bounded = beside_surface(grid, phi, s) && !holds_a_surface(grid, phi, s);
        let cells = if is_bounded { 1.0 } else { REACH_CELLS };
        let reach = cells * grid.dx_m;
        phi[s.index].clamp(-reach, reach)
    });
}

/// What the passes start from: phi beside the surface, the largest distance elsewhere.
pub fn start(out: &mut [f32], phi: &[f32], grid: &TallGrid) {
    for_each_sample(grid, out, |s| {
        let here = phi[s.index];
        let reach = REACH_CELLS * grid.dx_m;
        match beside_surface(grid, phi, s) {
            _ if holds_a_surface(grid, phi, s) => here.clamp(-reach, reach),
            true => here.clamp(-grid.dx_m, grid.dx_m),
            false if here <= 0.0 => -reach,
            false => reach,
        }
    });
}

/// Nine cells of steps along the axes reach any point at five cells' distance.
pub const PASSES: usize = 9;

/// One pass of Godunov's upwind solution of |grad phi| = 1 away from the surface. Old values on the right, so
/// that a pass is the same in any order (the paper uses the list-based variant of the same scheme).
/// First order: `redistancing_is_first_order`.
pub fn pass(out: &mut [f32], phi: &[f32], grid: &TallGrid) {
    for_each_sample(grid, out, |s| {
        let here = phi[s.index];
        if beside_surface(grid, phi, s) || holds_a_surface(grid, phi, s) {
            return here;
        }
        let reach = REACH_CELLS * grid.dx_m;
        let around = neighbours(grid, phi, s);
        let near = |axis: usize| {
            let side = |n: usize| around[n].map_or(reach, f32::abs);
            side(2 * axis).min(side(2 * axis + 1))
        };
        let distance = eikonal([near(0), near(1), near(2)], grid.dx_m).min(reach);
        if here <= 0.0 { -distance } else { distance }
    });
}

/// The distance whose upwind differences to `near` have length 1.
fn eikonal(near: [f32; 3], dx: f32) -> f32 {
    let [a, b, c] = near;
    let (low, high) = (a.min(b), a.max(b));
    let (first, mid) = (low.min(c), low.max(c));
    let (second, third) = (mid.min(high), mid.max(high));
    let one = first + dx;
    if one <= second {
        return one;
    }
    let gap = second - first;
    let two = 0.5 * (first + second + (2.0 * dx * dx - gap * gap).sqrt());
    if two <= third {
        return two;
    }
    let sum = first + second + third;
    let squares = first * first + second * second + third * third;
    (sum + (sum * sum - 3.0 * (squares - dx * dx)).max(0.0).sqrt()) / 3.0
}

/// Start and all passes. `work` is as long as phi.
pub fn redistance(phi: &mut [f32], grid: &TallGrid, work: &mut [f32]) {
    start(work, phi, grid);
    phi.copy_from_slice(work);
    for _ in 0..PASSES {
        pass(work, phi, grid);
        phi.copy_from_slice(work);
    }
}
