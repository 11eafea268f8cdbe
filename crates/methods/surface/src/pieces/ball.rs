//! Balls of a volume, as parts of a mesh.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;

/// Corners of an icosahedron with edges of length 2: (0, +-1, +-phi) and its cyclic permutations.
const GOLDEN: f32 = 1.618_034;
const CORNERS: [[f32; 3]; 12] = [
    [-1.0, GOLDEN, 0.0],
    [1.0, GOLDEN, 0.0],
    [-1.0, -GOLDEN, 0.0],
    [1.0, -GOLDEN, 0.0],
    [0.0, -1.0, GOLDEN],
    [0.0, 1.0, GOLDEN],
    [0.0, -1.0, -GOLDEN],
    [0.0, 1.0, -GOLDEN],
    [GOLDEN, 0.0, -1.0],
    [GOLDEN, 0.0, 1.0],
    [-GOLDEN, 0.0, -1.0],
    [-GOLDEN, 0.0, 1.0],
];
const TRIANGLES: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];
/// Volume of the icosahedron with these corners, 5 (3 + sqrt 5) / 12 a^3 with a = 2.
const VOLUME: f32 = 17.453_56;

/// Adds a ball to a mesh with velocities: an icosahedron of its volume, inside the domain as a whole. Verified by
/// `a_lone_cell_is_a_round_drop`.
pub fn add_ball(mesh: &mut TriangleMesh, x: Vec3, v: Vec3, volume_m3: f64, domain: Aabb) {
    let scale = (volume_m3 as f32 / VOLUME).cbrt();
    let reach = Vec3::splat(scale * GOLDEN).min(0.5 * domain.size());
    let x = x.clamp(domain.min + reach, domain.max - reach);
    let first = mesh.positions.len() as u32;
    mesh.positions.extend(CORNERS.iter().map(|&corner| x + scale * Vec3::from_array(corner)));
    mesh.velocities.extend([v; 12]);
    mesh.triangles.extend(TRIANGLES.map(|t| t.map(|n| first + n)));
}
