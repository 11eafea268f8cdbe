//! `fluvial run`, and the part of it that `fluvial resume` shares.

use crate::args::{Bytes, RunArgs, SceneArgs};
use crate::bar::{Bar, duration};
use crate::check::{bytes, disk_bytes, fitting_resolution, summary};
use crate::failure::Failure;
use crate::{log, stop};
use anyhow::Context;
use fluvial_output::{FileMark, Machine, create_dir, free_bytes};
use fluvial_scene::{Prediction, Ready, Scene, predict};
use fluvial_simulation::cache::{Cache, CacheSettings, Totals};
use fluvial_simulation::draw::{Drawer, RunPictures};
use fluvial_simulation::fingerprint::fingerprint;
use fluvial_simulation::guard::Guard;
use fluvial_simulation::picture::Picture;
use fluvial_simulation::record::{InputFile, RUN_JSON, RunRecord, SceneSource};
use fluvial_simulation::report::write_report;
use fluvial_simulation::whitewater::SceneWhitewater;
use fluvial_simulation::{FramePlan, Position, RunEnd, RunError, run as simulate, run_from};
use fluvial_solver_interface::{Solver, SurfaceParams};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Simulates a scene.
pub fn run(args: RunArgs, threads: usize) -> Result<(), Failure> {
    // Everything that can be refused is refused before anything is written.
    let scene = Scene::load(&args.scene.scene, &args.scene.overrides())?;
    let ready = scene.build()?;
    let mut drawn = ready.clone();
    drawn.output.preview = draws_pictures(&ready, !args.no_preview);
    let prediction = predict(&drawn);
    memory_check(&prediction, args.limits.max_memory, &scene)?;
    let dir = args.output.clone().unwrap_or_else(|| Path::new("out").join(&ready.name));
    prepare_dir(&dir, args.overwrite)?;
    disk_check(&dir, &ready, &prediction, ready.frames, args.limits.ignore_disk_space)?;
    log::start(&dir, args.log)?;
    let stop = stop::on_interrupt()?;

    eprintln!("{}", summary(&ready, &prediction));
    ready.notes.iter().for_each(|note| tracing::warn!("{note}"));
    tracing::info!("{}, {threads} threads", command_line());

    let plan = FramePlan { frames: ready.frames, fps: ready.fps };
    let mut solver = ready
        .method
        .build(ready.setup.clone())
        .map_err(|e| Failure::bad_input(e, "change the scene or its method"))?;
    let picture: Option<Box<dyn Picture>> = if draws_pictures(&ready, !args.no_preview) {
        Some(Box::new(RunPictures::new(dir.clone(), Drawer::new(&ready), plan.frames, plan.fps)?))
    } else {
        None
    };
    tracing::info!("computes on: {}", solver.computes_on());
    let mut settings = settings(&scene, &ready, &dir, plan, threads, picture);
    settings.source = source_of(&args.scene, !args.no_preview);
    settings.computes_on = solver.computes_on();
    settings.watch_disk = !args.limits.ignore_disk_space;
    let cache = Cache::create(settings, solver.method())?;
    work(Work { solver: solver.as_mut(), at: None, plan, cache, dir: &dir, stop: &stop })
}

/// A run that is ready to go.
pub struct Work<'a> {
    pub solver: &'a mut dyn Solver,
    /// Where the run goes on; none where it starts.
    pub at: Option<Position>,
    pub plan: FramePlan,
    pub cache: Cache,
    pub dir: &'a Path,
    pub stop: &'a Arc<AtomicBool>,
}

