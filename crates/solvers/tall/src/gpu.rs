//! The solver on a GPU: the state lies on the device, a step is one submission, and a few sums a row of columns come
//! back from it. The host's copy of the fields is fetched where somebody asks for it.
//!
//! Shapes are the host's: what moves, pours and drains reaches the device as lists of cells
//! (`fluvial_tall::exchange`), made by the same functions that the solver on the processor uses.

use crate::params::Device as Choice;
use crate::state::State;
use crate::{Params, TallDivergence, TallSolver};
use fluvial_device::{AdapterChoice, Device, DeviceError, adapters};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Action, BodyReport, Clamps, Listed, OwnWhitewater, PressureReport, RestoreError, SetupError, Snapshot,
    Solver, Stages, StateReader, StateWriter, StepError, StepReport, StopQuestion, SuggestedDt,
    SurfaceParams, Wanted,
};
use fluvial_tall::exchange::CellList;
use fluvial_tall::gpu::{GpuWater, StepInputs, StepNumbers, WaterFields, WaterParams};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// A liquid on tall cells whose state lies on a GPU.
pub struct GpuTallSolver {
    /// The solver on the processor with the device's fields, once they were asked for after a step.
    fresh: OnceLock<TallSolver>,
    /// The same, with the fields of an earlier moment; everything else is of this one.
    stale: Mutex<Option<TallSolver>>,
    water: GpuWater,
    /// What the device answered instead of fields.
    fault: Mutex<Option<String>>,
    /// What the device has of the host's.
    limits: Vec<[f32; 2]>,
    drained: CellList,
    is_pouring: bool,
}

/// The solver where the parameters want it.
pub(crate) fn on_device(mut solver: TallSolver, choice: Choice) -> Result<Box<dyn Solver>, SetupError> {
    let no_device = |error: DeviceError| {
        SetupError::Invalid(format!("{error}. `method.device = \"cpu\"` computes without a GPU"))
    };
    match choice {
        Choice::Cpu => Ok(Box::new(solver)),
        Choice::Gpu => {
            let device = Device::open(&AdapterChoice::Auto).map_err(no_device)?;
            Ok(Box::new(GpuTallSolver::new(solver, device).map_err(no_device)?))
        }
        Choice::Auto => {
            let found = adapters().into_iter().find(|adapter| !adapter.is_software);
            let Some(adapter) = found else {
                solver.computes_on = "processor: no GPU is found that is not software".to_owned();
                return Ok(Box::new(solver));
            };
            let (setup, params) = (solver.setup.clone(), solver.params.clone());
            let opened = Device::open(&AdapterChoice::Named(adapter.name.clone()));
            match opened.and_then(|device| GpuTallSolver::new(solver, device)) {
                Ok(solver) => Ok(Box::new(solver)),
                Err(error) => {
                    let mut solver = TallSolver::new(setup, params)?;
                    solver.computes_on = format!("processor: {error}");
                    Ok(Box::new(solver))
                }
            }
        }
    }
}

fn water_params(solver: &TallSolver) -> WaterParams {
    let (params, setup) = (&solver.params, &solver.setup);
    WaterParams {
        gravity: setup.liquid.gravity.to_array(),
        density: setup.liquid.density,
        remesh: params.remesh(),
        cycles: [params.cycles(false), params.cycles(true)],
        is_counting: params.tall_divergence == TallDivergence::Sides,
        corrects_phi: params.phi_advection == crate::PhiScheme::MacCormack,
        conserves_volume: params.conserves_volume(),
        has_sources: !setup.sources.is_empty(),
        has_sinks: !setup.sinks.is_empty(),
        beyond: solver.has_outside.then(|| solver.frame.beyond()),
        walls: solver.walls,
        has_moving: setup.has_moving_solids(),
        bodies: [solver.surfaces.len(), solver.element_count()],
        spray: if solver.state.spray.is_some() { params.spray_particles as usize } else { 0 },
    }
}

fn failed(error: DeviceError) -> StepError {
    StepError::Device(error.to_string())
}

