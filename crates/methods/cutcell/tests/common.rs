//! Liquids that several tests use.

use fluvial_cutcell::nodes::Tracker;
use fluvial_foundation::{DVec3, Vec3, random::unit_f32};
use fluvial_grids::UniformGrid;

/// A grid of unit cells from the origin.
pub fn unit_grid(cells: [usize; 3]) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells, dx: 1.0 }
}

/// phi at the tracker's nodes; the position is in metres.
pub fn phi_at_nodes(grid: &UniformGrid, factor: usize, phi: impl Fn(DVec3) -> f64) -> Vec<f32> {
    let nodes = Tracker { grid: *grid, factor, phi_node: &[] }.nodes();
    (0..nodes.len())
        .map(|n| {
            let at = nodes.coordinates(n).map(|c| c as f64 / factor as f64);
            phi(grid.min.as_dvec3() + grid.dx as f64 * DVec3::from_array(at)) as f32
        })
        .collect()
}

/// A random number in [low, high) from two counters.
pub fn random(counter: u64, draw: u64, low: f64, high: f64) -> f64 {
    low + (high - low) * unit_f32(counter, draw) as f64
}

/// Random liquids of several kinds: balls, planes, films, noise of any sign pattern, and nodes exactly on the
/// surface.
pub fn random_liquid(grid: &UniformGrid, factor: usize, case: u64) -> Vec<f32> {
    let size = DVec3::from_array(grid.cells.map(|n| n as f64));
    let point = |k: u64| DVec3::from_array([0, 1, 2].map(|a| random(case, 3 * k + a, 0.0, 1.0))) * size;
    let normal = (point(1) - 0.5 * size).normalize_or(DVec3::Y);
    let (center, radius) = (point(2), random(case, 90, 0.05, 1.2));
    match case % 5 {
        0 => phi_at_nodes(grid, factor, |x| (x - center).length() - radius),
        1 => phi_at_nodes(grid, factor, |x| (x - center).dot(normal)),
        2 => phi_at_nodes(grid, factor, |x| (x - center).dot(normal).abs() - 0.3 * radius / factor as f64),
        3 => (0..phi_at_nodes(grid, factor, |_| 0.0).len())
            .map(|n| unit_f32(case, 100 + n as u64) - random(case, 91, 0.2, 0.8) as f32)
            .collect(),
        _ => (0..phi_at_nodes(grid, factor, |_| 0.0).len())
            .map(|n| (unit_f32(case, 100 + n as u64) * 5.0).floor() - 2.0)
            .collect(),
    }
}
