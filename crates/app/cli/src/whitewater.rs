//! `fluvial whitewater`: spray, foam and bubbles of a finished run, from the volumes that it wrote.

use crate::args::{Assignment, SurfaceFormat};
use crate::failure::Failure;
use crate::resume::read_record;
use crate::{log, stop};
use anyhow::{Context, anyhow};
use fluvial_grids::UniformGrid;
use fluvial_output::{FrameTime, VdbVolume, create_dir};
use fluvial_scene::{MeshFormat, Scene, VolumeFormat};
use fluvial_simulation::bodies::FramePoses;
use fluvial_simulation::frame_files::{find_frames, write_points, write_series};
use fluvial_simulation::whitewater::{SceneWhitewater, WhitewaterTotals, field};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
pub struct WhitewaterArgs {
    /// Folder of the run; it must hold volumes (`output.volumes = "vdb"`).
    pub dir: PathBuf,

    /// Where the particles go [default: DIR/whitewater].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Change a value of the scene's [whitewater], e.g. `--set amount=3`. May be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Assignment>,

    /// Format of the particles [default: that of the run's own].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<SurfaceFormat>,
}

/// Makes the whitewater of a run.
pub fn whitewater(args: WhitewaterArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let stop = stop::on_interrupt()?;
    let record = read_record(&args.dir)?;
    let set = args.set.iter().map(|a| (a.0.clone(), a.1.clone())).collect::<Vec<_>>();
    let ready = Scene::from_resolved(&record.name, record.scene)?.with_whitewater(&set)?.build()?;
    let Some(mut whitewater) = SceneWhitewater::new(&ready) else {
        return Err(Failure::bad_input("the scene has no whitewater", "add [whitewater] to it"));
    };
    let frames = find_frames(&args.dir, "volume", "vdb").context("could not read the folder")?;
    let (Some(first), Some(last)) = (frames.first().map(|f| f.0), frames.last().map(|f| f.0)) else {
        let message = format!("{} has no volumes", args.dir.display());
        let help = "volumes are kept as volume.0000.vdb...; run with --set output.volumes=vdb";
        return Err(Failure::bad_input(message, help));
    };
    if let Some((expected, _)) = (first..).zip(&frames).find(|(n, (frame, _))| n != frame) {
        let message = format!("{} has no volume of frame {expected}", args.dir.display());
        let help = format!(
            "whitewater goes from frame to frame; computes the missing ones again: fluvial resume {} --from-start",
            args.dir.display()
        );
        return Err(Failure::bad_input(message, help));
    }
    if first > 0 {
        eprintln!("warning: there is no volume before frame {first}: whitewater starts there with nothing");
    }
    let output = args.output.unwrap_or_else(|| args.dir.join("whitewater"));
    create_dir(&output)?;
    let format: MeshFormat = args.format.map_or(ready.output.mesh, Into::into);
    let poses = FramePoses::read(&args.dir);
    for (frame, path) in &frames {
        if stop.load(Ordering::Relaxed) {
            let message = format!("the frames before {frame} are complete in {}", output.display());
            return Err(Failure::interrupted(message));
        }
        let volume = VdbVolume::read(path).map_err(|e| anyhow!(e))?;
        let time = FrameTime { frame: *frame, fps: ready.fps };
        check_volume(&volume, time, ready.setup.domain.grid, path)?;
        let field = field(&volume).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        whitewater.advance(*frame, field, poses.at(time.time_s()));
        write_points(&output, format, time, &whitewater.points().as_points())?;
        let WhitewaterTotals { spray, foam, bubbles, .. } = whitewater.totals();
        eprintln!("frame {frame}: {spray} spray, {foam} foam, {bubbles} bubbles");
    }
    let at = FrameTime { frame: last, fps: ready.fps };
    write_series(&output, (format, VolumeFormat::None), at, false, 0)?;
    let totals = whitewater.totals();
    eprintln!(
        "born: {} spray, {} foam, {} bubbles",
        totals.born_spray, totals.born_foam, totals.born_bubbles
    );
    if totals.refused > 0 {
        eprintln!(
            "warning: {} particles were not born, because there may be {} at one time (`max_particles`)",
            totals.refused,
            ready.whitewater.map_or(0, |params| params.most)
        );
    }
    eprintln!("{} frames in {}", frames.len(), output.display());
    Ok(())
}

/// A volume of another run, renamed or copied into the folder, has another grid, another time or another frame rate.
fn check_volume(volume: &VdbVolume, time: FrameTime, grid: UniformGrid, path: &Path) -> Result<(), Failure> {
    let help = "volumes of another run lie in the folder; run the scene again with --set output.volumes=vdb";
    if volume.grid != grid {
        let cells = |grid: UniformGrid| format!("{:?} cells of {} m", grid.cells, grid.dx);
        let message = format!("{} has {}, the run {}", path.display(), cells(volume.grid), cells(grid));
        return Err(Failure::bad_input(message, help));
    }
    if volume.time != time {
        let moment = |t: FrameTime| format!("frame {} at {} frames a second", t.frame, t.fps);
        let message = format!("{} is {}, the run's {}", path.display(), moment(volume.time), moment(time));
        return Err(Failure::bad_input(message, help));
    }
    Ok(())
}