/// Simulates to the end, or until something stops it, and tells how it went.
pub fn work(work: Work) -> Result<(), Failure> {
    let Work { solver, at, plan, mut cache, dir, stop } = work;
    let asked = stop.clone();
    solver.stop_when(Arc::new(move || asked.load(Ordering::Relaxed)));
    let mut bar = Bar::new(plan.frames);
    let result = match at {
        None => simulate(solver, plan, &mut cache, &mut bar, stop),
        Some(at) => run_from(at, solver, plan, &mut cache, &mut bar, stop),
    };
    bar.finish();
    let (last_frame, has_checkpoint) = (cache.last_frame(), cache.has_checkpoint());
    let finished = cache.finish(result.as_ref().ok().copied());
    let go_on = format!("to continue: fluvial resume {}", dir.display());
    match result {
        Ok(RunEnd::Done) => {
            let totals = finished?;
            let record = RunRecord::read(dir).map_err(|e| anyhow::anyhow!(e))?;
            // The run is complete without its report.
            if let Err(error) = write_report(dir, &record, &dir.join("report.html")) {
                tracing::warn!("no report: {error}");
            }
            eprintln!("{}", report(dir, plan, &totals));
            trust(&totals)
        }
        Ok(RunEnd::Interrupted) => {
            finished?;
            let frames = last_frame.map_or("no frame".into(), |n| format!("frames 0 to {n}"));
            Err(Failure::interrupted(format!(
                "{frames} of {} complete in {}; {go_on}",
                plan.frames,
                dir.display()
            )))
        }
        // The first error is the one to report; the log says that the record could not be written either.
        Err(error) => {
            finished.err().iter().for_each(|e| tracing::error!("{e}"));
            Err(failure(error, has_checkpoint.then_some(go_on)))
        }
    }
}

/// Prints the first warning about a run that has all its frames. An error where the result as a whole cannot be trusted.
fn trust(totals: &Totals) -> Result<(), Failure> {
    let findings = &totals.findings;
    if let Some(first) = findings.warnings.first() {
        let more = match findings.warnings.len() {
            1 => String::new(),
            n => format!(" ({} more in log.txt and report.html)", n - 1),
        };
        eprintln!("warning: frame {}: {}{more}", first.frame, first.message);
    }
    match findings.fatal(totals.largest_volume_error) {
        Some((why, help)) => Err(Failure::untrusted(format!("finished with errors: {why}"), help)),
        None => Ok(()),
    }
}

/// What the cache needs to know; `source` and `computes_on` are left to the caller.
pub fn settings(
    scene: &Scene,
    ready: &Ready,
    dir: &Path,
    plan: FramePlan,
    threads: usize,
    picture: Option<Box<dyn Picture>>,
) -> CacheSettings {
    let resolved = scene.resolved();
    CacheSettings {
        dir: dir.to_owned(),
        name: ready.name.clone(),
        command: command_line(),
        source: SceneSource::default(),
        computes_on: String::new(),
        inputs: inputs_of(&resolved),
        scene: resolved,
        fingerprint: fingerprint(&*ready.method),
        threads,
        plan,
        probes: ready.probes.clone(),
        has_bodies: !ready.setup.body_numbers().is_empty(),
        whitewater: SceneWhitewater::new(ready),
        formats: ready.into(),
        surface: SurfaceParams::default(),
        picture,
        checkpoint_every: Duration::try_from_secs_f64(ready.output.checkpoint_every_s)
            .unwrap_or(Duration::MAX),
        checkpoints_kept: ready.output.checkpoints_kept as usize,
        watch_disk: true,
        guard: Guard::new(&ready.setup, f64::from(plan.frames) / plan.fps),
    }
}

/// Are pictures drawn? The scene and the command line must both want them.
pub fn draws_pictures(ready: &Ready, wanted: bool) -> bool {
    ready.output.preview && wanted
}

/// Where a scene came from.
pub fn source_of(args: &SceneArgs, preview: bool) -> SceneSource {
    let path = Path::new(&args.scene);
    let is_file = path.exists();
    let scene = match std::path::absolute(path) {
        Ok(absolute) if is_file => absolute.to_string_lossy().into_owned(),
        _ => args.scene.clone(),
    };
    SceneSource { scene, set: args.overrides(), preview }
}

/// The files that a resolved scene names, as they are now.
pub fn inputs_of(scene: &Value) -> Vec<InputFile> {
    let mut found = vec![];
    collect_inputs(scene, &mut found);
    found
}

fn collect_inputs(scene: &Value, found: &mut Vec<InputFile>) {
    match scene {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(path) if ["path", "image", "file"].contains(&key.as_str()) => {
                        let path = PathBuf::from(path);
                        if let Ok(mark) = FileMark::of(&path) {
                            found.push(InputFile { path, mark });
                        }
                    }
                    other => collect_inputs(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_inputs(item, found)),
        _ => {}
    }
}

