//! What every solver is given ([`Setup`]) and what it must answer ([`Solver`]).
//!
//! The frame loop, the probes, the outputs and the conformance suite speak to solvers through this crate
//! alone; solvers never see each other.

mod report;
mod save;
mod setup;

pub use report::{DtLimiter, PressureReport, StepReport, SuggestedDt};
pub use save::{Plain, RestoreError, StateReader, StateWriter};
pub use setup::{Domain, Fill, Liquid, Refine, Setup, Sink, Solid, Source, Wall};

use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::{FaceField, TriangleMesh, UniformGrid};
use fluvial_solids::Shape;

/// Why a step could not be taken. The state is then what it was before the step.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A field holds NaN or infinity.
    #[error("{field} is not finite after stage `{stage}`")]
    NotFinite {
        /// Which field.
        field: &'static str,
        /// After which stage.
        stage: &'static str,
    },
    /// The linear solve failed.
    #[error("the pressure solve failed: {0}")]
    Pressure(String),
    /// It was given up on request, see [`Solver::stop_when`].
    #[error("the step was given up on request")]
    Stopped,
}

/// Asked between the stages of a step: is it to be given up?
pub type StopQuestion = std::sync::Arc<dyn Fn() -> bool + Send + Sync>;

/// Why a solver could not be built from a set-up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The scene has no liquid and no source of it.
    #[error("there is no liquid: no [[fill]] covers a cell and there is no [[source]]")]
    NoLiquid,
    /// A feature that this method lacks.
    #[error("the method `{method}` has no support for {feature}")]
    Unsupported {
        /// The method's scene name.
        method: &'static str,
        /// The scene's feature, by name.
        feature: String,
    },
    /// A parameter that does not fit the rest of the scene.
    #[error("{0}")]
    Invalid(String),
}

/// Liquid as a level set with face velocities on a uniform grid.
pub struct LevelSetView<'a> {
    /// Where the samples lie.
    pub grid: UniformGrid,
    /// Signed distance at cell centres, negative inside the liquid, metres.
    pub phi_cell: &'a [f32],
    /// Face velocities, m/s, valid in the liquid and a band around it.
    pub u_face: &'a FaceField,
    /// Distance to solids at the nodes, negative inside, exact to three cells, metres; `None` without solids.
    pub phi_solid_node: Option<&'a [f32]>,
}

/// Liquid of cells that differ in size, interpolated to the grid of the smallest, cell by cell: for volume files. Everything
/// farther than [`SPARSE_BAND_CELLS`] from surface and solids need only be known to be so.
pub trait SparseLevelSet: Sync {
    /// The grid of the smallest cells.
    fn grid(&self) -> UniformGrid;
    /// Signed distance at the centre of a cell, negative inside the liquid, metres.
    fn phi(&self, cell: [usize; 3]) -> f32;
    /// Velocity on the low side of a cell along an axis, m/s; the cell may lie one beyond the last along that axis.
    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32;
    /// Distance from the centre of a cell to the solids, negative inside, metres.
    fn phi_solid(&self, cell: [usize; 3]) -> f32;
    /// For a box of cells from `low` to `high` (exclusive) that is for sure far from the surface: is it liquid?
    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool>;
    /// Is a box of cells far outside all solids?
    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool;
}

/// What a [`SparseLevelSet`] calls far, cells of its grid.
pub const SPARSE_BAND_CELLS: f32 = 3.0;

/// Liquid as particles; all slices have one length.
pub struct ParticleView<'a> {
    /// Positions, metres.
    pub x: &'a [Vec3],
    /// Velocities, m/s.
    pub v: &'a [Vec3],
    /// Unique through the run.
    pub id: &'a [u64],
    /// Seconds since seeding.
    pub age_s: &'a [f32],
    /// Radius, metres.
    pub radius: f32,
}

/// What each particle of a [`ParticleView`] is, for methods that tell them apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParticleKinds {
    /// An index into [`PARTICLE_KINDS`] each.
    pub kind: Vec<u8>,
    /// Radii, metres.
    pub radius: Vec<f32>,
}

/// Names of the kinds: as seeded, several in one, put in between to keep a sheet whole, a drop in the air.
pub const PARTICLE_KINDS: [&str; 4] = ["small", "merged", "inserted", "flying"];

/// A cell that a plane of constant z cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutCell {
    /// Lower corner, x and y, metres.
    pub min: [f32; 2],
    /// Edge, metres.
    pub dx: f32,
    /// The liquid's level set at the cell's centre, metres.
    pub phi: f32,
}

/// How finely a surface is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceParams {
    /// Smoothing passes over the mesh that keep its volume; 0 for the raw surface.
    pub smoothing: u32,
}

/// A liquid that can be stepped through time and asked about.
pub trait Solver: Send {
    /// The method's name in scene files.
    fn method(&self) -> &'static str;
    /// Simulated time, seconds.
    fn time_s(&self) -> f64;
    /// The largest sensible next step and what limits it.
    fn suggest_dt(&self) -> SuggestedDt;
    /// Advances by exactly `dt_s`. On error the state is unchanged, so that the caller may try a smaller step.
    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError>;
    /// From now on a step asks this now and then, and gives up with [`StepError::Stopped`] when the answer is yes: a
    /// long step then need not be waited for.
    fn stop_when(&mut self, _asked: StopQuestion) {}
    /// The report of the current state, before any step.
    fn initial_report(&self) -> StepReport;
    /// Closed, oriented, manifold surface with velocity per vertex.
    fn surface(&self, params: &SurfaceParams) -> TriangleMesh;
    /// The level set, where the method has one on a uniform grid.
    fn level_set(&self) -> Option<LevelSetView<'_>>;
    /// The level set, where the method's cells differ in size.
    fn sparse_level_set(&self) -> Option<Box<dyn SparseLevelSet + '_>> {
        None
    }
    /// The cells that the plane at a z cuts, where they differ in size.
    fn cut_cells(&self, _z: f32) -> Option<Vec<CutCell>> {
        None
    }
    /// The particles, where the method has any.
    fn particles(&self) -> Option<ParticleView<'_>>;
    /// What each of the particles is, where the method tells them apart.
    fn particle_kinds(&self) -> Option<ParticleKinds> {
        None
    }
    /// Height above the domain floor of the highest liquid on the vertical through (x, z); 0 where dry.
    fn height_at(&self, x: f32, z: f32) -> f64;
    /// Pressure at a point, Pa; 0 outside the liquid.
    fn pressure_at(&self, x_in_world: Vec3) -> f64;
    /// Liquid volume inside a shape, m3.
    fn volume_in(&self, shape: &Shape) -> f64;
    /// Velocity at a point, m/s.
    fn velocity_at(&self, x_in_world: Vec3) -> Vec3;
    /// Writes everything that the next step reads and the set-up does not give.
    fn save(&self, out: &mut StateWriter) -> std::io::Result<()>;
    /// Takes over what [`Self::save`] wrote for the same set-up: every later step then gives the same bits. After an
    /// error the solver is good for nothing.
    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError>;
}
