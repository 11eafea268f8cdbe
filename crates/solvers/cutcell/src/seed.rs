//! Liquid at the start: the fills' level set, and particles that share its volume.

use crate::CutCellSolver;
use crate::advect::beyond_open_walls;
use crate::state::Population;
use fluvial_cutcell::interpolation::PieceShape;
use fluvial_cutcell::mesh::CutCells;
use fluvial_foundation::{AXES, DVec3, Vec3, parallel};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Clamps, PressureReport};

/// Every piece has at least so many particles, or as many as the finest look finds.
const LEAST_PARTICLES: usize = 4;
/// Points along the edge of a cell at which drops are measured.
const SAMPLES: usize = 32;
/// Triangles of round solids lie so much deeper than their surface at most, in cells of the tracker.
const SAG: f32 = 0.25;
/// Looks for places of particles: points along the edges of the piece's box, times those by default. The first look is at the
/// cell instead, so that whole cells and large pieces have one pattern.
const LOOKS: [usize; 3] = [1, 2, 4];

impl CutCellSolver {
    pub(crate) fn place_liquid(&mut self) {
        let (setup, nodes, band) = (&self.setup, self.nodes, self.band_m());
        let (solids, fine_m) = (setup.solids_at(0.0), self.nodes.spacing);
        let closed = &self.boundary.closed_node;
        nodes.for_each_mut(&mut self.work.fields.phi_node, |n, [i, j, k], phi| {
            let x = nodes.position(i, j, k);
            let filled = match closed.get(n) {
                Some(true) => setup.fill_distance(x),
                _ => setup.fill_distance_beside(&solids, x, fine_m, None),
            };
            *phi = filled.max(beyond_open_walls(setup, x)).clamp(-band, band);
        });
        self.cut_cells(&mut Clamps::default());
        self.seed();
        self.sort_particles();
        self.find_drops();
        self.fill_drops();
        let u_face = &mut self.work.fields.u_face;
        for axis in AXES {
            let lattice = self.grid.faces(axis);
            lattice.for_each_mut(&mut u_face[axis], |_, [i, j, k], u| {
                let x = lattice.position(i, j, k);
                *u = self.setup.fill_velocity(x, self.grid.dx).unwrap_or_default()[axis];
            });
        }
        self.work.account.open(self.work.fields.population.total_m3());
        self.commit(0.0);
        self.state.steps = 0;
        let report = self.report(&self.state.fields, &self.state.account, PressureReport::default());
        self.state.kinetic_energy_j = report.kinetic_energy_j;
        self.state.limiting_speed_m_s = report.max_speed_m_s;
    }

    /// Gives the particles of drops what the fills hold in their cells, and the drops that volume: cut from the tracker, a
    /// drop of one of its cells' radius has a third of it.
    fn fill_drops(&mut self) {
        let (setup, dx) = (&self.setup, self.grid.dx);
        let solids = setup.solids_at(0.0);
        let work = &mut self.work;
        let Some(mesh) = work.mesh.as_ref() else { return };
        let held = |piece: usize| -> f64 {
            work.places
                .of(piece)
                .iter()
                .map(|&n| f64::from(work.fields.population.volume_m3[n as usize]))
                .sum()
        };
        let mut scale = vec![1.0; mesh.pieces.len()];
        for cell in 0..mesh.grid.cell_count() {
            let mut pieces = mesh.pieces_of(cell);
            let before_m3: f64 = pieces.clone().map(held).sum();
            if before_m3 == 0.0 || !pieces.any(|p| work.is_drop_body[work.bodies.of_piece[p] as usize]) {
                continue;
            }
            let inside = (0..SAMPLES.pow(3)).filter(|n| {
                let at = [n % SAMPLES, n / SAMPLES % SAMPLES, n / (SAMPLES * SAMPLES)];
                let within = (DVec3::from_array(at.map(|n| n as f64)) + 0.5) / SAMPLES as f64;
                let x = self.grid.min + (f64::from(dx) * (mesh.corner(cell) + within)).as_vec3();
                setup.fill_distance(x) < 0.0 && solids.distance(x, dx) > 0.0
            });
            let filled_m3 = inside.count() as f64 * (f64::from(dx) / SAMPLES as f64).powi(3);
            scale[mesh.pieces_of(cell)].fill(filled_m3 / before_m3);
        }
        let in_cells = |x: Vec3| (x - self.grid.min).as_dvec3() / f64::from(dx);
        let cell_m3 = f64::from(dx).powi(3);
        (work.drop_x, work.drop_volume) = (vec![], vec![]);
        let population = &mut work.fields.population;
        for (n, volume) in population.volume_m3.iter_mut().enumerate().filter(|(n, _)| work.is_drop[*n]) {
            *volume *= scale[work.places.piece_of[n] as usize] as f32;
            work.drop_x.push(in_cells(population.particles.x[n]));
            work.drop_volume.push(f64::from(*volume) / cell_m3);
        }
        self.take_out_drops();
        self.add_drops(&mut Clamps::default());
    }

