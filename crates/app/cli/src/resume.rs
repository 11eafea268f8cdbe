//! `fluvial resume`: a run goes on where it stopped, bit for bit.

use crate::args::{LogLevel, ResumeArgs};
use crate::failure::Failure;
use crate::run::{Work, command_line, disk_check, draws_pictures, inputs_of, memory_check, settings, work};
use crate::{log, stop};
use anyhow::anyhow;
use fluvial_output::FileMark;
use fluvial_scene::{Ready, Scene, predict};
use fluvial_simulation::FramePlan;
use fluvial_simulation::cache::{Cache, sweep};
use fluvial_simulation::changes::differences;
use fluvial_simulation::checkpoint::{Checkpoint, list_checkpoints, read_checkpoint};
use fluvial_simulation::draw::{Drawer, RunPictures};
use fluvial_simulation::fingerprint::fingerprint;
use fluvial_simulation::info::inspect;
use fluvial_simulation::picture::{Picture, PictureBudget};
use fluvial_simulation::record::{RecordError, RunRecord, RunStatus, scene_crc32};
use fluvial_simulation::report::write_report;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::Path;

/// Goes on with a run.
pub fn resume(args: ResumeArgs, threads: usize) -> Result<(), Failure> {
    let dir = args.dir.as_path();
    let mut record = read_record(dir)?;
    let frames = args.frames.unwrap_or(record.frames);
    let (scene, changes) = scene_to_run(&record, frames)?;
    if !changes.is_empty() && !args.allow_changed {
        return Err(Failure::bad_input(
            format!("this is not what the run in {} was made of:\n  {}", dir.display(), changes.join("\n  ")),
            format!(
                "bring back what there was, or go on with what there is now: fluvial resume {} --allow-changed",
                dir.display()
            ),
        ));
    }
    let ready = scene.build()?;
    let changed = !changes.is_empty();
    let rewinds = args.from_frame.is_some() || args.from_start;
    if record.status == RunStatus::Done && record.last_frame >= Some(frames) && !changed && !rewinds {
        complete(dir, &record, args.log)?;
        let info = inspect(dir, &record, false)?;
        if !info.is_sound() {
            let count = info.missing.len() + info.damaged.len();
            let error = anyhow!("the run is done, but {count} of its files are missing or damaged");
            let again = format!("compute them again: fluvial resume {} --from-start", dir.display());
            return Err(Failure::failed_with_help(error, info.advice.unwrap_or(again)));
        }
        eprintln!("all {frames} frames are there; --frames N goes on, --from-frame N computes again");
        return Ok(());
    }
    let prediction = predict(&ready);
    memory_check(&prediction, args.limits.max_memory, &scene)?;
    log::resume(dir, args.log)?;
    let stop = stop::on_interrupt()?;
    tracing::info!("{}, {threads} threads", command_line());
    changes.iter().for_each(|change| tracing::warn!("changed since the run began: {change}"));

    let checkpoint = if args.from_start { None } else { choose(&args, &record, frames)? };
    // Where the scene has changed, results differ anyway, and the user has allowed it.
    let changed = changed || check_numerics(&args, checkpoint.as_ref(), &ready)?;
    let done = checkpoint.as_ref().map_or(0, |c| c.header.position.frame);
    disk_check(dir, &ready, &prediction, frames.saturating_sub(done), args.limits.ignore_disk_space)?;
    let plan = FramePlan { frames, fps: ready.fps };
    let mut solver = ready
        .method
        .build(ready.setup.clone())
        .map_err(|e| Failure::bad_input(e, "change the scene or its method"))?;
    let picture = pictures(&record, &ready, dir, plan, checkpoint.as_ref())?;
    let mut settings = settings(&scene, &ready, dir, plan, threads, picture);
    tracing::info!("computes on: {}", solver.computes_on());
    settings.source = record.source.clone();
    settings.computes_on = solver.computes_on();
    settings.command = record.command.clone();
    settings.watch_disk = !args.limits.ignore_disk_space;
    let Some(checkpoint) = checkpoint else {
        eprintln!("no checkpoint to go on from: the run begins again");
        let cache = Cache::create(settings, solver.method())?;
        return work(Work { solver: solver.as_mut(), at: None, plan, cache, dir, stop: &stop });
    };
    checkpoint.restore(solver.as_mut()).map_err(|e| {
        let help = "the grid, the method and the number of sources cannot be changed in the middle of a run";
        Failure::failed_with_help(anyhow!(e), help.into())
    })?;
    if let Some(whitewater) = settings.whitewater.as_mut().filter(|_| checkpoint.header.whitewater_bytes > 0)
    {
        let bytes = checkpoint.whitewater().map_err(|e| anyhow!(e))?;
        whitewater.restore(&bytes).map_err(|e| anyhow!("{}: {e}", checkpoint.path.display()))?;
    }
    let position = checkpoint.header.position;
    eprintln!(
        "{}: going on after frame {}, step {}, t = {:.4} s, to frame {frames}",
        ready.name, position.frame, position.step, checkpoint.header.time_s
    );
    (record.frames, record.threads) = (frames, threads);
    record.computes_on = solver.computes_on();
    (record.scene, record.inputs) = (scene.resolved(), inputs_of(&scene.resolved()));
    record.fluvial = env!("CARGO_PKG_VERSION").to_owned();
    let cache = Cache::resume(settings, record, &checkpoint, changed)?;
    work(Work { solver: solver.as_mut(), at: Some(position), plan, cache, dir, stop: &stop })
}

/// Finishes a run that was killed between its last frame and its report: removes leftovers and writes the report.
fn complete(dir: &Path, record: &RunRecord, level: LogLevel) -> Result<(), Failure> {
    log::resume(dir, level)?;
    sweep(dir)?;
    let report = dir.join("report.html");
    if !report.exists() {
        write_report(dir, record, &report)?;
    }
    Ok(())
}

