//! `fluvial check`, `fluvial scenes`, `fluvial schema`.

use crate::args::CheckArgs;
use crate::bar::{duration, short};
use crate::failure::Failure;
use crate::say::say;
use fluvial_output::Machine;
use fluvial_scene::{Prediction, Ready, Scene, builtin_scenes, describe, predict};
use std::time::Duration;

/// Checks a scene and says what it will need.
pub fn check(args: CheckArgs) -> Result<(), Failure> {
    let scene = Scene::load(&args.scene.scene, &args.scene.overrides())?;
    let ready = scene.build()?;
    let prediction = predict(&ready);
    if args.json {
        let json = serde_json::json!({
            "scene": ready.name, "method": ready.method.name(), "frames": ready.frames, "fps": ready.fps,
            "cells": ready.setup.domain.grid.cells, "dx_m": ready.setup.domain.grid.dx,
            "prediction": prediction, "notes": ready.notes,
        });
        say!("{json:#}");
        return Ok(());
    }
    ready.notes.iter().for_each(|note| say!("note: {note}"));
    say!("{}", summary(&ready, &prediction));
    match memory_warning(&prediction) {
        None => say!("The scene is good."),
        Some(warning) => {
            say!("warning: {warning}");
            say!(
                "The scene is good, but `fluvial run` refuses it on this machine unless --max-memory says otherwise."
            );
        }
    }
    Ok(())
}

/// What will be simulated and what it needs, in a few lines.
pub fn summary(ready: &Ready, prediction: &Prediction) -> String {
    let grid = &ready.setup.domain.grid;
    let [nx, ny, nz] = grid.cells;
    let seconds = f64::from(ready.frames) / ready.fps;
    let cells = if ready.method.capabilities().adaptive {
        let finest = format!("{nx} x {ny} x {nz} finest cells of {} m", grid.dx);
        format!("a first tree of {} cells in a box of {finest}", short(prediction.cells as usize))
    } else {
        format!("{nx} x {ny} x {nz} = {} cells of {} m", short(grid.cell_count()), grid.dx)
    };
    format!(
        "{}: method {}, {cells}, {} of them liquid\n\
         {} frames at {} fps: {} simulated\n\
         needs about {} of memory and {} of disk",
        ready.name,
        ready.method.name(),
        short(prediction.liquid_cells as usize),
        ready.frames,
        ready.fps,
        duration(Duration::from_secs_f64(seconds)),
        bytes(prediction.memory_bytes),
        bytes(disk_bytes(ready, prediction, ready.frames)),
    )
}

/// Disk space that a run of this many frames needs: for the frames and frame 0, and for the checkpoints, of which there
/// is one more while it is being written.
pub fn disk_bytes(ready: &Ready, prediction: &Prediction, frames: u32) -> u64 {
    let frames = prediction.disk_bytes_per_frame.saturating_mul(u64::from(frames) + 1);
    let checkpoints =
        prediction.checkpoint_bytes.saturating_mul(u64::from(ready.output.checkpoints_kept) + 1);
    frames.saturating_add(checkpoints)
}

/// A warning where the machine has less memory than the run will need.
fn memory_warning(prediction: &Prediction) -> Option<String> {
    let available = Machine::describe().memory_bytes?;
    (prediction.memory_bytes > available).then(|| {
        format!(
            "the run will need about {}, this machine has {}",
            bytes(prediction.memory_bytes),
            bytes(available)
        )
    })
}

/// The finest resolution of a scene that needs no more memory than `most`, and what it needs.
pub fn fitting_resolution(scene: &Scene, most: u64) -> Option<(u32, Prediction)> {
    let size = |a: usize| scene.domain.max[a] - scene.domain.min[a];
    let longest = size(0).max(size(1)).max(size(2));
    let grid = scene.build().ok()?.setup.domain.grid;
    let now = (longest / f64::from(grid.dx)).round() as u32;
    // Memory grows with the cube of the resolution, a little less where it follows the surface.
    let needed = predict(&scene.build().ok()?).memory_bytes;
    let guess = f64::from(now) * (most as f64 / needed as f64).cbrt();
    (4..=now.min(guess.ceil() as u32 + 1)).rev().find_map(|resolution| {
        let mut scene = scene.clone();
        (scene.domain.dx, scene.domain.resolution) = (None, Some(resolution));
        // Not every resolution divides the box into cubes.
        let prediction = predict(&scene.build().ok()?);
        (prediction.memory_bytes <= most).then_some((resolution, prediction))
    })
}

/// 1500000000 as 1.50 GB.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000_000 => format!("{:.0} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// Lists the built-in scenes.
pub fn scenes() -> Result<(), Failure> {
    let width = builtin_scenes().iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in builtin_scenes() {
        say!("{name:width$}  {}", describe(text));
    }
    say!("\nRun one with `fluvial run NAME`; its file is in scenes/.");
    Ok(())
}

/// Prints the JSON schema of scene files.
pub fn schema() -> Result<(), Failure> {
    say!("{:#}", fluvial_scene::schema());
    Ok(())
}
