//! What a scene will cost, before anything is computed.

use crate::{MeshFormat, Method, Ready, VolumeFormat};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::PlacedSolids;

/// Memory of the uniform solver by cell of the grid. This and the numbers below were fitted to the peak memory of
/// runs of the built-in scenes, 32 to 128 cells a side (tests/scenes.rs has some).
pub(crate) const BYTES_PER_CELL: f64 = 160.0;
/// More by cell that holds liquid: the multigrid stores only those.
const BYTES_PER_LIQUID_CELL: f64 = 70.0;
/// More by cell where there are solids, surface tension.
const BYTES_PER_CELL_SOLIDS: f64 = 21.0;
const BYTES_PER_CELL_TENSION: f64 = 4.0;
/// More by cell where there are particles: their weights on the faces.
const BYTES_PER_CELL_PARTICLES: f64 = 24.0;
/// Memory by particle, more for the rows of APIC; particles by cell of the narrow band.
const BYTES_PER_PARTICLE: f64 = 155.0;
const BYTES_PER_PARTICLE_APIC: f64 = 90.0;
const PARTICLES_PER_CELL: f64 = 9.0;
/// Memory by vertex of the surface: the mesh being made, and what is kept near the surface.
const BYTES_PER_VERTEX: f64 = 520.0;
/// Memory of the program itself.
const BYTES_FIXED: f64 = 14.5e6;
/// Pictures: the one being drawn and a batch of the film's; every frame of the film, compressed.
const PICTURE_BYTES_PER_PIXEL: f64 = 80.0;
const FILM_BYTES_PER_PIXEL: f64 = 0.4;
const PICTURE_BYTES_FIXED: f64 = 4e6;
/// Checkpoints: phi, two velocities, impulse and label of a cell, if none of them is far field.
const CHECKPOINT_BYTES_PER_CELL: f64 = 36.0;
const CHECKPOINT_BYTES_PER_PARTICLE: f64 = 36.0;
const CHECKPOINT_BYTES_PER_ROWS: f64 = 36.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// The octree: memory by cell of the tree, more by liquid cell and by particle, fitted to peaks of its scenes; a checkpoint's.
const BYTES_PER_TREE_CELL: f64 = 640.0;
const BYTES_PER_LIQUID_TREE_CELL: f64 = 1290.0;
const BYTES_PER_PARTICLE_TREE: f64 = 260.0;
const BYTES_FIXED_TREE: f64 = 10e6;
const CHECKPOINT_BYTES_PER_TREE_CELL: f64 = 34.0;
/// How far the largest tree of a run lies between the first and one with the finest cells all along the surface, with
/// [`LIVELY_CELLS`] along the longest side: where liquid falls; and for each part of the surface that solids pass through, with the
/// waves they make. The smaller the cells, the fewer places ask for the smallest.
const LIVELY_SHARE: f64 = 0.8;
const LIVELY_SHARE_FLIP: f64 = 1.0;
const WAKE_WIDTH: f64 = 4.0;
const LIVELY_CELLS: f64 = 64.0;
const LIVELY_POWER: f64 = 0.65;
/// A tree with the finest cells all along the surface has so many cells and liquid cells for each face of surface.
const TREE_CELLS_PER_FACE: f64 = 14.0;
const LIQUID_TREE_CELLS_PER_FACE: f64 = 6.6;
/// Particles in a full cell of the octree's band.
const PARTICLES_PER_CELL_TREE: f64 = 8.0;
/// A sparse volume by face of closed surface.
const VDB_BYTES_PER_FACE: f64 = 65.0;
/// Moments at which moving solids are looked at, and points along each side.
const LOOKS: usize = 64;
/// The sheets method: memory by cell and particle, by vertex of its finer surface; a checkpoint's; how insertion lets the
/// number of particles grow, and the share of the domain that sources are expected to fill.
const BYTES_PER_CELL_SHEETS: f64 = 190.0;
const BYTES_PER_PARTICLE_SHEETS: f64 = 330.0;
const BYTES_PER_VERTEX_SHEETS: f64 = 200.0;
const CHECKPOINT_BYTES_PER_CELL_SHEETS: f64 = 20.0;
const CHECKPOINT_BYTES_PER_PARTICLE_SHEETS: f64 = 55.0;
const SHEETS_GROWTH: f64 = 1.2;
const SOURCE_FILL: f64 = 0.25;
/// A splash has more surface than the liquid at the start.
const SURFACE_GROWTH: f64 = 2.0;
/// The band of particles grows with it: little from a level surface, to four times where liquid stands upright.
const BAND_GROWTH_LEVEL: f64 = 1.35;
const BAND_GROWTH_UPRIGHT: f64 = 4.0;
/// Share of upright surface from which on all of that is expected.
const UPRIGHT_SHARE: f64 = 0.4;
/// Vertices of the surface mesh by area of a cell's face.
const VERTICES_PER_FACE: f64 = 1.25;
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
    /// Disk for each frame, meshes, volumes, particles and pictures, bytes.
    pub disk_bytes_per_frame: u64,
    /// Disk for a checkpoint, bytes, at most.
    pub checkpoint_bytes: u64,
}

