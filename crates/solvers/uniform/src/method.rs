//! What `uniform` says about itself.

use crate::expected::EXPECTED_FAILURES;
use crate::{Params, UniformSolver};
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver, Tracker,
    TransportTest, VERTICES_PER_FACE, Variant, VolumeCorrection, Volumes, check_cell_count, read_method,
};
use std::sync::Arc;

/// Memory by cell of the grid. This and the numbers below were fitted to the peak memory of runs of the
/// built-in scenes, 32 to 128 cells a side.
const BYTES_PER_CELL: f64 = 180.0;
/// More by cell that holds liquid: the multigrid stores only those.
const BYTES_PER_LIQUID_CELL: f64 = 70.0;
/// More by cell where there are solids, where they move (a second copy of what is open), surface tension.
const BYTES_PER_CELL_SOLIDS: f64 = 100.0;
const BYTES_PER_CELL_MOVING: f64 = 39.0;
const BYTES_PER_CELL_TENSION: f64 = 8.0;
/// More by cell where the level set's volume is carried beside it: fluxes, volumes, residuals, displacements, and what
/// the mesh is fitted to.
const BYTES_PER_CELL_VOLUME: f64 = 70.0;
/// More by cell where there are particles: their weights on the faces, the velocity that they gave.
const BYTES_PER_CELL_PARTICLES: f64 = 36.0;
/// More by cell where there are sources: the faces with what they cover.
const BYTES_PER_CELL_SOURCES: f64 = 26.0;
/// More by cell where sources feed a level set: drops and the balls that are drawn for them (`filling-tank`).
const BYTES_PER_CELL_SPRAY: f64 = 190.0;
/// Memory by particle, more for the rows of APIC; particles by cell of the narrow band.
const BYTES_PER_PARTICLE: f64 = 155.0;
const BYTES_PER_PARTICLE_APIC: f64 = 90.0;
const PARTICLES_PER_CELL: f64 = 9.0;
/// Memory by vertex of the surface: the mesh being made, and what is kept near the surface.
const BYTES_PER_VERTEX: f64 = 520.0;
/// Memory of the program itself.
const BYTES_FIXED: f64 = 20.5e6;
/// Checkpoints: phi, two velocities, impulse, share, residual and label of a cell, if none of them is far field.
const CHECKPOINT_BYTES_PER_CELL: f64 = 44.0;
const CHECKPOINT_BYTES_PER_PARTICLE: f64 = 36.0;
const CHECKPOINT_BYTES_PER_ROWS: f64 = 36.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// The band of particles grows with the surface: little from a level one, to four times where liquid stands
/// upright.
const BAND_GROWTH_LEVEL: f64 = 1.35;
const BAND_GROWTH_UPRIGHT: f64 = 4.0;
/// Share of upright surface from which on all of that is expected.
const UPRIGHT_SHARE: f64 = 0.4;

impl Listed for Params {
    const NAME: &'static str = "uniform";
    const ABOUT: &'static str = "The reference: one grid of equal cells.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: self.has_particles(),
            volumes: Volumes::Dense,
            adaptive: false,
            given_flow: false,
            contact_angles: true,
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

    fn predict(&self, scenario: &Scenario) -> Needs {
        let (setup, survey) = (scenario.setup, scenario.survey);
        let cells = setup.domain.grid.cell_count() as f64;
        let upright = (survey.upright_faces / survey.free_faces.max(1.0) / UPRIGHT_SHARE).min(1.0);
        let band_growth = BAND_GROWTH_LEVEL + upright * (BAND_GROWTH_UPRIGHT - BAND_GROWTH_LEVEL);
        let vertices = survey.most_vertices();
        let band_cells =
            band_growth * survey.free_faces.max(survey.flooded_faces) * f64::from(self.narrow_band);
        let most_cells = if setup.sources.is_empty() { survey.inside.cells } else { cells };
        let with = |yes: bool, value: f64| if yes { value } else { 0.0 };
        let particles = with(self.has_particles(), band_cells.min(most_cells) * PARTICLES_PER_CELL);
        let per_cell = BYTES_PER_CELL
            + with(!setup.solids.is_empty(), BYTES_PER_CELL_SOLIDS)
            + with(setup.has_moving_solids(), BYTES_PER_CELL_MOVING)
            + with(!setup.sources.is_empty(), BYTES_PER_CELL_SOURCES)
            + with(!setup.sources.is_empty() && self.conserves_volume(), BYTES_PER_CELL_SPRAY)
            + with(setup.liquid.surface_tension > 0.0, BYTES_PER_CELL_TENSION)
            + with(self.conserves_volume(), BYTES_PER_CELL_VOLUME)
            + with(self.has_particles(), BYTES_PER_CELL_PARTICLES);
        let is_apic = self.tracker == Tracker::Apic;
        let per_particle = BYTES_PER_PARTICLE + with(is_apic, BYTES_PER_PARTICLE_APIC);
        let saved_per_particle = CHECKPOINT_BYTES_PER_PARTICLE + with(is_apic, CHECKPOINT_BYTES_PER_ROWS);
        let surface_faces = vertices / VERTICES_PER_FACE;
        Needs {
            cells,
            liquid_cells: survey.inside.cells.round(),
            memory_bytes: BYTES_FIXED
                + cells * per_cell
                + most_cells * BYTES_PER_LIQUID_CELL
                + particles * per_particle
                + vertices * BYTES_PER_VERTEX,
            particles,
            vertices,
            // Zipped: six cells of distance a face of surface, three velocities a liquid cell and a band
            // around.
            volume_bytes: 20.0 * surface_faces + 8.0 * (survey.inside.cells + 3.0 * surface_faces),
            checkpoint_bytes: CHECKPOINT_BYTES_PER_CELL * cells
                + saved_per_particle * particles
                + CHECKPOINT_BYTES_FIXED,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(UniformSolver::new(setup, self.clone())?))
    }

    fn variants() -> Vec<Variant> {
        let variant = |name, tracker| Variant {
            name,
            method: Arc::new(Params { tracker, ..Params::default() }),
            uncorrected: Arc::new(Params {
                tracker,
                volume_correction: VolumeCorrection::Off,
                ..Params::default()
            }),
            transport: TransportTest::UniformKernels(tracker),
            read: read_method::<Params>,
        };
        vec![
            variant("uniform/levelset", Tracker::Levelset),
            variant("uniform/flip", Tracker::Flip),
            variant("uniform/apic", Tracker::Apic),
        ]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}
