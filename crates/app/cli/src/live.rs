//! `fluvial live`: a scene to watch and to touch, or a picture of it.

use crate::args::{SceneArgs, Size};
#[cfg(not(feature = "gpu"))]
use crate::failure::Failure;
#[cfg(feature = "gpu")]
pub use shown::live;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct LiveArgs {
    #[command(flatten)]
    pub scene: SceneArgs,

    /// Without a window: simulate the frames that --frames says and draw the last one into this PNG file.
    #[arg(long, value_name = "FILE")]
    pub screenshot: Option<PathBuf>,

    /// Width and height of the picture, pixels [default: as in the scene].
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,

    /// Write what is shown into this folder, as `fluvial run` does.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,

    /// Replace the run that is in that folder.
    #[arg(long)]
    pub overwrite: bool,
}

/// Says what is missing.
#[cfg(not(feature = "gpu"))]
pub fn live(_: LiveArgs, _threads: usize) -> Result<(), Failure> {
    Err(Failure::bad_input(
        "this program was built without the live window",
        "cargo build --release -p fluvial-cli --features live",
    ))
}

#[cfg(feature = "gpu")]
mod shown {
    use super::LiveArgs;
    use crate::failure::Failure;
    use crate::log;
    use crate::run::{prepare_dir, settings, source_of};
    use fluvial_live::{LiveError, Session, screenshot};
    use fluvial_scene::{Ready, Scene};
    use fluvial_simulation::cache::Cache;
    use fluvial_simulation::{FramePlan, Recorder, RunEnd};
    use fluvial_solver_interface::Solver;

    /// Shows a scene.
    pub fn live(args: LiveArgs, threads: usize) -> Result<(), Failure> {
        log::start_on_terminal();
        let (scene, ready) = load(&args)?;
        let refuse = |e| Failure::bad_input(e, "change the scene or its method");
        let solver = ready.method.build(ready.setup.clone()).map_err(refuse)?;
        let mut cache = record(&args, &scene, &ready, &*solver, threads)?;
        let mut session = Session::new(&ready, solver);
        let recorder = cache.as_mut().map(|cache| cache as &mut dyn Recorder);
        let result = match &args.screenshot {
            Some(file) => {
                let size = args.size.map_or(ready.output.preview_size, |size| size.0.map(|n| n as u32));
                screenshot(&mut session, ready.frames, file, size, recorder).map(|line| eprintln!("{line}"))
            }
            None => open(&mut session, recorder),
        };
        if let Some(cache) = cache {
            let end = if args.screenshot.is_some() { RunEnd::Done } else { RunEnd::Interrupted };
            cache.finish(result.is_ok().then_some(end))?;
        }
        result.map_err(|error| match error {
            LiveError::NoGpu(_) | LiveError::NoDisplay(_) => {
                Failure::bad_input(error, "see `fluvial live --help`")
            }
            other => Failure::failed(anyhow::anyhow!(other)),
        })
    }

    /// The scene, with spray and foam where it says nothing about them: the method's own, else the shared ones, where it can have some.
    fn load(args: &LiveArgs) -> Result<(Scene, Ready), Failure> {
        let overrides = args.scene.overrides();
        let scene = Scene::load(&args.scene.scene, &overrides)?;
        let ready = scene.build()?;
        if ready.whitewater.is_some() || ready.method.makes_whitewater() {
            return Ok((scene, ready));
        }
        for key in ["method.spray", "whitewater.amount"] {
            let white = [overrides.clone(), vec![(key.into(), "1".into())]].concat();
            if let Ok(scene) = Scene::load(&args.scene.scene, &white)
                && let Ok(ready) = scene.build()
            {
                return Ok((scene, ready));
            }
        }
        Ok((scene, ready))
    }

    fn record(
        args: &LiveArgs,
        scene: &Scene,
        ready: &Ready,
        solver: &dyn Solver,
        threads: usize,
    ) -> Result<Option<Cache>, Failure> {
        let Some(dir) = &args.record else { return Ok(None) };
        prepare_dir(dir, args.overwrite)?;
        let plan = FramePlan { frames: ready.frames, fps: ready.fps };
        let mut settings = settings(scene, ready, dir, plan, threads, None);
        settings.source = source_of(&args.scene, false);
        settings.computes_on = solver.computes_on();
        Ok(Some(Cache::create(settings, solver.method())?))
    }

    #[cfg(feature = "live")]
    use fluvial_live::open;

    #[cfg(not(feature = "live"))]
    fn open(_: &mut Session, _: Option<&mut dyn Recorder>) -> Result<(), LiveError> {
        let built =
            "this program was built without windows: cargo build --release -p fluvial-cli --features live";
        Err(LiveError::NoDisplay(built.into()))
    }
}
