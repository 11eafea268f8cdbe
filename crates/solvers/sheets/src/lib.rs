//! The sheets solver: FLIP whose thin sheets do not fall apart, after Ando, Thürey and Tsuruno 2012 (cited as
//! `[sheets §4.2]`). Particles carry the liquid; a uniform grid makes their flow incompressible. README.md
//! maps the paper to functions.

mod adapt;
mod advect;
mod bodies;
mod draw;
mod evenness;
mod expected;
mod films;
mod flow;
mod measure;
mod method;
mod params;
mod pressure;
mod save;
mod sources;
mod state;
mod step;
mod surface;

pub use fluvial_sheets::{Kind, Topology, UNIT_MASS};
pub use params::{Params, PositionCorrection};

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_pressure::MultigridCg;
use fluvial_sheets::{Bins, Population, Walls};
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Bodies, BodyReport, LevelSet, Listed, ParticleKinds, ParticleSet, PressureReport, RestoreError, Setup,
    SetupError, Snapshot, Solver, StateReader, StateWriter, StepError, StepMomentum, StepReport,
    StopQuestion, SuggestedDt, SurfaceParams, UniformLevelSet, Wanted, refuse,
};
use measure::Measured;
use state::{State, Work};
use std::borrow::Cow;

/// Smallest share of a particle that is seeded.
const LEAST_SEED: f32 = 0.02;

/// Liquid as particles on a uniform grid.
pub struct SheetsSolver {
    setup: Setup,
    params: Params,
    grid: UniformGrid,
    /// Layers of faces beyond the liquid that know a velocity: the reach of a step and a bit.
    band_cells: usize,
    solver: MultigridCg,
    state: State,
    work: Work,
    asked_to_stop: Option<StopQuestion>,
}

impl SheetsSolver {
    /// Fills the liquid of a set-up with particles.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        let is_bare = setup.solids.is_empty() && setup.sources.is_empty() && setup.sinks.is_empty();
        refuse(
            Params::NAME,
            &[(setup.flow.is_some() && !is_bare, "solids, sources or sinks in a given flow", "flow")],
        )?;
        let grid = setup.domain.grid;
        let open_walls = setup.open_walls();
        let bounds = grid.bounds();
        let wall = |side: usize, at: Vec3, none: f32| {
            [0, 1, 2].map(|axis| if open_walls[2 * axis + side] { none } else { at[axis] })
        };
        let walls = Walls {
            low: wall(0, bounds.min, f32::NEG_INFINITY),
            high: wall(1, bounds.max, f32::INFINITY),
            solid: None,
        };
        let bins = Bins { min: grid.min, cell_m: grid.dx, size: grid.cells };
        let population = Population::new(bins, walls, params.sheets(grid.dx));
        let mut solver = SheetsSolver {
            band_cells: setup.cfl.ceil() as usize + 3,
            solver: MultigridCg::new(grid.cells),
            state: State::new(&grid, population.clone()),
            work: Work::new(&grid, population),
            asked_to_stop: None,
            grid,
            setup,
            params,
        };
        solver.state.bodies = Bodies::new(&solver.setup)?;
        solver.setup.place_bodies(solver.state.bodies.as_ref(), 0.0);
        solver.place_boundaries_of_state();
        solver.place_liquid()?;
        if solver.state.account.start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    /// Seeds the fills on the lattice of small particles, lighter ones where a fill ends between two of them,
    /// and gives the grid their velocity.
    fn place_liquid(&mut self) -> Result<(), SetupError> {
        let (grid, d0) = (self.grid, self.params.radius_m(self.grid.dx));
        let per_axis = (self.params.particles_per_cell as f32).cbrt().round() as usize;
        let (setup, fills) = (&self.setup, &self.setup.fills);
        let place = adapt::Place::new(setup, &self.state.boundaries.solids.fields, &self.grid);
        let around_a_seed = steps_around();
        let (solids, margin) = (setup.solids_at(0.0), 1e-3 * grid.dx);
        let cells = grid.cell_centers();
        let seeds = parallel::map_indices(cells.len(), |cell| {
            let [i, j, k] = cells.coordinates(cell);
            let center = cells.position(i, j, k);
            let mut found = vec![];
            if fills.iter().all(|f| f.shape.distance(center) > grid.dx) {
                return found;
            }
            let corner = center - 0.5 * grid.dx;
            for part in 0..per_axis.pow(3) {
                let at = [part % per_axis, part / per_axis % per_axis, part / (per_axis * per_axis)];
                let x = corner + d0 * (Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) + 0.5);
                let Some(fill) = fills.iter().rev().find(|f| f.shape.distance(x) < 0.5 * d0) else {
                    continue;
                };
                // Distance to the liquid: the fills outside the solids.
                let distance = |x: Vec3| setup.fill_distance(x).max(-solids.distance(x, grid.dx));
                // Out of a thin wall the way may lead to the side where there is no liquid.
                let is_wet = |x: Vec3| setup.fill_distance(x) <= margin;
                let is_open = |x: Vec3| is_wet(x) && solids.distance(x, grid.dx) > margin;
                let is_crossed = |a, b| solids.is_crossed(a, b, margin);
                found.extend(seed(x, d0, distance).filter(|(x, _)| is_wet(*x)).map(|(x, mass)| {
                    let places = || around_a_seed.iter().map(|step| x + grid.dx * *step);
                    // In a wall that the fill reaches into, the seed is on the side of the liquid next to it: from within a solid
                    // one sees out of both its faces.
                    let from = places().find(|&at| is_open(at)).unwrap_or(x);
                    let is_free =
                        |to: &Vec3| is_open(*to) && place.is_free(*to, is_crossed) && !is_crossed(from, *to);
                    let nearest = places().find(is_free);
                    (nearest.unwrap_or_else(|| place.on_its_side(from, is_crossed)), mass, fill.velocity)
                }));
            }
            found
        });
        let population = &mut self.work.population;
        let flow = self.setup.flow;
        let start = |x: Vec3, v: Vec3| flow.map_or(v, |flow| flow.velocity(x, 0.0));
        for (x, mass, v) in seeds.into_iter().flatten() {
            population.particles.push(x, start(x, v), mass, 1, Kind::Small);
        }
        self.place_surface();
        self.measure_particles(0.0);
        self.particles_to_grid();
        if self.setup.has_moving_solids() {
            self.follow_solids()?;
        }
        self.extrapolate_velocity();
        if self.setup.has_moving_solids() {
            self.grid_to_particles(0.0);
        }
        let volume_m3 = self.volume_of(self.work.population.particles.total_mass());
        self.work.account.open(volume_m3);
        self.commit(0.0);
        self.state.steps = 0;
        let (report, limiting_speed_m_s) = self.report_of_state();
        (self.state.kinetic_energy_j, self.state.limiting_speed_m_s) =
            (report.kinetic_energy_j, limiting_speed_m_s);
        Ok(())
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.population, &mut work.population);
        std::mem::swap(&mut state.fields, &mut work.fields);
        std::mem::swap(&mut state.boundaries, &mut work.boundaries);
        std::mem::swap(&mut state.account, &mut work.account);
        state.bodies = work.bodies.take().or_else(|| state.bodies.take());
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.limiting_speed_m_s = work.limiting_speed_m_s;
        state.time_s += dt_s;
        state.last_dt_s = dt_s;
        state.steps += 1;
    }

    fn report_of_state(&self) -> (StepReport, f64) {
        let State { population, fields, boundaries, account, .. } = &self.state;
        let liquid = Measured { population, fields, boundaries, account };
        self.report(&liquid, PressureReport::default(), None)
    }

    /// What each particle is, in the order of a snapshot's particles.
    pub fn kinds(&self) -> &[Kind] {
        &self.state.population.particles.kind
    }

    /// The particles with everything that keeps them.
    pub fn population(&self) -> &Population {
        &self.state.population
    }
}

