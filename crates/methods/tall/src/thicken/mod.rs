//! Thin sheets kept whole [tall §3.9.2]: where the water is thinner than cells can carry through a long step, balls that lie inside of it are moved
//! along the flow, and what is carried on cells is united with them. Twins in `thicken.wgsl`.
//!
//! A ball reaches from the middle of the sheet to its surface, so that nothing is added that was not there before the step.

use crate::field::{Velocity, interpolate};
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;

/// Balls of one place, on a disk across the sheet.
pub const BALLS: usize = 16;
/// Where samples deeper than this lie is not thin, cells (phi_thin).
const DEEPEST: f32 = 1.5;
/// A ball reaches into so many cells beyond its own.
const REACH: i32 = 2;

/// Places on a disk of half a cell's radius, all as far from each other as they can be: x and y of each, in cells.
pub fn places() -> [[f32; 4]; BALLS] {
    // The golden angle.
    let turn = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    std::array::from_fn(|n| {
        let (radius, angle) = (0.5 * ((n as f64 + 0.5) / BALLS as f64).sqrt(), turn * n as f64);
        [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32, 0.0, 0.0]
    })
}

/// A thin place: the middle between its two surfaces, and two directions along them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thin {
    /// In cells.
    pub middle: [f32; 3],
    /// Of length 1.
    pub along: [[f32; 3]; 2],
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f32; 3]) -> [f32; 3] {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    a.map(|v| v / length)
}

/// Is the water around a cell thin: is it air three cells on either side of it, across the surface?
pub fn thin(grid: &TallGrid, phi: &[f32], cell: [f32; 3], here: f32) -> Option<Thin> {
    if here > 0.0 || here < -DEEPEST * grid.dx_m {
        return None;
    }
    let at = |by: [f32; 3], far: f32| interpolate(grid, phi, std::array::from_fn(|c| cell[c] + far * by[c]));
    let slope = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]].map(|by| at(by, 1.0) - at(by, -1.0));
    let length2 = slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2];
    // In the very middle of a sheet phi has no slope; its neighbours find it.
    if length2 < 0.01 * grid.dx_m * grid.dx_m {
        return None;
    }
    let normal = unit(slope);
    let [left, right] = [at(normal, -2.0 * DEEPEST), at(normal, 2.0 * DEEPEST)];
    if left <= 0.0 || right <= 0.0 {
        return None;
    }
    let by = (here / (left - here) - here / (right - here)) * DEEPEST;
    let middle = std::array::from_fn(|c| cell[c] + by * normal[c]);
    let first = match normal[1].abs() < 0.8 {
        true => unit([normal[2], 0.0, -normal[0]]),
        false => unit([0.0, -normal[2], normal[1]]),
    };
    Some(Thin { middle, along: [first, cross(normal, first)] })
}

/// A ball of a thin place after the step: its middle in cells and its radius in metres; none where it would be empty.
pub fn ball(
    grid: &TallGrid,
    (u, phi): (&[Velocity], &[f32]),
    thin: &Thin,
    [a, b, ..]: [f32; 4],
    scale: f32,
) -> Option<([f32; 3], f32)> {
    let x: [f32; 3] = std::array::from_fn(|c| thin.middle[c] + a * thin.along[0][c] + b * thin.along[1][c]);
    let radius = -interpolate(grid, phi, x);
    if radius <= 0.0 {
        return None;
    }
    let first = interpolate(grid, u, x);
    let middle = interpolate(grid, u, std::array::from_fn(|c| x[c] + 0.5 * scale * first[c]));
    Some((std::array::from_fn(|c| x[c] + scale * middle[c]), radius))
}

/// Unites carried phi with the balls of all thin places; `phi` and `u` are those before the step.
pub fn thicken(carried: &mut [f32], grid: &TallGrid, (u, phi): (&[Velocity], &[f32]), dt_s: f32) {
    let (places, scale) = (places(), dt_s / grid.dx_m);
    let balls_of = |column: usize| {
        let (i, k, mut balls) = (column % grid.nx, column / grid.nx, vec![]);
        for j in 2..grid.rows() {
            let cell = [i as f32, grid.y(i, j, k) as f32, k as f32];
            if let Some(thin) = thin(grid, phi, cell, phi[grid.index(i, j, k)]) {
                balls.extend(places.iter().filter_map(|place| ball(grid, (u, phi), &thin, *place, scale)));
            }
        }
        balls
    };
    // The least of several does not depend on their order.
    for balls in parallel::map_indices(grid.columns.len(), balls_of) {
        balls.iter().for_each(|(middle, radius)| unite(carried, grid, *middle, *radius));
    }
}

fn unite(carried: &mut [f32], grid: &TallGrid, middle: [f32; 3], radius: f32) {
    let first = middle.map(|v| (v + 0.5).floor() as i32 - REACH);
    for n in 0..(2 * REACH + 1).pow(3) {
        let side = 2 * REACH + 1;
        let [i, y, k] = [first[0] + n % side, first[1] + n / side % side, first[2] + n / (side * side)];
        if i < 0 || k < 0 || i >= grid.nx as i32 || k >= grid.nz as i32 {
            continue;
        }
        let [terrain, tall] = grid.column(i as usize, k as usize);
        let row = y - terrain - tall + 2;
        if row < 2 || row >= grid.rows() as i32 {
            continue;
        }
        let by = [i as f32 - middle[0], y as f32 - middle[1], k as f32 - middle[2]];
        let distance = (by[0] * by[0] + by[1] * by[1] + by[2] * by[2]).sqrt() * grid.dx_m - radius;
        let value = &mut carried[grid.index(i as usize, row as usize, k as usize)];
        *value = value.min(distance);
    }
}
