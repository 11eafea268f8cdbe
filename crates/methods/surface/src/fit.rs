//! Meshes that enclose the volume that there is.

use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::for_each_beside_mut;
use fluvial_grids::{Lattice, TriangleMesh};

/// Rounds in which neighbourhoods are fitted, and then the whole.
const LOCAL_ROUNDS: usize = 2;
const GLOBAL_ROUNDS: usize = 6;
/// Bounds of how far a vertex moves in all, over what it may give: a sheet becomes no thinner than half of
/// what it was and no thicker than twice.
const FARTHEST: [f32; 2] = [-0.5, 1.0];
/// Rounds of sums over three cells per axis that make a neighbourhood: two cells in the root of the mean
/// square. What a few cells of a thin sheet lack is the noise of its particles' places.
const SUMS: usize = 6;
/// The whole is fitted to this share of its volume.
const CLOSE_ENOUGH: f64 = 1e-4;

/// What a mesh is fitted to.
pub struct VolumeToFit<'a> {
    /// The cells of the domain.
    pub cells: &'a Lattice,
    /// What each cell holds beyond what is drawn of it, m3.
    pub lacking_cell: Vec<f32>,
    /// All that the mesh shall enclose, m3.
    pub wanted_m3: f64,
}

/// Moves the vertices of a closed mesh along their normals until it encloses the volume that there is.
///
/// Moving vertex v by s along n changes the volume by `a_v s`, `a_v n = 1/6 sum (b - a) x (c - a)` over the
/// triangles around it. `half_m` is half of the liquid's thickness at each vertex, 0 where one must stay: all
/// move in proportion to it, so that thin sheets are not turned inside out by what thick liquid lacks. First
/// every neighbourhood gets what it lacks, `s = half sum w lacking / sum w a half`, w a bell of two cells; then one share of the thickness for all makes up for what is left. Vertices on a wall of the
/// domain stay on it. Returns how many vertices the bound on their way has held back.
///
/// Tests: `a_ball_gets_its_volume_and_stays_round`, `neighbourhoods_get_their_own_volumes`.
pub fn fit_to_volume(mesh: &mut TriangleMesh, half_m: &[f32], to: VolumeToFit) -> usize {
    let VolumeToFit { cells, mut lacking_cell, wanted_m3 } = to;
    // What each vertex has moved, over its half thickness.
    let mut moved = vec![0.0f32; half_m.len()];
    for _ in 0..LOCAL_ROUNDS {
        let ways = ways_out(mesh, half_m, cells);
        let misfit = misfits(mesh, &ways, half_m, &lacking_cell, cells);
        for (v, way) in ways.iter().enumerate() {
            let x = mesh.positions[v];
            let shift = advance(&mut moved[v], cells.sample(&misfit, x)) * half_m[v];
            lacking_cell[cell_at(x, cells)] -= way.area * shift;
            mesh.positions[v] = inside(x + shift * way.normal, cells);
        }
    }
    for _ in 0..GLOBAL_ROUNDS {
        let lacking_m3 = wanted_m3 - mesh.volume();
        let ways = ways_out(mesh, half_m, cells);
        let room = |(way, (half, moved)): (&Way, (&f32, &f32))| {
            let is_held = *moved == FARTHEST[(lacking_m3 > 0.0) as usize];
            if is_held { 0.0 } else { f64::from(way.area * half) }
        };
        let room_m3: f64 = ways.iter().zip(half_m.iter().zip(&moved)).map(room).sum();
        if lacking_m3.abs() < CLOSE_ENOUGH * wanted_m3 || room_m3 == 0.0 {
            break;
        }
        let share = (lacking_m3 / room_m3) as f32;
        for (v, way) in ways.iter().enumerate() {
            let shift = advance(&mut moved[v], share) * half_m[v];
            mesh.positions[v] = inside(mesh.positions[v] + shift * way.normal, cells);
        }
    }
    moved.iter().filter(|moved| FARTHEST.contains(moved)).count()
}

