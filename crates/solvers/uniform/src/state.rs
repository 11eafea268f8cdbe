//! What the solver remembers from step to step, and what a step works in.

use crate::forces::SurfaceForces;
use crate::mass::MassWork;
use crate::sources::SourceWork;
use fluvial_drops::Drops;
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_mac::{Cover, FrictionScratch, NO_GAP, Openings, Parting, SolidFaces, Sources, Unknowns};
use fluvial_particles::{self as particles, CellRanges, Particles, Reserve};
use fluvial_solids::{RoughPatch, SideChange, SolidFields};
use fluvial_solver_interface::{Bodies, BodyStep, Centring, StepTimes};
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
    /// Thickness of the gap where liquid has let go of a wall or solid, metres; `NO_GAP` elsewhere.
    pub gap_cell: Vec<f32>,
    /// Liquid share of each cell's volume that phi stands for.
    pub fraction_cell: Vec<f32>,
    /// Liquid that a cell is owed beyond that, in its volume; empty where particles carry the shape.
    pub residual_cell: Vec<f32>,
}

impl Fields {
    fn zero(grid: &UniformGrid, with_residual: bool) -> Self {
        Fields {
            phi_cell: vec![0.0; grid.cell_count()],
            u_face: FaceField::constant(grid, 0.0),
            u_transport: FaceField::constant(grid, 0.0),
            impulse_cell: vec![0.0; grid.cell_count()],
            gap_cell: vec![NO_GAP; grid.cell_count()],
            fraction_cell: vec![0.0; grid.cell_count()],
            residual_cell: vec![0.0; if with_residual { grid.cell_count() } else { 0 }],
        }
    }

    /// What a cell holds, in its volume, where no particles carry the liquid: what phi stands for and what it is owed.
    pub fn held(&self, cell: usize) -> f64 {
        f64::from(self.fraction_cell[cell])
            + self.residual_cell.get(cell).map_or(0.0, |&owed| f64::from(owed))
    }
}

/// Solids on the grid at one moment.
#[derive(Clone, Default)]
pub(crate) struct Solids {
    pub fields: SolidFields,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
    /// Cells at a wall or solid that liquid may let go of.
    pub may_part_cell: Vec<bool>,
    /// Rough pieces of walls and solids.
    pub rough: Vec<RoughPatch>,
}

impl Solids {
    /// Gradient of the distance to solids at a cell: away from their inside.
    pub fn away(&self, grid: &UniformGrid, cell: usize) -> Vec3 {
        let cells = grid.cell_centers();
        let [i, j, k] = cells.coordinates(cell);
        grid.nodes().gradient(&self.fields.phi_node, cells.position(i, j, k))
    }
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
        let SolidFields { phi_node, open_area, u_solid, sides, .. } = &self.solids.fields;
        SolidFaces { phi_node, open_area, u_solid, sides }
    }
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    pub fields: Fields,
    pub boundaries: Boundaries,
    /// None where the scene has none.
    pub bodies: Option<Bodies>,
    /// How long forces acted in the last step, seconds: turns the impulse into a pressure.
    pub pushed_s: f64,
    /// How far velocity is ahead of the surface, seconds.
    pub lead_s: f64,
    /// Empty for the level-set tracker.
    pub particles: Particles,
    /// Liquid too small for the level set, in the air; none for the other trackers.
    pub drops: Drops,
    /// The liquid that no particle holds; of no interest to the level-set tracker.
    pub reserve: Reserve,
    /// Volume bookkeeping and its controllers.
    pub volume: Account,
    /// Kinetic energy of `u_face`, J.
    pub kinetic_energy_j: f64,
    /// The speed that the length of the next step is measured by.
    pub limiting_speed_m_s: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

impl State {
    /// The times of a step from it.
    pub fn times(&self, dt_s: f64) -> StepTimes {
        StepTimes { from_s: self.time_s, dt_s, last_dt_s: self.pushed_s }
    }

    pub fn new(grid: &UniformGrid, with_residual: bool) -> Self {
        State {
            fields: Fields::zero(grid, with_residual),
            boundaries: Boundaries::default(),
            bodies: None,
            pushed_s: 0.0,
            lead_s: 0.0,
            particles: Particles::default(),
            drops: Drops::default(),
            reserve: Reserve::new(grid.cell_count()),
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            time_s: 0.0,
            steps: 0,
        }
    }
}

/// What a step begins with where that is not the state: the liquid as thin solids have swept it.
#[derive(Default)]
pub(crate) struct Start {
    /// Does a thin solid pass cells in this step? Otherwise the copies below are old.
    pub is_changed: bool,
    phi_cell: Vec<f32>,
    u_face: FaceField,
    u_transport: FaceField,
    particles: Particles,
}

