//! Power diagrams of octrees on sparse paged grids `power`: second order everywhere, with a fine level set.
//!
//! The kernels are `fluvial_power`'s; the README maps the paper's sections to functions.

mod adapt;
mod advect;
mod draw;
mod drops;
mod expected;
mod mass;
mod measure;
mod method;
mod params;
mod pressure;
mod save;
mod sources;
mod start;
mod state;
mod step;

pub use params::Params;

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_power::flow::Cursor;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    LevelSet, Listed, RestoreError, Setup, SetupError, Snapshot, Solver, StateReader, StateWriter, StepError,
    StepReport, StopQuestion, SuggestedDt, SurfaceParams, Wanted,
};
use state::{Model, State};
use std::sync::Mutex;

/// How much there is of what a state is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Leaves of the tree.
    pub leaves: usize,
    /// Voxels of the band, in committed pages.
    pub voxels: usize,
    /// Bytes of the tree's pages.
    pub tree_bytes: usize,
    /// Bytes of the band's pages.
    pub band_bytes: usize,
}

/// A liquid on a power diagram.
pub struct PowerSolver {
    model: Model,
    state: State,
    asked_to_stop: Option<StopQuestion>,
}

impl PowerSolver {
    /// Places the liquid of a set-up.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        let shape = adapt::tree_shape(&setup, &params)?;
        let model =
            Model { bounds: setup.domain.bounds(), setup, params, shape, flows_m3_s: Mutex::default() };
        let state = model.start().map_err(|error| SetupError::Invalid(format!("no memory: {error}")))?;
        if state.volume.volume_m3 == 0.0 && model.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(PowerSolver { model, state, asked_to_stop: None })
    }

    /// How large the state is.
    pub fn counts(&self) -> Counts {
        let State { tree, band, .. } = &self.state;
        Counts {
            leaves: tree.pyramid.active_count(),
            voxels: band.voxels(),
            tree_bytes: tree.pyramid.bytes(),
            band_bytes: band.grid.bytes(),
        }
    }
}

impl Solver for PowerSolver {
    fn method(&self) -> &'static str {
        Params::NAME
    }

    fn time_s(&self) -> f64 {
        self.state.time_s
    }

    fn suggest_dt(&self) -> SuggestedDt {
        self.model.largest_dt(&self.state)
    }

    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError> {
        parallel::on_worker(|| step::step(self, dt_s))
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        self.model.report(&self.state)
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        self.draw(params.smoothing)
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let level_set = wanted.level_set.then(|| LevelSet::Sparse(Box::new(draw::OnVoxels::new(self))));
        let cut_cells = wanted.cut_at_z.map(|z| self.cut_at(z));
        Snapshot { level_set, particles: None, cut_cells }
    }

    fn height_at(&self, x: f32, z: f32) -> f64 {
        self.model.height_at(&self.state, x, z)
    }

    fn pressure_at(&self, x_in_world: Vec3) -> f64 {
        self.state.pressure_at(x_in_world)
    }

    fn volume_in(&self, shape: &Shape) -> f64 {
        self.model.volume_in(&self.state, shape)
    }

    fn velocity_at(&self, x_in_world: Vec3) -> Vec3 {
        self.state.tree.flow().velocity(&mut Cursor::default(), x_in_world)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
