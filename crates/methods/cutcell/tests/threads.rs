//! Results do not depend on the number of threads.

use crate::common::{phi_at_nodes, unit_grid};
use crate::solid_cutting::random_sheets;
use fluvial_cutcell::cut::{CutScratch, cut};
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::velocity::Given;
use fluvial_foundation::{DVec3, parallel};

#[test]
fn cut_cells_and_systems_are_the_same_with_any_number_of_threads() {
    let grid = unit_grid([6, 5, 4]);
    let center = DVec3::new(2.2, 2.4, 1.9);
    let phi_node = phi_at_nodes(&grid, 4, |x| ((x - center).length() - 1.7).max(0.4 - (x - 2.0).length()));
    let run = || {
        let tracker = Tracker { grid, factor: 4, phi_node: &phi_node };
        let mesh = cut(&tracker, &random_sheets(7), &mut CutScratch::default());
        let mut iso = IsoSamples::default();
        iso.find(&mesh, &tracker);
        let system = System::assemble(&mesh, &iso, &Given::NOTHING);
        (
            mesh.vertices,
            mesh.triangles,
            mesh.faces,
            mesh.polygon_vertices,
            mesh.pieces,
            iso.to_sample,
            system.matrix,
        )
    };
    let (one, four) = (parallel::with_threads(1, run), parallel::with_threads(4, run));
    assert!(one.1.iter().any(|t| !t.is_surface()), "the sheets are met");
    assert!(one == four);
}
