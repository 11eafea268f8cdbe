//! The uniform reference solver: a MAC grid in a box, a level set or FLIP/APIC particles, second-order
//! boundaries. If another method and this one disagree on a converged scene, the other one is wrong until
//! shown otherwise.

mod adapt;
mod advect;
mod expected;
mod extend;
mod forces;
mod measure;
mod method;
mod params;
mod pressure;
mod save;
mod sources;
mod state;
mod step;
mod volume;

pub use pressure::THETA_MIN;

pub use params::{Params, PhiScheme, VelocityScheme};

use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_particles::Transfer;
use fluvial_pressure::MultigridCg;
use fluvial_solids::{Shape, SolidFields};
use fluvial_solver_interface::{
    LevelSet, Listed, ParticleSet, PressureReport, RestoreError, Setup, SetupError, Snapshot, Solver,
    StateReader, StateWriter, StepError, StepReport, StopQuestion, SuggestedDt, SurfaceParams, Tracker,
    UniformLevelSet, Wall, Wanted,
};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside, set_velocities};
use state::{State, Work};
use std::borrow::Cow;

/// A liquid on a uniform grid.
pub struct UniformSolver {
    setup: Setup,
    params: Params,
    grid: UniformGrid,
    open_walls: [bool; 6],
    /// Half-width of the band in which phi is a distance, cells: the CFL reach and the widest stencil.
    cfl_band_cells: f32,
    solids: SolidFields,
    boundaries_placed: bool,
    had_sources: bool,
    /// By how much each source's surface lies off its shape's, metres.
    source_offset_m: Vec<f32>,
    solver: MultigridCg,
    state: State,
    work: Work,
    /// The speed that the length of the next step is measured by.
    limiting_speed_m_s: f64,
    asked_to_stop: Option<StopQuestion>,
}

impl UniformSolver {
    /// Places the liquid of a set-up on its grid.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        if !setup.refine.is_empty() {
            return Err(SetupError::Unsupported { method: "uniform", feature: "[[refine]] regions".into() });
        }
        if setup.sources.len() > u8::MAX as usize - 1 {
            return Err(SetupError::Unsupported {
                method: "uniform",
                feature: "more than 254 sources".into(),
            });
        }
        let grid = setup.domain.grid;
        let mut solver = UniformSolver {
            open_walls: setup.domain.walls.map(|w| w == Wall::Open),
            cfl_band_cells: setup.cfl.ceil() + 3.0,
            solids: SolidFields::default(),
            boundaries_placed: false,
            had_sources: false,
            source_offset_m: vec![],
            solver: MultigridCg::new(grid.cells),
            state: State::new(&grid, setup.sources.len()),
            work: Work::new(&grid, params.has_particles(), !setup.solids.is_empty()),
            limiting_speed_m_s: 0.0,
            asked_to_stop: None,
            grid,
            setup,
            params,
        };
        solver.solver.set_theta_min(pressure::THETA_MIN);
        solver.fit_sources();
        solver.place_boundaries(0.0);
        solver.place_liquid();
        solver.state.kinetic_energy_j = solver.initial_report().kinetic_energy_j;
        if solver.state.volume.start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    /// phi and velocity of the fills, made a distance, with particles seeded below the surface.
    fn place_liquid(&mut self) {
        let grid = self.grid;
        let cells = grid.cell_centers();
        let fills = std::mem::take(&mut self.setup.fills);
        for_each_chunk_mut(&mut self.work.phi_cell, cells.slab(), |k, phi| {
            for (n, phi) in phi.iter_mut().enumerate() {
                let x = cells.position(n % cells.size[0], n / cells.size[0], k);
                *phi = fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min);
            }
        });
        self.redistance();
        std::mem::swap(&mut self.state.phi_cell, &mut self.work.phi_cell);
        let reach_m = self.band_m();
        for axis in AXES {
            let faces = grid.faces(axis);
            for_each_chunk_mut(&mut self.state.u_face[axis], faces.slab(), |k, u| {
                for (n, u) in u.iter_mut().enumerate() {
                    let x = faces.position(n % faces.size[0], n / faces.size[0], k);
                    // The nearest fill's velocity, also in the air around it, for the first back-trace.
                    let mut best = reach_m;
                    for fill in &fills {
                        let d = fill.shape.distance(x).max(0.0);
                        if d <= best {
                            (best, *u) = (d, fill.velocity[axis]);
                        }
                    }
                }
            });
        }
        let State { u_transport, u_face, .. } = &mut self.state;
        u_transport.copy_from(u_face);
        self.limiting_speed_m_s = fills.iter().fold(0.0, |m, f| f.velocity.length().max(m)) as f64;
        self.setup.fills = fills;
        self.open_volume_account();
        if self.params.has_particles() {
            self.refill_particle_band();
        }
    }

    fn transfer(&self) -> Transfer {
        match self.params.tracker {
            Tracker::Apic => Transfer::Apic,
            _ => Transfer::Flip { ratio: self.params.flip_ratio },
        }
    }

    fn band_cells(&self) -> usize {
        self.cfl_band_cells as usize
    }

    fn band_m(&self) -> f32 {
        self.cfl_band_cells * self.grid.dx
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.phi_cell, &mut work.phi_cell);
        std::mem::swap(&mut state.u_face, &mut work.u_face);
        std::mem::swap(&mut state.u_transport, &mut work.u_transport);
        std::mem::swap(&mut state.impulse_cell, &mut work.impulse_cell);
        std::mem::swap(&mut state.volume, &mut work.volume);
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.time_s += dt_s;
        state.last_dt_s = dt_s;
        state.steps += 1;
    }

    /// The step has failed: what it did is only in the work arrays, but for sources and sinks, which are undone, and the
    /// solids, which go back to where they were.
    fn roll_back(&mut self) {
        self.undo_sources_and_sinks();
        self.place_boundaries_anew();
    }
}

