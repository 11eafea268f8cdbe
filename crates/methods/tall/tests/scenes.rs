//! Grids and fields that several tests use.

use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;

/// Gravity that tests use, m/s2.
pub const GRAVITY: f32 = 9.81;

/// Hilly terrain below water at rest: its surface at `level` cells, tall cells up to `below` cells under it.
pub fn lake(size: [usize; 3], dx: f32, level: i32, below: i32) -> TallGrid {
    hills(size, dx, [level, below], 0.6)
}

/// As [`lake`], with hills up to `slope` of the water's depth.
pub fn hills([nx, regular, nz]: [usize; 3], dx: f32, [level, below]: [i32; 2], slope: f32) -> TallGrid {
    let columns = (0..nx * nz)
        .map(|c| {
            let (x, z) = ((c % nx) as f32 / nx as f32, (c / nx) as f32 / nz as f32);
            let hill = 0.5 + 0.5 * (5.0 * x).sin() * (4.0 * z + 1.0).cos();
            let terrain = (hill * slope * level as f32) as i32;
            let wobble = (3.0 * (9.0 * x).sin() + 2.0 * (7.0 * z).cos()) as i32;
            [terrain, (level - below + wobble - terrain).max(LEAST_TALL)]
        })
        .collect();
    TallGrid::new([nx, regular, nz], dx, columns)
}

/// A field from a function of the point in cells.
pub fn field(grid: &TallGrid, f: impl Fn(f32, f32, f32) -> f32) -> Vec<f32> {
    let mut out = vec![0.0; grid.samples()];
    for k in 0..grid.nz {
        for j in 0..grid.rows() {
            for i in 0..grid.nx {
                out[grid.index(i, j, k)] = f(i as f32, grid.y(i, j, k) as f32, k as f32);
            }
        }
    }
    out
}

/// A velocity field from a function of the point in cells, known everywhere.
pub fn velocity(grid: &TallGrid, f: impl Fn(f32, f32, f32) -> [f32; 3]) -> Vec<[f32; 4]> {
    let parts: [Vec<f32>; 3] = std::array::from_fn(|c| field(grid, |x, y, z| f(x, y, z)[c]));
    (0..grid.samples()).map(|n| [parts[0][n], parts[1][n], parts[2][n], 1.0]).collect()
}

/// phi of a plane surface at a height in cells, in metres, at most five cells.
pub fn still_phi(grid: &TallGrid, level: f32) -> Vec<f32> {
    field(grid, |_, y, _| (y + 0.5 - level).clamp(-5.0, 5.0) * grid.dx_m)
}

/// Largest magnitude.
pub fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |a, v| if v.is_nan() || a.is_nan() { f32::NAN } else { a.max(v.abs()) })
}

/// Largest velocity component where phi <= 0.
pub fn largest_speed(u: &[[f32; 4]], phi: &[f32]) -> f32 {
    let liquid = u.iter().zip(phi).filter(|(_, phi)| **phi <= 0.0);
    liquid.flat_map(|(u, _)| u[..3].to_vec()).fold(0.0, |a, v| a.max(v.abs()))
}
