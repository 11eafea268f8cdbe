//! The mesh of a liquid with particles: its level set where it stands for them, and the particles themselves elsewhere.

use crate::UniformSolver;
use crate::state::State;
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_particles::mark_near;
use fluvial_surface::{Bells, MeshParams, Piece, VolumeToFit, add_pieces, fit_to_volume, without_shreds};
use std::borrow::Cow;

/// The mesh is moved by at most this, until its volume is this near to its mass's, in so many rounds.
const FARTHEST_DRAWN_CELLS: f64 = 0.4;
const CLOSE_ENOUGH_DRAWN: f64 = 2e-3;
const DRAWING_ROUNDS: usize = 2;
/// Vertices of the mesh this near to the level set's zero lie on it, and may be moved by so much; in cells.
const ON_SURFACE_CELLS: f32 = 0.25;
const GIVEN_BY_MESH_CELLS: f32 = 0.5;

/// What is drawn as one surface: its level set, and the cells that it reaches.
pub(crate) struct DrawnPart<'a> {
    phi_cell: Cow<'a, [f32]>,
    near_cell: Vec<u8>,
}

impl UniformSolver {
    /// All of the level set.
    pub(crate) fn whole_part(&self) -> DrawnPart<'_> {
        self.part(Cow::Borrowed(&self.state.fields.phi_cell))
    }

    /// The level set without the shreds that it tears thin liquid into.
    pub(crate) fn part_without_shreds(&self) -> DrawnPart<'_> {
        self.part(Cow::Owned(without_shreds(&self.state.fields.phi_cell, &self.grid.cell_centers())))
    }

    fn part<'a>(&self, phi_cell: Cow<'a, [f32]>) -> DrawnPart<'a> {
        let mut near_cell = vec![];
        if self.params.has_particles() {
            mark_near(&mut near_cell, &phi_cell, &self.grid);
        }
        DrawnPart { phi_cell, near_cell }
    }

    /// The level set as it is drawn: with particles, moved along its normal by one distance so that the mesh
    /// outside the solids has the volume of the particles that are not drawn by themselves. The mesh cuts the corners of liquid
    /// that is a cell thick, and draws less than there is under phi.
    pub(crate) fn drawn_phi<'a>(&self, part: &'a DrawnPart) -> Cow<'a, [f32]> {
        let phi = &part.phi_cell;
        if !self.params.has_particles() {
            return Cow::Borrowed(phi);
        }
        let (state, dx) = (&self.state, self.grid.dx as f64);
        let wanted_m3 = self.drawn_as_one_m3(part);
        let shifted = |way: f64| -> Vec<f32> { phi.iter().map(|phi| phi - (way * dx) as f32).collect() };
        let drawn_m3 = |way: f64| self.mesh(&shifted(way), &MeshParams::default()).volume();
        let area_m2 = self.surface_area_m2(phi, &part.near_cell, &state.boundaries.solids);
        let mut known = (0.0, drawn_m3(0.0));
        let mut way = (wanted_m3 - known.1) / (area_m2 * dx).max(f64::MIN_POSITIVE);
        for _ in 0..DRAWING_ROUNDS {
            way = way.clamp(-FARTHEST_DRAWN_CELLS, FARTHEST_DRAWN_CELLS);
            if (wanted_m3 - known.1).abs() < CLOSE_ENOUGH_DRAWN * wanted_m3 || way == known.0 {
                break;
            }
            let last = std::mem::replace(&mut known, (way, drawn_m3(way)));
            let slope = (known.1 - last.1) / (known.0 - last.0);
            way += if slope > 0.0 { (wanted_m3 - known.1) / slope } else { 0.0 };
        }
        if known.0 == 0.0 { Cow::Borrowed(phi) } else { Cow::Owned(shifted(known.0)) }
    }

    /// Volume of the liquid whose particles are not drawn by themselves, m3.
    fn drawn_as_one_m3(&self, part: &DrawnPart) -> f64 {
        let State { particles, volume, .. } = &self.state;
        let alone = particles.x.iter().filter(|x| self.is_drawn_alone(**x, part)).count();
        volume.volume_m3 - self.particle_m3() * alone as f64
    }

    /// Moves the vertices of the drawn surface until it has the volume of its particles: where the liquid is a few
    /// cells thick no level of phi has it.
    pub(crate) fn fit_mesh(&self, mesh: &mut TriangleMesh, drawn_phi: &[f32], part: &DrawnPart) {
        let (cells, dx) = (self.grid.cell_centers(), self.grid.dx);
        let on_surface = |x: &Vec3| cells.sample(drawn_phi, *x).abs() < ON_SURFACE_CELLS * dx;
        let half_m = |x: &Vec3| if on_surface(x) { GIVEN_BY_MESH_CELLS * dx } else { 0.0 };
        let half_m: Vec<f32> = mesh.positions.iter().map(half_m).collect();
        let (lacking_cell, wanted_m3) = (vec![0.0; cells.len()], self.drawn_as_one_m3(part));
        let cells = Bells { cells: &cells, sums: 1 };
        fit_to_volume(mesh, &half_m, VolumeToFit { cells: &cells, lacking_cell, wanted_m3 });
    }

    /// Is a particle at x drawn by itself? One that flies is, and one whose ball lies outside the surface: a film
    /// thinner than the grid can draw.
    fn is_drawn_alone(&self, x: Vec3, part: &DrawnPart) -> bool {
        let radius_m = (0.75 / std::f64::consts::PI * self.particle_m3()).cbrt() as f32;
        self.flies(x, &part.near_cell) || self.grid.cell_centers().sample(&part.phi_cell, x) > radius_m
    }

    /// Adds the particles that are drawn by themselves to a mesh of the rest, each with its own volume.
    pub(crate) fn draw_particles(&self, mesh: &mut TriangleMesh, part: &DrawnPart) {
        let (particles, grid) = (&self.state.particles, &self.grid);
        let all = particles.x.iter().zip(&particles.v).map(|(&x, &v)| (x, v));
        let alone = all.filter(|(x, _)| self.is_drawn_alone(*x, part));
        let pieces: Vec<Piece> =
            alone.map(|(x, v)| Piece::flying(x, v, self.particle_m3(), grid.dx)).collect();
        add_pieces(mesh, &pieces, grid.bounds());
    }
}