/// Predicts cells, memory and disk.
pub fn predict(ready: &Ready) -> Prediction {
    let setup = &ready.setup;
    let grid = &setup.domain.grid;
    let bounds = grid.bounds();
    let in_fill = |x: Vec3| setup.fills.iter().map(|f| f.shape.distance(x)).fold(f32::INFINITY, f32::min);
    let in_solid = |x: Vec3| {
        let distances = setup.solids.iter().map(|s| s.shape.distance(s.motion.pose(0.0).body_from_world(x)));
        distances.fold(f32::INFINITY, f32::min)
    };
    let beyond_walls = |x: Vec3| (bounds.min - x).max(x - bounds.max).max_element();
    let bounded = |x: Vec3| in_fill(x).max(-in_solid(x)).max(beyond_walls(x));
    let inside = inside_cells(grid, &bounded);
    // The free surface is that of the fills where neither wall nor solid touches it.
    let margin = 0.25 * grid.dx;
    let normal = |x: Vec3| {
        let slope = |e: Vec3| in_fill(x + margin * e) - in_fill(x - margin * e);
        Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)).normalize_or_zero()
    };
    let is_free = |x: Vec3, d: f32| {
        let foot = x - d * normal(x);
        beyond_walls(foot) < -margin && in_solid(foot) > margin
    };
    let down = setup.liquid.gravity.normalize_or_zero();
    let free_faces = surface_faces(grid, &in_fill, &is_free);
    let upright_faces =
        surface_faces(grid, &in_fill, &|x, d| normal(x).dot(down).abs() < 0.9 && is_free(x, d));
    let upright = (upright_faces / free_faces.max(1.0) / UPRIGHT_SHARE).min(1.0);
    let band_growth = BAND_GROWTH_LEVEL + upright * (BAND_GROWTH_UPRIGHT - BAND_GROWTH_LEVEL);
    // Sources fill the domain in time: a covered floor is as much surface as is worth predicting.
    let floor = if setup.sources.is_empty() { 0.0 } else { (grid.cells[0] * grid.cells[2]) as f64 };
    let vertices = SURFACE_GROWTH * VERTICES_PER_FACE * inside.surface_faces.max(2.0 * floor);
    let params = match &ready.method {
        Method::Uniform(params) => params,
        Method::Octree(params) => {
            return predict_octree(ready, params, upright_faces > 0.0, &inside);
        }
        Method::Sheets(params) => return predict_sheets(ready, params, &inside, vertices),
    };
    let band_cells = band_growth * free_faces.max(floor) * params.narrow_band as f64;
    let most_cells = if setup.sources.is_empty() { inside.cells } else { grid.cell_count() as f64 };
    let with = |yes: bool, value: f64| if yes { value } else { 0.0 };
    let particles = with(params.has_particles(), band_cells.min(most_cells) * PARTICLES_PER_CELL);
    let per_cell = BYTES_PER_CELL
        + with(!setup.solids.is_empty(), BYTES_PER_CELL_SOLIDS)
        + with(setup.liquid.surface_tension > 0.0, BYTES_PER_CELL_TENSION)
        + with(params.has_particles(), BYTES_PER_CELL_PARTICLES);
    let is_apic = params.tracker == fluvial_solver_uniform::Tracker::Apic;
    let per_particle = BYTES_PER_PARTICLE + with(is_apic, BYTES_PER_PARTICLE_APIC);
    let [width, height] = ready.output.preview_size.map(f64::from);
    let pixels = with(ready.output.preview, width * height);
    let memory = BYTES_FIXED
        + grid.cell_count() as f64 * per_cell
        + most_cells * BYTES_PER_LIQUID_CELL
        + particles * per_particle
        + vertices * BYTES_PER_VERTEX
        + pixels * (PICTURE_BYTES_PER_PIXEL + FILM_BYTES_PER_PIXEL * f64::from(ready.frames))
        + with(ready.output.preview, PICTURE_BYTES_FIXED);
    let mesh_bytes = mesh_bytes(ready.output.mesh, vertices);
    let point_bytes = with(ready.output.particles, particles) * 42.0;
    // Zipped: six cells of distance a face of surface, three velocities a liquid cell and a band around.
    let band = VERTICES_PER_FACE.recip() * vertices;
    let volume_bytes = match ready.output.volumes {
        VolumeFormat::None => 0.0,
        VolumeFormat::Vdb | VolumeFormat::Vtk => 20.0 * band + 8.0 * (inside.cells + 3.0 * band),
    };
    let per_particle = CHECKPOINT_BYTES_PER_PARTICLE + with(is_apic, CHECKPOINT_BYTES_PER_ROWS);
    let checkpoint = CHECKPOINT_BYTES_PER_CELL * grid.cell_count() as f64
        + per_particle * particles
        + CHECKPOINT_BYTES_FIXED;
    Prediction {
        checkpoint_bytes: checkpoint as u64,
        cells: grid.cell_count() as u64,
        liquid_cells: inside.cells.round() as u64,
        memory_bytes: memory as u64,
        disk_bytes_per_frame: (mesh_bytes + point_bytes + volume_bytes + pixels) as u64,
    }
}

