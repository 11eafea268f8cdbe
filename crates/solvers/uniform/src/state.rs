//! What the solver remembers from step to step, and what a step works in.

use crate::forces::SurfaceForces;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_mac::{Cover, Openings, SolidFaces, Sources, Unknowns};
use fluvial_particles::{self as particles, CellRanges, Particles, Reserve};
use fluvial_solids::SolidFields;
use fluvial_volume::Account;
use std::sync::Arc;

/// Fields of the liquid at one moment.
pub(crate) struct Fields {
    /// Signed distance at cell centres, metres, saturated at the band.
    pub phi_cell: Vec<f32>,
    /// Velocity at face centres, m/s, extended past the surface and into solids.
    pub u_face: FaceField,
    /// The same with divergence-free air at the surface: what carries surface and particles. Its values out
    /// there are no velocity of any liquid, so `u_face` keeps the plain extension.
    pub u_transport: FaceField,
    /// Pressure impulse p dt / (rho dx) of the last projection, m/s: the next solve's first guess.
    pub impulse_cell: Vec<f32>,
}

impl Fields {
    fn zero(grid: &UniformGrid) -> Self {
        Fields {
            phi_cell: vec![0.0; grid.cell_count()],
            u_face: FaceField::constant(grid, 0.0),
            u_transport: FaceField::constant(grid, 0.0),
            impulse_cell: vec![0.0; grid.cell_count()],
        }
    }
}

/// Solids on the grid at one moment.
#[derive(Clone, Default)]
pub(crate) struct Solids {
    pub fields: SolidFields,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
}

/// Solids and active sources on the grid at one moment.
#[derive(Clone, Default)]
pub(crate) struct Boundaries {
    /// One for both the state and the step while all solids are at rest.
    pub solids: Arc<Solids>,
    pub sources: Sources,
}

impl Boundaries {
    /// The faces as the projection sees them.
    pub fn openings<'a>(&'a self, cover: &'a Cover, grid: &'a UniformGrid) -> Openings<'a> {
        let fields = &self.solids.fields;
        cover.openings(&self.sources, grid, &fields.open_area, &fields.u_solid)
    }

    pub fn solid_faces(&self) -> SolidFaces<'_> {
        let SolidFields { phi_node, open_area, u_solid, .. } = &self.solids.fields;
        SolidFaces { phi_node, open_area, u_solid }
    }
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    pub fields: Fields,
    pub boundaries: Boundaries,
    /// Length of the last step, seconds: turns the impulse into a pressure.
    pub last_dt_s: f64,
    /// Empty for the level-set tracker.
    pub particles: Particles,
    /// The liquid that no particle holds; of no interest to the level-set tracker.
    pub reserve: Reserve,
    /// Volume bookkeeping and its controllers.
    pub volume: Account,
    /// Kinetic energy of `u_face`, J.
    pub kinetic_energy_j: f64,
    /// The speed that the length of the next step is measured by.
    pub limiting_speed_m_s: f64,
    /// Which sources flowed during the last step.
    pub sources_flowing: Vec<bool>,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

impl State {
    pub fn new(grid: &UniformGrid, sources: usize) -> Self {
        State {
            fields: Fields::zero(grid),
            boundaries: Boundaries::default(),
            last_dt_s: 0.0,
            particles: Particles::default(),
            reserve: Reserve::new(grid.cell_count()),
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            sources_flowing: vec![false; sources],
            time_s: 0.0,
            steps: 0,
        }
    }
}

/// What a step begins with where that is not the state: the liquid as sources and sinks have changed it.
#[derive(Default)]
pub(crate) struct Start {
    /// Does a source or sink act in this step? Otherwise the copies below are old.
    pub is_changed: bool,
    phi_cell: Vec<f32>,
    u_face: FaceField,
    u_transport: FaceField,
    particles: Particles,
    reserve: Reserve,
    volume: Account,
    /// Which sources flow during this step.
    pub sources_flowing: Vec<bool>,
}

/// The liquid that a step carries along.
pub(crate) struct Begin<'a> {
    pub phi_cell: &'a [f32],
    pub u_face: &'a FaceField,
    pub u_transport: &'a FaceField,
    pub particles: &'a Particles,
    pub reserve: &'a Reserve,
    pub volume: &'a Account,
}

