//! Water on a restricted tall-cell grid `tall`: every column has one tall cell, and cubic cells above it that
//! follow the surface. Deep water costs what its surface costs, and steps may be several cells long.
//!
//! The kernels are `fluvial_tall`'s; `step.rs` is Algorithm 1 of the paper. The README maps its sections to functions.

mod adapt;
mod advect;
mod bodies;
mod draw;
mod expected;
mod frame;
#[cfg(feature = "gpu")]
mod gpu;
mod measure;
mod method;
mod params;
mod pressure;
mod save;
mod solids;
mod sources;
mod spray;
mod state;
mod step;
mod volume;

#[cfg(feature = "gpu")]
pub use gpu::GpuTallSolver;
pub use params::{Device, Params, PhiScheme, TallDivergence};

use bodies::BodySurface;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_grids::tall::LEAST_TALL;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Action, Bodies, BodyReport, LevelSet, Listed, OwnWhitewater, RestoreError, Setup, SetupError, Snapshot,
    Solver, StateReader, StateWriter, StepError, StepReport, StopQuestion, SuggestedDt, SurfaceParams, Wall,
    Wanted, refuse,
};
use fluvial_tall::walls::Walls;
use frame::Frame;
use solids::Terrain;
use state::{State, Work};

/// Cubic cells of every column: as many as wanted, at least as many as reach from the floor to where liquid falls from, and no more than the domain
/// is high and one of its ceiling.
fn cubic_cells(params: &Params, setup: &Setup) -> usize {
    let most = (setup.domain.grid.cells[1] + 1).saturating_sub(LEAST_TALL as usize).max(1);
    (params.cubic_cells as usize).max(cells_to_fall(params, setup)).min(most)
}

/// Cells from the floor to the top of the highest source, or of the highest fill that does not stand on the ground, with the air that is wanted above. A column has
/// one tall cell, below its cubic ones: with fewer of them a jet and what it falls into have no place in it together.
fn cells_to_fall(params: &Params, setup: &Setup) -> usize {
    let (grid, below_m) = (&setup.domain.grid, params.cells_below * setup.domain.grid.dx);
    let sources = setup.sources.iter().map(|s| s.motion.pose(s.active_s[0]).world_bounds(s.shape.bounds()));
    let fills = setup.fills.iter().map(|fill| fill.shape.bounds());
    let hanging = fills.filter(|bounds| bounds.min.y > grid.min.y + below_m);
    let tops = sources.chain(hanging).map(|bounds| ((bounds.max.y - grid.min.y) / grid.dx).ceil());
    tops.fold(0.0, |most: f32, top| most.max(top + params.cells_above)).clamp(0.0, 1e6) as usize
}

/// What sources let in.
#[derive(Default)]
struct Flows {
    /// The sources that it was measured for.
    measured_for: Option<Vec<usize>>,
    flow_m3_s: Vec<Option<f64>>,
}

/// A liquid on tall cells.
pub struct TallSolver {
    setup: Setup,
    params: Params,
    frame: Frame,
    terrain: Terrain,
    /// Is anything but terrain solid, or the domain closed above?
    has_solids: bool,
    /// Can liquid leave the domain?
    has_outside: bool,
    /// What liquid lets go of.
    walls: Walls,
    flows: Flows,
    /// Of the bodies.
    surfaces: Vec<BodySurface>,
    state: State,
    work: Work,
    asked_to_stop: Option<StopQuestion>,
    /// What computes, for the record of a run.
    computes_on: String,
}

/// Refuses by name what a scene asks for and this method lacks, beside its capabilities.
fn check_support(setup: &Setup) -> Result<(), SetupError> {
    let has_no_floor = setup.domain.walls[2] == Wall::Open;
    refuse(Params::NAME, &[(has_no_floor, "an open floor (`y_min`)", "domain.walls")])
}

