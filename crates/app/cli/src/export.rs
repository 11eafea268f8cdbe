//! `fluvial export`: the frames of a run in another format.

use crate::args::{FrameRange, SurfaceFormat};
use crate::failure::Failure;
use crate::render::read_run;
use crate::{log, stop};
use anyhow::{Context, anyhow};
use fluvial_output::{
    AbcFrame, FrameTime, PointCloud, create_dir, read_ply, read_ply_points, write_abc_sequence,
};
use fluvial_scene::VolumeFormat;
use fluvial_simulation::bodies::move_bodies;
use fluvial_simulation::frame_files::{
    body_meshes, body_poses, find_frames, frame_path, write_bodies, write_points, write_series, write_surface,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(clap::Args)]
pub struct ExportArgs {
    /// Folder of the run.
    pub dir: PathBuf,

    /// Format of the files. `abc` joins all frames into one archive, liquid.abc.
    #[arg(long, value_name = "FORMAT")]
    pub format: SurfaceFormat,

    /// Where the surfaces and particles are read from, as PLY [default: DIR]; e.g. what `fluvial mesh`
    /// wrote.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,

    /// Where the files go [default: DIR/export].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// First and last frame [default: all].
    #[arg(long, value_name = "FIRST..LAST")]
    pub frames: Option<FrameRange>,
}

/// Writes the frames of a run in another format.
pub fn export(args: ExportArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let stop = stop::on_interrupt()?;
    let mut ready = read_run(&args.dir)?;
    move_bodies(&mut ready.setup, &args.dir);
    let (fps, bodies) = (ready.fps, body_meshes(&ready.setup));
    let from = args.from.as_ref().unwrap_or(&args.dir);
    let wanted = |n: u32| args.frames.is_none_or(|r| (r.0..=r.1).contains(&n));
    let frames =
        find_frames(from, "surface", "ply").with_context(|| format!("could not read {}", from.display()))?;
    let frames: Vec<u32> = frames.into_iter().map(|(n, _)| n).filter(|&n| wanted(n)).collect();
    let (Some(&first), Some(&last)) = (frames.first(), frames.last()) else {
        let message = format!("{} has no surface of the frames wanted", from.display());
        let help = "surfaces are read from surface.0000.ply...; `fluvial mesh` makes them from volumes";
        return Err(Failure::bad_input(message, help));
    };
    let output = args.output.clone().unwrap_or_else(|| args.dir.join("export"));
    create_dir(&output)?;
    let at = |frame| FrameTime { frame, fps };
    if args.format == SurfaceFormat::Abc {
        if frames.len() as u32 != last - first + 1 {
            let missing = (first..=last).find(|n| !frames.contains(n)).unwrap_or(first);
            let message = format!("frame {missing} is missing: an archive has evenly spaced frames");
            return Err(Failure::bad_input(message, "choose frames without a gap with --frames FIRST..LAST"));
        }
        let path = output.join("liquid.abc");
        let result = write_abc_sequence(&path, at(first), |writer| {
            frames.iter().try_for_each(|&frame| {
                let (mesh, points) = read_frame(from, frame, &stop).map_err(std::io::Error::other)?;
                let points = points.as_ref().map(PointCloud::as_points);
                let poses = body_poses(&ready.setup, at(frame).time_s());
                writer.frame(&AbcFrame { surface: Some(&mesh), points, bodies: &bodies, poses: &poses })
            })
        });
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted("nothing was written"));
        }
        result?;
        eprintln!("frames {first} to {last} in {}", path.display());
        return Ok(());
    }
    let mut kinds = false;
    for &frame in &frames {
        let (mesh, points) = read_frame(from, frame, &stop).map_err(|e| {
            if stop.load(Ordering::Relaxed) {
                return Failure::interrupted(format!(
                    "frames before {frame} are complete in {}",
                    output.display()
                ));
            }
            anyhow!(e).into()
        })?;
        write_surface(&output, args.format.into(), at(frame), &mesh)?;
        if let Some(points) = &points {
            kinds |= points.as_points().have_kinds();
            write_points(&output, args.format.into(), at(frame), &points.as_points())?;
        }
        if !bodies.is_empty() {
            let poses = body_poses(&ready.setup, at(frame).time_s());
            write_bodies(&output, args.format.into(), at(frame), (&bodies, &poses))?;
        }
    }
    write_series(&output, (args.format.into(), VolumeFormat::None), at(last), kinds, bodies.len())?;
    eprintln!("frames {first} to {last} in {}", output.display());
    Ok(())
}

/// The surface of a frame, and its particles where there are any.
fn read_frame(
    from: &Path,
    frame: u32,
    stop: &AtomicBool,
) -> Result<(fluvial_grids::TriangleMesh, Option<PointCloud>), String> {
    if stop.load(Ordering::Relaxed) {
        return Err("interrupted".into());
    }
    let mesh = read_ply(&frame_path(from, "surface", frame, "ply")).map_err(|e| e.to_string())?;
    let path = frame_path(from, "particles", frame, "ply");
    let points = path.exists().then(|| read_ply_points(&path)).transpose().map_err(|e| e.to_string())?;
    Ok((mesh, points))
}
