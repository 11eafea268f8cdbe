//! Volume of the bodies of liquid: which of them are measured, when, and what is booked. Their numerics on
//! the tree are `fluvial_octree::{regions, flux}`, the account itself and its controllers `fluvial_volume`.

use crate::particles::Flights;
use crate::state::{Boundaries, Ground, Model, SourcesOnTree, Start, Step};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_octree::advect::Transport;
use fluvial_octree::flux::wall_outflow;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::regions::{body_of_cell, label_regions, measure_bodies};
use fluvial_octree::volume::liquid_fractions;
use fluvial_solver_interface::{Clamps, VolumeCorrection};
use fluvial_volume::{Account, Flux, kinship};

/// Steps in which a controller removes nine tenths of an error.
const CORRECTION_STEPS: f64 = 3.0;

impl Model {
    /// Labels the bodies of `phi` and measures each; errors start at zero.
    pub fn measure_bodies(
        &self,
        fraction_cell: &mut Vec<f32>,
        tree: &Octree,
        phi: &[f32],
        boundaries: &Boundaries,
        old: &Account,
    ) -> Account {
        let mut new = old.totals();
        liquid_fractions(fraction_cell, tree, phi, self.open(boundaries));
        let regional = self.params.volume_correction == VolumeCorrection::Regional;
        let count =
            if regional { label_regions(&mut new.label_cell, tree, phi, &boundaries.open_area) } else { 1 };
        let labels = regional.then_some(&new.label_cell[..]);
        let bodies = measure_bodies(tree, phi, fraction_cell, labels);
        new.set_bodies(count, bodies);
        new
    }
}

impl Step<'_> {
    /// Measures the bodies after sinks have changed them; every body keeps its error.
    pub fn remeasure_bodies(&self, start: &mut Start, fraction_cell: &mut Vec<f32>) {
        let (tree, boundaries) = (&self.old.fields.tree, &self.old.boundaries);
        let mut new =
            self.model.measure_bodies(fraction_cell, tree, &start.phi_cell, boundaries, &start.volume);
        let kin = kinship(&new, &start.volume, |cell| start.volume.label_cell[cell]);
        new.continue_from(&start.volume, &kin);
        start.volume = new;
    }

    /// Labels and measures the bodies after transport, on the next tree.
    pub fn bodies(
        &self,
        fraction_cell: &mut Vec<f32>,
        start: &Start,
        ground: Ground,
        phi: &[f32],
    ) -> Account {
        self.model.measure_bodies(fraction_cell, ground.tree, phi, ground.boundaries, &start.volume)
    }

    /// Finds what transport did to every body and sets the divergence that corrects it.
    pub fn book_volume(
        &self,
        mut bodies: Account,
        start: &Start,
        (ground, path): (Ground, Transport),
        flights: &Flights,
        clamps: &mut Clamps,
    ) -> Account {
        let (dt_s, finest_dx, old) = (self.dt_s, self.model.shape.dx, &start.volume);
        let kin = kinship(&bodies, old, |cell| body_before(&path, start, cell));
        let mut flux = self.boundary_flux(start);
        let unclaimed_m3 = self.add_inflow(&mut flux, start, ground.sources, ground.tree);
        let unknown_m3 = self.add_flights(&mut flux, start, flights);
        bodies.transported_from(old, &kin, &flux, dt_s);
        bodies.flying_m3 += unknown_m3 - flights.left_m3;
        bodies.book_sources_and_sinks(unclaimed_m3, flights.left_m3);
        bodies.share_debt(finest_dx);
        if self.model.params.volume_correction != VolumeCorrection::Off {
            let held_back = bodies.set_divergence(dt_s, CORRECTION_STEPS, finest_dx);
            clamps.add("volume_correction_rate", held_back);
        }
        bodies
    }

    /// Liquid that leaves through open walls, per body of the start.
    fn boundary_flux(&self, start: &Start) -> Vec<Flux> {
        let old = &start.volume;
        let mut flux = vec![Flux::default(); old.bodies.len()];
        let geometry = Geometry {
            tree: &self.old.fields.tree,
            phi_cell: &start.phi_cell,
            open_area: &self.old.boundaries.open_area,
        };
        wall_outflow(&geometry, &start.u_face, self.model.setup.open_walls(), |cell, m3_s| {
            if let Some(flux) = flux.get_mut(old.body_of(cell)) {
                flux.out_m3_s += m3_s;
            }
        });
        flux
    }

    /// Adds what sources bring to the bodies of the start that they flow into; returns what comes where there
    /// was none, m3.
    fn add_inflow(&self, flux: &mut [Flux], start: &Start, sources: &SourcesOnTree, tree: &Octree) -> f64 {
        let (old, mut unclaimed_m3) = (&start.volume, 0.0);
        for (outlet, part) in &sources.outlets {
            let from = |x: Vec3| old.body_of(self.old.fields.tree.locate(x).cell as usize);
            let into = outlet.flow_into_cell.iter().map(|(cell, _)| from(tree.cell_center(*cell)));
            let inside = outlet.faces.iter().map(|f| from(tree.face_center(f.face, tree.face_axis(f.face))));
            let body = into.chain(inside).find(|&body| body < flux.len());
            match body.and_then(|body| flux.get_mut(body)) {
                Some(flux) => flux.in_m3_s += outlet.flow_m3_s * part,
                None => unclaimed_m3 += outlet.flow_m3_s * part * self.dt_s,
            }
        }
        unclaimed_m3
    }

    /// Adds what drops took from and gave back to the bodies of the start; returns what belongs to none of
    /// them, m3.
    fn add_flights(&self, flux: &mut [Flux], start: &Start, flights: &Flights) -> f64 {
        let labels = &start.volume.label_cell;
        let mut unknown_m3 = 0.0;
        for &(cell, volume_m3) in &flights.booked {
            let body = match cell {
                None => usize::MAX,
                Some(_) if labels.is_empty() => 0,
                Some(cell) => {
                    body_of_cell(&self.old.fields.tree, cell as usize, labels, &start.phi_cell) as usize
                }
            };
            match flux.get_mut(body) {
                Some(flux) => flux.flying_m3_s += volume_m3 / self.dt_s,
                None => unknown_m3 += volume_m3,
            }
        }
        unknown_m3
    }
}

/// The body that a new cell's liquid belonged to when the step began.
fn body_before(path: &Transport, start: &Start, cell: usize) -> u32 {
    let (tree, x) = (path.old, path.new.cell_center(cell));
    let from = x - path.dt_s * path.tracing.v_cell[tree.locate(x).cell as usize];
    let bounds = tree.shape().bounds();
    let there = tree.locate(from.clamp(bounds.min, bounds.max)).cell as usize;
    body_of_cell(tree, there, &start.volume.label_cell, &start.phi_cell)
}
