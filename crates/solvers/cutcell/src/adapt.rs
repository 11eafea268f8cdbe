//! Cells follow the liquid: they are cut anew in every step, and particles find their pieces.

use crate::CutCellSolver;
use crate::state::Work;
use fluvial_cutcell::cut::cut;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::tracker::{LocalShift, local_shifts};
use fluvial_foundation::{DVec3, parallel};
use fluvial_solids::Nozzle;
use fluvial_solver_interface::Clamps;

/// A surface that does not have its body's volume is displaced by this much a step at most, in cells of the tracker.
const MOST_SHIFT: f64 = 0.25;
/// Displacements of a neighbourhood below this, in cells, are left to its body: particles enter and leave cells in layers.
const IGNORED_SHIFT: f64 = 0.1;
/// Part of the rest that a step displaces.
const SHIFT_PART: f64 = 0.5;

impl CutCellSolver {
    /// Cuts the cells along the step's surface, sorts the particles into pieces, and finds how far every body's surface must
    /// move to hold what its particles hold.
    pub(crate) fn cut(&mut self, clamps: &mut Clamps) {
        self.cut_cells(clamps);
        self.remove_empty_bodies(clamps);
        self.take_out_empty_pieces();
        self.find_drops();
        let most = MOST_SHIFT / self.factor() as f64;
        let rule = LocalShift { ignored: IGNORED_SHIFT, part: SHIFT_PART, most };
        let cell_m3 = self.cell_m3();
        let Work {
            mesh, fields, places, x_in_cells, bodies, shift_body, local_cell, held_cell, nozzles, ..
        } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        held_cell.clear();
        held_cell.resize(mesh.grid.cell_count(), 0.0);
        for (n, &piece) in places.piece_of.iter().enumerate().filter(|(_, piece)| **piece != NONE) {
            let volume = f64::from(fields.population.volume_m3[n]) / cell_m3;
            let own = mesh.pieces[piece as usize].cell as usize;
            let is_whole = self.boundary.is_near_cell(own);
            share_cube(mesh.grid.cells, (x_in_cells[n], volume), |cell, part| {
                let takes =
                    !is_whole && !mesh.pieces_of(cell).is_empty() && !self.boundary.is_near_cell(cell);
                held_cell[if takes { cell } else { own }] += part;
            });
        }
        // In a source the shape is the source's, whatever its particles hold on their way through it.
        for piece in (0..mesh.pieces.len()).filter(|&p| is_in_source(mesh, nozzles, p)) {
            let cell = mesh.pieces[piece].cell as usize;
            held_cell[cell] = mesh.pieces_of(cell).map(|p| mesh.pieces[p].volume).sum();
        }
        local_shifts(local_cell, mesh, held_cell, &rule);
        clamps.add("local_shift", local_cell.iter().filter(|s| **s != 0.0).count());
        clamps.add("surface_shift", bodies.shifts(shift_body, mesh, local_cell, most));
    }

    /// Cuts the cells along the step's surface and sorts the particles into pieces.
    pub(crate) fn cut_cells(&mut self, clamps: &mut Clamps) {
        self.continue_into_solids();
        let factor = self.factor();
        let work = &mut self.work;
        let phi = if self.boundary.has_solids() { &work.phi_cut } else { &work.fields.phi_node };
        let tracker = Tracker { grid: self.grid, factor, phi_node: phi };
        let mesh = cut(&tracker, &self.boundary.triangles, &mut work.cut);
        clamps.add("tracker_node", mesh.clamped_vertices);
        work.sides.find(&mesh);
        work.mesh = Some(mesh);
        self.sort_particles();
    }

