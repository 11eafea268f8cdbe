//! Tests of whitewater against exact solutions.

mod emission;
mod fields;
mod motion;

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_whitewater::{Around, Params};

/// A box of `n` cells along each side of a metre.
fn unit_box(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn params(grid: &UniformGrid) -> Params {
    Params::scaled(Vec3::new(0.0, -9.81, 0.0), 1.0, grid.dx)
}

/// Closed walls and no solids.
fn walls(grid: &UniformGrid, length_s: f32) -> Around<'static> {
    Around {
        bounds: grid.bounds(),
        open_walls: [false; 6],
        solids: vec![],
        length_s,
        friction: 0.5,
        margin_m: 1e-3 * grid.dx,
    }
}
