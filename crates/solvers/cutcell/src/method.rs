//! What `cutcell` says about itself.

use crate::expected::EXPECTED_FAILURES;
use crate::{CutCellSolver, Params, check_support, tracker_nodes, widened};
use fluvial_grids::UniformGrid;
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver,
    TransportTest, Variant, Volumes, check_cell_count, read_method,
};
use std::sync::Arc;

/// Memory by cell, node of the tracker, particle and vertex of the fine surface, and of the program itself: estimates, not yet
/// compared with runs.
const BYTES_PER_CELL: f64 = 600.0;
const BYTES_PER_NODE: f64 = 61.0;
const BYTES_PER_PARTICLE: f64 = 230.0;
const BYTES_PER_VERTEX: f64 = 900.0;
const BYTES_FIXED: f64 = 15e6;
/// Checkpoints.
const CHECKPOINT_BYTES_PER_CELL: f64 = 16.0;
const CHECKPOINT_BYTES_PER_NODE: f64 = 4.0;
const CHECKPOINT_BYTES_PER_PARTICLE: f64 = 76.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// Share of the domain that sources are expected to fill.
const SOURCE_FILL: f64 = 0.25;

impl Listed for Params {
    const NAME: &'static str = "cutcell";
    const ABOUT: &'static str =
        "Cells cut along a finer surface for drops, films and slits below one cell, with surface tension.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: true,
            volumes: Volumes::None,
            adaptive: false,
            given_flow: false,
            contact_angles: false,
            friction: false,
            surface_tension: true,
            any_gravity: true,
            thin_walls: true,
            moving_solids: false,
            bodies: false,
        }
    }

    fn pressure_tolerance(&self) -> f64 {
        self.pressure.pressure_tolerance
    }

    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        check_support(setup)?;
        let nodes = f64::from(self.tracker_factor).powi(3) * setup.domain.grid.cell_count() as f64;
        check_cell_count(nodes, BYTES_PER_NODE)
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        let mut notes = vec![
            "the level set of `cutcell` is pulled back to its particles all the time: see `raw_volume_error`"
                .to_owned(),
        ];
        if !setup.solids.is_empty() {
            notes.push(
                "beside solids the surface does not keep its volume by itself; solids far thinner than a cell of the tracker leak".to_owned(),
            );
        }
        if !setup.sources.is_empty() {
            notes.push(
                "the pressure does not know sources thinner than a cell: under water their liquid makes its room late".to_owned(),
            );
        }
        if setup.sticky_walls() != [true; 6] {
            notes.push("walls and solids hold on to liquid until air reaches in between".to_owned());
        }
        notes
    }

    /// Nodes of the tracker.
    fn fill_samples(&self, grid: &UniformGrid) -> UniformGrid {
        let nodes = tracker_nodes(grid, self.tracker_factor as usize);
        UniformGrid { min: nodes.origin - 0.5 * nodes.spacing, cells: nodes.size, dx: nodes.spacing }
    }

    fn predict(&self, scenario: &Scenario) -> Needs {
        let (setup, inside) = (scenario.setup, scenario.survey.inside);
        let grid = widened(setup);
        let cells = grid.cell_count() as f64;
        let nodes = tracker_nodes(&grid, self.tracker_factor as usize).len() as f64;
        let most_cells = if setup.sources.is_empty() { inside.cells } else { SOURCE_FILL * cells };
        let particles = most_cells.max(inside.cells) * f64::from(self.particles_per_cell);
        let vertices = scenario.survey.most_vertices() * f64::from(self.tracker_factor).powi(2);
        Needs {
            cells,
            liquid_cells: inside.cells.round(),
            memory_bytes: BYTES_FIXED
                + cells * BYTES_PER_CELL
                + nodes * BYTES_PER_NODE
                + particles * BYTES_PER_PARTICLE
                + vertices * BYTES_PER_VERTEX,
            particles,
            vertices,
            volume_bytes: 0.0,
            checkpoint_bytes: CHECKPOINT_BYTES_FIXED
                + CHECKPOINT_BYTES_PER_CELL * cells
                + CHECKPOINT_BYTES_PER_NODE * nodes
                + CHECKPOINT_BYTES_PER_PARTICLE * particles,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(CutCellSolver::new(setup, self.clone())?))
    }

    fn variants() -> Vec<Variant> {
        // With half of the default's tracker, a step takes a quarter of its time.
        let method = Arc::new(Params { tracker_factor: 2, ..Params::default() });
        vec![Variant {
            name: Params::NAME,
            method: method.clone(),
            // Its volume is its particles', which nothing corrects.
            uncorrected: method,
            transport: TransportTest::None,
            read: read_method::<Params>,
        }]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}
