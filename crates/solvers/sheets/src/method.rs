//! What `sheets` says about itself.

use crate::expected::EXPECTED_FAILURES;
use crate::{Params, PositionCorrection, SheetsSolver};
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver,
    TransportTest, VERTICES_PER_FACE, Variant, Volumes, check_cell_count, read_method,
};
use std::sync::Arc;

/// Memory by cell, liquid cell and particle, by vertex of the finer surface, and of the program itself.
const BYTES_PER_CELL: f64 = 190.0;
const BYTES_PER_LIQUID_CELL: f64 = 70.0;
const BYTES_PER_PARTICLE: f64 = 330.0;
const BYTES_PER_VERTEX: f64 = 200.0;
const BYTES_FIXED: f64 = 14.5e6;
const CHECKPOINT_BYTES_PER_CELL: f64 = 20.0;
const CHECKPOINT_BYTES_PER_PARTICLE: f64 = 55.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// How insertion lets the number of particles grow, and the share of the domain that sources are expected to
/// fill.
const GROWTH: f64 = 1.2;
const SOURCE_FILL: f64 = 0.25;

impl Listed for Params {
    const NAME: &'static str = "sheets";
    const ABOUT: &'static str = "Particles that keep thin sheets whole: splashes, films, crowns.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: true,
            volumes: Volumes::Dense,
            adaptive: false,
            given_flow: true,
            contact_angles: false,
            friction: true,
            surface_tension: true,
            any_gravity: true,
            thin_walls: true,
            moving_solids: true,
            bodies: true,
        }
    }

    fn pressure_tolerance(&self) -> f64 {
        self.pressure.pressure_tolerance
    }

    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        check_cell_count(setup.domain.grid.cell_count() as f64, BYTES_PER_CELL)
    }

    /// All liquid is particles; the surface is sampled more finely than the grid.
    fn predict(&self, scenario: &Scenario) -> Needs {
        let inside = scenario.survey.inside;
        let cells = scenario.setup.domain.grid.cell_count() as f64;
        let full = f64::from(self.particles_per_cell);
        let most_cells = if scenario.setup.sources.is_empty() { inside.cells } else { SOURCE_FILL * cells };
        let particles = GROWTH * most_cells.max(inside.cells) * full;
        let vertices = scenario.survey.most_vertices() * f64::from(self.surface_refinement).powi(2);
        let surface_faces = scenario.survey.most_vertices() / VERTICES_PER_FACE;
        Needs {
            cells,
            liquid_cells: inside.cells.round(),
            memory_bytes: BYTES_FIXED
                + cells * BYTES_PER_CELL
                + most_cells * BYTES_PER_LIQUID_CELL
                + particles * BYTES_PER_PARTICLE
                + vertices * BYTES_PER_VERTEX,
            particles,
            vertices,
            // As of the other methods on one grid.
            volume_bytes: 20.0 * surface_faces + 8.0 * (inside.cells + 3.0 * surface_faces),
            checkpoint_bytes: CHECKPOINT_BYTES_PER_CELL * cells
                + CHECKPOINT_BYTES_PER_PARTICLE * particles
                + CHECKPOINT_BYTES_FIXED,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(SheetsSolver::new(setup, self.clone())?))
    }

    fn variants() -> Vec<Variant> {
        vec![Variant {
            name: "sheets",
            method: Arc::new(Params::default()),
            // Correction of the positions is what moves this method's volume.
            uncorrected: Arc::new(Params {
                position_correction: PositionCorrection::Off,
                ..Params::default()
            }),
            transport: TransportTest::GivenFlow(Arc::new(Params {
                adaptive_sampling: false,
                ..Params::default()
            })),
            read: read_method::<Params>,
        }]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}
