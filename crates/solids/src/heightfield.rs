//! Grey images as ground.

use crate::{GreyImage, MeshError};
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;

/// The closed body between the floor `base` and the image's surface. Pixel columns run from `min_xz[0]` to
/// `max_xz[0]` along x, rows from `min_xz[1]` to `max_xz[1]` along z; black lies at `heights[0]`, white at
/// `heights[1]`, both above `base`. Metres.
pub fn heightfield_mesh(
    image: &GreyImage,
    min_xz: [f32; 2],
    max_xz: [f32; 2],
    heights: [f32; 2],
    base: f32,
) -> Result<TriangleMesh, MeshError> {
    let (nx, nz) = (image.width, image.rows);
    if nx < 2 || nz < 2 || image.values.len() != nx * nz {
        return Err(MeshError::Format("a heightfield needs at least 2 x 2 pixels".into()));
    }
    let lowest = heights[0].min(heights[1]);
    if !(min_xz[0] < max_xz[0] && min_xz[1] < max_xz[1] && base < lowest) {
        return Err(MeshError::Format(
            "a heightfield's rectangle is empty or its base lies above its surface".into(),
        ));
    }
    let along = |a: usize, n: usize, count: usize| {
        min_xz[a] + (max_xz[a] - min_xz[a]) * (n as f32 / (count - 1) as f32)
    };
    let mut mesh = TriangleMesh::default();
    for k in 0..nz {
        for i in 0..nx {
            let y = heights[0] + (heights[1] - heights[0]) * image.values[i + nx * k];
            mesh.positions.push(Vec3::new(along(0, i, nx), y, along(1, k, nz)));
        }
    }
    let top = |i: usize, k: usize| (i + nx * k) as u32;
    for k in 0..nz - 1 {
        for i in 0..nx - 1 {
            let [a, b, c, d] = [top(i, k), top(i + 1, k), top(i, k + 1), top(i + 1, k + 1)];
            mesh.triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    // The rim, counter-clockwise seen from above (from +x towards -z is left-turning about +y).
    let mut rim: Vec<u32> = Vec::with_capacity(2 * (nx + nz));
    rim.extend((0..nx - 1).map(|i| top(i, nz - 1)));
    rim.extend((1..nz).rev().map(|k| top(nx - 1, k)));
    rim.extend((1..nx).rev().map(|i| top(i, 0)));
    rim.extend((0..nz - 1).map(|k| top(0, k)));
    let foot = mesh.positions.len() as u32;
    for &v in &rim {
        let p = mesh.positions[v as usize];
        mesh.positions.push(Vec3::new(p.x, base, p.z));
    }
    let middle = mesh.positions.len() as u32;
    mesh.positions.push(Vec3::new(0.5 * (min_xz[0] + max_xz[0]), base, 0.5 * (min_xz[1] + max_xz[1])));
    for n in 0..rim.len() {
        let e = (n + 1) % rim.len();
        let (low, low_next) = (foot + n as u32, foot + e as u32);
        mesh.triangles.extend([[rim[n], low, low_next], [rim[n], low_next, rim[e]], [middle, low_next, low]]);
    }
    Ok(mesh)
}