impl GpuTallSolver {
    /// Takes a solver's state to a device.
    pub fn new(mut solver: TallSolver, device: Device) -> Result<Self, DeviceError> {
        solver.computes_on = device.record().to_string();
        let mut limits = vec![];
        solver.limit_tops(&mut limits, 0.0, 0.0);
        let (grid, ground) = (&solver.state.fields.grid, &solver.terrain.ground);
        let mut water = GpuWater::new(device, grid, ground, &limits, water_params(&solver))?;
        upload(&mut water, &solver)?;
        let drained = CellList::empty(solver.state.fields.grid.columns.len());
        let fresh = OnceLock::new();
        fresh.set(solver).ok();
        let (stale, fault) = (Mutex::default(), Mutex::default());
        Ok(GpuTallSolver { fresh, stale, water, fault, limits, drained, is_pouring: false })
    }

    /// Gives the device up, as a driver does that resets it: every later call answers with an error.
    pub fn give_up_device(&self) {
        self.water.device().destroy();
    }

    /// The solver on the processor, with fields of whatever moment.
    fn with_host<T>(&self, body: impl FnOnce(&TallSolver) -> T) -> T {
        if let Some(solver) = self.fresh.get() {
            return body(solver);
        }
        body(self.stale.lock().expect("no panic holds it").as_ref().expect("it is here or fresh"))
    }

    fn take_host(&mut self) -> TallSolver {
        let stale = self.stale.get_mut().expect("no panic holds it").take();
        self.fresh.take().or(stale).expect("it is in one of the two")
    }

    /// The solver on the processor with the device's fields. Should the device fail, they are those of an earlier
    /// moment, and [`Solver::fetch`] and the next step say so.
    fn host(&self) -> &TallSolver {
        self.fresh.get_or_init(|| {
            let stale = self.stale.lock().expect("no panic holds it").take();
            let mut solver = stale.expect("it is here or fresh");
            match self.water.read().and_then(|fields| Ok((fields, self.water.read_spray()?))) {
                Ok((fields, spray)) => {
                    parallel::on_worker(|| take_over(&mut solver, fields));
                    solver.state.spray = spray;
                }
                Err(error) => *self.fault.lock().expect("no panic holds it") = Some(error.to_string()),
            }
            solver
        })
    }

    fn check_fault(&self) -> Result<(), StepError> {
        match &*self.fault.lock().expect("no panic holds it") {
            Some(fault) => Err(StepError::Device(fault.clone())),
            None => Ok(()),
        }
    }

    /// Makes what the host has to give to the step.
    fn give_solids(&mut self, host: &mut TallSolver, dt_s: f64) -> Result<(), StepError> {
        let (begin_s, end_s) = (host.state.time_s, host.state.time_s + dt_s);
        let mut limits = std::mem::take(&mut host.work.limits);
        host.limit_tops(&mut limits, begin_s, end_s);
        let moving = host.setup.has_moving_solids().then(|| host.moving_cells(end_s));
        host.couple_bodies(dt_s);
        let are_new = limits != self.limits;
        let inputs = StepInputs {
            limits: are_new.then_some(&limits[..]),
            moving: moving.as_ref(),
            bodies: Some((&host.work.coupled, &host.work.elements)),
            ..StepInputs::default()
        };
        self.water.give(&inputs).map_err(failed)?;
        if are_new {
            self.limits.clone_from(&limits);
        }
        host.work.limits = limits;
        Ok(())
    }

    fn give_sources(&mut self, host: &mut TallSolver, dt_s: f64) -> Result<(), StepError> {
        let poured = host.open_sources(dt_s);
        // What sources gave last must not be given again.
        let (is_pouring, was_pouring) = (!poured.is_empty(), self.is_pouring);
        let pours = is_pouring || was_pouring;
        let drained = (!host.setup.sinks.is_empty()).then(|| host.drained_cells());
        let drained = drained.filter(|list| *list != self.drained);
        let inputs = StepInputs {
            poured: pours.then_some(&poured),
            poured_column: pours.then_some(&host.work.poured_column[..]),
            drained: drained.as_ref(),
            ..StepInputs::default()
        };
        self.water.give(&inputs).map_err(failed)?;
        self.is_pouring = is_pouring;
        if let Some(drained) = drained {
            self.drained = drained;
        }
        Ok(())
    }

