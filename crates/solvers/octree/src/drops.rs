//! Drops that fly, drawn: each a small ball of its volume.

use crate::OctreeSolver;
use fluvial_foundation::Vec3;
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

impl OctreeSolver {
    /// Adds the drops to a mesh with velocities: icosahedra of their volume.
    pub(crate) fn add_drops(&self, mesh: &mut TriangleMesh) {
        let particles = &self.state.particles;
        let scale = (self.model.particle_m3() as f32 / VOLUME).cbrt();
        for p in (0..particles.len()).filter(|&p| particles.flies[p] != 0) {
            let first = mesh.positions.len() as u32;
            let corner = |&corner: &[f32; 3]| particles.x[p] + scale * Vec3::from_array(corner);
            mesh.positions.extend(CORNERS.iter().map(corner));
            mesh.velocities.extend([particles.v[p]; 12]);
            mesh.triangles.extend(TRIANGLES.map(|t| t.map(|n| first + n)));
        }
    }
}
