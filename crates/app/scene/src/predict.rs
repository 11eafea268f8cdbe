//! What a scene will cost, before anything is computed.

use crate::{MeshFormat, Method, Ready};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;

/// Memory of the uniform solver by cell of the grid.
pub(crate) const BYTES_PER_CELL: f64 = 240.0;
/// Memory by particle of a narrow band.
const BYTES_PER_PARTICLE: f64 = 100.0;
const PARTICLES_PER_CELL: f64 = 8.0;
/// Memory of the program itself, the picture and the mesh being drawn aside.
const BYTES_FIXED: f64 = 20.0e6;
/// A splash has more surface than the liquid at rest.
const SURFACE_GROWTH: f64 = 1.5;
/// Vertices of the surface mesh by area of a cell's face.
const VERTICES_PER_FACE: f64 = 1.5;
/// Blocks are not looked into below this part of the grid's longest side: counts need no more.
const FINEST_LOOK: usize = 128;

/// What a scene will need.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// Cells of the grid.
    pub cells: u64,
    /// Cells that hold liquid at the start.
    pub liquid_cells: u64,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Disk for each frame, meshes and pictures, bytes.
    pub disk_bytes_per_frame: u64,
}

/// Predicts cells, memory and disk.
pub fn predict(ready: &Ready) -> Prediction {
    let grid = &ready.setup.domain.grid;
    let liquid = |x: Vec3| {
        let fills = ready.setup.fills.iter().map(|f| f.shape.distance(x)).fold(f32::INFINITY, f32::min);
        let solids =
            ready.setup.solids.iter().map(|s| s.shape.distance(s.motion.pose(0.0).body_from_world(x)));
        fills.max(-solids.fold(f32::INFINITY, f32::min))
    };
    let inside = inside_cells(grid, &liquid);
    // Sources fill the domain in time; a filled floor is as much surface as is worth predicting.
    let floor = (grid.cells[0] * grid.cells[2]) as f64;
    let surface = inside.surface_faces.max(if ready.setup.sources.is_empty() { 0.0 } else { 2.0 * floor });
    let Method::Uniform(params) = &ready.method;
    let particles = if params.has_particles() {
        (surface * params.narrow_band as f64).min(grid.cell_count() as f64) * PARTICLES_PER_CELL
    } else {
        0.0
    };
    let vertices = SURFACE_GROWTH * VERTICES_PER_FACE * surface;
    let mesh = vertices * (24.0 + 2.0 * 13.0);
    let [width, height] = ready.output.preview_size.map(f64::from);
    let preview = if ready.output.preview { width * height } else { 0.0 };
    let disk = match ready.output.mesh {
        MeshFormat::Ply => mesh,
        MeshFormat::Obj => 2.0 * mesh,
        MeshFormat::None => 0.0,
    };
    let memory = BYTES_FIXED
        + grid.cell_count() as f64 * BYTES_PER_CELL
        + particles * BYTES_PER_PARTICLE
        + 2.0 * mesh
        + 16.0 * preview;
    Prediction {
        cells: grid.cell_count() as u64,
        liquid_cells: inside.cells.round() as u64,
        memory_bytes: memory as u64,
        disk_bytes_per_frame: (disk + preview) as u64,
    }
}

/// What lies inside a shape, in cells of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    pub cells: f64,
    /// Area of its surface within the grid, in cell faces.
    pub surface_faces: f64,
}

/// Counts cells whose centre is inside (`distance < 0`, slope at most 1), looking only where the surface is.
pub(crate) fn inside_cells(grid: &UniformGrid, distance: &dyn Fn(Vec3) -> f32) -> Inside {
    let longest = grid.cells.into_iter().max().unwrap_or(1);
    let mut inside = Inside::default();
    let leaf = longest.div_ceil(FINEST_LOOK);
    count(&mut inside, grid, [0; 3], grid.cells, leaf, distance);
    if inside.cells == 0.0 && leaf > 1 {
        // A shape that falls between the looks: look at single cells.
        count(&mut inside, grid, [0; 3], grid.cells, 1, distance);
    }
    inside
}

fn count(
    inside: &mut Inside,
    grid: &UniformGrid,
    lo: [usize; 3],
    hi: [usize; 3],
    leaf: usize,
    distance: &dyn Fn(Vec3) -> f32,
) {
    let centers = grid.cell_centers();
    let low = centers.position(lo[0], lo[1], lo[2]);
    let high = centers.position(hi[0] - 1, hi[1] - 1, hi[2] - 1);
    let d = distance(0.5 * (low + high));
    let size: [usize; 3] = std::array::from_fn(|a| hi[a] - lo[a]);
    let cells = size.iter().product::<usize>() as f64;
    let radius = 0.5 * low.distance(high) + 0.5 * grid.dx;
    if d > radius {
        return;
    }
    if d < -radius {
        inside.cells += cells;
        return;
    }
    let longest = AXES.into_iter().max_by_key(|&a| size[a]).unwrap_or(0);
    if size[longest] > leaf {
        let middle = lo[longest] + size[longest] / 2;
        let (mut first_hi, mut second_lo) = (hi, lo);
        (first_hi[longest], second_lo[longest]) = (middle, middle);
        count(inside, grid, lo, first_hi, leaf, distance);
        count(inside, grid, second_lo, hi, leaf, distance);
        return;
    }
    if d < 0.0 {
        inside.cells += cells;
    }
    // The area is the volume of a shell `leaf` cells thick, over its thickness.
    if d.abs() <= 0.501 * leaf as f32 * grid.dx {
        inside.surface_faces += cells / leaf as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_is_counted_within_a_few_percent_at_any_resolution() {
        for n in [32usize, 100, 400] {
            let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
            let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.3;
            let inside = inside_cells(&grid, &ball);
            let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.027 * (n as f64).powi(3);
            let area = 4.0 * std::f64::consts::PI * 0.09 * (n as f64).powi(2);
            assert!((inside.cells / volume - 1.0).abs() < 0.02, "{n}: {} {volume}", inside.cells);
            assert!((inside.surface_faces / area - 1.0).abs() < 0.1, "{n}: {} {area}", inside.surface_faces);
        }
    }

    #[test]
    fn a_drop_smaller_than_the_look_is_found() {
        let n = 1000usize;
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1e-3 };
        let drop = |x: Vec3| x.distance(Vec3::new(0.3005, 0.5005, 0.7005)) - 0.8e-3;
        assert_eq!(inside_cells(&grid, &drop).cells, 1.0);
    }
}
