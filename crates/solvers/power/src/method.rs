//! What `power` says about itself.

use crate::adapt::tree_shape;
use crate::expected::EXPECTED_FAILURES;
use crate::{Params, PowerSolver};
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver,
    TransportTest, Variant, VolumeCorrection, Volumes, read_method,
};
use std::sync::Arc;

/// Memory by leaf and by voxel of the band, of the old and the new state together, and of the program itself, from the `steps` bench: still
/// water of 64 cells with 48 thousand leaves and 2.1 million voxels takes 98 MB, of 96 cells with 885 thousand of each 329 MB; a dam
/// break with 76 thousand and 2.7 million, not fitted, 137 MB.
const BYTES_PER_LEAF: f64 = 330.0;
const BYTES_PER_VOXEL: f64 = 35.0;
const BYTES_PER_VERTEX: f64 = 100.0;
const BYTES_FIXED: f64 = 30e6;
/// A face of surface has so many leaves around it, with those of larger sizes.
const LEAVES_PER_FACE: f64 = 12.0;
/// What a splash adds to the surface.
const SPLASH: f64 = 1.6;
/// Checkpoints: six velocities, phi and pressure of a leaf, and what pages hold besides; a voxel's phi.
const CHECKPOINT_BYTES_PER_LEAF: f64 = 60.0;
const CHECKPOINT_BYTES_PER_VOXEL: f64 = 4.0;
/// Coordinates of cells have 16 bits.
const MOST_CELLS: usize = 1 << 15;

impl Listed for Params {
    const NAME: &'static str = "power";
    const ABOUT: &'static str = "Power diagrams on sparse paged octrees with a finer level set, second order across sizes; walls hold on to liquid.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: false,
            volumes: Volumes::Sparse,
            adaptive: true,
            given_flow: false,
            contact_angles: false,
            friction: false,
            surface_tension: false,
            any_gravity: true,
            thin_walls: false,
            moving_solids: true,
            bodies: false,
        }
    }

    fn pressure_tolerance(&self) -> f64 {
        self.pressure.pressure_tolerance
    }

    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        let longest = setup.domain.grid.cells.into_iter().fold(0, usize::max);
        if longest > MOST_CELLS {
            return Err(SetupError::Invalid(format!(
                "{longest} finest cells along a side are too many: the method `power` has {MOST_CELLS} at most"
            )));
        }
        tree_shape(setup, self).map(drop)
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        let mut notes = vec![];
        if !setup.solids.is_empty() {
            notes.push("walls of solids thinner than a leaf leak".to_owned());
        }
        if setup.sticky_walls() != [true; 6] {
            notes.push("walls and solids hold on to liquid until air reaches in between".to_owned());
        }
        notes
    }

    fn predict(&self, scenario: &Scenario) -> Needs {
        let (setup, survey) = (scenario.setup, scenario.survey);
        let all = setup.domain.grid.cells.iter().map(|n| *n as f64).product::<f64>();
        let faces = SPLASH * survey.inside.surface_faces.max(1.0);
        let levels = tree_shape(setup, self).map_or(1, |shape| shape.levels);
        let least = all / 8f64.powi(levels as i32 - 1);
        let leaves = (least + faces * LEAVES_PER_FACE * f64::from(self.surface_depth) / 3.0).min(all);
        let factor = f64::from(self.band_factor);
        let voxels =
            (faces * factor.powi(3) * (2.0 * f64::from(self.band_width) + 3.0)).min(all * factor.powi(3));
        let vertices = survey.most_vertices() * factor * factor;
        Needs {
            cells: leaves,
            liquid_cells: survey.inside.cells.min(leaves).round(),
            memory_bytes: BYTES_FIXED
                + leaves * BYTES_PER_LEAF
                + voxels * BYTES_PER_VOXEL
                + vertices * BYTES_PER_VERTEX,
            particles: 0.0,
            vertices,
            volume_bytes: 60.0 * faces * factor * factor,
            checkpoint_bytes: CHECKPOINT_BYTES_PER_LEAF * leaves + CHECKPOINT_BYTES_PER_VOXEL * voxels + 4e3,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(PowerSolver::new(setup, self.clone())?))
    }

    /// With two voxels a leaf, for speed.
    fn variants() -> Vec<Variant> {
        let params = Params { band_factor: 2, ..Params::default() };
        let uncorrected = Params { volume_correction: VolumeCorrection::Off, ..params.clone() };
        vec![Variant {
            name: Params::NAME,
            method: Arc::new(params),
            uncorrected: Arc::new(uncorrected),
            transport: TransportTest::None,
            read: read_method::<Params>,
        }]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}
