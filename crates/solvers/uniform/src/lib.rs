//! The uniform reference solver: a MAC grid in a box, a level set or FLIP/APIC particles, second-order
//! boundaries. If another method and this one disagree on a converged scene, the other one is wrong until
//! shown otherwise.

mod adapt;
mod advect;
mod bodies;
mod crowding;
mod draw;
mod draw_particles;
mod drops;
mod expected;
mod extend;
mod forces;
mod mass;
mod measure;
mod method;
mod params;
mod particle_mass;
mod pressure;
mod save;
mod sources;
mod state;
mod step;
mod volume;

pub use params::{Params, PhiScheme, VelocityScheme};

use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_particles::{Transfer, mark_near};
use fluvial_pressure::MultigridCg;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Bodies, BodyReport, LevelSet, Listed, ParticleKinds, ParticleSet, PressureReport, RestoreError, Setup,
    SetupError, Snapshot, Solver, StateReader, StateWriter, StepError, StepMomentum, StepReport,
    StopQuestion, SuggestedDt, SurfaceParams, Tracker, UniformLevelSet, Wanted,
};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside, set_velocities};
use particle_mass::Carried;
use state::{Fields, Start, State, Work};
use std::borrow::Cow;

/// Drops among the kinds of particles, `fluvial_solver_interface::PARTICLE_KINDS`.
const FLYING: u8 = 3;

/// A liquid on a uniform grid.
pub struct UniformSolver {
    setup: Setup,
    params: Params,
    grid: UniformGrid,
    /// Half-width of the band in which phi is a distance, cells: the CFL reach and the widest stencil.
    cfl_band_cells: f32,
    solver: MultigridCg,
    state: State,
    start: Start,
    work: Work,
    asked_to_stop: Option<StopQuestion>,
}

impl UniformSolver {
    /// Places the liquid of a set-up on its grid.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        let grid = setup.domain.grid;
        let mut solver = UniformSolver {
            cfl_band_cells: setup.cfl.ceil() + 3.0,
            solver: MultigridCg::new(grid.cells),
            state: State::new(&grid, params.conserves_volume()),
            start: Start::default(),
            work: Work::new(&grid, params.has_particles(), params.conserves_volume()),
            asked_to_stop: None,
            grid,
            setup,
            params,
        };
        solver.state.bodies = Bodies::new(&solver.setup)?;
        solver.setup.place_bodies(solver.state.bodies.as_ref(), 0.0);
        solver.place_boundaries_of_state();
        solver.place_liquid()?;
        solver.state.kinetic_energy_j = solver.initial_report().kinetic_energy_j;
        if solver.state.volume.start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    /// phi and velocity of the fills, made a distance, with particles seeded below the surface.
    fn place_liquid(&mut self) -> Result<(), SetupError> {
        let cells = self.grid.cell_centers();
        let (setup, solids, dx) = (&self.setup, self.setup.solids_at(0.0), self.grid.dx);
        let sides = &self.state.boundaries.solids.fields.sides;
        let seen = setup.sees_fill(&solids, sides, &cells);
        // What continues phi into solids knows deep liquid by phi's saturating there.
        let band_m = self.cfl_band_cells * dx;
        cells.for_each_mut(&mut self.work.fields.phi_cell, |cell, [i, j, k], phi| {
            let side = sides.own_place(&cells, [i, j, k]);
            let distance_m = setup.fill_distance_beside(&solids, cells.position(i, j, k), dx, side);
            *phi = seen[cell].distance_m(distance_m, dx).clamp(-band_m, band_m);
        });
        // Films that reach no cell's centre are particles from the start.
        let phi_fills = if self.params.has_particles() { self.work.fields.phi_cell.clone() } else { vec![] };
        self.redistance();
        std::mem::swap(&mut self.state.fields.phi_cell, &mut self.work.fields.phi_cell);
        let reach_m = self.band_m();
        let (setup, Fields { u_face, u_transport, .. }) = (&self.setup, &mut self.state.fields);
        for axis in AXES {
            let faces = self.grid.faces(axis);
            faces.for_each_mut(&mut u_face[axis], |_, [i, j, k], u| {
                let velocity = setup.fill_velocity(faces.position(i, j, k), reach_m);
                *u = velocity.map_or(0.0, |v| v[axis]);
            });
        }
        u_transport.copy_from(u_face);
        let fastest = setup.fills.iter().fold(0.0, |m, f| f.velocity.length().max(m));
        self.state.limiting_speed_m_s = fastest as f64;
        if self.setup.has_moving_solids() {
            self.follow_solids()?;
        }
        if self.params.has_particles() {
            self.seed_particles(&phi_fills);
        } else {
            self.open_volume_account();
        }
        Ok(())
    }

