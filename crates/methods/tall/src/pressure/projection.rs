//! Divergence and correction of velocity [tall eq. 13, 14, 17, 18]. Twins in `projection.wgsl`.
//!
//! Both see a face to a neighbour as solid by the same part s as the Laplacian does. The paper's divergence
//! switches from the mean velocity to the solid's at s = 0.9 while its Laplacian is weighted by 1 - s; water
//! at rest around a half solid cell then does not solve the equations. Here the velocity on a face is (1 - s)
//! mean + s solid's.
//!
//! Equation 17 divides a difference over two cells by dx; it must be 2 dx. On a face of which the part s is
//! solid the pressure's gradient is that which stops the flow through it, rho/dt (u - u_solid): with the
//! paper's p' = p there, half of gravity would stay in every cell beside the ground. Equation 18 lacks `u*
//! -`.
//!
//! The ends of a tall cell stand for its halves (see [`layer`](super::stencil::layer)): what flows from one half to
//! the other has the mean of their velocities, and the gradient at an end is the mean over its half, (p above - p
//! below) / H, so that it is the transpose of the divergence of whole halves. With equal weights waves grow over high
//! tall cells.

use crate::exchange::CellList;
use crate::field::{SIDES, Sample, Value, Velocity, for_each_sample, nearest};
use crate::pressure::stencil::{Row, is_unknown, let_go, links, solid_part, thickness};
use fluvial_grids::TallGrid;
use fluvial_grids::tall::Holds;

/// What a step's pressure needs beside the grid.
#[derive(Clone, Copy)]
pub struct Liquid<'a> {
    /// Level set.
    pub phi: &'a [f32],
    /// Solid fraction of cells, 0 to 1.
    pub fraction: &'a [f32],
    /// Velocity of what is solid.
    pub u_solid: &'a [Velocity],
    /// Density, kg/m3.
    pub density_kg_m3: f32,
    /// Time step, s.
    pub dt_s: f32,
}

/// The velocity component along the axis of direction `d` at the neighbouring cell there.
fn neighbour_component(grid: &TallGrid, u: &[Velocity], s: Sample, d: usize) -> f32 {
    let axis = d / 2;
    match d {
        // Below terrain and above the column the last value goes on; the ends of a tall cell see each other.
        2 => u[if s.j > 0 { s.index - grid.nx } else { s.index }][axis],
        3 => u[if s.j + 1 < grid.rows() { s.index + grid.nx } else { s.index }][axis],
        _ => {
            let [di, dk] = SIDES[if d < 2 { d } else { d - 2 }];
            nearest(grid, u, [s.i as i32 + di, s.k as i32 + dk], s.y as f32)[axis]
        }
    }
}

/// The right side rho dx / dt times the sum of outward face velocities, zero where there is no unknown:
/// equation 12 times dx^2. (Algorithm 2 prints dt / rho and a minus.)
pub fn right_side(out: &mut [f32], grid: &TallGrid, u: &[Velocity], liquid: &Liquid) {
    let scale = liquid.density_kg_m3 * grid.dx_m / liquid.dt_s;
    for_each_sample(grid, out, |s| scale * outflow(grid, u, liquid, s));
}

/// Divergence by the scheme's own operator, 1/s: what the approximate projection leaves.
pub fn divergence(out: &mut [f32], grid: &TallGrid, u: &[Velocity], liquid: &Liquid) {
    for_each_sample(grid, out, |s| outflow(grid, u, liquid, s) / grid.dx_m);
}

/// Sum over faces of the outward velocity, of the vertical ones by the layer's thickness.
fn outflow(grid: &TallGrid, u: &[Velocity], liquid: &Liquid, s: Sample) -> f32 {
    if !is_unknown(liquid.phi[s.index], liquid.fraction[s.index]) {
        return 0.0;
    }
    let all = links(grid, liquid.phi, liquid.fraction, s);
    let face = |d: usize| face_velocity(grid, u, liquid, s, d, all[d].solid);
    let along = |axis: usize| face(2 * axis + 1) - face(2 * axis);
    along(0) + along(1) / thickness(grid, s) + along(2)
}

/// The velocity along its axis on face `d`, of which a part is solid.
fn face_velocity(grid: &TallGrid, u: &[Velocity], liquid: &Liquid, s: Sample, d: usize, part: f32) -> f32 {
    let mean = 0.5 * (u[s.index][d / 2] + neighbour_component(grid, u, s, d));
    mean * (1.0 - part) + solid_velocity(grid, liquid, s, d, part) * part
}