impl Solver for UniformSolver {
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
        step::step(self, dt_s)
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        self.report((&self.state.phi_cell, &self.state.u_face), PressureReport::default(), &self.state.volume)
            .0
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        let cells = self.grid.cell_centers();
        let mesh_params = MeshParams { smoothing_rounds: params.smoothing as usize };
        let mut mesh = if self.setup.solids.is_empty() {
            mesh_level_set(&self.state.phi_cell, &cells, &mesh_params)
        } else {
            let nodes = self.grid.nodes();
            let overlap = 0.25 * self.grid.dx;
            let clip = SolidClip { phi: &self.solids.phi_node, lattice: &nodes, overlap };
            mesh_level_set_outside(&self.state.phi_cell, &cells, &clip, &mesh_params)
        };
        set_velocities(&mut mesh, |x| self.grid.sample_velocity(&self.state.u_face, x));
        mesh
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let (state, solids) = (&self.state, &self.solids);
        let level_set = wanted.level_set.then(|| {
            LevelSet::Uniform(UniformLevelSet {
                grid: self.grid,
                phi_cell: Cow::Borrowed(&state.phi_cell),
                u_face: Cow::Borrowed(&state.u_face),
                phi_solid_node: (!self.setup.solids.is_empty()).then_some(Cow::Borrowed(&solids.phi_node)),
            })
        });
        let particles = (wanted.particles && self.params.has_particles()).then(|| ParticleSet {
            x: Cow::Borrowed(&state.particles.x),
            v: Cow::Borrowed(&state.particles.v),
            id: Cow::Borrowed(&state.particles.id),
            age_s: Cow::Borrowed(&state.particles.age_s),
            radius: fluvial_particles::particle_radius_m(&self.grid),
            kinds: None,
        });
        Snapshot { level_set, particles, cut_cells: None }
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
        self.grid.sample_velocity(&self.state.u_face, x_in_world)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
