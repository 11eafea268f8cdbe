//! Volume of the bodies of liquid on the tree: labels, measurement, descent, what crosses the domain's boundary. The
//! account itself and its controllers are `fluvial_volume`.

use crate::OctreeSolver;
use crate::state::{Boundaries, Start};
use fluvial_foundation::parallel::{self, chunk_count, chunk_range, map_indices};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_octree::divergence::signed_area;
use fluvial_octree::regions::label_regions;
use fluvial_octree::volume::liquid_fractions;
use fluvial_solver_interface::{Clamps, VolumeCorrection};
use fluvial_volume::{Account, Flux, Kinship, NO_BODY};

/// Steps in which a controller removes nine tenths of an error.
const CORRECTION_STEPS: f64 = 3.0;

impl OctreeSolver {
    /// Opens the account at the start.
    pub(crate) fn open_volume_account(&mut self) {
        let (tree, phi) = (self.state.fields.tree.clone(), std::mem::take(&mut self.state.fields.phi_cell));
        let boundaries = self.state.boundaries.clone();
        let mut account = self.measure_bodies(&tree, &phi, &boundaries, &Account::default());
        account.open(account.volume_m3);
        (self.state.fields.phi_cell, self.state.volume) = (phi, account);
    }

    /// Measures the bodies after sources and sinks have changed them; every body keeps its error. `mended_m3` is what
    /// flowing sources put back of their own bodies' losses.
    pub(crate) fn remeasure_bodies(&mut self, start: &mut Start, mended_m3: f64) {
        let (tree, boundaries) = (self.state.fields.tree.clone(), self.state.boundaries.clone());
        let mut new = self.measure_bodies(&tree, &start.phi_cell, &boundaries, &start.volume);
        let kin = kinship(&new, &start.volume, |cell| start.volume.label_cell[cell]);
        let source = start.tags.iter().position(|&tag| tag != 0);
        let mended = source.map(|cell| (new.body_of(cell), mended_m3));
        new.continue_from(&start.volume, &kin, mended);
        start.volume = new;
    }

    /// Measures what transport did to every body and sets the divergence that corrects it.
    pub(crate) fn control_volume(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let (tree, phi) = (self.work.fields.tree.clone(), std::mem::take(&mut self.work.fields.phi_cell));
        let boundaries = self.work.boundaries.clone();
        let old = std::mem::take(&mut self.work.start.volume);
        let mut new = self.measure_bodies(&tree, &phi, &boundaries, &old);
        let kin = kinship(&new, &old, |cell| self.body_before(&old, &tree, cell, dt_s));
        let mut flux = self.boundary_flux_m3_s(&old);
        let unknown_m3 = self.flights(&mut flux, &old.label_cell, dt_s);
        new.transported_from(&old, &kin, &flux, dt_s);
        let left_m3 = self.drops_left_m3();
        new.flying_m3 += unknown_m3 - left_m3;
        new.book_sources_and_sinks(0.0, left_m3);
        new.share_debt(self.shape.dx);
        if self.params.volume_correction != VolumeCorrection::Off {
            let held_back = new.set_divergence(dt_s, CORRECTION_STEPS, self.shape.dx);
            clamps.add("volume_correction_rate", held_back);
        }
        self.work.fields.phi_cell = phi;
        self.work.start.volume = old;
        self.work.volume = new;
    }

    /// Labels the bodies of `phi` and measures each; errors start at zero.
    fn measure_bodies(
        &mut self,
        tree: &Octree,
        phi: &[f32],
        boundaries: &Boundaries,
        old: &Account,
    ) -> Account {
        let mut new = old.totals();
        let mut fractions = std::mem::take(&mut self.work.fraction_cell);
        liquid_fractions(&mut fractions, tree, phi, self.open(boundaries));
        let regional = self.params.volume_correction == VolumeCorrection::Regional;
        let count =
            if regional { label_regions(&mut new.label_cell, tree, phi, &boundaries.open_area) } else { 1 };
        let labels = &new.label_cell;
        let parts = map_indices(chunk_count(fractions.len(), parallel::CHUNK), |n| {
            let mut volumes: Vec<(u32, f64, f32)> = Vec::new();
            for cell in chunk_range(n, parallel::CHUNK, fractions.len()) {
                if fractions[cell] > 0.0 {
                    let volume_m3 = fractions[cell] as f64 * (tree.cell_dx(cell) as f64).powi(3);
                    let label = if regional { body_of_cell(tree, cell, labels, phi) } else { 0 };
                    match volumes.last_mut() {
                        Some((last, sum, depth_m)) if *last == label => {
                            *sum += volume_m3;
                            *depth_m = depth_m.max(-phi[cell]);
                        }
                        _ => volumes.push((label, volume_m3, -phi[cell])),
                    }
                }
            }
            volumes
        });
        new.set_bodies(count, parts.into_iter().flatten());
        self.work.fraction_cell = fractions;
        new
    }

