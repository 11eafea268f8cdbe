//! Walls and solids on the tree.

use crate::state::{Boundaries, Ground, GroundScratch, Model, Step};
use crate::thin::{FineSolids, ThinSolids};
use fluvial_foundation::parallel;
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_octree::bodies::close_films;
use fluvial_octree::fractions::{
    FractionsScratch, Kinks, close_walls, measure_kinks, open_fractions, solid_velocity,
};
use fluvial_octree::friction::rough_patches;
use fluvial_octree::owed::swept_parts;
use fluvial_octree::parting::parting_cells;
use fluvial_solids::{PlacedSolids, SMALLEST_OPEN_AREA};
use std::sync::Arc;

/// Solids' distances are true up to this many cells.
const SOLID_BAND_CELLS: f32 = 3.0;
/// Nodes nearer than this part of a cell to a solid's surface lie on it, see `fluvial_solids::rasterize`.
const ON_SURFACE_CELLS: f32 = 1e-3;

impl Step<'_> {
    /// Walls, solids and sources on the next tree at the end of the step.
    pub fn ground<'b>(
        &self,
        tree: &'b Arc<Octree>,
        thin: &ThinSolids,
        scratch: &'b mut GroundScratch,
    ) -> Ground<'b> {
        scratch.boundaries = self.boundaries(tree, &thin.fine, &mut scratch.fractions);
        let GroundScratch { boundaries, sources, u_boundary, .. } = &mut *scratch;
        self.place_sources(tree, boundaries, sources, u_boundary);
        scratch.on(tree)
    }

    /// Walls and solids on the next tree at the end of the step; those of the state where neither has
    /// changed.
    fn boundaries(
        &self,
        tree: &Arc<Octree>,
        fine: &Option<Arc<FineSolids>>,
        scratch: &mut FractionsScratch,
    ) -> Arc<Boundaries> {
        if !self.model.setup.has_moving_solids() && Arc::ptr_eq(tree, &self.old.fields.tree) {
            return self.old.boundaries.clone();
        }
        let moves = self.model.setup.has_moving_solids();
        let known = (!moves).then_some((&*self.old.fields.tree, &self.old.boundaries.kinks));
        let time_s = self.old.time_s + self.dt_s;
        let mut new = self.model.boundaries_on(tree, time_s, (fine.clone(), known), scratch);
        if moves {
            let old = (&*self.old.fields.tree, &self.old.boundaries.open_volume[..]);
            new.swept_part_cell = swept_parts(old, (tree, &new.open_volume));
        }
        Arc::new(new)
    }
}

impl Model {
    /// Finds the faces that bodies close. What they cover of the domain's walls is the walls', which do not move.
    fn find_body_faces(&self, out: &mut Boundaries, tree: &Octree, solids: &PlacedSolids) {
        if self.body_of_solid.iter().all(Option::is_none) {
            return;
        }
        let (shape, area) = (tree.shape(), &out.open_area);
        let reach = SOLID_BAND_CELLS * shape.dx_of(shape.levels - 1);
        let chunks = parallel::chunk_count(tree.face_count(), parallel::CHUNK);
        let found = parallel::map_indices(chunks, |n| {
            let faces = parallel::chunk_range(n, parallel::CHUNK, tree.face_count());
            let body = |face: usize| {
                let x = tree.face_center(face, tree.face_axis(face));
                let number = (area[face] < 1.0).then(|| solids.nearest_solid(x, reach))??.0;
                Some((face as u32, self.body_of_solid[number]?))
            };
            faces.filter_map(body).collect::<Vec<_>>()
        });
        let open_walls = self.setup.open_walls();
        for (face, body) in found.into_iter().flatten() {
            let (axis, sides) = (tree.face_axis(face as usize), tree.sides(face as usize));
            if !(0..2).any(|n| sides[n] == Side::Outside && !open_walls[2 * axis + n]) {
                out.body_faces.push((face, body));
            }
        }
        let closed = close_films(&mut out.open_area, &out.open_volume, &out.body_faces, tree);
        out.snapped_faces += closed;
    }

    /// What walls and solids leave of a tree at a moment; `known` are kinks of solids in the same place.
    pub fn boundaries_on(
        &self,
        tree: &Octree,
        time_s: f64,
        (fine, known): (Option<Arc<FineSolids>>, Option<(&Octree, &Kinks)>),
        scratch: &mut FractionsScratch,
    ) -> Boundaries {
        let mut out = Boundaries { fine, ..Boundaries::default() };
        let (solids, closed) = (self.setup.solids_at(time_s), self.setup.open_walls().map(|open| !open));
        if solids.is_empty() {
            out.open_area = vec![1.0; tree.face_count()];
            out.open_volume = vec![1.0; tree.cell_count()];
            out.u_solid = vec![0.0; tree.face_count()];
        } else {
            let shape = tree.shape();
            out.phi_solid_node = parallel::map_indices(tree.node_count(), |node| {
                let dx = shape.dx_of(tree.nodes()[node].level as usize);
                let phi = solids.distance(tree.node_position(node), 2.0 * SOLID_BAND_CELLS * dx);
                if phi.abs() < ON_SURFACE_CELLS * dx { 0.0 } else { phi }
            });
            out.phi_solid_cell = parallel::map_indices(tree.cell_count(), |cell| {
                solids.distance(tree.cell_center(cell), f32::MAX)
            });
            open_fractions(&mut out.open_area, &mut out.open_volume, tree, &out.phi_solid_node, scratch);
            let (area, volume) = (&mut out.open_area, &mut out.open_volume);
            out.kinks = measure_kinks(area, volume, tree, &out.phi_solid_node, &solids, known);
            out.open_on_sides(tree);
            let (reach, area) = (SOLID_BAND_CELLS * shape.dx_of(shape.levels - 1), &mut out.open_area);
            for open in area.iter_mut().filter(|open| **open > 0.0 && **open < SMALLEST_OPEN_AREA) {
                (*open, out.snapped_faces) = (0.0, out.snapped_faces + 1);
            }
            solid_velocity(&mut out.u_solid, tree, (area, closed), |x| solids.velocity(x, reach));
        }
        if self.setup.has_friction() {
            let solid = |x, dx| self.setup.rough_solid(&solids, x, 2.0 * dx);
            out.rough = rough_patches(tree, &out.open_area, self.setup.wall_friction(), solid);
        }
        close_walls(&mut out.open_area, tree, closed);
        self.find_body_faces(&mut out, tree, &solids);
        let (holds_wall, sticky) = (self.setup.sticky_walls(), self.setup.sticky_solids_at(time_s));
        let holds = |x, dx| sticky.distance(x, dx) < dx;
        out.may_part_cell = parting_cells(tree, &out.open_area, holds_wall, holds);
        let area = &out.open_area;
        out.closed_cell =
            tree.cell_faces().iter().map(|faces| faces.iter().all(|&f| area[f as usize] == 0.0)).collect();
        out
    }
}
