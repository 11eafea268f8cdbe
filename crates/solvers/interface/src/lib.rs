//! What every method says about itself ([`Method`]), what its solvers are given ([`Setup`]), how they step
//! ([`Stages`]) and what they must answer ([`Solver`]).
//!
//! The frame loop, the probes, the outputs and the conformance suite speak to solvers through this crate
//! alone; solvers never see each other.

mod bodies;
mod centring;
mod fill_distance;
mod flow;
mod method;
mod params;
mod past_walls;
mod report;
mod rigid;
mod rigid_on_grid;
mod save;
mod save_parts;
mod seen_fill;
mod setup;
mod snapshot;
mod stages;
mod support;
mod survey;

pub use bodies::{FreeBody, Tie};
pub use centring::Centring;
pub use flow::Flow;
pub use fluvial_bodies::{Impulse, JointKind, Start, Weight};
pub use method::{
    Capabilities, Entry, ExpectedFailure, Listed, Method, Needs, Scenario, TransportTest, Variant, Volumes,
    check_cell_count, read_method,
};
pub use params::{ParamError, PressureParams, Tracker, VolumeCorrection};
pub use report::{BodyReport, DtLimiter, PressureReport, StepMomentum, StepReport, SuggestedDt};
pub use rigid::{Bodies, BodyStep, StepTimes};
pub use rigid_on_grid::{LastOnGrid, ProjectedOnGrid};
pub use save::{Plain, RestoreError, StateReader, StateWriter};
pub use seen_fill::FillSight;
pub use setup::{Domain, Fill, Liquid, NEUTRAL_ANGLE_DEG, Refine, Setup, Sink, Solid, Source, Wall};
pub use snapshot::{
    CutCell, LevelSet, OwnWhitewater, PARTICLE_KINDS, ParticleKinds, ParticleSet, SPARSE_BAND_CELLS,
    Snapshot, SparseLevelSet, SurfaceMap, UniformLevelSet, Wanted,
};
pub use stages::{Clamps, Stages};
pub use support::{Feature, refuse};
pub use survey::{Inside, Survey, VERTICES_PER_FACE, inside_cells, thinnest_wall_m};

use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
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
    /// The device that computes has failed: another length of step would not help.
    #[error("{0}")]
    Device(String),
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
        /// The key of a scene file that asks for it.
        key: &'static str,
    },
    /// More cells than the method can have.
    #[error("too many cells: {cells:.3e}, about {gib:.0} GiB of memory; the method has {most:.0e} at most")]
    TooLarge {
        /// Cells that the scene asks for.
        cells: f64,
        /// Cells that the method can have.
        most: f64,
        /// Memory that they would take, GiB.
        gib: f64,
    },
    /// A parameter of the method that is out of range or does not fit the scene.
    #[error("{message}: {help}")]
    Parameter {
        /// Its name in the scene's `[method]`.
        name: &'static str,
        /// What is wrong.
        message: String,
        /// How to mend it.
        help: String,
    },
    /// Anything else that does not fit the rest of the scene.
    #[error("{0}")]
    Invalid(String),
}

/// How finely a surface is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceParams {
    /// Smoothing passes over the mesh that keep its volume; 0 for the raw surface.
    pub smoothing: u32,
}

/// What somebody who watches does between steps.
#[derive(Clone, Debug)]
pub enum Action {
    /// Gives a body, by its number, momentum about its centre of mass.
    Push {
        /// Among the set-up's bodies.
        body: usize,
        /// N s and N m s.
        impulse: Impulse,
    },
    /// Adds a source that the scene does not have.
    Pour(Source),
}

/// A liquid that can be stepped through time and asked about.
pub trait Solver: Send {
    /// The method's name in scene files.
    fn method(&self) -> &'static str;
    /// Simulated time, seconds.
    fn time_s(&self) -> f64;
    /// The largest sensible next step and what limits it.
    fn suggest_dt(&self) -> SuggestedDt;
    /// Advances by exactly `dt_s`. On error the state is unchanged, so that the caller may try a smaller
    /// step.
    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError>;
    /// From now on a step asks this now and then, and gives up with [`StepError::Stopped`] when the answer is
    /// yes: a long step then need not be waited for.
    fn stop_when(&mut self, _asked: StopQuestion) {}
    /// What computes, in words for the log and the record of a run.
    fn computes_on(&self) -> String {
        "processor".to_owned()
    }
    /// Brings what lies on a device into memory, where a step has left it there: what can be asked of the liquid
    /// is then answered without the device. The frame loop calls it before a frame's files are written.
    fn fetch(&mut self) -> Result<(), StepError> {
        Ok(())
    }
    /// The report of the current state, before any step.
    fn initial_report(&self) -> StepReport;
    /// Closed, oriented, manifold surface with velocity per vertex.
    fn surface(&self, params: &SurfaceParams) -> TriangleMesh;
    /// What can be seen of the liquid now: of what is wanted, that which the method has.
    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_>;
    /// Height above the domain floor of the highest liquid on the vertical through (x, z); 0 where dry.
    fn height_at(&self, x: f32, z: f32) -> f64;
    /// Pressure at a point, Pa; 0 outside the liquid.
    fn pressure_at(&self, x_in_world: Vec3) -> f64;
    /// Liquid volume inside a shape, m3.
    fn volume_in(&self, shape: &Shape) -> f64;
    /// Velocity at a point, m/s.
    fn velocity_at(&self, x_in_world: Vec3) -> Vec3;
    /// Where bodies are, how they move and what the liquid does to them, in the order of the set-up's.
    fn bodies(&self) -> Vec<BodyReport> {
        vec![]
    }
    /// What the last step did to the momentum of liquid and bodies; `None` where the method does not say, and before any step.
    fn momentum_of_last_step(&self) -> Option<StepMomentum> {
        None
    }
    /// Spray, foam and mist that the method makes itself; `None` where it makes none.
    fn whitewater(&self) -> Option<OwnWhitewater> {
        None
    }
    /// Does what somebody who watches asks for; `false` where the method cannot. What is done is no part of the set-up: a state saved
    /// after a source was added does not know it.
    fn act(&mut self, _action: &Action) -> bool {
        false
    }
    /// Writes everything that the next step reads and the set-up does not give.
    fn save(&self, out: &mut StateWriter) -> std::io::Result<()>;
    /// Takes over what [`Self::save`] wrote for the same set-up: every later step then gives the same bits.
    /// Everything is read and checked, to the end of the state, before anything is replaced: after an error
    /// the solver is what it was before.
    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError>;
}