/// Six floats a vertex, two triangles a vertex; text takes somewhat more.
fn mesh_bytes(format: MeshFormat, vertices: f64) -> f64 {
    vertices
        * match format {
            MeshFormat::Ply => 50.0,
            MeshFormat::Obj => 65.0,
            MeshFormat::Usd | MeshFormat::Abc | MeshFormat::Vtk => 56.0,
            MeshFormat::None => 0.0,
        }
}

/// The octree's first tree is built and counted; a splash makes it grow towards one that is fine all along the surface. `falls`: is
/// some of the surface upright?
fn predict_octree(
    ready: &Ready,
    params: &fluvial_solver_octree::Params,
    falls: bool,
    inside: &Inside,
) -> Prediction {
    let first = fluvial_solver_octree::count_first_tree(&ready.setup, params).unwrap_or_default();
    let has_particles = params.tracker == fluvial_solver_octree::Tracker::Flip;
    let share = lively_share(ready, falls, if has_particles { LIVELY_SHARE_FLIP } else { LIVELY_SHARE });
    let faces = first.surface_faces;
    let grown = |first: usize, finest: f64| first as f64 + share * (finest - first as f64).max(0.0);
    let cells = grown(first.cells, TREE_CELLS_PER_FACE * faces);
    let liquid_cells = grown(first.liquid_cells, (LIQUID_TREE_CELLS_PER_FACE * faces).min(inside.cells));
    let vertices = VERTICES_PER_FACE * grown(first.surface_cells, faces);
    let band_cells = share * faces * f64::from(params.narrow_band);
    let particles = if has_particles { band_cells * PARTICLES_PER_CELL_TREE } else { 0.0 };
    let [width, height] = ready.output.preview_size.map(f64::from);
    let (pixels, picture_bytes) =
        if ready.output.preview { (width * height, PICTURE_BYTES_FIXED) } else { (0.0, 0.0) };
    let memory = BYTES_FIXED_TREE
        + cells * BYTES_PER_TREE_CELL
        + liquid_cells * BYTES_PER_LIQUID_TREE_CELL
        + particles * BYTES_PER_PARTICLE_TREE
        + pixels * (PICTURE_BYTES_PER_PIXEL + FILM_BYTES_PER_PIXEL * f64::from(ready.frames))
        + picture_bytes;
    let point_bytes = if ready.output.particles { particles * 42.0 } else { 0.0 };
    let volume_bytes = match ready.output.volumes {
        VolumeFormat::None => 0.0,
        _ => VDB_BYTES_PER_FACE * (inside.surface_faces + share * faces),
    };
    Prediction {
        checkpoint_bytes: (CHECKPOINT_BYTES_PER_TREE_CELL * cells
            + CHECKPOINT_BYTES_PER_PARTICLE * particles
            + CHECKPOINT_BYTES_FIXED) as u64,
        cells: first.cells as u64,
        liquid_cells: first.liquid_cells as u64,
        memory_bytes: memory as u64,
        disk_bytes_per_frame: (mesh_bytes(ready.output.mesh, vertices) + point_bytes + volume_bytes + pixels)
            as u64,
    }
}

