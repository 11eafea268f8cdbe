//! A liquid under way.

use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_scene::{Scene, SceneError};
use fluvial_simulation::checkpoint::CrcWriter;
use fluvial_simulation::fingerprint::fingerprint;
use fluvial_simulation::{RunError, StepRecord, Unrecorded, next_step, reached};
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    RestoreError, Setup, SetupError, Snapshot, Solver, StateReader, StateWriter, StepReport, SurfaceParams,
    Wanted,
};
use fluvial_solver_registry::ChosenMethod;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Why a simulation could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scene makes no sense. [`SceneError::location`] and [`SceneError::help_text`] have the line and the fix.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The method refuses the set-up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A step failed at every length tried. The state is that before the step.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No simulation ever reaches such a time.
    #[error("a simulation advances to a finite time in seconds, not to {0}")]
    Time(f64),
    /// A saved state could not be written.
    #[error("could not save the state: {0}")]
    Save(#[from] io::Error),
    /// A saved state could not be taken over. The simulation is what it was before.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

/// What a program says after each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Take the next step.
    On,
    /// Return after this one.
    Back,
}

/// How [`Simulation::advance_to`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// At the time that was asked for.
    Time,
    /// Before it, on request.
    Stopped,
}

/// Stops a simulation from anywhere, also in the middle of a step, which then leaves no trace.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// Asks for the stop. Calls of [`Simulation::advance_to`] return at once until [`Self::clear`].
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Lets the simulation go on.
    pub fn clear(&self) {
        self.0.store(false, Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// A liquid that is stepped through time.
pub struct Simulation {
    solver: Box<dyn Solver>,
    method: ChosenMethod,
    /// Stands for the set-up in saved states.
    setup_crc32: u32,
    steps: u64,
    stop: StopHandle,
}

impl Simulation {
    /// From the text of a scene file. Files that it names are looked for in the working directory.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        Self::from_scene(&Scene::parse("scene.toml", text, Path::new("."), &[])?)
    }

    /// From a scene: what its outputs and frames say is left to the program.
    pub fn from_scene(scene: &Scene) -> Result<Self, Error> {
        let ready = scene.build()?;
        Self::new(ready.method, ready.setup)
    }

    /// From a set-up that was built in Rust.
    pub fn new(method: ChosenMethod, setup: Setup) -> Result<Self, Error> {
        method.check_params()?;
        method.check_size(&setup)?;
        let setup_crc32 = crc32fast::hash(format!("{setup:?}").as_bytes());
        let mut solver = method.build(setup)?;
        let stop = StopHandle::default();
        let asked = stop.clone();
        solver.stop_when(Arc::new(move || asked.is_set()));
        Ok(Simulation { solver, method, setup_crc32, steps: 0, stop })
    }

    /// Simulated time, seconds.
    pub fn time_s(&self) -> f64 {
        self.solver.time_s()
    }

    /// Takes as many steps as the liquid needs and ends exactly at `end_s`. A step that fails is tried again
    /// at half its length, a few times. `watch` sees every step and may end the call. A time that has passed
    /// is reached without a step; one that is not finite is an error.
    pub fn advance_to(
        &mut self,
        end_s: f64,
        mut watch: impl FnMut(&StepRecord) -> Go,
    ) -> Result<Reached, Error> {
        if !end_s.is_finite() {
            return Err(Error::Time(end_s));
        }
        while !reached(self.time_s(), end_s) {
            if self.stop.is_set() {
                return Ok(Reached::Stopped);
            }
            let step = next_step(self.solver.as_mut(), 0, self.steps + 1, end_s, &mut Unrecorded)?;
            let Some(step) = step else { return Ok(Reached::Stopped) };
            self.steps += 1;
            if watch(&step) == Go::Back && !reached(self.time_s(), end_s) {
                return Ok(Reached::Stopped);
            }
        }
        Ok(Reached::Time)
    }

    /// What stops the simulation from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Volumes, energies and counts of the present state.
    pub fn report(&self) -> StepReport {
        self.solver.initial_report()
    }

    /// The closed surface with velocity per vertex, smoothed by so many passes that keep its volume.
    pub fn surface(&self, smoothing: u32) -> TriangleMesh {
        self.solver.surface(&SurfaceParams { smoothing })
    }

    /// Of what is wanted, that which the method has: lent where it lies in memory, else fetched.
    pub fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        self.solver.snapshot(wanted)
    }

    /// Velocity at a point, m/s.
    pub fn velocity_at(&self, x_in_world: Vec3) -> Vec3 {
        self.solver.velocity_at(x_in_world)
    }

    /// Pressure at a point, Pa; 0 outside the liquid.
    pub fn pressure_at(&self, x_in_world: Vec3) -> f64 {
        self.solver.pressure_at(x_in_world)
    }

    /// Height above the domain's floor of the highest liquid on the vertical through (x, z), metres; 0 where
    /// dry.
    pub fn height_at(&self, x: f32, z: f32) -> f64 {
        self.solver.height_at(x, z)
    }

    /// Liquid volume inside a shape, m3.
    pub fn volume_in(&self, shape: &Shape) -> f64 {
        self.solver.volume_in(shape)
    }

    /// Writes everything that the next step reads and the scene does not give, and a checksum.
    pub fn save(&self, out: &mut dyn Write) -> Result<(), Error> {
        let mut out = CrcWriter::new(out);
        let mut state = StateWriter::new(&mut out);
        state.value("fluvial", fingerprint(&*self.method))?;
        state.value("setup", self.setup_crc32)?;
        state.value("steps", self.steps)?;
        self.solver.save(&mut state)?;
        Ok(out.write_crc32()?)
    }

    /// Takes over what [`Self::save`] wrote for the same scene, `bytes` long: every later step then gives the
    /// same bits. The bytes are held in memory and verified before any of them is believed; a damaged state,
    /// one of another scene, method or parameters, or of a version that computes differently is refused, and
    /// the simulation is then what it was before.
    pub fn restore(&mut self, from: &mut dyn Read, bytes: u64) -> Result<(), Error> {
        let refuse = |why: &str| Err(RestoreError::Mismatch(why.to_owned()).into());
        let mut saved = vec![];
        from.take(bytes).read_to_end(&mut saved).map_err(RestoreError::Read)?;
        let Some((saved, crc32)) = saved.split_last_chunk() else {
            return refuse("it is too short");
        };
        if crc32fast::hash(saved) != u32::from_le_bytes(*crc32) {
            return refuse("its checksum does not match: it is cut, changed, or no state of Fluvial");
        }
        let mut source = saved;
        let mut state = StateReader::new(&mut source, saved.len() as u64);
        if state.value::<u32>("fluvial")? != fingerprint(&*self.method) {
            return refuse("it is of another method, other parameters or another version of Fluvial");
        }
        if state.value::<u32>("setup")? != self.setup_crc32 {
            return refuse("it is of another scene");
        }
        let steps = state.value("steps")?;
        self.solver.restore(&mut state)?;
        self.steps = steps;
        Ok(())
    }
}