    /// The body that a new cell's liquid belonged to when the step began.
    fn body_before(&self, old: &Account, new_tree: &Octree, cell: usize, dt_s: f64) -> u32 {
        let tree = &self.state.fields.tree;
        let start = &self.work.start;
        let x = new_tree.cell_center(cell);
        let from = x - dt_s as f32 * start.tracing.v_cell[tree.locate(x).cell as usize];
        let bounds = tree.shape().bounds();
        let there = tree.locate(from.clamp(bounds.min, bounds.max)).cell as usize;
        body_of_cell(tree, there, &old.label_cell, &start.phi_cell)
    }

    /// Liquid that sources push in and that leaves through open walls, per body of the old account.
    fn boundary_flux_m3_s(&self, old: &Account) -> Vec<Flux> {
        let mut flux = vec![Flux::default(); old.bodies.len()];
        let (tree, start, area) =
            (&self.state.fields.tree, &self.work.start, &self.state.boundaries.open_area);
        for (cell, _) in start.tags.iter().enumerate().filter(|(_, tag)| **tag != 0) {
            if let Some(flux) = flux.get_mut(old.body_of(cell)) {
                let dx = tree.cell_dx(cell) as f64;
                for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
                    let u = (area[face as usize] * start.u_face[face as usize]) as f64;
                    flux.in_m3_s -= signed_area(dx, side) * u;
                }
            }
        }
        for (wall, _) in self.open_walls.iter().enumerate().filter(|(_, open)| **open) {
            let (axis, high) = (wall / 2, wall % 2);
            for face in tree.faces(axis) {
                let sides = tree.sides(face);
                let (Side::Outside, Side::Cell(cell)) = (sides[high], sides[1 - high]) else { continue };
                let (cell, dx) = (cell as usize, tree.face_dx(face));
                let wet = (0.5 - start.phi_cell[cell] / dx).clamp(0.0, 1.0) * area[face];
                let out = if high == 1 { start.u_face[face] } else { -start.u_face[face] };
                if wet > 0.0
                    && let Some(flux) = flux.get_mut(old.body_of(cell))
                {
                    flux.out_m3_s += (out * wet) as f64 * (dx as f64).powi(2);
                }
            }
        }
        flux
    }
}

/// Which old bodies the new ones come from.
fn kinship(new: &Account, old: &Account, body_before: impl Fn(usize) -> u32 + Sync + Send) -> Kinship {
    if old.bodies.is_empty() || new.bodies.is_empty() {
        return vec![];
    }
    if old.bodies.len() == 1 && new.bodies.len() == 1 {
        return vec![(0, 0)];
    }
    let cells = new.label_cell.len();
    let parts = map_indices(chunk_count(cells, parallel::CHUNK), |n| {
        let mut pairs: Kinship = vec![];
        for cell in chunk_range(n, parallel::CHUNK, cells) {
            let to = new.label_cell[cell];
            if to != NO_BODY {
                let from = body_before(cell);
                if from != NO_BODY && pairs.last() != Some(&(from, to)) {
                    pairs.push((from, to));
                }
            }
        }
        pairs
    });
    let mut pairs: Kinship = parts.into_iter().flatten().collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The body that a cell's liquid belongs to; cells beyond the surface belong to their wettest neighbour's.
pub(crate) fn body_of_cell(tree: &Octree, cell: usize, labels: &[u32], phi: &[f32]) -> u32 {
    if labels[cell] != NO_BODY {
        return labels[cell];
    }
    let mut best = (f32::INFINITY, NO_BODY);
    for &face in &tree.cell_faces()[cell] {
        for other in tree.cells_beside(face as usize) {
            if labels[other] != NO_BODY && phi[other] < best.0 {
                best = (phi[other], labels[other]);
            }
        }
    }
    best.1
}
