//! Liquid on a tree that the pressure throws out of the surface, see [`thrown_distance`].

use crate::gradient::{Geometry, PressureGradient};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::octree::Side;
use fluvial_grids::thrown_distance;

/// Cells whose column of liquid grows in the step, with the level set that the pressure sees there.
#[derive(Clone, Debug, Default)]
pub struct Thrown {
    cells: Vec<(u32, f32)>,
    /// Faces between them and air, and what the gradient's coefficients summed up to there.
    faces: Vec<(u32, f64)>,
}

/// A step's velocities before and after the projection, m/s.
#[derive(Clone, Copy, Debug)]
pub struct Projected<'a> {
    /// With gravity, without the push of a pressure on the surface.
    pub before: &'a [f32],
    /// What gravity added to it.
    pub gravity_m_s: Vec3,
    /// Free of divergence.
    pub after: &'a [f32],
    /// The impulse `p dt / rho` that made it so, m2/s.
    pub impulse_cell: &'a [f64],
}

impl Thrown {
    /// Forgets the last step's.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// How many cells there are; one that grows again counts again.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Is nothing thrown?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds the cells that the projection throws farther than their columns are long; returns how many there are.
    /// `seen` is the liquid as the pressure saw it.
    pub fn find(&mut self, seen: &Geometry, gradient: &PressureGradient, u: &Projected, dt_s: f64) -> usize {
        let known = self.cells.len();
        let chunks =
            parallel::map_indices(parallel::chunk_count(seen.phi_cell.len(), parallel::CHUNK), |n| {
                let cells = parallel::chunk_range(n, parallel::CHUNK, seen.phi_cell.len());
                cells.filter_map(|cell| Some((cell as u32, grown(seen, u, dt_s, cell)?))).collect::<Vec<_>>()
            });
        self.cells.extend(chunks.into_iter().flatten());
        self.faces.clear();
        for &(cell, _) in &self.cells[known..] {
            let at_surface = surface_faces(seen, cell as usize);
            self.faces.extend(at_surface.map(|(face, ..)| (face as u32, gradient.row_sum(seen, face))));
        }
        self.cells.len() - known
    }

    /// The level set with the columns as long as they have grown.
    pub fn show(&self, seen_cell: &mut [f32]) {
        self.cells.iter().for_each(|&(cell, phi)| seen_cell[cell as usize] = phi);
    }

    /// The push of a pressure on the surface is one half of a projection and changes with the distance to the surface as the other
    /// half does. `u` has it, `u_without_push` does not; `gradient` is that of the grown columns.
    pub fn scale_pushes(
        &self,
        u: &mut [f32],
        u_without_push: &[f32],
        seen: &Geometry,
        gradient: &PressureGradient,
    ) {
        for &(face, before) in &self.faces {
            let face = face as usize;
            if !u_without_push.is_empty() && before != 0.0 {
                let scale = (gradient.row_sum(seen, face) / before) as f32;
                u[face] = u_without_push[face] + scale * (u[face] - u_without_push[face]);
            }
        }
    }
}

/// The level set of a cell whose column grows.
fn grown(seen: &Geometry, u: &Projected, dt_s: f64, cell: usize) -> Option<f32> {
    let (phi, dx) = (seen.phi_cell[cell], seen.tree.cell_dx(cell));
    if !(phi < 0.0 && phi > -dx && u.impulse_cell[cell] > 0.0) {
        return None;
    }
    let gained = surface_faces(seen, cell).map(|(face, n)| {
        let axis = seen.tree.face_axis(face);
        n * (u.after[face] - (u.before[face] - u.gravity_m_s[axis]))
    });
    let (w, fall) = (gained.fold(0.0, f32::max), u.gravity_m_s.length());
    thrown_distance(phi, dx, w, fall, dt_s as f32 / dx)
}

/// The open faces between a cell and air alone, and the direction towards it.
fn surface_faces<'a>(seen: &'a Geometry, cell: usize) -> impl Iterator<Item = (usize, f32)> + 'a {
    let faces = seen.tree.cell_faces()[cell].map(|face| face as usize);
    faces.into_iter().enumerate().filter_map(move |(side, face)| {
        let is_air = match seen.tree.sides(face)[side % 2] {
            Side::Outside => false,
            Side::Cell(other) => seen.phi_cell[other as usize] >= 0.0,
            Side::Quad(others) => others.iter().all(|&other| seen.phi_cell[other as usize] >= 0.0),
        };
        let n = if side % 2 == 1 { 1.0 } else { -1.0 };
        (is_air && seen.open_area[face] > 0.0).then_some((face, n))
    })
}