/// How far a tree will grow towards the finest cells all along the surface, 0 to 1.
fn lively_share(ready: &Ready, falls: bool, most: f64) -> f64 {
    let setup = &ready.setup;
    let longest = setup.domain.grid.cells.into_iter().fold(0, usize::max) as f64;
    let at_this_size = |share: f64| share * (LIVELY_CELLS / longest.max(LIVELY_CELLS)).powf(LIVELY_POWER);
    let moves = setup.fills.iter().any(|fill| fill.velocity != Vec3::ZERO) || !setup.sources.is_empty();
    if moves || (falls && setup.liquid.gravity != Vec3::ZERO) {
        return at_this_size(most);
    }
    at_this_size((WAKE_WIDTH * swept_share(ready)).min(most))
}

/// The part of the surface, seen from above, that moving solids pass through during a run.
fn swept_share(ready: &Ready) -> f64 {
    let setup = &ready.setup;
    let moving: Vec<_> = setup.solids.iter().filter(|s| !s.motion.is_static()).collect();
    if moving.is_empty() {
        return 0.0;
    }
    let bounds = setup.domain.grid.bounds();
    let end_s = f64::from(ready.frames) / ready.fps;
    let times = (0..=LOOKS).map(|n| end_s * n as f64 / LOOKS as f64);
    let placed: Vec<PlacedSolids> =
        times.map(|t| PlacedSolids::new(moving.iter().map(|s| (&s.shape, &s.motion)), t)).collect();
    let place =
        |n: usize, axis: usize| bounds.min[axis] + bounds.size()[axis] * (n as f32 + 0.5) / LOOKS as f32;
    let (mut surface, mut swept) = (0, 0);
    for column in 0..LOOKS * LOOKS {
        let at = |y| Vec3::new(place(column % LOOKS, 0), y, place(column / LOOKS, 2));
        let wet = |x: &Vec3| setup.fills.iter().any(|f| f.shape.distance(*x) < 0.0);
        let Some(top) = (0..LOOKS).rev().map(|n| at(place(n, 1))).find(wet) else { continue };
        surface += 1;
        // The moments are apart: half the way of a solid between two of them belongs to it.
        let reach = 0.5 * bounds.size().max_element() / LOOKS as f32;
        swept += usize::from(placed.iter().any(|solids| solids.distance(top, reach) < reach));
    }
    swept as f64 / f64::from(surface.max(1))
}