/// The liquid that a step carries along.
pub(crate) struct Begin<'a> {
    pub phi_cell: &'a [f32],
    pub u_face: &'a FaceField,
    pub u_transport: &'a FaceField,
    pub particles: &'a Particles,
}

/// The same while thin solids sweep it.
pub(crate) struct BeginMut<'a> {
    pub phi_cell: &'a mut Vec<f32>,
    pub u_face: &'a mut FaceField,
    pub u_transport: &'a mut FaceField,
    pub particles: &'a mut Particles,
}

impl Start {
    /// Copies of the state that may be changed.
    pub fn copy(&mut self, state: &State) {
        self.is_changed = true;
        self.phi_cell.clone_from(&state.fields.phi_cell);
        self.u_face.clone_from(&state.fields.u_face);
        self.u_transport.clone_from(&state.fields.u_transport);
        self.particles.clone_from(&state.particles);
    }

    pub fn changed(&mut self) -> BeginMut<'_> {
        let Start { phi_cell, u_face, u_transport, particles, .. } = self;
        BeginMut { phi_cell, u_face, u_transport, particles }
    }

    /// What the step begins with.
    pub fn of<'a>(&'a self, state: &'a State) -> Begin<'a> {
        if self.is_changed {
            let Start { phi_cell, u_face, u_transport, particles, .. } = self;
            return Begin { phi_cell, u_face, u_transport, particles };
        }
        let Fields { phi_cell, u_face, u_transport, .. } = &state.fields;
        let State { particles, .. } = state;
        Begin { phi_cell, u_face, u_transport, particles }
    }
}

/// What a step makes; the arrays keep their memory from step to step, not their values.
pub(crate) struct Work {
    /// The next state's.
    pub fields: Fields,
    pub boundaries: Boundaries,
    pub bodies: BodyStep,
    /// Cells that a thin solid passes in the step.
    pub side_changes: Vec<SideChange>,
    pub volume: Account,
    pub centring: Centring,
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    /// The sources' faces on top of the solids'.
    pub cover: Cover,
    pub sources: SourceWork,
    pub unknowns: Unknowns,
    pub parting: Parting,
    /// Velocity before the projection, without what presses on the surface.
    pub u_without_push: FaceField,
    /// Faces whose velocity the projection set (or that extrapolation has reached).
    pub valid_face: [Vec<u8>; 3],
    /// Air cells that touch an unknown.
    pub surface_air_cell: Vec<bool>,
    /// Velocity before it is constrained to solids.
    pub u_free: FaceField,
    pub friction: FrictionScratch,
    pub surface: SurfaceForces,
    pub particles: ParticleWork,
    pub mass: MassWork,
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
    /// The region of liquid that each cell is in, and the same without the last layer of air.
    pub label_cell: [Vec<u32>; 2],
    /// Octants of every cell whose liquid was in deep cells before the step.
    pub from_deep_cell: Vec<u8>,
    /// Cells that the surface at hand reaches.
    pub near_cell: Vec<u8>,
    /// How far the surface lies below where its particles put it, in cells.
    pub misfit_cell: Vec<f32>,
    /// Divergence times dx that brings the particles' density back, m/s.
    pub spreading_cell: Vec<f32>,
    /// Cells beside solids.
    pub steep_cell: Vec<u8>,
    /// What the particles weigh on the faces.
    pub weight_face: FaceField,
    /// Velocity after transport, before forces: FLIP carries the difference.
    pub u_before_forces: FaceField,
    pub scratch: particles::Scratch,
    pub collisions: particles::Collisions,
}

impl Work {
    pub fn new(grid: &UniformGrid, with_particles: bool, with_residual: bool) -> Self {
        let cells = grid.cell_count();
        let weight_face = if with_particles { FaceField::constant(grid, 0.0) } else { FaceField::default() };
        Work {
            fields: Fields::zero(grid, with_residual),
            boundaries: Boundaries::default(),
            bodies: BodyStep::default(),
            side_changes: Vec::new(),
            volume: Account::default(),
            centring: Centring::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            cover: Cover::default(),
            sources: SourceWork::default(),
            unknowns: Unknowns::none(grid),
            parting: Parting::default(),
            u_without_push: FaceField::default(),
            valid_face: std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]),
            surface_air_cell: vec![false; cells],
            u_free: FaceField::default(),
            friction: FrictionScratch::default(),
            surface: SurfaceForces::default(),
            particles: ParticleWork { weight_face, ..Default::default() },
            mass: if with_residual { MassWork::new(grid) } else { MassWork::default() },
            level_set: level_set::Scratch::default(),
        }
    }
}