    /// The mesh of a level set outside the solids.
    fn mesh(&self, phi_cell: &[f32], params: &MeshParams) -> TriangleMesh {
        let cells = self.grid.cell_centers();
        if self.setup.solids.is_empty() {
            return mesh_level_set(phi_cell, &cells, params);
        }
        let solids = self.setup.solids_at(self.state.time_s);
        let distance = |x| solids.distance_beside_samples(x, self.solid_distance(x), self.grid.dx);
        let clip = SolidClip { distance: &distance, overlap: 0.0 };
        mesh_level_set_outside(phi_cell, &cells, &clip, params)
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

    /// The drops as particles.
    fn drop_set(&self) -> ParticleSet<'_> {
        let drops = &self.state.drops;
        let radius: Vec<f32> = drops.volume_m3.iter().map(|&v| fluvial_drops::radius_m(v)).collect();
        ParticleSet {
            x: Cow::Borrowed(&drops.x),
            v: Cow::Borrowed(&drops.v),
            id: Cow::Borrowed(&drops.id),
            age_s: Cow::Borrowed(&drops.age_s),
            radius: 0.5 * self.grid.dx,
            kinds: Some(ParticleKinds { kind: vec![FLYING; radius.len()], radius }),
        }
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64, report: &mut StepReport) {
        self.update_particles(dt_s);
        self.measure_particles(report);
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.fields, &mut work.fields);
        std::mem::swap(&mut state.boundaries, &mut work.boundaries);
        state.bodies = work.bodies.take();
        std::mem::swap(&mut state.volume, &mut work.volume);
        std::mem::swap(&mut state.drops, &mut work.mass.drops);
        if self.params.has_particles() {
            std::mem::swap(&mut state.reserve, &mut work.particles.reserve);
        }
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.limiting_speed_m_s = work.limiting_speed_m_s;
        state.time_s += dt_s;
        state.pushed_s = work.centring.push_s;
        state.lead_s = work.centring.lead_s;
        state.steps += 1;
        report.particles = state.particles.len() + state.drops.len();
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
        parallel::on_worker(|| step::step(self, dt_s))
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        let State { fields, boundaries, volume, drops, particles, reserve, .. } = &self.state;
        let mut report = self.report(fields, boundaries, PressureReport::default(), (volume, drops)).0;
        if self.params.has_particles() {
            let mut near = vec![];
            mark_near(&mut near, &fields.phi_cell, &self.grid);
            let carried = Carried { particles, reserve, near_cell: &near };
            self.energy_of_mass(&carried, fields, boundaries, volume.volume_m3).put_into(&mut report);
        }
        report
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        let drawn = MeshParams { smoothing_rounds: params.smoothing as usize };
        let part = self.part_without_shreds();
        let drawn_phi = self.drawn_phi(&part);
        let mut mesh = self.mesh(&drawn_phi, &drawn);
        if self.params.has_particles() {
            self.fit_mesh(&mut mesh, &drawn_phi, &part);
        }
        set_velocities(&mut mesh, |x| self.grid.sample_velocity(&self.state.fields.u_face, x));
        if self.params.has_particles() {
            self.draw_particles(&mut mesh, &part);
        } else {
            self.draw_all_volume(&mut mesh, &drawn_phi);
        }
        mesh
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        let (state, solids) = (&self.state, &self.state.boundaries.solids.fields);
        let level_set = wanted.level_set.then(|| {
            LevelSet::Uniform(UniformLevelSet {
                grid: self.grid,
                phi_cell: match self.params.has_particles() {
                    true => Cow::Owned(self.drawn_phi(&self.whole_part()).into_owned()),
                    false => Cow::Borrowed(&state.fields.phi_cell),
                },
                u_face: Cow::Borrowed(&state.fields.u_face),
                phi_solid_node: (!self.setup.solids.is_empty()).then_some(Cow::Borrowed(&solids.phi_node)),
            })
        });
        let drops = (wanted.particles && self.params.conserves_volume()).then(|| self.drop_set());
        let particles = (wanted.particles && self.params.has_particles()).then(|| ParticleSet {
            x: Cow::Borrowed(&state.particles.x),
            v: Cow::Borrowed(&state.particles.v),
            id: Cow::Borrowed(&state.particles.id),
            age_s: Cow::Borrowed(&state.particles.age_s),
            radius: fluvial_particles::particle_radius_m(&self.grid),
            kinds: None,
        });
        Snapshot { level_set, particles: particles.or(drops), cut_cells: None }
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
        Bodies::reports_of(self.state.bodies.as_ref(), self.state.pushed_s)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