    fn step_with(&mut self, host: &mut TallSolver, dt_s: f64) -> Result<StepReport, StepError> {
        self.check_fault()?;
        host.setup.check_step(dt_s, host.state.limiting_speed_m_s)?;
        let mut stages = Stages::new(host.asked_to_stop.clone());
        stages.run("bodies", |clamps| host.move_bodies(dt_s, clamps))?;
        stages.try_run("solids", |_| self.give_solids(host, dt_s))?;
        stages.try_run("sources", |_| self.give_sources(host, dt_s))?;
        stages.ask()?;
        let (steps, every) = (host.state.steps, u64::from(host.params.redistance_every));
        let (redistances, is_first) = (steps % every == every - 1, steps == 0);
        let start = Instant::now();
        self.water
            .submit([dt_s as f32, host.work.centring.push_s as f32], redistances, is_first)
            .map_err(failed)?;
        // From here on the state on the device is another one.
        match self.finish(host, &mut stages, start, dt_s) {
            Ok(report) => {
                // It has succeeded: particles and maps follow, while the host goes on.
                let (params, change) = host.spray_params(dt_s);
                self.water.submit_spray(&params, &change).map_err(failed)?;
                Ok(stages.commit("commit", report, |_| host.commit_numbers(dt_s)))
            }
            Err(error @ StepError::Device(_)) => Err(error),
            Err(error) => {
                self.go_back(host)?;
                Err(error)
            }
        }
    }

    /// Waits for the step and makes its report.
    fn finish(
        &mut self,
        host: &mut TallSolver,
        stages: &mut Stages,
        start: Instant,
        dt_s: f64,
    ) -> Result<StepReport, StepError> {
        stages.ask()?;
        let (numbers, times) = self.water.numbers().map_err(failed)?;
        self.water.read_bodies(&mut host.work.coupled).map_err(failed)?;
        times.iter().for_each(|stage| stages.add_time(stage.name, stage.seconds));
        // What is not the device's own time is that of submitting and waiting.
        let on_device: f64 = times.iter().map(|stage| stage.seconds).sum();
        stages.add_time("submit", (start.elapsed().as_secs_f64() - on_device).max(0.0));
        stages.try_run("measure", |clamps| {
            host.release_bodies(dt_s);
            host.finish_on_device(&numbers, clamps)
        })
    }

    /// After a failed step: the state that was before it.
    fn go_back(&mut self, host: &TallSolver) -> Result<(), StepError> {
        let moving = host.setup.has_moving_solids().then(|| host.moving_cells(host.state.time_s));
        let inputs = StepInputs { moving: moving.as_ref(), ..StepInputs::default() };
        self.water.give(&inputs).and_then(|()| self.water.undo()).map_err(failed)
    }
}

/// The host's state becomes the device's.
fn upload(water: &mut GpuWater, solver: &TallSolver) -> Result<(), DeviceError> {
    let State { fields, time_s, .. } = &solver.state;
    let moving = solver.setup.has_moving_solids().then(|| solver.moving_cells(*time_s));
    water.give(&StepInputs { moving: moving.as_ref(), ..StepInputs::default() })?;
    solver.state.spray.as_ref().map_or(Ok(()), |spray| water.upload_spray(spray))?;
    water.upload(&WaterFields {
        columns: fields.grid.columns.clone(),
        phi: fields.phi.clone(),
        u: fields.u.clone(),
        pressure: fields.pressure.clone(),
        residual: fields.residual.clone(),
    })
}

/// The device's fields become the host's, with what follows from them.
fn take_over(solver: &mut TallSolver, read: WaterFields) {
    let mut solids = std::mem::take(&mut solver.state.solids);
    let fields = &mut solver.state.fields;
    fields.grid.columns = read.columns;
    (fields.phi, fields.u, fields.pressure, fields.residual) =
        (read.phi, read.u, read.pressure, read.residual);
    solver.place_solids(&mut solids, &solver.state.fields.grid, solver.state.time_s);
    solver.state.solids = solids;
    let State { fields, solids, held, .. } = &mut solver.state;
    fluvial_tall::volume::measure(held, &fields.grid, &fields.phi, &solids.open());
}

