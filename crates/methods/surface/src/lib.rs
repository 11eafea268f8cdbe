//! Closed, oriented, manifold surface meshes from level sets.
//!
//! [`mesh_level_set`] runs dual marching cubes over the cell centres plus a ring of air, with a table of
//! cases that is manifold by construction (see `cases.rs`). Where liquid touches the box of the domain the
//! mesh lies flat on the wall, half a cell outside the outermost centres, with sharp edges.

mod cases;
mod draw;
mod dual;
mod film;
mod fit;
mod pieces;
mod place;
mod shreds;
mod signs;
mod smooth;

pub use draw::{DrawnCell, Place, draw_volume, half_thickness_m};
pub use film::{WallFilm, add_wall_films};
pub use fit::{Bells, Neighbourhoods, VolumeToFit, fit_to_volume, room_around, volume_gradients};
pub use pieces::{Piece, add_pieces};

pub use shreds::without_shreds;

use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::{Lattice, TriangleMesh};
use place::{DepthAt, Sample};

/// How a surface is made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeshParams {
    /// Rounds of volume-preserving smoothing; 0 leaves the level set's zero as it is.
    pub smoothing_rounds: usize,
}

/// Solids that the liquid must not be drawn inside of.
#[derive(Clone, Copy)]
pub struct SolidClip<'a> {
    /// Signed distance, negative inside the solid, metres.
    pub distance: &'a (dyn Fn(Vec3) -> f32 + Sync),
    /// How far the liquid reaches into the solid so that no gap shows between them, metres.
    pub overlap: f32,
}

/// Meshes phi = 0 with the liquid (phi < 0) inside. NaN counts as air.
///
/// Verified by `tests/manifold.rs` (random signs) and `tests/accuracy.rs` (order on a sphere, exact boxes).
pub fn mesh_level_set(phi: &[f32], lattice: &Lattice, params: &MeshParams) -> TriangleMesh {
    assert_eq!(phi.len(), lattice.len(), "one value per sample");
    let row = |j: usize, k: usize, out: &mut [f32]| {
        out.copy_from_slice(&phi[lattice.index(0, j, k)..][..lattice.size[0]]);
    };
    let sample_at = |[i, j, k]: [usize; 3]| Sample::free(phi[lattice.index(i, j, k)]);
    mesh_field(lattice, params, row, sample_at, &no_solid)
}

/// As [`mesh_level_set`] with the liquid cut off inside solids: meshes max(phi, -distance - overlap) = 0. Vertices where the
/// two zero sets meet lie on both, and those at edges of a solid on the edge.
/// Tests: `liquid_meets_solids_in_sharp_lines`, `liquid_fills_the_edges_of_a_tank`.
pub fn mesh_level_set_outside(
    phi: &[f32],
    lattice: &Lattice,
    solid: &SolidClip,
    params: &MeshParams,
) -> TriangleMesh {
    assert_eq!(phi.len(), lattice.len(), "one value per sample");
    mesh_samples_outside(lattice, params, |[i, j, k]| phi[lattice.index(i, j, k)], solid)
}

/// As [`mesh_level_set_outside`] for values that need not lie in an array.
pub fn mesh_samples_outside(
    lattice: &Lattice,
    params: &MeshParams,
    phi: impl Fn([usize; 3]) -> f32 + Sync + Send,
    solid: &SolidClip,
) -> TriangleMesh {
    let depth_at = |x: Vec3| -(solid.distance)(x) - solid.overlap;
    let depth = |[i, j, k]: [usize; 3]| depth_at(lattice.position(i, j, k));
    let row = |j: usize, k: usize, out: &mut [f32]| {
        for (i, out) in out.iter_mut().enumerate() {
            let phi = phi([i, j, k]);
            // Air stays air: only liquid samples ask for the solid.
            *out = if phi < 0.0 { phi.max(depth([i, j, k])) } else { phi };
        }
    };
    let sample_at = |at: [usize; 3]| Sample { phi: phi(at), depth: depth(at) };
    mesh_field(lattice, params, row, sample_at, &depth_at)
}

fn no_solid(_: Vec3) -> f32 {
    f32::NEG_INFINITY
}

/// As [`mesh_level_set`] for values that need not lie in an array: `fill_row(j, k, out)` gives an x-row of
/// them, `value` a single one. Only one sign bit per sample is kept in memory.
pub fn mesh_samples(
    lattice: &Lattice,
    params: &MeshParams,
    fill_row: impl Fn(usize, usize, &mut [f32]) + Sync,
    value: impl Fn([usize; 3]) -> f32 + Sync + Send,
) -> TriangleMesh {
    mesh_field(lattice, params, fill_row, |at| Sample::free(value(at)), &no_solid)
}

/// Smooths a closed mesh in a box and keeps its volume. Vertices on the box stay on it, and vertices on the line
/// where the free surface meets the box stay on that line. Verified by `tests/accuracy.rs`.
pub fn smooth_mesh(mesh: &mut TriangleMesh, bounds: Aabb, rounds: usize) {
    if rounds == 0 {
        return;
    }
    let walls = |x: Vec3| {
        let on = |a: usize| ((x[a] == bounds.min[a]) as u8) | (((x[a] == bounds.max[a]) as u8) << 1);
        on(0) | (on(1) << 2) | (on(2) << 4)
    };
    let own: Vec<place::WallFlags> = mesh.positions.iter().map(|&x| walls(x)).collect();
    let mut flags = own.clone();
    // A triangle that does not lie on a wall as a whole is free surface; its corners on walls are contact lines.
    for t in &mesh.triangles {
        if t.iter().fold(u8::MAX, |all, &v| all & own[v as usize]) == 0 {
            t.iter().filter(|&&v| own[v as usize] != 0).for_each(|&v| flags[v as usize] |= place::CONTACT);
        }
    }
    smooth::smooth(&mut mesh.positions, &flags, &mesh.triangles, rounds);
}

/// Fills the velocity of every vertex from `velocity_at(position)`, in parallel.
pub fn set_velocities(mesh: &mut TriangleMesh, velocity_at: impl Fn(Vec3) -> Vec3 + Sync + Send) {
    let TriangleMesh { positions, velocities, .. } = mesh;
    velocities.clear();
    velocities.resize(positions.len(), Vec3::ZERO);
    parallel::for_each_chunk_mut(velocities, parallel::CHUNK / 8, |chunk, out| {
        let first = chunk * (parallel::CHUNK / 8);
        for (v, &x) in out.iter_mut().zip(&positions[first..]) {
            *v = velocity_at(x);
        }
    });
}

fn mesh_field(
    lattice: &Lattice,
    params: &MeshParams,
    fill_row: impl Fn(usize, usize, &mut [f32]) + Sync,
    sample_at: impl Fn([usize; 3]) -> Sample + Sync + Send,
    depth_at: &DepthAt,
) -> TriangleMesh {
    let signs = signs::SignBits::pack(lattice, fill_row);
    let mut slabs = parallel::map_indices(signs.size[2] - 1, |k| {
        dual::SlabCells::build(lattice, &signs, k, (&sample_at, depth_at))
    });
    let (mut positions, flags, first) = dual::join_vertices(&mut slabs);
    let triangles = dual::triangles(&signs, &slabs, &first, &positions);
    if params.smoothing_rounds > 0 {
        smooth::smooth(&mut positions, &flags, &triangles, params.smoothing_rounds);
    }
    TriangleMesh { positions, velocities: vec![], triangles }
}
