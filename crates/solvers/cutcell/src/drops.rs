//! Liquid below the tracker's cells is made from its particles in every step.

use crate::CutCellSolver;
use crate::adapt::is_in_source;
use crate::advect::beyond_open_walls;
use crate::state::Work;
use fluvial_cutcell::drops::{LEAST_RADIUS, Parts, add_drops, ball_radius};
use fluvial_cutcell::mesh::NONE;
use fluvial_foundation::parallel;
use fluvial_solver_interface::Clamps;

impl CutCellSolver {
    /// Finds the bodies that are too small for the tracker and have their cells for themselves, but for those beside solids and in
    /// sources, whose shape is the source's: the first liquid of a jet, made from its particles, bulged out of its source by a third.
    pub(crate) fn find_drops(&mut self) {
        let (factor, boundary) = (self.factor() as f64, &self.boundary);
        let Work { mesh, bodies, places, is_drop_body, is_drop, nozzles, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        is_drop_body.clear();
        let is_small = |held: &f64| factor * ball_radius(*held) < LEAST_RADIUS;
        is_drop_body.extend(bodies.held.iter().map(is_small));
        for (n, body) in bodies.of_piece.iter().enumerate() {
            let is_near_solid = boundary.is_near_cell(mesh.pieces[n].cell as usize);
            is_drop_body[*body as usize] &= !is_near_solid && !is_in_source(mesh, nozzles, n);
        }
        // A body that meets another one's liquid in a cell is about to join it: none of the two is taken apart.
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for (piece, of) in mesh.pieces.iter().enumerate() {
                let body = bodies.of_piece[piece] as usize;
                let mut others = mesh.pieces_of(of.cell as usize).map(|p| bodies.of_piece[p] as usize);
                if is_drop_body[body] && others.any(|other| !is_drop_body[other]) {
                    (is_drop_body[body], is_settled) = (false, false);
                }
            }
        }
        is_drop.clear();
        let body_of = |piece: u32| bodies.of_piece[piece as usize] as usize;
        is_drop.extend(places.piece_of.iter().map(|&piece| piece != NONE && is_drop_body[body_of(piece)]));
    }

    /// Takes the drops out of the level set before it is carried.
    pub(crate) fn take_out_drops(&mut self) {
        let is_drop_body = std::mem::take(&mut self.work.is_drop_body);
        self.erase_bodies(&is_drop_body);
        self.work.is_drop_body = is_drop_body;
    }

    /// Lists the particles that the carried level set does not hold: those of drops, and those that it has lost, which lie
    /// farther outside of it than their own radius.
    pub(crate) fn find_lost(&mut self, clamps: &mut Clamps) {
        let (nodes, factor, grid, cell_m3) = (self.nodes, self.factor(), self.grid, self.cell_m3());
        let dx = f64::from(grid.dx);
        let (boundary, setup) = (&self.boundary, &self.setup);
        let Work { fields, is_drop, drop_x, drop_volume, .. } = &mut self.work;
        let (x, volume) = (&fields.population.particles.x, &fields.population.volume_m3);
        let phi = &fields.phi_node;
        let in_cells = |n: usize| (x[n] - grid.min).as_dvec3() / dx;
        let radius = |n: usize| ball_radius(f64::from(volume[n]) / cell_m3);
        let is_outside: Vec<bool> = parallel::map_indices(x.len(), |n| {
            let least = if is_drop[n] { 0.0 } else { radius(n) };
            let there = boundary.sample(phi, (&nodes, factor), in_cells(n));
            beyond_open_walls(setup, x[n]) <= 0.0 && there.is_none_or(|phi| f64::from(phi) / dx > least)
        });
        drop_x.clear();
        drop_volume.clear();
        let mut lost = 0;
        for n in (0..x.len()).filter(|&n| is_outside[n]) {
            lost += !is_drop[n] as usize;
            drop_x.push(in_cells(n));
            drop_volume.push(f64::from(volume[n]) / cell_m3);
        }
        clamps.add("drop_restored", lost);
    }

    /// Adds the drops to the carried level set.
    pub(crate) fn add_drops(&mut self, clamps: &mut Clamps) {
        let (nodes, factor) = (self.nodes, self.factor());
        let Work { fields, drop_x, drop_volume, .. } = &mut self.work;
        let parts = Parts { x: drop_x, volume: drop_volume };
        let [_, missed] = add_drops(&mut fields.phi_node, (&nodes, factor), &parts);
        clamps.add("drop_size", missed);
    }
}
