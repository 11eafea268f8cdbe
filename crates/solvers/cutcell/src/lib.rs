//! Liquid below one grid cell, after Chen, Meier, Solenthaler and Azevedo 2020 (cited as `[cutcell §3.3]`): the surface
//! lives on a finer grid that nests in the simulation grid, cells are cut along it and along solids, every piece of a cell
//! has its own pressure, and particles carry velocity and volume. The kernels are `fluvial_cutcell`'s; README.md maps the
//! paper to functions.

mod adapt;
mod advect;
mod draw;
mod drops;
mod expected;
mod measure;
mod method;
mod params;
mod pressure;
mod save;
mod seed;
mod solids;
mod sources;
mod state;
mod step;

pub use params::{Params, Transfer};

use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::{Lattice, TriangleMesh, UniformGrid};
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Listed, ParticleSet, PressureReport, RestoreError, Setup, SetupError, Snapshot, Solver, StateReader,
    StateWriter, StepError, StepReport, StopQuestion, SuggestedDt, SurfaceParams, Wanted, refuse,
};
use fluvial_volume::Account;
use solids::Boundary;
use state::{Fields, State, Work};
use std::borrow::Cow;

/// Pressures look for their iso-distances so far inside the liquid, in cells, and particles for their depth.
const IN_DEPTH: f32 = 1.5;
/// Cells beyond an open wall: liquid that arrives there has left.
const RING: usize = 2;

/// Liquid in cut cells.
pub struct CutCellSolver {
    setup: Setup,
    params: Params,
    /// The domain with a ring of cells beyond its open walls.
    grid: UniformGrid,
    /// Nodes of the tracker.
    nodes: Lattice,
    boundary: Boundary,
    state: State,
    work: Work,
    asked_to_stop: Option<StopQuestion>,
}

/// Refuses by name what a scene asks for and this method lacks, beside its capabilities.
fn check_support(setup: &Setup) -> Result<(), SetupError> {
    let has_moving_sources = setup.sources.iter().any(|s| !s.motion.is_static());
    refuse(Params::NAME, &[(has_moving_sources, "moving sources", "source")])
}

/// The domain's grid with a ring of cells beyond open walls.
fn widened(setup: &Setup) -> UniformGrid {
    let (grid, open) = (setup.domain.grid, setup.open_walls());
    let ring = |side: usize| if open[side] { RING } else { 0 };
    let low = Vec3::new(ring(0) as f32, ring(2) as f32, ring(4) as f32);
    UniformGrid {
        min: grid.min - grid.dx * low,
        cells: std::array::from_fn(|a| grid.cells[a] + ring(2 * a) + ring(2 * a + 1)),
        dx: grid.dx,
    }
}

/// Nodes of the tracker of a grid.
fn tracker_nodes(grid: &UniformGrid, factor: usize) -> Lattice {
    Lattice { size: grid.cells.map(|n| factor * n + 1), origin: grid.min, spacing: grid.dx / factor as f32 }
}

impl CutCellSolver {
    /// Places the liquid of a set-up.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        check_support(&setup)?;
        let grid = widened(&setup);
        let nodes = tracker_nodes(&grid, params.tracker_factor as usize);
        let mut solver = CutCellSolver {
            boundary: Boundary::new(&setup, &grid, &nodes),
            state: State {
                fields: Fields::new(&grid, nodes.len()),
                account: Account::default(),
                kinetic_energy_j: 0.0,
                limiting_speed_m_s: 0.0,
                time_s: 0.0,
                steps: 0,
            },
            work: Work::new(&grid, nodes.len()),
            asked_to_stop: None,
            grid,
            nodes,
            setup,
            params,
        };
        solver.place_liquid();
        if solver.state.account.start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    fn factor(&self) -> usize {
        self.params.tracker_factor as usize
    }

    /// Edge of the tracker's cells, m.
    fn fine_m(&self) -> f32 {
        self.nodes.spacing
    }

    fn cell_m3(&self) -> f64 {
        f64::from(self.grid.dx).powi(3)
    }

    fn is_affine(&self) -> bool {
        self.params.transfer == Transfer::Apic
    }

    /// The cells that the CFL number counts, m: the tracker's. Its volume is kept to the second order of a step's way; a
    /// splash lost 5.1, 1.3 and 0.1 % at 1.2, 0.6 and 0.15 cells of the grid. Among solids the grid's.
    fn way_m(&self) -> f64 {
        f64::from(self.fine_m())
    }

    /// phi is a distance to so far from the surface, m: what a step may cross, and what redistancing asks for.
    fn band_m(&self) -> f32 {
        let reach = self.setup.cfl.ceil() * self.way_m() as f32 + 4.0 * self.fine_m();
        reach.max(IN_DEPTH * self.grid.dx)
    }

    /// A position in cells of the grid.
    fn in_cells(&self, x: Vec3) -> DVec3 {
        (x - self.grid.min).as_dvec3() / f64::from(self.grid.dx)
    }

    /// A position in metres.
    fn in_world(&self, x: DVec3) -> Vec3 {
        self.grid.min + (f64::from(self.grid.dx) * x).as_vec3()
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.fields, &mut work.fields);
        state.account = work.account;
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.limiting_speed_m_s = work.limiting_speed_m_s;
        state.time_s += dt_s;
        state.steps += 1;
    }
}

impl Solver for CutCellSolver {
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
        parallel::on_worker(|| step::step(self, dt_s))
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        self.report(&self.state.fields, &self.state.account, PressureReport::default())
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        self.draw(params)
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let population = &self.state.fields.population;
        let particles = &population.particles;
        let per_axis = self.params.particles_per_axis() as f32;
        let set = wanted.particles.then(|| ParticleSet {
            x: Cow::Borrowed(&particles.x),
            v: Cow::Borrowed(&particles.v),
            id: Cow::Borrowed(&particles.id),
            age_s: Cow::Borrowed(&particles.age_s),
            radius: 0.5 * self.grid.dx / per_axis,
            kinds: None,
        });
        Snapshot { level_set: None, particles: set, cut_cells: None }
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
        self.grid.sample_velocity(&self.state.fields.u_face, x_in_world)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