/// All liquid is particles; the surface is sampled more finely than the grid.
fn predict_sheets(
    ready: &Ready,
    params: &fluvial_solver_sheets::Params,
    inside: &Inside,
    vertices: f64,
) -> Prediction {
    let cells = ready.setup.domain.grid.cell_count() as f64;
    let full = f64::from(params.particles_per_cell);
    let most_cells = if ready.setup.sources.is_empty() { inside.cells } else { SOURCE_FILL * cells };
    let particles = SHEETS_GROWTH * most_cells.max(inside.cells) * full;
    let vertices = vertices * f64::from(params.surface_refinement).powi(2);
    let [width, height] = ready.output.preview_size.map(f64::from);
    let (pixels, picture_bytes) =
        if ready.output.preview { (width * height, PICTURE_BYTES_FIXED) } else { (0.0, 0.0) };
    let memory = BYTES_FIXED
        + cells * BYTES_PER_CELL_SHEETS
        + most_cells * BYTES_PER_LIQUID_CELL
        + particles * BYTES_PER_PARTICLE_SHEETS
        + vertices * BYTES_PER_VERTEX_SHEETS
        + pixels * (PICTURE_BYTES_PER_PIXEL + FILM_BYTES_PER_PIXEL * f64::from(ready.frames))
        + picture_bytes;
    let point_bytes = if ready.output.particles { particles * 42.0 } else { 0.0 };
    Prediction {
        checkpoint_bytes: (CHECKPOINT_BYTES_PER_CELL_SHEETS * cells
            + CHECKPOINT_BYTES_PER_PARTICLE_SHEETS * particles
            + CHECKPOINT_BYTES_FIXED) as u64,
        cells: cells as u64,
        liquid_cells: inside.cells.round() as u64,
        memory_bytes: memory as u64,
        disk_bytes_per_frame: (mesh_bytes(ready.output.mesh, vertices) + point_bytes + pixels) as u64,
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
    let mut inside = Inside::default();
    let leaf = finest_leaf(grid);
    count(&mut inside, grid, [0; 3], grid.cells, leaf, distance, &|_, _| true);
    if inside.cells == 0.0 && leaf > 1 {
        // A shape that falls between the looks: look at single cells.
        count(&mut inside, grid, [0; 3], grid.cells, 1, distance, &|_, _| true);
    }
    inside
}

/// Area of the part of a shape's surface that `counts` says so, asked with a place near it and its distance.
fn surface_faces(
    grid: &UniformGrid,
    distance: &dyn Fn(Vec3) -> f32,
    counts: &dyn Fn(Vec3, f32) -> bool,
) -> f64 {
    let mut inside = Inside::default();
    count(&mut inside, grid, [0; 3], grid.cells, finest_leaf(grid), distance, counts);
    inside.surface_faces
}

fn finest_leaf(grid: &UniformGrid) -> usize {
    grid.cells.into_iter().max().unwrap_or(1).div_ceil(FINEST_LOOK)
}

fn count(
    inside: &mut Inside,
    grid: &UniformGrid,
    lo: [usize; 3],
    hi: [usize; 3],
    leaf: usize,
    distance: &dyn Fn(Vec3) -> f32,
    counts: &dyn Fn(Vec3, f32) -> bool,
) {
    let centers = grid.cell_centers();
    let low = centers.position(lo[0], lo[1], lo[2]);
    let high = centers.position(hi[0] - 1, hi[1] - 1, hi[2] - 1);
    let center = 0.5 * (low + high);
    let d = distance(center);
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
        count(inside, grid, lo, first_hi, leaf, distance, counts);
        count(inside, grid, second_lo, hi, leaf, distance, counts);
        return;
    }
    if d < 0.0 {
        inside.cells += cells;
    }
    // The area is the volume of a shell `leaf` cells thick, over its thickness.
    if d.abs() <= 0.501 * leaf as f32 * grid.dx && counts(center, d) {
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
