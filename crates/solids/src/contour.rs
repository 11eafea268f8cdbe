//! Triangles for shapes that are only known by their distance: dual contouring [ju-2002], which keeps
//! the sharp edges of booleans.

use crate::Shape;
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::{Lattice, TriangleMesh};

/// The surface of `shape` within `clip` (closed by the clip box's own sides), one vertex per cell of size
/// `cell`.
pub(crate) fn dual_contour(shape: &Shape, clip: Aabb, cell: f32) -> TriangleMesh {
    let bounds = shape.bounds();
    let inner = Aabb { min: bounds.min.max(clip.min), max: bounds.max.min(clip.max) };
    let size = inner.size();
    if !(size.is_finite() && size.cmpgt(Vec3::ZERO).all() && cell > 0.0) {
        return TriangleMesh::default();
    }
    // Coarser cells rather than an endless run, should someone ask for too many.
    let cell = cell.max(size.max_element() / 400.0);
    let distance = |x: Vec3| {
        let outside = (inner.min - x).max(x - inner.max).max_element();
        shape.distance(x).max(outside)
    };
    // An odd fraction of a cell as margin: flat sides then do not fall onto the samples.
    let origin = inner.min - 1.37 * cell;
    let count = |a: usize| ((size[a] + 2.74 * cell) / cell).ceil() as usize + 1;
    let lattice = Lattice { size: [count(0), count(1), count(2)], origin, spacing: cell };
    let values: Vec<f32> = fluvial_foundation::parallel::map_indices(lattice.len(), |n| {
        let [i, j, k] = lattice.coordinates(n);
        distance(lattice.position(i, j, k))
    });
    let mut mesh = TriangleMesh::default();
    let vertex_of_cell = place_vertices(&mut mesh, &lattice, &values, &distance);
    join_quads(&mut mesh, &lattice, &values, &vertex_of_cell);
    mesh
}

/// One vertex in each cell whose corners differ in sign; `u32::MAX` elsewhere.
fn place_vertices(
    mesh: &mut TriangleMesh,
    lattice: &Lattice,
    values: &[f32],
    distance: &impl Fn(Vec3) -> f32,
) -> Vec<u32> {
    let mut vertex_of_cell = vec![u32::MAX; lattice.len()];
    for k in 0..lattice.size[2] - 1 {
        for j in 0..lattice.size[1] - 1 {
            for i in 0..lattice.size[0] - 1 {
                let corners = lattice.corner_values(values, lattice.index(i, j, k));
                let inside = corners.iter().filter(|&&v| v < 0.0).count();
                if inside == 0 || inside == 8 {
                    continue;
                }
                vertex_of_cell[lattice.index(i, j, k)] = mesh.positions.len() as u32;
                mesh.positions.push(cell_vertex(
                    lattice.position(i, j, k),
                    lattice.spacing,
                    corners,
                    distance,
                ));
            }
        }
    }
    vertex_of_cell
}

/// The point nearest to the tangent planes at the cell's edge crossings, found by relaxation from their mean.
fn cell_vertex(low: Vec3, cell: f32, corners: [f32; 8], distance: &impl Fn(Vec3) -> f32) -> Vec3 {
    let corner = |n: usize| low + cell * Vec3::new((n & 1) as f32, (n >> 1 & 1) as f32, (n >> 2 & 1) as f32);
    let mut planes: Vec<(Vec3, Vec3)> = Vec::with_capacity(12);
    for a in 0..8usize {
        for b in AXES.map(|axis| a | 1 << axis).into_iter().filter(|&b| b != a) {
            if (corners[a] < 0.0) == (corners[b] < 0.0) {
                continue;
            }
            let (mut inside, mut outside) =
                if corners[a] < 0.0 { (corner(a), corner(b)) } else { (corner(b), corner(a)) };
            for _ in 0..12 {
                let middle = 0.5 * (inside + outside);
                if distance(middle) < 0.0 { inside = middle } else { outside = middle }
            }
            let x = 0.5 * (inside + outside);
            let h = 1e-2 * cell;
            let slope = |e: Vec3| distance(x + h * e) - distance(x - h * e);
            planes.push((x, Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)).normalize_or_zero()));
        }
    }
    let mut x = planes.iter().map(|p| p.0).sum::<Vec3>() / planes.len() as f32;
    for _ in 0..30 {
        let pull: Vec3 = planes.iter().map(|(p, n)| (*p - x).dot(*n) * *n).sum();
        x = (x + pull / planes.len() as f32 * 1.5).clamp(low, low + cell);
    }
    x
}

/// A quad around every lattice edge that crosses the surface.
fn join_quads(mesh: &mut TriangleMesh, lattice: &Lattice, values: &[f32], vertex_of_cell: &[u32]) {
    for axis in AXES {
        let (s, t) = (lattice.stride((axis + 1) % 3), lattice.stride((axis + 2) % 3));
        for n in 0..lattice.len() {
            let c = lattice.coordinates(n);
            if c[axis] + 1 >= lattice.size[axis] || c[(axis + 1) % 3] == 0 || c[(axis + 2) % 3] == 0 {
                continue;
            }
            let (a, b) = (values[n] < 0.0, values[n + lattice.stride(axis)] < 0.0);
            if a == b {
                continue;
            }
            let [p, q, r, w] = [n - s - t, n - t, n, n - s].map(|cell| vertex_of_cell[cell]);
            if [p, q, r, w].contains(&u32::MAX) {
                continue; // at the lattice's rim, outside the margin
            }
            let quad = if a { [p, q, r, w] } else { [p, w, r, q] };
            mesh.triangles.push([quad[0], quad[1], quad[2]]);
            mesh.triangles.push([quad[0], quad[2], quad[3]]);
        }
    }
}