    /// Finds the piece of every particle and the volumes of bodies.
    pub(crate) fn sort_particles(&mut self) {
        let (grid, cell_m3) = (self.grid, self.cell_m3());
        let Work { mesh, fields, places, bodies, x_in_cells, sides, nozzles, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let population = &fields.population;
        x_in_cells.clear();
        x_in_cells.resize(population.particles.len(), Default::default());
        parallel::for_each_indexed_mut(x_in_cells, |n, x| {
            *x = (population.particles.x[n] - grid.min).as_dvec3() / f64::from(grid.dx);
        });
        places.find(mesh, sides, x_in_cells);
        let volume = |p: u32| f64::from(population.volume_m3[p as usize]) / cell_m3;
        bodies.find(mesh, places, volume, |piece| is_in_source(mesh, nozzles, piece));
    }

    /// Finds where pressures live.
    pub(crate) fn find_iso_distances(&mut self, clamps: &mut Clamps) {
        let factor = self.factor();
        let Work { mesh, fields, phi_cut, iso, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let phi_node = if self.boundary.has_solids() { &*phi_cut } else { &fields.phi_node };
        iso.find(mesh, &Tracker { grid: self.grid, factor, phi_node });
        clamps.add("dropped_piece", iso.dropped);
        clamps.add("missed_ray", iso.missed_rays);
        clamps.add("floored_face", iso.floored_faces);
    }

    /// Bodies that no particle is in hold nothing: they are taken out of the level set.
    pub(crate) fn remove_empty_bodies(&mut self, clamps: &mut Clamps) {
        let is_empty: Vec<bool> = self.work.bodies.held.iter().map(|held| *held == 0.0).collect();
        clamps.add("empty_body", is_empty.iter().filter(|e| **e).count());
        self.erase_bodies(&is_empty);
    }

    /// Takes bodies out of the level set, but for cells that others have liquid in.
    pub(crate) fn erase_bodies(&mut self, is_gone: &[bool]) {
        let (factor, nodes, fine_m) = (self.factor(), self.nodes, self.fine_m());
        let Work { mesh, fields, bodies, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let is_gone = |piece: usize| is_gone[bodies.of_piece[piece] as usize];
        for piece in (0..mesh.pieces.len()).filter(|&p| is_gone(p)) {
            let cell = mesh.pieces[piece].cell as usize;
            if !mesh.pieces_of(cell).all(is_gone) {
                continue;
            }
            let [i, j, k] = mesh.grid.cell_centers().coordinates(cell);
            let ranges = [i, j, k].map(|n| n * factor..=(n + 1) * factor);
            for (a, b, c) in ranges[2].clone().flat_map(|c| {
                let x = ranges[0].clone();
                ranges[1].clone().flat_map(move |b| x.clone().map(move |a| (a, b, c)))
            }) {
                let phi = &mut fields.phi_node[nodes.index(a, b, c)];
                *phi = phi.max(0.5 * fine_m);
            }
        }
    }
}

/// Does the middle of a piece lie in a source?
pub(crate) fn is_in_source(mesh: &CutCells, nozzles: &[Nozzle], piece: usize) -> bool {
    let middle = || mesh.in_world(mesh.pieces[piece].centroid).as_vec3();
    !nozzles.is_empty() && CutCellSolver::prescribed(nozzles, middle()).is_some()
}

/// Tells how a cube of a volume about a place, in cells, lies in cells of the grid: parts of the volume that add up to it. Counted in
/// whole particles, a layer of them that passes from one cell to the next would be a quarter of a cell of surface.
pub(crate) fn share_cube(size: [usize; 3], (x, volume): (DVec3, f64), mut tell: impl FnMut(usize, f64)) {
    let half = (0.5 * volume.cbrt()).min(0.5);
    let spans: [[(usize, f64); 2]; 3] = std::array::from_fn(|a| {
        let inside = |x: f64| (x.max(0.0) as usize).min(size[a] - 1);
        let (low, high) = (inside(x[a] - half), inside(x[a] + half));
        let part = if low == high { 1.0 } else { (high as f64 - (x[a] - half)) / (2.0 * half) };
        [(low, part), (high, 1.0 - part)]
    });
    let [along_x, along_y, along_z] = spans;
    for (k, c) in along_z {
        for (j, b) in along_y {
            for (i, a) in along_x.into_iter().filter(|a| a.1 * b * c > 0.0) {
                tell(i + size[0] * (j + size[1] * k), a * b * c * volume);
            }
        }
    }
}
