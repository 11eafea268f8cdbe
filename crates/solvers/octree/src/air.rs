//! The air at the surface: velocity that carries the surface must not make or lose volume there.

use crate::OctreeSolver;
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_octree::divergence::signed_area;

impl OctreeSolver {
    /// The start's velocity, made divergence-free in the air cells at the surface.
    ///
    /// The surface runs through those cells, so what flows out of them is volume made or lost: averages of neighbours diverge
    /// there wherever the flow does, e.g. all along a spreading front. The excess goes to the faces that lead away from the
    /// surface; their values carry nothing else. Faces between sizes keep theirs.
    pub(crate) fn balance_surface_air(&mut self) {
        let (tree, area) = (self.state.fields.tree.clone(), &self.state.boundaries.open_area);
        let (start, closed) = (&self.work.start, &self.state.boundaries.closed_cell);
        let (mut u, mut is_air) =
            (std::mem::take(&mut self.work.u_transport), std::mem::take(&mut self.work.surface_air));
        u.clone_from(&start.u_face);
        is_air.resize(tree.cell_count(), false);
        let phi = &start.phi_cell;
        parallel::for_each_chunk_mut(&mut is_air, CHUNK, |n, marks| {
            for (i, mark) in marks.iter_mut().enumerate() {
                let cell = n * CHUNK + i;
                *mark = phi[cell] >= 0.0 && phi[cell] < 1.1 * tree.cell_dx(cell) && !closed[cell] && {
                    let mut wet = false;
                    tree.for_neighbours(cell, |other| wet |= phi[other] < 0.0);
                    wet
                };
            }
        });
        let (u_face, marks) = (&u, &is_air);
        let excesses = map_indices(chunk_count(marks.len(), CHUNK), |n| {
            let marked = chunk_range(n, CHUNK, marks.len()).filter(|&cell| marks[cell]);
            let excess = |cell: usize| {
                let dx = tree.cell_dx(cell) as f64;
                let out = |(side, &face): (usize, &u32)| {
                    -signed_area(dx, side) * (area[face as usize] * u_face[face as usize]) as f64
                };
                (cell, tree.cell_faces()[cell].iter().enumerate().map(out).sum::<f64>())
            };
            marked.map(excess).collect::<Vec<_>>()
        });
        for (cell, excess_m3_s) in excesses.into_iter().flatten() {
            let dx = tree.cell_dx(cell) as f64;
            let leads_away = |face: usize| {
                let others = || tree.cells_beside(face).filter(|&other| other != cell);
                area[face] > 0.0
                    && !tree.is_junction(face)
                    && others().count() == 1
                    && others().all(|other| phi[other] >= 0.0 && !is_air[other])
            };
            let faces = tree.cell_faces()[cell].map(|face| face as usize);
            let open: f64 = faces.iter().filter(|&&f| leads_away(f)).map(|&f| area[f] as f64).sum();
            if open > 0.0 {
                let change = (excess_m3_s / (open * dx * dx)) as f32;
                for (side, &face) in faces.iter().enumerate() {
                    if leads_away(face) {
                        u[face] -= if side % 2 == 1 { change } else { -change };
                    }
                }
            }
        }
        (self.work.u_transport, self.work.surface_air) = (u, is_air);
    }
}
