//! Moves the vertices of a mesh until it encloses the liquid's volume.

use fluvial_foundation::parallel::{
    for_each_beside_mut, for_each_indexed_mut, for_each_indexed_mut2, map_indices,
};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::{Lattice, TriangleMesh};

/// Rounds in which neighbourhoods are fitted, and rounds for the whole mesh after them.
const LOCAL_ROUNDS: usize = 2;
const GLOBAL_ROUNDS: usize = 6;
/// Bounds on the displacement of a vertex, over the half thickness there: a sheet becomes no thinner than half
/// of what it was and no thicker than twice.
const FARTHEST: [f32; 2] = [-0.5, 1.0];
/// Relative error of the whole volume at which fitting ends.
const CLOSE_ENOUGH: f64 = 1e-4;

/// The cells of a grid, and the neighbourhoods in which a mesh is fitted to their volumes.
pub trait Neighbourhoods: Sync {
    /// The cell that a point lies in.
    fn cell_at(&self, x: Vec3) -> usize;
    /// Replaces every cell's value by a weighted sum over the cells around.
    fn spread(&self, value_cell: &mut Vec<f32>);
    /// Interpolates a field at cell centres to a point.
    fn sample(&self, value_cell: &[f32], x: Vec3) -> f32;
    /// The domain, and the edge of its smallest cells, metres.
    fn domain(&self) -> (Aabb, f32);
}

/// Equal cells with bell-shaped neighbourhoods.
#[derive(Clone, Copy, Debug)]
pub struct Bells<'a> {
    /// The centres of the cells.
    pub cells: &'a Lattice,
    /// Rounds of sums over three cells per axis that make a neighbourhood: n of them are a bell of
    /// `sqrt(2 n / 3)` cells in the root of the mean square.
    pub sums: usize,
}

impl Neighbourhoods for Bells<'_> {
    fn cell_at(&self, x: Vec3) -> usize {
        let at = ((x - self.cells.origin) / self.cells.spacing).round();
        self.cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)
    }

    fn spread(&self, value_cell: &mut Vec<f32>) {
        let mut scratch = vec![0.0; value_cell.len()];
        (0..3 * self.sums).for_each(|n| add_neighbours(value_cell, &mut scratch, self.cells, n % 3));
    }

    fn sample(&self, value_cell: &[f32], x: Vec3) -> f32 {
        self.cells.sample(value_cell, x)
    }

    fn domain(&self) -> (Aabb, f32) {
        let size = Vec3::from_array(self.cells.size.map(|n| n as f32));
        let min = self.cells.origin - 0.5 * self.cells.spacing;
        (Aabb { min, max: min + self.cells.spacing * size }, self.cells.spacing)
    }
}

/// What a mesh is fitted to.
pub struct VolumeToFit<'a, N> {
    /// The cells of the domain.
    pub cells: &'a N,
    /// Volume that each cell holds beyond what is drawn of it, m3.
    pub lacking_cell: Vec<f32>,
    /// Volume that the whole mesh shall enclose, m3.
    pub wanted_m3: f64,
}

/// Moves the vertices of a closed mesh along their normals until it encloses the liquid's volume.
///
/// Moving vertex v by s along n changes the volume by `a_v s`, `a_v n = 1/6 sum (b - a) x (c - a)` over the
/// triangles around it. `half_m` is half of the liquid's thickness at each vertex, and 0 where a vertex must not
/// move. Every vertex moves in proportion to it, so that the volume that thick liquid lacks does not turn thin
/// sheets inside out. First every neighbourhood gets the volume that it lacks, `s = half sum w lacking / sum w a
/// half`, where w are the weights of the cells; then all vertices move by one common share of their half thickness,
/// which gives the rest. Vertices on a wall of the domain stay on it. Returns how many vertices were held back by
/// the bound on their displacement.
///
/// Tests: `a_ball_gets_its_volume_and_stays_round`, `neighbourhoods_get_their_own_volumes`.
pub fn fit_to_volume(mesh: &mut TriangleMesh, half_m: &[f32], to: VolumeToFit<impl Neighbourhoods>) -> usize {
    let VolumeToFit { cells, mut lacking_cell, wanted_m3 } = to;
    let around = TrianglesAround::new(mesh);
    // Displacement of each vertex so far, over its half thickness.
    let mut moved = vec![0.0f32; half_m.len()];
    for _ in 0..LOCAL_ROUNDS {
        let ways = ways_out(mesh, &around, half_m, cells);
        let misfit = misfits(mesh, &ways, half_m, &lacking_cell, cells);
        let to: Vec<f32> =
            map_indices(moved.len(), |v| within_bounds(moved[v] + cells.sample(&misfit, mesh.positions[v])));
        for (v, way) in ways.iter().enumerate() {
            lacking_cell[cells.cell_at(mesh.positions[v])] -= way.area * (to[v] - moved[v]) * half_m[v];
        }
        displace(mesh, &mut moved, (&ways, half_m, cells), |v, _| to[v]);
    }
    for _ in 0..GLOBAL_ROUNDS {
        let lacking_m3 = wanted_m3 - mesh.volume();
        let ways = ways_out(mesh, &around, half_m, cells);
        let room = |(way, (half, moved)): (&Way, (&f32, &f32))| {
            let is_held = *moved == FARTHEST[(lacking_m3 > 0.0) as usize];
            if is_held { 0.0 } else { f64::from(way.area * half) }
        };
        let room_m3: f64 = ways.iter().zip(half_m.iter().zip(&moved)).map(room).sum();
        if lacking_m3.abs() < CLOSE_ENOUGH * wanted_m3 || room_m3 == 0.0 {
            break;
        }
        let share = (lacking_m3 / room_m3) as f32;
        displace(mesh, &mut moved, (&ways, half_m, cells), |_, moved| within_bounds(moved + share));
    }
    moved.iter().filter(|moved| FARTHEST.contains(moved)).count()
}