impl TallSolver {
    /// The step's report from the device's numbers.
    fn finish_on_device(&mut self, n: &StepNumbers, clamps: &mut Clamps) -> Result<StepReport, StepError> {
        if n.not_finite > 0.0 {
            return Err(StepError::NotFinite { field: "velocity or level set", stage: "pressure" });
        }
        let (cell_m3, liquid) = (self.frame.cell_m3(), self.setup.liquid);
        let volume = &mut self.work.volume;
        *volume = self.state.volume;
        volume.book_sources_and_sinks(self.work.in_m3, n.left * cell_m3);
        let owed = if self.params.conserves_volume() { n.residual } else { 0.0 };
        volume.measure((n.held + owed) * cell_m3);
        clamps.add("surface_displacement", n.displaced as usize);
        clamps.add("ghost_theta_floor", n.floored as usize);
        let mass = f64::from(liquid.density) * cell_m3;
        let cycles = self.params.cycles(self.state.steps == 0);
        let relative_residual = if n.right_side > 0.0 { n.left_over / n.right_side } else { 0.0 };
        let report = StepReport {
            cells: n.unknowns as usize,
            liquid_volume_m3: volume.volume_m3,
            inflow_m3: volume.inflow_m3,
            outflow_m3: volume.outflow_m3,
            volume_error: volume.error(),
            raw_volume_error: volume.error(),
            kinetic_energy_j: 0.5 * mass * n.kinetic,
            potential_energy_j: -mass * f64::from(liquid.gravity.y) * n.heights * f64::from(self.frame.dx),
            max_speed_m_s: n.speed2.sqrt(),
            max_divergence_1_s: n.divergence,
            pressure: PressureReport { iterations: cycles.full + cycles.v, relative_residual },
            ..StepReport::default()
        };
        self.finish(report)
    }
}

impl Solver for GpuTallSolver {
    fn method(&self) -> &'static str {
        Params::NAME
    }

    fn time_s(&self) -> f64 {
        self.with_host(|host| host.state.time_s)
    }

    fn suggest_dt(&self) -> SuggestedDt {
        self.with_host(TallSolver::largest_dt)
    }

    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError> {
        let was_fresh = self.fresh.get().is_some();
        let mut host = self.take_host();
        let result = parallel::on_worker(|| self.step_with(&mut host, dt_s));
        if result.is_err() {
            host.place_bodies_of_state();
        }
        match result.is_err() && was_fresh {
            true => drop(self.fresh.set(host)),
            false => self.stale = Mutex::new(Some(host)),
        }
        result
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        let was_fresh = self.fresh.get().is_some();
        let mut host = self.take_host();
        host.asked_to_stop = Some(asked);
        match was_fresh {
            true => drop(self.fresh.set(host)),
            false => self.stale = Mutex::new(Some(host)),
        }
    }

    fn computes_on(&self) -> String {
        self.with_host(|host| host.computes_on.clone())
    }

    fn fetch(&mut self) -> Result<(), StepError> {
        self.host();
        self.check_fault()
    }

    fn initial_report(&self) -> StepReport {
        self.host().initial_report()
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        self.host().surface(params)
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        self.host().snapshot(wanted)
    }

    fn height_at(&self, x: f32, z: f32) -> f64 {
        self.host().height_at(x, z)
    }

    fn pressure_at(&self, x_in_world: Vec3) -> f64 {
        self.host().pressure_at(x_in_world)
    }

    fn volume_in(&self, shape: &Shape) -> f64 {
        self.host().volume_in(shape)
    }

    fn velocity_at(&self, x_in_world: Vec3) -> Vec3 {
        self.host().velocity_at(x_in_world)
    }

    fn act(&mut self, action: &Action) -> bool {
        let was_fresh = self.fresh.get().is_some();
        let mut host = self.take_host();
        let is_done = host.do_action(action);
        match was_fresh {
            true => drop(self.fresh.set(host)),
            false => self.stale = Mutex::new(Some(host)),
        }
        if let (Action::Pour(_), Err(fault)) = (action, self.water.expect_sources()) {
            *self.fault.lock().expect("no panic holds it") = Some(fault.to_string());
        }
        is_done
    }

    fn bodies(&self) -> Vec<BodyReport> {
        self.with_host(TallSolver::body_reports)
    }

    fn whitewater(&self) -> Option<OwnWhitewater> {
        self.host().own_whitewater()
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        let host = self.host();
        self.check_fault().map_err(std::io::Error::other)?;
        host.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let mut host = self.take_host();
        let restored = host.restore_state(from);
        let uploaded = match &restored {
            Ok(()) => upload(&mut self.water, &host),
            Err(_) => Ok(()),
        };
        match restored.is_ok() {
            true => drop(self.fresh.set(host)),
            false => self.stale = Mutex::new(Some(host)),
        }
        restored?;
        uploaded.map_err(|error| RestoreError::Read(std::io::Error::other(error)))
    }
}
