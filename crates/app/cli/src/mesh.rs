//! `fluvial mesh`: surfaces from the volumes of a run, at another resolution or smoothing.

use crate::args::{FrameRange, SurfaceFormat};
use crate::failure::Failure;
use crate::render::read_run;
use crate::{log, stop};
use anyhow::{Context, anyhow};
use fluvial_grids::UniformGrid;
use fluvial_output::{FrameTime, VdbVolume, create_dir};
use fluvial_scene::VolumeFormat;
use fluvial_simulation::bodies::move_bodies;
use fluvial_simulation::frame_files::{find_frames, write_series, write_surface};
use fluvial_simulation::remesh::{RemeshParams, remesh, scaled_grid};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
pub struct MeshArgs {
    /// Folder of the run; it must hold volumes (`output.volumes = "vdb"`).
    pub dir: PathBuf,

    /// Where the surfaces go [default: DIR/mesh].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// How many times finer than the simulation, e.g. 2 or 0.5.
    #[arg(long, value_name = "K", default_value_t = 1.0)]
    pub resolution_scale: f64,

    /// Cell size of the mesh instead, metres.
    #[arg(long, value_name = "D", conflicts_with = "resolution_scale")]
    pub dx: Option<f64>,

    /// Rounds of smoothing that keep the volume, up to 100: the filter lets long waves grow by 6 % in as
    /// many.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub smoothing: u32,

    /// Format of the surfaces.
    #[arg(long, value_name = "FORMAT", default_value = "ply")]
    pub format: SurfaceFormat,

    /// First and last frame [default: all].
    #[arg(long, value_name = "FIRST..LAST")]
    pub frames: Option<FrameRange>,
}

/// Meshes the volumes of a run again.
pub fn mesh(args: MeshArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let stop = stop::on_interrupt()?;
    let mut ready = read_run(&args.dir)?;
    move_bodies(&mut ready.setup, &args.dir);
    let grid = ready.setup.domain.grid;
    let wanted = |n: u32| args.frames.is_none_or(|r| (r.0..=r.1).contains(&n));
    let frames = find_frames(&args.dir, "volume", "vdb").context("could not read the folder")?;
    let frames: Vec<(u32, PathBuf)> = frames.into_iter().filter(|(n, _)| wanted(*n)).collect();
    if frames.is_empty() {
        let message = format!("{} has no volumes of the frames wanted", args.dir.display());
        let help = "volumes are kept as volume.0000.vdb...; run with --set output.volumes=vdb, see --frames";
        return Err(Failure::bad_input(message, help));
    }
    let target = target_grid(&grid, &args)?;
    let output = args.output.unwrap_or_else(|| args.dir.join("mesh"));
    create_dir(&output)?;
    let params = RemeshParams { grid: target, smoothing: args.smoothing };
    let mut last = FrameTime { frame: 0, fps: ready.fps };
    for (frame, path) in &frames {
        if stop.load(Ordering::Relaxed) {
            let message = format!("the frames before {frame} are complete in {}", output.display());
            return Err(Failure::interrupted(message));
        }
        let volume = VdbVolume::read(path).map_err(|e| anyhow!(e))?;
        let mesh = remesh(&volume, &ready.setup, &params).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        last.frame = *frame;
        write_surface(&output, args.format.into(), last, &mesh)?;
        eprintln!("frame {frame}: {} vertices", mesh.positions.len());
    }
    write_series(&output, (args.format.into(), VolumeFormat::None), last, false, 0)?;
    let [nx, ny, nz] = target.cells;
    eprintln!("{} surfaces of {nx} x {ny} x {nz} cells in {}", frames.len(), output.display());
    Ok(())
}

/// The grid of the mesh: it must fill the simulation's box with whole cells.
fn target_grid(grid: &UniformGrid, args: &MeshArgs) -> Result<UniformGrid, Failure> {
    let scale = args.dx.map_or(args.resolution_scale, |dx| f64::from(grid.dx) / dx);
    let target =
        scaled_grid(grid, scale).filter(|t| t.cells.iter().map(|&n| n as f64).product::<f64>() < 4e9);
    let Some(target) = target else {
        let message = format!("no mesh has cells of {:.3e} m in this box", f64::from(grid.dx) / scale);
        return Err(Failure::bad_input(message, format!("the simulation's cells are {} m", grid.dx)));
    };
    let got = f64::from(grid.dx) / f64::from(target.dx);
    if (got / scale - 1.0).abs() > 0.01 {
        eprintln!(
            "the nearest resolution that fills the box is {got:.4} times the simulation's: dx = {} m",
            target.dx
        );
    }
    Ok(target)
}