/// Refuses a scene that needs more memory than allowed, or than the machine has, and names a resolution that
/// fits.
pub fn memory_check(prediction: &Prediction, allowed: Option<Bytes>, scene: &Scene) -> Result<(), Failure> {
    let of_machine = Machine::describe().memory_bytes;
    let Some(most) = allowed.map(|bytes| bytes.0).or(of_machine) else { return Ok(()) };
    if prediction.memory_bytes <= most {
        return Ok(());
    }
    let help = match fitting_resolution(scene, most) {
        Some((resolution, fitting)) => format!(
            "--set domain.resolution={resolution} fits: cells of {} m, about {}",
            scene_dx(scene, resolution),
            bytes(fitting.memory_bytes)
        ),
        None => "no resolution of this domain fits; make it smaller".to_owned(),
    };
    let limit = if allowed.is_some() { "--max-memory allows" } else { "this machine has" };
    let message =
        format!("the run will need about {}, {limit} {}", bytes(prediction.memory_bytes), bytes(most));
    Err(Failure::bad_input(message, help))
}

fn scene_dx(scene: &Scene, resolution: u32) -> f64 {
    let longest = (0..3).map(|a| scene.domain.max[a] - scene.domain.min[a]).fold(0.0, f64::max);
    (longest / f64::from(resolution) * 1e6).round() / 1e6
}

/// Refuses to start what will not fit on the disk.
pub fn disk_check(
    dir: &Path,
    ready: &Ready,
    prediction: &Prediction,
    frames: u32,
    ignore: bool,
) -> Result<(), Failure> {
    let needed = disk_bytes(ready, prediction, frames);
    match free_bytes(dir).filter(|free| *free < needed && !ignore) {
        None => Ok(()),
        Some(free) => Err(Failure::failed_with_help(
            anyhow::anyhow!(
                "{} has {} free, the run will need about {}",
                dir.display(),
                bytes(free),
                bytes(needed)
            ),
            "make room, choose another folder with -o, write less, or start all the same with --ignore-disk-space"
                .into(),
        )),
    }
}

/// An empty folder to write into; a run that is there already is never lost by accident.
pub fn prepare_dir(dir: &Path, overwrite: bool) -> Result<(), Failure> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|e| e.path()).collect::<Vec<PathBuf>>(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => vec![],
        Err(e) => {
            return Err(Failure::bad_input(
                format!("cannot use {} as output: {e}", dir.display()),
                "choose another folder with -o",
            ));
        }
    };
    // A run that was killed before its start leaves a log and temporary files at most.
    let is_nothing = |path: &PathBuf| {
        path.ends_with("log.txt")
            || path.extension().is_some_and(|e| e == "partial")
            || path.ends_with("preview") && path.read_dir().is_ok_and(|mut inside| inside.next().is_none())
    };
    if log::is_held(dir) {
        let message = format!("another fluvial is writing into {}", dir.display());
        return Err(Failure::bad_input(
            message,
            "wait until it ends, stop it, or choose another folder with -o",
        ));
    }
    if entries.iter().all(is_nothing) {
        return Ok(create_dir(dir)?);
    }
    if !overwrite {
        let message = format!("the output folder {} is not empty", dir.display());
        return Err(Failure::bad_input(
            message,
            "choose another folder with -o DIR, or replace the run in it with --overwrite",
        ));
    }
    if !dir.join(RUN_JSON).exists() {
        let message =
            format!("the folder {} is not empty and holds no run that could be replaced", dir.display());
        return Err(Failure::bad_input(
            message,
            "choose another folder with -o DIR, or empty this one yourself",
        ));
    }
    // Only what a run writes is removed: --overwrite on a wrong folder must not cost anything else.
    for path in entries.iter().filter(|p| is_run_file(p)) {
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.with_context(|| format!("could not remove {}", path.display()))?;
    }
    Ok(())
}

/// Is it one of the names that a run writes at the top of its folder?
fn is_run_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fixed = [
        "run.json",
        "stats.jsonl",
        "probes.csv",
        "log.txt",
        "preview.png",
        "preview",
        "checkpoint",
        "manifest.txt",
        "report.html",
    ];
    let is_frame = |n: &str| {
        let kinds = ["surface.", "particles.", "volume.", "cells.", "bodies.", "liquid."];
        let endings = [".ply", ".obj", ".usda", ".usdc", ".abc", ".vtp", ".vti", ".vdb", ".pvd", ".partial"];
        kinds.iter().any(|kind| n.starts_with(kind)) && endings.iter().any(|end| n.ends_with(end))
    };
    fixed.contains(&&*name) || is_frame(&name)
}

