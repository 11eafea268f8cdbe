//! phi between equal cells: the cubic through four samples per axis, as on a uniform grid (`fluvial_level_set`).

use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;

/// Walls no nearer than so many cells do not matter.
pub const REACH: f32 = 1.5;

/// The nearest point to `x` that has cell centres of a level on all sides, and the value of phi there; none where one of the 4^3 cells
/// around is of another size or `is_out`. Fourth order beside walls that mirror phi; at others the parabola through three samples.
pub fn value_at(
    tree: &Octree,
    (phi, mirrors): (&[f32], [bool; 6]),
    level: usize,
    x: Vec3,
    is_out: impl Fn(usize) -> bool,
) -> Option<(Vec3, f32)> {
    let shape = tree.shape();
    let (size, dx) = (shape.cells(level).map(|n| n as i64), shape.dx_of(level));
    if size.iter().any(|&n| n < 4) {
        return None;
    }
    let place = (x - shape.min) / dx - 0.5;
    // Samples reach two cells beyond a wall that mirrors them, none beyond others.
    let (mut inside, mut low) = ([0.0; 3], [0; 3]);
    for a in AXES {
        let [below, above] = [2 * a, 2 * a + 1].map(|side| mirrors[side] as i64);
        inside[a] = place[a].clamp(-0.5 * below as f32, (size[a] - 1) as f32 + 0.5 * above as f32);
        low[a] = (inside[a].floor() as i64 - 1).clamp(-2 * below, size[a] - 4 + 2 * above);
    }
    let weights: [[f32; 4]; 3] = std::array::from_fn(|a| weights(inside[a] - low[a] as f32));
    let columns: [[u32; 4]; 3] = std::array::from_fn(|a| {
        std::array::from_fn(|n| match low[a] + n as i64 {
            out if out < 0 => (-1 - out) as u32,
            out if out >= size[a] => (2 * size[a] - 1 - out) as u32,
            within => within as u32,
        })
    });
    let mut sum = 0.0;
    for place in 0..64 {
        let n = [place & 3, place >> 2 & 3, place >> 4];
        let cell = tree.leaf_at(level, std::array::from_fn(|a| columns[a][n[a]]))? as usize;
        if is_out(cell) {
            return None;
        }
        sum += weights[0][n[0]] * weights[1][n[1]] * weights[2][n[2]] * phi[cell];
    }
    Some((shape.min + (Vec3::from_array(inside) + 0.5) * dx, sum))
}

/// Weights of samples at 0, 1, 2, 3 for a point between 0 and 3: Lagrange's cubic in the middle, the parabola of the nearest
/// three at the ends. Written with both distances so that mirroring mirrors the bits.
fn weights(s: f32) -> [f32; 4] {
    let parabola = |s: f32| [0.5 * (1.0 - s) * (2.0 - s), s * (2.0 - s), -0.5 * s * (1.0 - s)];
    if s < 1.0 {
        let [a, b, c] = parabola(s);
        return [a, b, c, 0.0];
    }
    if s > 2.0 {
        let [a, b, c] = parabola(3.0 - s);
        return [0.0, c, b, a];
    }
    let (t, r) = (s - 1.0, 2.0 - s);
    let (tr, t1, r1) = (t * r, 1.0 + t, 1.0 + r);
    [-tr * r1 * (1.0 / 6.0), t1 * r1 * r * 0.5, t1 * r1 * t * 0.5, -tr * t1 * (1.0 / 6.0)]
}