/// Lets liquid into what lies in sources: a cell of a source receives the source's velocity through the faces that it enters by, whether a wall is there,
/// which lets nothing through, or liquid, which does not give it. What lies there gives nothing away in turn, and where there is air nothing is
/// needed. Without this the pressure holds back what comes out of a source before a wall until a hump stands over it that drives it on
/// (test `a_source_under_water_drives_what_it_lets_in`).
pub fn let_in(b: &mut [f32], grid: &TallGrid, u: &[Velocity], liquid: &Liquid, poured: &CellList) {
    let scale = liquid.density_kg_m3 * grid.dx_m / liquid.dt_s;
    for k in 0..grid.nz {
        for i in 0..grid.nx {
            for j in 0..grid.rows() {
                let s = Sample { i, j, k, y: grid.y(i, j, k), index: grid.index(i, j, k) };
                if is_unknown(liquid.phi[s.index], liquid.fraction[s.index]) {
                    b[s.index] -= scale * let_in_there(grid, u, liquid, poured, s);
                }
            }
        }
    }
}

/// What a sample receives beyond what velocities bring, as [`outflow`] counts.
fn let_in_there(grid: &TallGrid, u: &[Velocity], liquid: &Liquid, poured: &CellList, s: Sample) -> f32 {
    let source_at = |[i, y, k]: [i32; 3]| {
        let is_inside = i >= 0 && k >= 0 && i < grid.nx as i32 && k < grid.nz as i32;
        let entry = if is_inside { poured.find(i as usize + grid.nx * k as usize, y)? } else { return None };
        (poured.cells[entry][1] <= 0.0 && poured.u[entry][3] > 0.0).then_some(poured.u[entry])
    };
    let here = [s.i as i32, s.y, s.k as i32];
    let own = source_at(here);
    let (mut sum, mut all) = (0.0, None);
    for d in 0..6 {
        let (axis, sign) = (d / 2, if d % 2 == 1 { 1 } else { -1 });
        let mut beside = here;
        beside[axis] += sign;
        let enters = match (own, source_at(beside)) {
            (Some(v), None) if v[axis] * (sign as f32) < 0.0 => v[axis].abs(),
            (None, Some(v)) if v[axis] * sign as f32 > 0.0 => 0.0,
            _ => continue,
        };
        let link = all.get_or_insert_with(|| links(grid, liquid.phi, liquid.fraction, s))[d];
        if link.solid < 1.0 && link.weight == 0.0 {
            continue;
        }
        let vertical = if axis == 1 { 1.0 / thickness(grid, s) } else { 1.0 };
        sum += vertical * (enters + sign as f32 * face_velocity(grid, u, liquid, s, d, link.solid));
    }
    sum
}

/// As [`right_side`], with all that flows through the sides of tall cells counted.
///
/// Where both sides of a wall between columns are
/// tall, velocity is linear on both and nothing is missed; where one side is cubic cells, or terrain, what flows
/// through the middle is not seen, and the paper's water grows. Here every end receives what the sub-cells of its half
/// let out beyond the line between the ends. The operator stays the same, so that a step removes what was missed up
/// to the difference of the two. `flux_through_tall_sides_is_counted` and `volume_of_sloshing_water` measure it.
pub fn right_side_counting(out: &mut [f32], grid: &TallGrid, u: &[Velocity], liquid: &Liquid) {
    let scale = liquid.density_kg_m3 * grid.dx_m / liquid.dt_s;
    for_each_sample(grid, out, |s| {
        let unknown = |row: usize| {
            let n = grid.index(s.i, row, s.k);
            is_unknown(liquid.phi[n], liquid.fraction[n])
        };
        if s.j >= 2 || !unknown(0) || !unknown(1) {
            return scale * outflow(grid, u, liquid, s);
        }
        scale * (outflow(grid, u, liquid, s) + missed(grid, u, liquid, s))
    });
}

/// What the sub-cells of a tall cell's half let out through their sides beyond the line between its ends, by the
/// half's thickness. The middle one of an odd number belongs to both halves.
fn missed(grid: &TallGrid, u: &[Velocity], liquid: &Liquid, s: Sample) -> f32 {
    let [terrain, tall] = grid.column(s.i, s.k);
    let at = |n: usize, t: i32| lateral_face(grid, u, liquid, [s.i as i32, terrain + t, s.k as i32], n);
    let mut sum = 0.0;
    for n in 0..SIDES.len() {
        let (bottom, top) = (at(n, 0), at(n, tall - 1));
        // Where its own face is solid an end cannot answer: its pressure would drive what flows along, not what flows through.
        if [bottom.1, top.1][s.j] >= 1.0 {
            continue;
        }
        for t in 1..tall - 1 {
            let from_middle = 2 * t - (tall - 1);
            let part = match (from_middle.signum(), s.j) {
                (0, _) => 0.5,
                (-1, 0) | (1, 1) => 1.0,
                _ => continue,
            };
            sum += part * (at(n, t).0 - bottom.0.blend(top.0, t as f32 / (tall - 1) as f32));
        }
    }
    sum / (0.5 * tall as f32)
}