/// Displaces every vertex to where `to(vertex, displacement so far)` says, over its half thickness.
fn displace(
    mesh: &mut TriangleMesh,
    moved: &mut [f32],
    (ways, half_m, cells): (&[Way], &[f32], &impl Neighbourhoods),
    to: impl Fn(usize, f32) -> f32 + Sync + Send,
) {
    for_each_indexed_mut2(&mut mesh.positions, moved, |v, x, moved| {
        let before = std::mem::replace(moved, to(v, *moved));
        *x = inside(*x + (*moved - before) * half_m[v] * ways[v].normal, cells);
    });
}

/// The displacement of a vertex that is nearest to the one asked for.
fn within_bounds(moved: f32) -> f32 {
    moved.clamp(FARTHEST[0], FARTHEST[1])
}

/// The triangles of each vertex, in their order.
struct TrianglesAround {
    first: Vec<u32>,
    triangles: Vec<u32>,
}

impl TrianglesAround {
    fn new(mesh: &TriangleMesh) -> TrianglesAround {
        let mut first = vec![0u32; mesh.positions.len() + 1];
        mesh.triangles.iter().flatten().for_each(|&v| first[v as usize + 1] += 1);
        for v in 0..mesh.positions.len() {
            first[v + 1] += first[v];
        }
        let (mut next, mut triangles) = (first.clone(), vec![0u32; 3 * mesh.triangles.len()]);
        for (n, t) in mesh.triangles.iter().enumerate() {
            for &v in t {
                triangles[next[v as usize] as usize] = n as u32;
                next[v as usize] += 1;
            }
        }
        TrianglesAround { first, triangles }
    }

    /// The gradient of the volume by the position of a vertex: `a_v n`, see [`fit_to_volume`], m2.
    fn volume_gradient(&self, mesh: &TriangleMesh, v: usize) -> Vec3 {
        let own = &self.triangles[self.first[v] as usize..self.first[v + 1] as usize];
        own.iter().fold(Vec3::ZERO, |sum, &n| {
            let [a, b, c] = mesh.triangles[n as usize].map(|v| mesh.positions[v as usize]);
            sum + (b - a).cross(c - a) / 6.0
        })
    }
}

/// The direction in which a vertex may move, and the volume that is gained per metre, m2.
#[derive(Clone, Copy, Default)]
struct Way {
    normal: Vec3,
    area: f32,
}

/// The gradient of the volume by the position of each vertex: `a_v n`, see [`fit_to_volume`], m2.
pub fn volume_gradients(mesh: &TriangleMesh) -> Vec<Vec3> {
    let around = TrianglesAround::new(mesh);
    map_indices(mesh.positions.len(), |v| around.volume_gradient(mesh, v))
}

fn ways_out(
    mesh: &TriangleMesh,
    around: &TrianglesAround,
    half_m: &[f32],
    cells: &impl Neighbourhoods,
) -> Vec<Way> {
    let (Aabb { min, max }, dx) = cells.domain();
    let near = 1e-3 * dx;
    let mut ways = vec![Way::default(); half_m.len()];
    for_each_indexed_mut(&mut ways, |v, way| {
        if half_m[v] == 0.0 {
            return;
        }
        let (x, mut area) = (mesh.positions[v], around.volume_gradient(mesh, v));
        for axis in 0..3 {
            if x[axis] < min[axis] + near || x[axis] > max[axis] - near {
                area[axis] = 0.0;
            }
        }
        *way = Way { normal: area.normalize_or_zero(), area: area.length() };
    });
    ways
}

/// For each cell: the volume that the cells around it lack, over the volume that is gained when all surface in
/// them moves by its half thickness; 0 where there is no surface.
fn misfits(
    mesh: &TriangleMesh,
    ways: &[Way],
    half_m: &[f32],
    lacking_cell: &[f32],
    cells: &impl Neighbourhoods,
) -> Vec<f32> {
    let mut room_cell = rooms(mesh, ways, half_m, lacking_cell.len(), cells);
    let mut out = lacking_cell.to_vec();
    cells.spread(&mut out);
    cells.spread(&mut room_cell);
    let share = |lacking: &mut f32, room: &f32| {
        *lacking = if *room > 0.0 { (*lacking / room).clamp(FARTHEST[0], FARTHEST[1]) } else { 0.0 };
    };
    for_each_beside_mut(&mut out, &room_cell, share);
    out
}

/// For each cell: the volume that is gained when all surface in it moves by its half thickness, m3.
fn rooms(
    mesh: &TriangleMesh,
    ways: &[Way],
    half_m: &[f32],
    count: usize,
    cells: &impl Neighbourhoods,
) -> Vec<f32> {
    let mut room_cell = vec![0.0f32; count];
    for ((x, way), half) in mesh.positions.iter().zip(ways).zip(half_m) {
        room_cell[cells.cell_at(*x)] += way.area * half;
    }
    room_cell
}

/// The volume by which a mesh can grow around each of `count` cells when it is fitted, m3.
pub fn room_around(
    mesh: &TriangleMesh,
    half_m: &[f32],
    count: usize,
    cells: &impl Neighbourhoods,
) -> Vec<f32> {
    let ways = ways_out(mesh, &TrianglesAround::new(mesh), half_m, cells);
    let mut room = rooms(mesh, &ways, half_m, count, cells);
    cells.spread(&mut room);
    room
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

/// The point of the domain that is nearest to x.
fn inside(x: Vec3, cells: &impl Neighbourhoods) -> Vec3 {
    let (Aabb { min, max }, _) = cells.domain();
    x.clamp(min, max)
}