impl TallSolver {
    /// Places the liquid of a set-up on columns.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        check_support(&setup)?;
        let (frame, regular) = (Frame::new(&setup), cubic_cells(&params, &setup));
        let terrain = Terrain::new(&setup, &frame, regular);
        let [nx, nz] = frame.columns;
        let grid = Self::lowest_grid(&terrain.heights, [nx, regular, nz], frame.dx);
        let mut solver = TallSolver {
            has_solids: !setup.solids.is_empty() || !frame.is_open_above,
            has_outside: setup.open_walls().contains(&true),
            walls: solids::letting_go(&setup, &frame),
            flows: Flows::default(),
            surfaces: bodies::surfaces(&setup, &frame),
            work: Work::new(&grid),
            state: State::new(grid),
            asked_to_stop: None,
            computes_on: "processor".to_owned(),
            setup,
            params,
            frame,
            terrain,
        };
        solver.state.bodies = Bodies::new(&solver.setup)?;
        solver.state.spray = solver.no_spray();
        solver.state.owed = vec![Default::default(); solver.surfaces.len()];
        solver.place_bodies_of_state();
        solver.place_liquid();
        let mut solids = std::mem::take(&mut solver.state.solids);
        solver.place_solids(&mut solids, &solver.state.fields.grid, 0.0);
        solver.state.solids = solids;
        let State { fields, solids, held, .. } = &mut solver.state;
        fluvial_tall::volume::measure(held, &fields.grid, &fields.phi, &solids.open());
        let start_m3 = volume::total(held) * solver.frame.cell_m3();
        if start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        solver.state.volume.open(start_m3);
        let report = solver.initial_report();
        solver.state.kinetic_energy_j = report.kinetic_energy_j;
        solver.state.limiting_speed_m_s = report.max_speed_m_s;
        Ok(solver)
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.fields, &mut work.fields);
        std::mem::swap(&mut state.solids, &mut work.solids);
        std::mem::swap(&mut state.held, &mut work.held);
        if let Some(spray) = &mut state.spray {
            std::mem::swap(spray, &mut work.spray.fields);
        }
        self.commit_numbers(dt_s);
    }

    /// The same for what is not a field.
    fn commit_numbers(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        state.volume = work.volume;
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.limiting_speed_m_s = work.limiting_speed_m_s;
        if let Some(bodies) = work.bodies.take() {
            state.bodies = Some(bodies);
            state.owed.clear();
            state.owed.extend(work.coupled.iter().map(|body| body.lent));
        }
        state.last_dt_s = dt_s;
        state.lead_s = work.centring.lead_s;
        state.time_s += dt_s;
        state.steps += 1;
    }
}

impl Solver for TallSolver {
    fn method(&self) -> &'static str {
        Params::NAME
    }

    fn time_s(&self) -> f64 {
        self.state.time_s
    }

    fn suggest_dt(&self) -> SuggestedDt {
        self.largest_dt()
    }

    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError> {
        let result = parallel::on_worker(|| step::step(self, dt_s));
        if result.is_err() {
            self.place_bodies_of_state();
        }
        result
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn computes_on(&self) -> String {
        self.computes_on.clone()
    }

    fn initial_report(&self) -> StepReport {
        let State { fields, solids, volume, .. } = &self.state;
        self.report(fields, solids, volume)
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        self.draw(params.smoothing)
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let level_set = wanted.level_set.then(|| LevelSet::Sparse(Box::new(draw::OnCells::new(self))));
        Snapshot { level_set, particles: None, cut_cells: None }
    }

    fn height_at(&self, x: f32, z: f32) -> f64 {
        self.column_height(x, z)
    }

    fn pressure_at(&self, x_in_world: Vec3) -> f64 {
        self.pressure_at_point(x_in_world)
    }

    fn volume_in(&self, shape: &Shape) -> f64 {
        self.volume_inside(shape)
    }

    fn velocity_at(&self, x_in_world: Vec3) -> Vec3 {
        self.velocity_at_point(x_in_world)
    }

    fn whitewater(&self) -> Option<OwnWhitewater> {
        self.own_whitewater()
    }

    fn act(&mut self, action: &Action) -> bool {
        self.do_action(action)
    }

    fn bodies(&self) -> Vec<BodyReport> {
        self.body_reports()
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
