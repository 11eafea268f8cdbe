//! Grids and fields that the tests share.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, Lattice, UniformGrid};

/// n^3 cells in a unit cube.
pub fn cube(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

/// Samples of `f` (in f64, so that rounding is only that of the result).
pub fn fill(lattice: &Lattice, f: impl Fn([f64; 3]) -> f64) -> Vec<f32> {
    (0..lattice.len())
        .map(|n| {
            let c = lattice.coordinates(n);
            f(std::array::from_fn(|a| lattice.origin[a] as f64 + c[a] as f64 * lattice.spacing as f64)) as f32
        })
        .collect()
}

/// As [`fill`], saturated at `+-band`.
pub fn fill_band(lattice: &Lattice, band: f32, f: impl Fn([f64; 3]) -> f64) -> Vec<f32> {
    fill(lattice, f).into_iter().map(|v| v.clamp(-band, band)).collect()
}

/// Face samples of a velocity field.
pub fn velocity(grid: &UniformGrid, f: impl Fn([f64; 3]) -> [f64; 3]) -> FaceField {
    let mut u = FaceField::constant(grid, 0.0);
    for axis in 0..3 {
        u[axis] = fill(&grid.faces(axis), |x| f(x)[axis]);
    }
    u
}

pub fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|n| (a[n] - b[n]).powi(2)).sum::<f64>().sqrt()
}

/// Largest difference, in units of `scale`, over samples where `keep(index)`.
pub fn max_difference(a: &[f32], b: &[f32], scale: f32, keep: impl Fn(usize) -> bool) -> f64 {
    let mut max = 0.0f64;
    for n in (0..a.len()).filter(|&n| keep(n)) {
        let d = (a[n] as f64 - b[n] as f64).abs() / scale as f64;
        assert!(!d.is_nan());
        max = max.max(d);
    }
    max
}

/// Order of convergence from errors at doubling resolution, by the first and the last.
pub fn order(errors: &[f64]) -> f64 {
    (errors[0] / errors[errors.len() - 1]).log2() / (errors.len() - 1) as f64
}

/// Runs `body` in a pool of `threads` threads.
pub fn with_threads<T: Send>(threads: usize, body: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(body)
}

/// Transport of velocity with no face known beforehand.
pub fn transport<'a>(
    u_face: &'a FaceField,
    phi_cell: &'a [f32],
    grid: &'a UniformGrid,
    dt_s: f32,
    scheme: fluvial_level_set::AdvectionScheme,
    band_m: f32,
) -> fluvial_level_set::VelocityTransport<'a> {
    fluvial_level_set::VelocityTransport {
        u_face,
        phi_cell,
        grid,
        dt_s,
        scheme,
        band_m,
        smooth_m: 0.5 * grid.dx,
        known: None,
    }
}