    /// Fills every piece with particles of equal volume that have the piece's volume together.
    fn seed(&mut self) {
        let Some(mesh) = self.work.mesh.as_ref() else { return };
        let cell_m3 = self.cell_m3();
        let solids = self.setup.solids_at(0.0);
        let places = parallel::map_indices(mesh.pieces.len(), |piece| self.places_in(mesh, &solids, piece));
        let mut population = Population::default();
        for (piece, places) in mesh.pieces.iter().zip(&places) {
            let share = (piece.volume * cell_m3 / places.len() as f64) as f32;
            for &x in places.iter().filter(|_| share > 0.0) {
                let velocity = self.setup.fill_velocity(x, self.grid.dx).unwrap_or_default();
                population.push(x, velocity, share, self.is_affine());
            }
        }
        self.work.fields.population = population;
    }

    /// Places for a piece's particles: points of a lattice inside it, or its centre. None in a piece that fills hold less than half
    /// of: it is liquid's that was continued through a thin solid.
    fn places_in(&self, mesh: &CutCells, solids: &PlacedSolids, piece: usize) -> Vec<Vec3> {
        let corner = mesh.corner(mesh.pieces[piece].cell as usize);
        let is_full = mesh.pieces[piece].is_full;
        let mut shape = PieceShape::default();
        if !is_full {
            shape.gather(mesh, piece);
        }
        // Behind a thin solid phi is what it is before it: only what lies in a fill is liquid.
        let (has_solids, margin) = (
            self.boundary.has_solids(),
            if self.work.sides.is_beside[piece] { 0.0 } else { 0.05 * self.fine_m() },
        );
        let is_filled = |x: DVec3| {
            let x = self.in_world(x);
            !has_solids
                || self.setup.fill_distance(x) <= margin
                    && solids.distance(x, self.grid.dx) > -SAG * self.fine_m()
        };
        let (low, high) =
            shape.positions.iter().fold((corner + 1.0, corner), |(l, h), x| (l.min(*x), h.max(*x)));
        let mut found = vec![];
        for look in LOOKS {
            let (low, size) = if look == 1 { (corner, DVec3::ONE) } else { (low, high - low) };
            let per_axis = look * self.params.particles_per_axis();
            found.clear();
            let mut outside = 0;
            for n in 0..per_axis.pow(3) {
                let at = [n % per_axis, n / per_axis % per_axis, n / (per_axis * per_axis)];
                let x = low + size * (DVec3::from_array(at.map(|n| n as f64)) + 0.5) / per_axis as f64;
                if is_full && !has_solids {
                    found.push(self.in_world(x));
                } else if is_full || shape.boundary().contains(x) {
                    if is_filled(x) { found.push(self.in_world(x)) } else { outside += 1 }
                }
            }
            if found.len() < outside {
                return vec![];
            }
            let full = self.params.particles_per_axis().pow(3);
            if found.len() >= LEAST_PARTICLES.min(full) {
                break;
            }
        }
        if found.is_empty() && is_filled(mesh.pieces[piece].centroid) {
            found.push(self.in_world(mesh.pieces[piece].centroid));
        }
        found
    }
}
