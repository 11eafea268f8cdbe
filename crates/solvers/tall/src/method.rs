//! What `tall` says about itself.

use crate::expected::EXPECTED_FAILURES;
use crate::{Params, TallSolver, check_support, cubic_cells};
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver,
    TransportTest, Variant, VolumeCorrection, Volumes, check_cell_count, read_method,
};
use std::sync::Arc;

/// Memory by sample and by column, by vertex of the surface, and of the program itself; fitted to runs.
const BYTES_PER_SAMPLE: f64 = 330.0;
const BYTES_PER_COLUMN: f64 = 200.0;
const BYTES_PER_VERTEX: f64 = 520.0;
const BYTES_FIXED: f64 = 14.5e6;
/// Checkpoints: phi, pressure and velocity of a sample; height and residual of a column.
const CHECKPOINT_BYTES_PER_SAMPLE: f64 = 20.0;
const CHECKPOINT_BYTES_PER_COLUMN: f64 = 8.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// A step's cycles reduce the residual by about this factor; from the last step's pressure on.
const REDUCTION: f64 = 1e-3;

fn columns(setup: &Setup) -> f64 {
    let cells = setup.domain.grid.cells;
    (cells[0] * cells[2]) as f64
}

impl Params {
    fn samples(&self, setup: &Setup) -> f64 {
        columns(setup) * (cubic_cells(self, setup) + 2) as f64
    }
}

impl Listed for Params {
    const NAME: &'static str = "tall";
    const ABOUT: &'static str =
        "Columns with one tall cell below cubic ones: deep water, floods, large steps.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: false,
            volumes: Volumes::Sparse,
            adaptive: false,
            given_flow: false,
            contact_angles: false,
            friction: false,
            surface_tension: false,
            any_gravity: false,
            thin_walls: false,
            moving_solids: true,
            bodies: true,
        }
    }

    fn pressure_tolerance(&self) -> f64 {
        REDUCTION
    }

    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        check_support(setup)?;
        check_cell_count(self.samples(setup), BYTES_PER_SAMPLE)
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        let lets_go = setup.solids.iter().any(|s| s.free.is_none() && !s.sticky);
        let note =
            "solids hold on to liquid until air reaches in between, as if all were `sticky`; walls let go";
        if lets_go { vec![note.to_owned()] } else { vec![] }
    }

    fn makes_whitewater(&self) -> bool {
        self.spray > 0.0
    }

    fn predict(&self, scenario: &Scenario) -> Needs {
        let (setup, survey) = (scenario.setup, scenario.survey);
        let (samples, columns, vertices) = (self.samples(setup), columns(setup), survey.most_vertices());
        let surface_faces = vertices / fluvial_solver_interface::VERTICES_PER_FACE;
        Needs {
            cells: samples,
            liquid_cells: survey.inside.cells.round(),
            memory_bytes: BYTES_FIXED
                + samples * BYTES_PER_SAMPLE
                + columns * BYTES_PER_COLUMN
                + vertices * BYTES_PER_VERTEX,
            particles: 0.0,
            vertices,
            // Zipped: six cells of distance a face of surface, three velocities a liquid cell near it.
            volume_bytes: 20.0 * surface_faces + 8.0 * 9.0 * surface_faces,
            checkpoint_bytes: CHECKPOINT_BYTES_PER_SAMPLE * samples
                + CHECKPOINT_BYTES_PER_COLUMN * columns
                + CHECKPOINT_BYTES_FIXED,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        let solver = TallSolver::new(setup, self.clone())?;
        #[cfg(feature = "gpu")]
        return crate::gpu::on_device(solver, self.device);
        #[cfg(not(feature = "gpu"))]
        Ok(Box::new(solver))
    }

    fn variants() -> Vec<Variant> {
        vec![Variant {
            name: "tall",
            method: Arc::new(Params::validated()),
            uncorrected: Arc::new(Params { volume_correction: VolumeCorrection::Off, ..Params::validated() }),
            transport: TransportTest::None,
            read: read_method::<Params>,
        }]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}

impl Params {
    /// Fewer cubic cells than by default, so that the coarse scenes of validation have tall cells; on the processor, whose
    /// results are the same everywhere.
    fn validated() -> Params {
        Params { cubic_cells: 24, cells_below: 6.0, device: crate::Device::Cpu, ..Params::default() }
    }
}