/// Steps to places around a seed, in cells, the nearest first. A seed beside solids goes to the nearest liquid that the
/// sampled solids leave open: transport would push it out in the first step, from a corner by up to one and a half
/// cells and out of the surface, and still water in a tilted bowl would flow at 0.2 m/s.
/// Test: `still_water_stays_still_in_tilted_bowls`.
fn steps_around() -> Vec<Vec3> {
    const REACH: i32 = 6;
    let range = || -REACH..=REACH;
    let places = range().flat_map(|k| range().flat_map(move |j| range().map(move |i| [i, j, k])));
    let mut steps: Vec<Vec3> = places.map(|at| 0.25 * Vec3::from_array(at.map(|n| n as f32))).collect();
    steps.sort_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
    steps
}

/// The particle of a lattice point, whose cube liquid fills in part: where the filled part's centre is, and
/// its mass. None where it is next to nothing.
fn seed(x: Vec3, d0: f32, distance: impl Fn(Vec3) -> f32) -> Option<(Vec3, u32)> {
    // The surface is a plane within the cube.
    let share = (0.5 - distance(x) / d0).clamp(0.0, 1.0);
    if share > 0.995 {
        return Some((x, UNIT_MASS));
    }
    let slope = |axis: Vec3| distance(x + 0.25 * d0 * axis) - distance(x - 0.25 * d0 * axis);
    let outward = Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)).normalize_or_zero();
    let inside = x - 0.5 * (1.0 - share) * d0 * outward;
    (share > LEAST_SEED).then_some((inside, (share * UNIT_MASS as f32) as u32))
}

impl Solver for SheetsSolver {
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
        self.report_of_state().0
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        self.draw(params)
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let particles = &self.state.population.particles;
        let half = 0.5 * self.params.radius_m(self.grid.dx);
        let set = wanted.particles.then(|| ParticleSet {
            x: Cow::Borrowed(&particles.x),
            v: Cow::Borrowed(&particles.v),
            id: Cow::Borrowed(&particles.id),
            age_s: Cow::Borrowed(&particles.age_s),
            radius: half,
            kinds: Some(ParticleKinds {
                kind: particles.kind.iter().map(|&kind| kind as u8).collect(),
                radius: (0..particles.len()).map(|i| particles.radius(i, half)).collect(),
            }),
        });
        let solids = &self.state.boundaries.solids.fields;
        let level_set = wanted.level_set.then(|| {
            LevelSet::Uniform(UniformLevelSet {
                grid: self.grid,
                phi_cell: Cow::Owned(self.level_set()),
                u_face: Cow::Borrowed(&self.state.fields.u_face),
                phi_solid_node: (!self.setup.solids.is_empty()).then_some(Cow::Borrowed(&solids.phi_node)),
            })
        });
        Snapshot { level_set, particles: set, cut_cells: None }
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

    fn momentum_of_last_step(&self) -> Option<StepMomentum> {
        self.last_momentum()
    }

    fn bodies(&self) -> Vec<BodyReport> {
        Bodies::reports_of(self.state.bodies.as_ref(), self.state.last_dt_s)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
