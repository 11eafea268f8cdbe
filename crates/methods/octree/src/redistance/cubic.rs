//! phi between equal cells: the cubic through four samples per axis, as on a uniform grid (`fluvial_level_set`).

use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// The nearest point to `x` that has cell centres of a level on all sides, and the value of phi there; none where one of the 4^3 cells
/// around is of another size or `is_out`. Fourth order; at walls the parabola through three samples.
pub fn value_at(
    tree: &Octree,
    phi: &[f32],
    level: usize,
    x: Vec3,
    is_out: impl Fn(usize) -> bool,
) -> Option<(Vec3, f32)> {
    let shape = tree.shape();
    let (size, dx) = (shape.cells(level), shape.dx_of(level));
    if size.iter().any(|&n| n < 4) {
        return None;
    }
    let place = (x - shape.min) / dx - 0.5;
    let inside = place.max(Vec3::ZERO).min(Vec3::from_array(size.map(|n| (n - 1) as f32)));
    let low: [u32; 3] =
        std::array::from_fn(|a| (inside[a].floor() as i64 - 1).clamp(0, size[a] as i64 - 4) as u32);
    let weights: [[f32; 4]; 3] = std::array::from_fn(|a| weights(inside[a] - low[a] as f32));
    let mut sum = 0.0;
    for block in 0..8u32 {
        let part: [u32; 3] = std::array::from_fn(|a| 2 * (block >> a & 1));
        let cells = tree.leaves_around(level, std::array::from_fn(|a| low[a] + part[a]));
        for (n, &cell) in cells.iter().enumerate() {
            if cell == OUTSIDE || is_out(cell as usize) {
                return None;
            }
            let [i, j, k] = std::array::from_fn(|a| part[a] as usize + (n >> a & 1));
            sum += weights[0][i] * weights[1][j] * weights[2][k] * phi[cell as usize];
        }
    }
    Some((shape.min + (inside + 0.5) * dx, sum))
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