/// Sum over the four lateral faces of cell (i, y, k), inside a column, of the outward velocity.
pub fn lateral_outflow(grid: &TallGrid, u: &[Velocity], liquid: &Liquid, cell: [i32; 3]) -> f32 {
    (0..SIDES.len()).fold(0.0, |sum, n| sum + lateral_face(grid, u, liquid, cell, n).0)
}

/// The outward velocity through lateral face `n` of cell (i, y, k), and the solid part of that face.
fn lateral_face(
    grid: &TallGrid,
    u: &[Velocity],
    liquid: &Liquid,
    [i, y, k]: [i32; 3],
    n: usize,
) -> (f32, f32) {
    let [di, dk] = SIDES[n];
    let (axis, sign) = (if n < 2 { 0 } else { 2 }, if n % 2 == 1 { 1.0 } else { -1.0 });
    let (beside, y_f) = ([i + di, k + dk], y as f32);
    let (solid, u_solid) = match grid.holds(beside[0], y, beside[1]) {
        Holds::Solid => (1.0, 0.0),
        Holds::Air => (0.0, 0.0),
        Holds::Cell => {
            let own = nearest(grid, liquid.fraction, [i, k], y_f);
            let part = solid_part(own, nearest(grid, liquid.fraction, beside, y_f));
            let air = part < 1.0 && nearest(grid, liquid.phi, beside, y_f) > 0.0;
            (if air { 0.0 } else { part }, nearest(grid, liquid.u_solid, beside, y_f)[axis])
        }
    };
    let here = nearest(grid, u, [i, k], y_f)[axis];
    let mean = 0.5 * (here + nearest(grid, u, beside, y_f)[axis]);
    (sign * (mean * (1.0 - solid) + u_solid * solid), solid)
}

/// The solid's velocity beyond face `d`: that of the neighbour's solid; terrain and walls rest.
fn solid_velocity(grid: &TallGrid, liquid: &Liquid, s: Sample, d: usize, part: f32) -> f32 {
    if part == 0.0 || beyond_grid(grid, s, d) {
        return 0.0;
    }
    neighbour_component(grid, liquid.u_solid, s, d)
}

/// Is neighbour `d` terrain or beyond a wall?
fn beyond_grid(grid: &TallGrid, s: Sample, d: usize) -> bool {
    let side = if d % 2 == 1 { 1 } else { -1 };
    let mut cell = [s.i as i32, s.y, s.k as i32];
    cell[d / 2] += side;
    grid.holds(cell[0], cell[1], cell[2]) != Holds::Cell
}

/// u = u* - dt/rho grad p at unknowns; other samples keep u*.
pub fn subtract_gradient(
    out: &mut [Velocity],
    grid: &TallGrid,
    u: &[Velocity],
    rows: &[Row],
    p: &[f32],
    liquid: &Liquid,
) {
    let scale = liquid.dt_s / (liquid.density_kg_m3 * grid.dx_m);
    for_each_sample(grid, out, |s| {
        let old = u[s.index];
        if rows[s.index][6] == 0.0 {
            return old;
        }
        let all = links(grid, liquid.phi, liquid.fraction, s);
        let held = 1.0 - let_go(&rows[s.index], p[s.index]);
        let difference = |d: usize| {
            let there = if all[d].weight == 0.0 { 0.0 } else { pressure_at(grid, p, s, d) };
            all[d].weight * there - all[d].own * p[s.index]
        };
        let mut new = old;
        for axis in 0..3 {
            let (low, high) = (2 * axis, 2 * axis + 1);
            let stopped = |d: usize| {
                let over = old[axis] - solid_velocity(grid, liquid, s, d, all[d].solid);
                let is_leaving = if d == high { over < 0.0 } else { over > 0.0 };
                all[d].solid * if is_leaving { held * over } else { over }
            };
            let weight = if axis == 1 { upper_weight(grid, s) } else { 0.5 };
            let above = weight * (scale * difference(high) + stopped(high));
            let below = (1.0 - weight) * (scale * difference(low) - stopped(low));
            new[axis] = old[axis] - (above - below);
        }
        new
    });
}

/// Weight of the gradient above a sample in its own; the rest is that of the gradient below.
fn upper_weight(grid: &TallGrid, s: Sample) -> f32 {
    let below_all = 1.0 / grid.column(s.i, s.k)[1] as f32;
    match s.j {
        0 => 1.0 - below_all,
        1 => below_all,
        _ => 0.5,
    }
}

/// Pressure at the other end of link `d`.
fn pressure_at(grid: &TallGrid, p: &[f32], s: Sample, d: usize) -> f32 {
    match d {
        2 => p[s.index - grid.nx],
        3 => p[s.index + grid.nx],
        _ => {
            let [di, dk] = SIDES[if d < 2 { d } else { d - 2 }];
            nearest(grid, p, [s.i as i32 + di, s.k as i32 + dk], s.y as f32)
        }
    }
}
