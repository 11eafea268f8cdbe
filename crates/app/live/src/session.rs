//! The simulation behind the window: frames, steps, pushes and pours.

use crate::{Drawn, LiveError};
use fluvial_foundation::{Aabb, DVec3, StageTimers, Vec3};
use fluvial_preview::Camera;
use fluvial_scene::Ready;
use fluvial_simulation::draw::{Drawer, white_points};
use fluvial_simulation::whitewater::{SceneWhitewater, own_points};
use fluvial_simulation::{
    FramePlan, Position, Recorder, RunError, StepRecord, Unrecorded, next_step, reached,
};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Action, Impulse, Solver, Source, SurfaceParams, Weight};

/// A simulation that is watched.
pub struct Session {
    solver: Box<dyn Solver>,
    drawer: Drawer,
    whitewater: Option<SceneWhitewater>,
    plan: FramePlan,
    at: Position,
    domain: Aabb,
    /// Numbers of the bodies among the solids, and their masses, kg.
    bodies: Vec<(usize, f64)>,
    stages: StageTimers,
}

/// Speed that a push gives a body, in square roots of gravity times the domain's height.
const PUSH: f64 = 0.25;
/// Radius of what is poured, in longest edges of the domain, and how long a pour lasts, s.
const POUR_RADIUS: f32 = 0.05;
const POUR_S: f64 = 0.25;

impl Session {
    /// A scene and its solver at the start.
    pub fn new(ready: &Ready, solver: Box<dyn Solver>) -> Session {
        let setup = &ready.setup;
        let mass = |n: usize| {
            let free = setup.solids[n].free.as_ref().expect("it is a body");
            match free.start.weight {
                Weight::Mass(kg) => kg,
                Weight::Density(density) => {
                    density
                        * fluvial_bodies::mass_properties(&setup.solids[n].shape).map_or(0.0, |m| m.volume_m3)
                }
            }
        };
        Session {
            drawer: Drawer::new(ready),
            whitewater: SceneWhitewater::new(ready),
            plan: FramePlan { frames: u32::MAX, fps: ready.fps },
            at: Position::default(),
            domain: setup.domain.bounds(),
            bodies: setup.body_numbers().into_iter().map(|n| (n, mass(n))).collect(),
            stages: StageTimers::default(),
            solver,
        }
    }

    /// The camera that the scene asks for.
    pub fn camera(&self) -> Camera {
        self.drawer.camera()
    }

    /// What computes.
    pub fn computes_on(&self) -> String {
        self.solver.computes_on()
    }

    /// The last complete frame.
    pub fn frame_number(&self) -> u32 {
        self.at.frame
    }

    /// Tells a recorder how it begins.
    pub fn begin(&mut self, recorder: &mut dyn Recorder) -> Result<(), LiveError> {
        let report = self.solver.initial_report();
        let first =
            StepRecord { frame: 0, step: 0, time_s: 0.0, dt_s: 0.0, limiter: None, retries: 0, report };
        recorder.step(&first, &*self.solver)?;
        Ok(recorder.frame(0, &*self.solver)?)
    }

    /// Goes on to the next frame.
    pub fn next_frame(&mut self, recorder: Option<&mut dyn Recorder>) -> Result<(), LiveError> {
        let mut nothing = Unrecorded;
        let recorder = recorder.unwrap_or(&mut nothing);
        self.stages.clear();
        let frame = self.at.frame + 1;
        while !reached(self.solver.time_s(), self.plan.frame_end_s(frame)) {
            self.take_step(frame, recorder)?;
        }
        let time_s = self.solver.time_s();
        let solver = &mut self.solver;
        self.stages.stage("fetch", || solver.fetch()).map_err(|source| RunError::Device {
            frame,
            time_s,
            source,
        })?;
        self.at.frame = frame;
        recorder.frame(frame, &*self.solver)?;
        if let Some(whitewater) = &mut self.whitewater {
            let solver = &*self.solver;
            self.stages.stage("whitewater", || whitewater.frame(frame, solver))?;
        }
        Ok(())
    }

    /// Takes one step, no farther than the next frame.
    pub fn single_step(&mut self, recorder: Option<&mut dyn Recorder>) -> Result<(), LiveError> {
        let mut nothing = Unrecorded;
        let recorder = recorder.unwrap_or(&mut nothing);
        self.stages.clear();
        self.take_step(self.at.frame + 1, recorder)
    }

    fn take_step(&mut self, frame: u32, recorder: &mut dyn Recorder) -> Result<(), LiveError> {
        let end_s = self.plan.frame_end_s(frame);
        let step = next_step(self.solver.as_mut(), frame, self.at.step + 1, end_s, recorder)?;
        if let Some(step) = step {
            self.at.step = step.step;
            step.report.stages_s.iter().for_each(|(name, seconds)| self.stages.add(name, seconds));
            recorder.step(&step, &*self.solver)?;
        }
        Ok(())
    }

    /// What is seen now.
    pub fn look(&mut self) -> Drawn {
        let solver = &*self.solver;
        let liquid = self.stages.stage("surface", || solver.surface(&SurfaceParams::default()));
        self.drawer.place_bodies(solver);
        let own = if self.whitewater.is_none() { solver.whitewater() } else { None };
        let map = own.as_ref().map(|own| own.map.clone());
        let white = match (&self.whitewater, own) {
            (Some(shared), _) => white_points(&shared.points()),
            (None, Some(own)) => white_points(&own_points(own).0),
            (None, None) => vec![],
        };
        let numbered = |n: usize| self.bodies.iter().position(|(number, _)| *number == n);
        let solids = self.drawer.solids_at(solver.time_s()).into_iter().enumerate();
        Drawn {
            time_s: solver.time_s(),
            frame: self.at.frame,
            domain: self.domain,
            liquid,
            solids: solids.map(|(n, mesh)| (mesh, numbered(n))).collect(),
            white,
            map,
            stages_s: self.stages.iter().map(|(name, seconds)| (name.to_owned(), seconds)).collect(),
        }
    }

    /// Pushes a body in a direction; `strength` 1 is a shove. `false` where the method has none.
    pub fn push(&mut self, body: usize, direction: Vec3, strength: f64) -> bool {
        let Some((_, mass_kg)) = self.bodies.get(body) else { return false };
        let speed = PUSH * strength * (9.81 * f64::from(self.domain.size().y)).sqrt();
        let linear = mass_kg * speed * direction.as_dvec3().normalize_or(DVec3::ZERO);
        self.solver.act(&Action::Push { body, impulse: Impulse { linear, angular: DVec3::ZERO } })
    }

    /// Pours water from above the place that a ray meets in the middle of the domain. `false` where the method cannot.
    pub fn pour(&mut self, origin: Vec3, direction: Vec3) -> bool {
        let (low, high) = (self.domain.min, self.domain.max);
        let radius = POUR_RADIUS * self.domain.size().max_element();
        let middle = self.domain.center();
        let t = direction.dot(middle - origin);
        let mut center = (origin + t * direction).with_y(high.y - 2.0 * radius);
        center = center.clamp(low + 1.5 * radius, (high - 1.5 * radius).max(low + 1.5 * radius));
        let from_s = self.solver.time_s();
        let speed = (9.81 * 0.25 * self.domain.size().y).sqrt();
        self.solver.act(&Action::Pour(Source {
            shape: Shape::Sphere { center, radius },
            motion: Motion::default(),
            velocity: -speed * Vec3::Y,
            active_s: [from_s, from_s + POUR_S],
            measured: Default::default(),
        }))
    }
}