/// Does the method compute something else than when the checkpoint was written? That is refused unless
/// allowed.
fn check_numerics(
    args: &ResumeArgs,
    checkpoint: Option<&Checkpoint>,
    ready: &Ready,
) -> Result<bool, Failure> {
    let Some(header) = checkpoint.map(|c| &c.header) else { return Ok(false) };
    let now = fingerprint(&*ready.method);
    if header.fingerprint == now {
        return Ok(false);
    }
    let message = format!(
        "this fluvial computes other numbers than the one that made the run in {}: the method `{}` gives {:08x} on a \
         test splash, it gave {:08x} (program {})",
        args.dir.display(),
        header.method,
        now,
        header.fingerprint,
        header.fluvial
    );
    if args.allow_changed {
        tracing::warn!("{message}");
        return Ok(true);
    }
    let help = format!(
        "go on with the program that began the run, or accept a change in the middle: fluvial resume {} --allow-changed",
        args.dir.display()
    );
    Err(Failure::bad_input(message, help))
}

/// The record of the run in a folder.
pub fn read_record(dir: &Path) -> Result<RunRecord, Failure> {
    RunRecord::read(dir).map_err(|error| match error {
        RecordError::Io(e) if matches!(e.source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let what = if dir.is_file() { "it is a file" } else { "it has no run.json" };
            Failure::bad_input(
                format!("{} is no folder of a run: {what}", dir.display()),
                "give the folder that `fluvial run` wrote, e.g. out/dam-break",
            )
        }
        error => {
            let help =
                "without its record a run cannot go on; start it anew with `fluvial run` and --overwrite";
            Failure::failed_with_help(anyhow!(error), help.into())
        }
    })
}

/// The scene to go on with, and a description of each difference from the run's own scene. A scene file that is gone has
/// not changed: the record holds all of it.
fn scene_to_run(record: &RunRecord, frames: u32) -> Result<(Scene, Vec<String>), Failure> {
    let mut changes = vec![];
    let version = env!("CARGO_PKG_VERSION");
    if record.fluvial != version {
        changes.push(format!("version of fluvial: {} -> {version}", record.fluvial));
    }
    for input in &record.inputs {
        match FileMark::of(&input.path) {
            Ok(mark) if mark == input.mark => {}
            Ok(mark) => changes.push(format!(
                "{}: {} bytes with checksum {:08x} -> {} bytes with checksum {:08x}",
                input.path.display(),
                input.mark.bytes,
                input.mark.crc32,
                mark.bytes,
                mark.crc32
            )),
            Err(e) => changes.push(format!("{}: {e}", input.path.display())),
        }
    }
    let with_frames = |mut scene: Value| {
        scene["time"]["frames"] = frames.into();
        scene
    };
    let mut json = with_frames(record.scene.clone());
    if let Ok(now) = Scene::load(&record.source.scene, &record.source.set) {
        let now = with_frames(now.resolved());
        let found = differences(&json, &now);
        if !found.is_empty() {
            changes.extend(found);
            json = now;
        }
    }
    Ok((Scene::from_resolved(&record.name, json)?, changes))
}

/// The newest good checkpoint that leaves the wanted frames to be computed.
fn choose(args: &ResumeArgs, record: &RunRecord, frames: u32) -> Result<Option<Checkpoint>, Failure> {
    let last = args.from_frame.unwrap_or(u32::MAX).min(frames);
    let all = list_checkpoints(&args.dir);
    for (_, path) in all.iter().filter(|(position, _)| position.frame <= last) {
        match read_checkpoint(path) {
            Ok(c) if c.header.scene_crc32 != scene_crc32(&record.scene) && !args.allow_changed => {
                tracing::warn!("{} was made with another scene: not used", path.display());
            }
            Ok(c) if !streams_hold(&args.dir, &c) => {
                tracing::warn!("{}: stats.jsonl or probes.csv no longer reach so far", path.display());
            }
            Ok(c) => return Ok(Some(c)),
            Err(error) => tracing::warn!("{error}: not used"),
        }
    }
    Ok(None)
}

/// Are the lines that were written before the checkpoint still there?
fn streams_hold(dir: &Path, checkpoint: &Checkpoint) -> bool {
    use std::io::Read;
    let holds = |name: &str, mark: FileMark| {
        let file = std::fs::File::open(dir.join(name));
        file.and_then(|f| FileMark::of_reader(&mut f.take(mark.bytes))).is_ok_and(|found| found == mark)
    };
    holds(fluvial_simulation::cache::STATS, checkpoint.header.stats)
        && holds(fluvial_simulation::cache::PROBES, checkpoint.header.probes)
}

fn pictures(
    record: &RunRecord,
    ready: &Ready,
    dir: &Path,
    plan: FramePlan,
    checkpoint: Option<&Checkpoint>,
) -> Result<Option<Box<dyn Picture>>, Failure> {
    if !draws_pictures(ready, record.source.preview) {
        return Ok(None);
    }
    let (dir, drawer) = (dir.to_owned(), Drawer::new(ready));
    let Some(header) = checkpoint.map(|c| &c.header) else {
        return Ok(Some(Box::new(RunPictures::new(dir, drawer, plan.frames, plan.fps)?)));
    };
    let budget: PictureBudget = match &header.pictures {
        Some(budget) => budget.clone(),
        None => RunPictures::fresh_budget(plan.frames),
    };
    let frame = header.position.frame;
    Ok(Some(Box::new(RunPictures::resume(dir, drawer, plan.fps, budget, frame, plan.frames)?)))
}
