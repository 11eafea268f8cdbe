//! Draws all of the liquid: its mesh is fitted to its volume, and liquid too thin for the mesh is drawn beside it.

use crate::film::{WallFilm, add_wall_films};
use crate::fit::{Neighbourhoods, VolumeToFit, fit_to_volume, room_around};
use crate::pieces::{Piece, add_pieces};
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::TriangleMesh;

/// Smaller volumes are not drawn on their own; as a fraction of the cell's volume.
const LEAST_DRAWN: f32 = 1e-4;

/// Vertices nearer to a solid than this lie on it, cells.
const ON_SOLID_CELLS: f32 = 0.1;
/// Stencils of cells nearer to a solid than this reach into it, cells: by a cell along each axis.
const BESIDE_SOLID_CELLS: f32 = 1.75;
/// Cells farther from the surface than this hold what the mesh encloses, cells.
const FAR_CELLS: f32 = 3.0;

/// A cell whose liquid is drawn as a level set.
#[derive(Clone, Copy, Debug)]
pub struct DrawnCell {
    /// The cell's edge, metres.
    pub dx: f32,
    /// The level set at its centre, metres.
    pub phi: f32,
    /// The share of it that the level set stands for.
    pub fraction: f32,
    /// What it holds, in its volume.
    pub held: f32,
}

impl DrawnCell {
    /// The volume that a cell holds beyond what a mesh of the level set encloses of it, m3. `solid_m` away from solids the mesh
    /// encloses what the level set stands for, edges and all; elsewhere it cuts off what is sharper than cells and encloses
    /// `share` of the cell.
    pub fn lacking_m3(&self, solid_m: impl FnOnce() -> f32, share: impl FnOnce() -> f32) -> f32 {
        let DrawnCell { dx, phi, fraction, held } = *self;
        if phi.abs() >= FAR_CELLS * dx || held == 0.0 && phi >= dx {
            return 0.0;
        }
        let drawn = if solid_m() < BESIDE_SOLID_CELLS * dx { fraction } else { share() };
        // What a cell holds beyond its volume has no place in it.
        (held.min(1.0) - drawn) * dx.powi(3)
    }
}

/// Half the thickness of the liquid at a vertex in a cell of edge `dx`, `solid_m` away from solids: none where it lies on one,
/// and must not move.
pub fn half_thickness_m(solid_m: f32, dx: f32) -> f32 {
    if solid_m < ON_SOLID_CELLS * dx { 0.0 } else { 0.5 * dx }
}

/// Where and how a cell's liquid is drawn that the mesh does not enclose.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Centre of the cell's liquid, metres.
    pub center: Vec3,
    /// The cell's edge, metres.
    pub dx: f32,
    /// The wall that the liquid covers as a film: its axis, and whether it is the high one.
    pub wall: Option<(Axis, bool)>,
    /// Velocity, m/s.
    pub velocity: Vec3,
}

/// Makes a mesh with velocities enclose `wanted_m3`.
///
/// `lacking_cell` is the volume that each cell holds beyond what the mesh encloses of it, m3. Films on walls are
/// drawn as slabs and liquid far from the mesh as sheets, threads and drops ([`add_pieces`]); everything else is added by moving the vertices nearby, see
/// [`fit_to_volume`]; `drops`, which no cell holds, are drawn with the liquid around them. `half_m` is half the thickness of the liquid at each vertex, and 0 where a vertex must not move.
/// Test: `what_has_no_mesh_is_drawn_beside_it`.
pub fn draw_volume<N: Neighbourhoods>(
    mesh: &mut TriangleMesh,
    half_m: &[f32],
    to: VolumeToFit<N>,
    drops: impl Iterator<Item = Piece>,
    place: impl Fn(usize) -> Place,
) {
    let VolumeToFit { cells, mut lacking_cell, wanted_m3 } = to;
    let room_cell = room_around(mesh, half_m, lacking_cell.len(), cells);
    let mut around_cell = lacking_cell.clone();
    cells.spread(&mut around_cell);
    let (mut films, mut pieces) = (vec![], drops.collect::<Vec<_>>());
    for (cell, lacking) in lacking_cell.iter_mut().enumerate().filter(|(_, lacking)| **lacking > 0.0) {
        let Place { center, dx, wall, velocity } = place(cell);
        if *lacking < LEAST_DRAWN * dx.powi(3) {
            continue;
        }
        if let Some(wall) = wall {
            films.push(WallFilm { wall, center, dx, volume_m3: std::mem::take(lacking), velocity });
        } else if room_cell[cell] < around_cell[cell] {
            pieces.push(Piece { center, dx, volume_m3: std::mem::take(lacking), velocity });
        }
    }
    let (domain, finest_dx) = cells.domain();
    let mut beside = TriangleMesh::default();
    add_wall_films(&mut beside, &films, domain, finest_dx);
    add_pieces(&mut beside, &pieces, domain);
    let wanted_m3 = wanted_m3 - beside.volume();
    fit_to_volume(mesh, half_m, VolumeToFit { cells, lacking_cell, wanted_m3 });
    mesh.append(beside);
}
