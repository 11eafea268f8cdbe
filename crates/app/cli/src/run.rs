//! `fluvial run`.

use crate::args::RunArgs;
use crate::bar::{Bar, duration};
use crate::check::{bytes, memory_warning, summary};
use crate::failure::Failure;
use crate::{log, stop};
use anyhow::Context;
use fluvial_output::create_dir;
use fluvial_scene::{Ready, Scene, predict};
use fluvial_simulation::cache::{Cache, CacheSettings, Totals};
use fluvial_simulation::draw::{Drawer, RunPictures};
use fluvial_simulation::picture::Picture;
use fluvial_simulation::{FramePlan, RunEnd, RunError, methods, run as simulate};
use fluvial_solver_interface::SurfaceParams;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Simulates a scene.
pub fn run(args: RunArgs, threads: usize) -> Result<(), Failure> {
    // Everything that can be refused is refused before anything is written.
    let scene = Scene::load(&args.scene.scene, &args.scene.overrides())?;
    let ready = scene.build()?;
    let dir = args.output.clone().unwrap_or_else(|| Path::new("out").join(&ready.name));
    prepare_dir(&dir, args.overwrite)?;
    log::start(&dir, args.log)?;
    let stop = stop::on_interrupt()?;

    let prediction = predict(&ready);
    eprintln!("{}", summary(&ready, &prediction));
    ready.notes.iter().for_each(|note| tracing::warn!("{note}"));
    memory_warning(&prediction).iter().for_each(|warning| tracing::warn!("{warning}"));
    tracing::info!("{}, {threads} threads", command_line());

    let plan = FramePlan { frames: ready.frames, fps: ready.fps };
    let mut solver = methods::build(&ready.method, ready.setup.clone())
        .map_err(|e| Failure::bad_input(e, "change the scene or its method"))?;
    let mut cache = Cache::create(settings(&args, &scene, &ready, &dir, plan, threads)?, solver.method())?;
    let mut bar = Bar::new(plan.frames);
    let result = simulate(solver.as_mut(), plan, &mut cache, &mut bar, &stop);
    bar.finish();
    let last_frame = cache.last_frame();
    let totals = cache.finish(result.as_ref().ok().copied())?;
    match result {
        Ok(RunEnd::Done) => {
            eprintln!("{}", report(&dir, plan, &totals));
            Ok(())
        }
        Ok(RunEnd::Interrupted) => {
            let frames = last_frame.map_or("no frame".into(), |n| format!("frames 0 to {n}"));
            Err(Failure::interrupted(format!("{frames} of {} complete in {}", plan.frames, dir.display())))
        }
        Err(error) => Err(failure(error)),
    }
}

fn settings(
    args: &RunArgs,
    scene: &Scene,
    ready: &Ready,
    dir: &Path,
    plan: FramePlan,
    threads: usize,
) -> Result<CacheSettings, Failure> {
    let picture: Option<Box<dyn Picture>> = if ready.output.preview && !args.no_preview {
        Some(Box::new(RunPictures::new(dir.to_owned(), Drawer::new(ready), plan.frames, plan.fps)?))
    } else {
        None
    };
    Ok(CacheSettings {
        dir: dir.to_owned(),
        name: ready.name.clone(),
        command: command_line(),
        scene: scene.resolved(),
        threads,
        plan,
        probes: ready.probes.clone(),
        formats: (&ready.output).into(),
        surface: SurfaceParams::default(),
        picture,
    })
}

/// An empty folder to write into; a run that is there already is never lost by accident.
fn prepare_dir(dir: &Path, overwrite: bool) -> Result<(), Failure> {
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
    if entries.is_empty() {
        return Ok(create_dir(dir)?);
    }
    if !overwrite {
        let message = format!("the output folder {} is not empty", dir.display());
        return Err(Failure::bad_input(
            message,
            "choose another folder with -o DIR, or replace the run in it with --overwrite",
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
    let fixed = ["run.json", "stats.jsonl", "probes.csv", "log.txt", "preview.png", "preview"];
    let is_frame = |n: &str| {
        let kinds = ["surface.", "particles.", "volume.", "liquid."];
        let endings = [".ply", ".obj", ".usda", ".abc", ".vtp", ".vti", ".vdb", ".pvd", ".partial"];
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

fn failure(error: RunError) -> Failure {
    let help = match &error {
        RunError::Step { frame, .. } | RunError::BadStep { frame, .. } => {
            format!("see log.txt; this repeats it: {}", up_to_frame(std::env::args().skip(1), *frame))
        }
        RunError::Output(_) => {
            "the frames written so far are complete; make room or choose another folder with -o".into()
        }
    };
    Failure::failed_with_help(error.into(), help)
}

/// The command line, quoted for a shell.
fn command_line() -> String {
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
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