/// Moves on by a share of the half thickness, within bounds; how far it came.
fn advance(moved: &mut f32, by: f32) -> f32 {
    let before = *moved;
    *moved = (before + by).clamp(FARTHEST[0], FARTHEST[1]);
    *moved - before
}

/// Where a vertex may go, and the volume that it gains a metre, m2.
#[derive(Clone, Copy, Default)]
struct Way {
    normal: Vec3,
    area: f32,
}

/// What moving each vertex does to the volume: `a_v n`, see [`fit_to_volume`], m2.
pub fn volume_gradients(mesh: &TriangleMesh) -> Vec<Vec3> {
    let mut gradients = vec![Vec3::ZERO; mesh.positions.len()];
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        let normal = (b - a).cross(c - a) / 6.0;
        t.iter().for_each(|&v| gradients[v as usize] += normal);
    }
    gradients
}

fn ways_out(mesh: &TriangleMesh, half_m: &[f32], cells: &Lattice) -> Vec<Way> {
    let areas = volume_gradients(mesh);
    let (min, max) = bounds(cells);
    let near = 1e-3 * cells.spacing;
    let way = |v: usize| {
        if half_m[v] == 0.0 {
            return Way::default();
        }
        let (x, mut area) = (mesh.positions[v], areas[v]);
        for axis in 0..3 {
            if x[axis] < min[axis] + near || x[axis] > max[axis] - near {
                area[axis] = 0.0;
            }
        }
        Way { normal: area.normalize_or_zero(), area: area.length() }
    };
    (0..areas.len()).map(way).collect()
}

/// What the cells around each lack, over what their surface gains when all of it moves by its half
/// thickness; 0 where there is no surface.
fn misfits(
    mesh: &TriangleMesh,
    ways: &[Way],
    half_m: &[f32],
    lacking_cell: &[f32],
    cells: &Lattice,
) -> Vec<f32> {
    let mut room_cell = vec![0.0f32; cells.len()];
    for ((x, way), half) in mesh.positions.iter().zip(ways).zip(half_m) {
        room_cell[cell_at(*x, cells)] += way.area * half;
    }
    let mut out = lacking_cell.to_vec();
    let mut scratch = vec![0.0; cells.len()];
    for values in [&mut out, &mut room_cell] {
        (0..3 * SUMS).for_each(|n| add_neighbours(values, &mut scratch, cells, n % 3));
    }
    let share = |lacking: &mut f32, room: &f32| {
        *lacking = if *room > 0.0 { (*lacking / room).clamp(FARTHEST[0], FARTHEST[1]) } else { 0.0 };
    };
    for_each_beside_mut(&mut out, &room_cell, share);
    out
}

/// Replaces every value by the sum of it and its neighbours along an axis.
fn add_neighbours(values: &mut Vec<f32>, scratch: &mut Vec<f32>, cells: &Lattice, axis: usize) {
    let stride = cells.stride(axis);
    cells.for_each_mut(scratch, |cell, at, out| {
        let low = if at[axis] > 0 { values[cell - stride] } else { 0.0 };
        let high = if at[axis] + 1 < cells.size[axis] { values[cell + stride] } else { 0.0 };
        *out = low + values[cell] + high;
    });
    std::mem::swap(values, scratch);
}

fn bounds(cells: &Lattice) -> (Vec3, Vec3) {
    let size = Vec3::from_array(cells.size.map(|n| n as f32));
    let min = cells.origin - 0.5 * cells.spacing;
    (min, min + cells.spacing * size)
}

fn cell_at(x: Vec3, cells: &Lattice) -> usize {
    let at = ((x - cells.origin) / cells.spacing).round();
    cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)
}

/// The nearest place to x in the domain.
fn inside(x: Vec3, cells: &Lattice) -> Vec3 {
    let (min, max) = bounds(cells);
    x.clamp(min, max)
}