/// The same while sources and sinks change it.
pub(crate) struct BeginMut<'a> {
    pub phi_cell: &'a mut Vec<f32>,
    pub u_face: &'a mut FaceField,
    pub u_transport: &'a mut FaceField,
    pub particles: &'a mut Particles,
    pub reserve: &'a mut Reserve,
    pub volume: &'a mut Account,
}

impl Start {
    /// Copies of the state that sources and sinks may change.
    pub fn copy(&mut self, state: &State) {
        self.is_changed = true;
        self.phi_cell.clone_from(&state.fields.phi_cell);
        self.u_face.clone_from(&state.fields.u_face);
        self.u_transport.clone_from(&state.fields.u_transport);
        self.particles.clone_from(&state.particles);
        self.reserve.clone_from(&state.reserve);
        self.volume.clone_from(&state.volume);
    }

    pub fn changed(&mut self) -> BeginMut<'_> {
        let Start { phi_cell, u_face, u_transport, particles, reserve, volume, .. } = self;
        BeginMut { phi_cell, u_face, u_transport, particles, reserve, volume }
    }

    /// What the step begins with.
    pub fn of<'a>(&'a self, state: &'a State) -> Begin<'a> {
        if self.is_changed {
            let Start { phi_cell, u_face, u_transport, particles, reserve, volume, .. } = self;
            return Begin { phi_cell, u_face, u_transport, particles, reserve, volume };
        }
        let Fields { phi_cell, u_face, u_transport, .. } = &state.fields;
        let State { particles, reserve, volume, .. } = state;
        Begin { phi_cell, u_face, u_transport, particles, reserve, volume }
    }
}

/// What a step makes; the arrays keep their memory from step to step, not their values.
pub(crate) struct Work {
    /// The next state's.
    pub fields: Fields,
    pub boundaries: Boundaries,
    pub volume: Account,
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    /// The sources' faces on top of the solids'.
    pub cover: Cover,
    pub unknowns: Unknowns,
    /// Faces whose velocity the projection set (or that extrapolation has reached).
    pub valid_face: [Vec<u8>; 3],
    pub rhs_cell: Vec<f32>,
    /// Liquid share of each cell's volume.
    pub fraction_cell: Vec<f32>,
    /// Air cells that touch an unknown.
    pub surface_air_cell: Vec<bool>,
    /// Velocity before it is constrained to solids.
    pub u_free: FaceField,
    pub surface: SurfaceForces,
    pub particles: ParticleWork,
    pub level_set: level_set::Scratch,
}

/// The particles of a step.
#[derive(Default)]
pub(crate) struct ParticleWork {
    /// After transport; those of the state stay until the step has succeeded.
    pub moved: Particles,
    pub cell_ranges: CellRanges,
    /// How many went through open walls, and how many found no way out of a solid.
    pub left: usize,
    pub trapped: usize,
    /// The next state's, but for what the last resampling of the step moves.
    pub reserve: Reserve,
    /// Cells that the surface at hand reaches.
    pub near_cell: Vec<u8>,
    /// How far the surface lies below where its particles put it, in cells.
    pub misfit_cell: Vec<f32>,
    /// What the particles weigh on the faces.
    pub weight_face: FaceField,
    /// Velocity after transport, before forces: FLIP carries the difference.
    pub u_before_forces: FaceField,
    pub scratch: particles::Scratch,
}

impl Work {
    pub fn new(grid: &UniformGrid, with_particles: bool) -> Self {
        let cells = grid.cell_count();
        let weight_face = if with_particles { FaceField::constant(grid, 0.0) } else { FaceField::default() };
        Work {
            fields: Fields::zero(grid),
            boundaries: Boundaries::default(),
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            cover: Cover::default(),
            unknowns: Unknowns::none(grid),
            valid_face: std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]),
            rhs_cell: vec![0.0; cells],
            fraction_cell: vec![0.0; cells],
            surface_air_cell: vec![false; cells],
            u_free: FaceField::default(),
            surface: SurfaceForces::default(),
            particles: ParticleWork { weight_face, ..Default::default() },
            level_set: level_set::Scratch::default(),
        }
    }
}