/// How the run went, in a few lines.
fn report(dir: &Path, plan: FramePlan, totals: &Totals) -> String {
    let mut lines = format!(
        "{} frames in {} ({} steps, {:.3} s a frame), volume within {:.3} %, peak memory {}\n",
        plan.frames,
        duration(Duration::from_secs_f64(totals.wall_s)),
        totals.steps,
        totals.wall_s / f64::from(plan.frames.max(1)),
        100.0 * totals.largest_volume_error,
        totals.peak_rss_bytes.map_or("unknown".into(), bytes),
    );
    let outputs = totals.outputs_s.iter().map(|(name, s)| format!("{name} {s:.1} s"));
    lines +=
        &format!("simulation {:.1} s, {}\n", totals.stages_s.total(), outputs.collect::<Vec<_>>().join(", "));
    lines + &format!("{}", dir.display())
}

fn failure(error: RunError, go_on: Option<String>) -> Failure {
    let help = match &error {
        RunError::Step { frame, .. } | RunError::BadStep { frame, .. } => {
            format!("see log.txt; this repeats it: {}", up_to_frame(std::env::args().skip(1), *frame))
        }
        RunError::Device { .. } => {
            let go_on = go_on.unwrap_or("start it anew".into());
            format!(
                "the frames written so far are complete; when the device works again, {go_on}; or choose `--set method.device=cpu`"
            )
        }
        RunError::Promise { .. } => {
            "the frames written so far are complete; choose another method, or tell its author".to_owned()
        }
        RunError::Output(_) => {
            let go_on = go_on.unwrap_or("start it anew with another folder, -o".into());
            format!("the frames written so far are complete; when there is room again, {go_on}")
        }
    };
    Failure::failed_with_help(error.into(), help)
}

/// The command line, quoted for a shell.
pub fn command_line() -> String {
    quoted(std::env::args().skip(1))
}

fn quoted(args: impl Iterator<Item = String>) -> String {
    let quote = |arg: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    std::iter::once("fluvial".to_owned()).chain(args.map(quote)).collect::<Vec<_>>().join(" ")
}

/// The command line that repeats a run up to a frame.
fn up_to_frame(args: impl Iterator<Item = String>, frame: u32) -> String {
    let mut kept = Vec::new();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--frames" => drop(args.next()),
            "--overwrite" => {}
            a if a.starts_with("--frames=") => {}
            _ => kept.push(arg),
        }
    }
    kept.extend(["--frames".into(), frame.to_string(), "--overwrite".into()]);
    quoted(kept.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_repeats_a_failure_has_every_option_once() {
        let args =
            ["run", "my scene.toml", "--frames", "9", "--overwrite", "--set", "a=it's"].map(String::from);
        let command = up_to_frame(args.into_iter(), 3);
        assert_eq!(command, r"fluvial run 'my scene.toml' --set 'a=it'\''s' --frames 3 --overwrite");
    }

    #[test]
    fn overwriting_removes_what_a_run_wrote_and_nothing_else() {
        let dir = std::env::temp_dir().join(format!("fluvial-overwrite-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("preview")).unwrap();
        for name in [
            "surface.0001.ply",
            "volume.0001.vdb",
            "particles.0001.ply",
            "cells.0001.ply",
            "liquid.usda",
            "volume.0002.vdb.partial",
            "run.json",
            "preview/0001.png",
            "thesis.tex",
            "surface_notes.txt",
        ] {
            std::fs::write(dir.join(name), "x").unwrap();
        }
        assert!(prepare_dir(&dir, false).is_err());
        prepare_dir(&dir, true).ok().unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["surface_notes.txt", "thesis.tex"]);
        // What looks like a run's file in a folder that never held a run is somebody else's.
        std::fs::write(dir.join("surface.0099.ply"), "x").unwrap();
        assert!(prepare_dir(&dir, true).is_err());
        assert!(dir.join("surface.0099.ply").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
