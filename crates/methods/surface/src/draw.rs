//! All of the liquid drawn: its mesh fitted to its volume, and what is too thin for the mesh beside it.

use crate::film::{WallFilm, add_wall_films};
use crate::fit::{Neighbourhoods, VolumeToFit, fit_to_volume, room_around};
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::{TriangleMesh, add_lens};

/// Less than this is not drawn by itself, in the cell's volume.
const LEAST_DRAWN: f32 = 1e-4;
/// Lenses are as wide as a cell and a little more, so that those of neighbours overlap; in cells.
const LENS_RADIUS_CELLS: f32 = 0.6;

/// Where liquid that the mesh knows nothing of is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Centre of the cell's liquid, metres.
    pub center: Vec3,
    /// The cell's edge.
    pub dx: f32,
    /// The wall that a film of it lies on: axis, and whether it is the high one.
    pub wall: Option<(Axis, bool)>,
    /// Across a film in the air or on a solid.
    pub normal: Vec3,
    /// Velocity, m/s.
    pub velocity: Vec3,
}

/// Makes a mesh with velocities enclose `wanted_m3`.
///
/// `lacking_cell` is what each cell holds beyond what the mesh encloses of it, m3. Films on walls are slabs, liquid
/// far from the mesh is lenses; everything else moves the vertices around, see [`fit_to_volume`], where `half_m` is
/// half the thickness of the liquid at each vertex, 0 where one must stay.
/// Test: `what_has_no_mesh_is_drawn_beside_it`.
pub fn draw_volume<N: Neighbourhoods>(
    mesh: &mut TriangleMesh,
    half_m: &[f32],
    to: VolumeToFit<N>,
    place: impl Fn(usize) -> Place,
) {
    let VolumeToFit { cells, mut lacking_cell, wanted_m3 } = to;
    let room_cell = room_around(mesh, half_m, lacking_cell.len(), cells);
    let mut around_cell = lacking_cell.clone();
    cells.spread(&mut around_cell);
    let (mut films, mut beside) = (vec![], TriangleMesh::default());
    for (cell, lacking) in lacking_cell.iter_mut().enumerate().filter(|(_, lacking)| **lacking > 0.0) {
        let Place { center, dx, wall, normal, velocity } = place(cell);
        if *lacking < LEAST_DRAWN * dx.powi(3) {
            continue;
        }
        if let Some(wall) = wall {
            films.push(WallFilm { wall, center, dx, volume_m3: std::mem::take(lacking), velocity });
        } else if room_cell[cell] < around_cell[cell] {
            let volume_m3 = f64::from(std::mem::take(lacking));
            add_lens(&mut beside, center, normal, velocity, volume_m3, LENS_RADIUS_CELLS * dx);
        }
    }
    let (domain, finest_dx) = cells.domain();
    add_wall_films(&mut beside, &films, domain, finest_dx);
    // A lens at a wall is cut off there; the mesh around makes up for it.
    beside.positions.iter_mut().for_each(|x| *x = x.clamp(domain.min, domain.max));
    let wanted_m3 = wanted_m3 - beside.volume();
    fit_to_volume(mesh, half_m, VolumeToFit { cells, lacking_cell, wanted_m3 });
    mesh.append(beside);
}
