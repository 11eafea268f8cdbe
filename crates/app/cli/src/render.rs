//! `fluvial render`: the frames of a run drawn again.

use crate::args::{RenderArgs, Show};
use crate::failure::Failure;
use crate::resume::read_record;
use crate::{log, stop};
use anyhow::{Context, anyhow};
use fluvial_output::{create_dir, read_ply, read_ply_cells, read_ply_points};
use fluvial_preview::FilmWriter;
use fluvial_scene::{Ready, Scene};
use fluvial_simulation::bodies::move_bodies;
use fluvial_simulation::cells::draw_cells;
use fluvial_simulation::draw::Drawer;
use fluvial_simulation::frame_files::{find_frames, frame_path};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Draws the frames of a run again.
pub fn render(args: RenderArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let stop = stop::on_interrupt()?;
    let mut ready = read_run(&args.dir)?;
    let file = match args.show {
        Show::Water => "surface",
        Show::Cells => "cells",
        Show::Particles | Show::ParticlesCut => "particles",
    };
    let frames = find_frames(&args.dir, file, "ply")
        .with_context(|| format!("could not read {}", args.dir.display()))?;
    let wanted = |n: u32| args.frames.is_none_or(|r| (r.0..=r.1).contains(&n));
    let frames: Vec<(u32, PathBuf)> = frames.into_iter().filter(|(n, _)| wanted(*n)).collect();
    if frames.is_empty() {
        return Err(nothing_to_draw(&args, file, ready.method.name()));
    }
    move_bodies(&mut ready.setup, &args.dir);
    let mut drawer = Drawer::new(&ready);
    let size = args.size.map_or(ready.output.preview_size.map(|n| n as usize), |s| s.0);
    drawer.look(args.camera.map(|c| c.0).or(ready.output.camera), size);
    let output = args.output.unwrap_or_else(|| args.dir.join("render"));
    create_dir(&output)?;
    let whitewater = args.whitewater.as_ref().unwrap_or(&args.dir);
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
            Show::Water => {
                let white = frame_path(whitewater, "whitewater", *frame, "ply");
                let white = white.exists().then(|| read_ply_points(&white)).transpose();
                let white = white.map_err(|e| anyhow!(e))?;
                drawer.draw(time_s, &read_ply(path).map_err(|e| anyhow!(e))?, white.as_ref(), 0)
            }
            Show::Cells => {
                let cut = read_ply_cells(path).map_err(|e| anyhow!(e))?;
                draw_cells(&cut, ready.setup.domain.bounds(), &ready.setup.solids, time_s, size)
            }
            Show::Particles | Show::ParticlesCut => {
                let particles = read_ply_points(path).map_err(|e| anyhow!(e))?;
                drawer.draw_particles(time_s, &particles, args.show == Show::ParticlesCut)
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

/// The error where a run has no files of the wanted frames: it names the files, and how a run comes to write them.
fn nothing_to_draw(args: &RenderArgs, file: &str, method: &str) -> Failure {
    let message = format!("{} has no {file} of the frames wanted", args.dir.display());
    let help = match args.show {
        Show::Water => {
            "surfaces are kept as surface.0000.ply...; see --frames, and `mesh` in [output]".into()
        }
        Show::Cells => format!(
            "methods whose cells differ in size keep them as cells.0000.ply...; this run is of `{method}`; see --frames"
        ),
        Show::Particles | Show::ParticlesCut => format!(
            "they are drawn from particles.0000.ply..., which a run has with `particles = true` and `mesh = \"ply\"` in \
             [output]; this run is of `{method}`; see --frames"
        ),
    };
    Failure::bad_input(message, help)
}

/// The scene that a run was made of.
pub fn read_run(dir: &Path) -> Result<Ready, Failure> {
    let record = read_record(dir)?;
    Ok(Scene::from_resolved(&record.name, record.scene)?.build()?)
}
