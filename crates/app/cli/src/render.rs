//! `fluvial render`: the frames of a run drawn again.

use crate::args::{RenderArgs, Show};
use crate::failure::Failure;
use crate::resume::read_record;
use crate::{log, stop};
use anyhow::{Context, anyhow};
use fluvial_output::{create_dir, read_ply, read_ply_cells};
use fluvial_preview::FilmWriter;
use fluvial_scene::{Ready, Scene};
use fluvial_simulation::cells::draw_cells;
use fluvial_simulation::draw::Drawer;
use fluvial_simulation::frame_files::find_frames;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Draws the frames of a run again.
pub fn render(args: RenderArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let stop = stop::on_interrupt()?;
    let ready = read_run(&args.dir)?;
    let file = if args.show == Show::Cells { "cells" } else { "surface" };
    let frames = find_frames(&args.dir, file, "ply")
        .with_context(|| format!("could not read {}", args.dir.display()))?;
    let wanted = |n: u32| args.frames.is_none_or(|r| (r.0..=r.1).contains(&n));
    let frames: Vec<(u32, PathBuf)> = frames.into_iter().filter(|(n, _)| wanted(*n)).collect();
    if frames.is_empty() && args.show == Show::Cells {
        let message = format!("{} has no cells of the frames wanted", args.dir.display());
        let help = format!(
            "methods whose cells differ in size keep them as cells.0000.ply...; this run is of `{}`; see --frames",
            ready.method.name()
        );
        return Err(Failure::bad_input(message, help));
    }
    if frames.is_empty() {
        let message = format!("{} has no surface of the frames wanted", args.dir.display());
        return Err(Failure::bad_input(
            message,
            "surfaces are kept as surface.0000.ply...; see --frames, and `mesh` in [output]",
        ));
    }
    let mut drawer = Drawer::new(&ready);
    let size = args.size.map_or(ready.output.preview_size.map(|n| n as usize), |s| s.0);
    drawer.look(args.camera.map(|c| c.0).or(ready.output.camera), size);
    let output = args.output.unwrap_or_else(|| args.dir.join("render"));
    create_dir(&output)?;
    let mut film = FilmWriter::new(ready.fps as f32);
    for (frame, path) in &frames {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted(format!(
                "the frames before {frame} are complete in {}",
                output.display()
            )));
        }
        let time_s = f64::from(*frame) / ready.fps;
        let image = match args.show {
            Show::Water => drawer.draw(time_s, &read_ply(path).map_err(|e| anyhow!(e))?, 0),
            Show::Cells => {
                let cut = read_ply_cells(path).map_err(|e| anyhow!(e))?;
                draw_cells(&cut, ready.setup.domain.bounds(), &ready.setup.solids, time_s, size)
            }
        };
        image.write_png(&output.join(format!("{frame:04}.png")))?;
        eprintln!("frame {frame}");
        if args.film {
            film.push(&image);
        }
    }
    if args.film {
        film.write_apng(&output.join("film.png"))?;
        film.write_mp4(&output.join("film.mp4"))?;
    }
    eprintln!("{} pictures in {}", frames.len(), output.display());
    Ok(())
}

/// The scene that a run was made of.
pub fn read_run(dir: &Path) -> Result<Ready, Failure> {
    let record = read_record(dir)?;
    Ok(Scene::from_resolved(&record.name, record.scene)?.build()?)
}
