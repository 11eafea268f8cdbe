//! What the cache writes at every step, frame and pause of the loop.

use super::Cache;
use crate::bodies::BodyTable;
use crate::checkpoint::{CheckpointHeader, remove_checkpoints, write_checkpoint};
use crate::draw::picture_name;
use crate::frame_files::Look;
use crate::run::{Pause, Position, Recorder, StepRecord};
use crate::stats::StatsLine;
use crate::whitewater::own_points;
use fluvial_output::{FrameTime, OutputError, free_bytes, peak_rss_bytes, write_ply};
use fluvial_scene::MeshFormat;
use fluvial_solver_interface::Solver;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

impl Recorder for Cache {
    fn step(&mut self, step: &StepRecord, solver: &dyn Solver) -> Result<(), OutputError> {
        let wall_s = self.elapsed().as_secs_f64();
        let totals = &mut self.run.totals;
        totals.wall_s = wall_s;
        totals.steps = step.step;
        totals.retries += u64::from(step.retries);
        totals.peak_rss_bytes = totals.peak_rss_bytes.max(peak_rss_bytes());
        totals.largest_volume_error = totals.largest_volume_error.max(step.report.volume_error.abs());
        self.guard.step(step, totals.largest_volume_error, &mut totals.findings);
        step.report.stages_s.iter().for_each(|(name, seconds)| totals.stages_s.add(name, seconds));
        let line = StatsLine::new(step, totals.peak_rss_bytes);
        let start = Instant::now();
        self.stats.write_json(&line)?;
        self.probes.record(step.time_s, solver)?;
        if let Some(bodies) = &mut self.bodies {
            bodies.record(step.time_s, solver)?;
        }
        self.run.totals.outputs_s.add("statistics", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<(), OutputError> {
        let elapsed = self.elapsed();
        let outputs_s = &mut self.run.totals.outputs_s;
        let wants_mesh = self.formats.mesh != MeshFormat::None || self.picture.is_some();
        let mesh = wants_mesh.then(|| outputs_s.stage("surface", || solver.surface(&self.surface)));
        if mesh.as_ref().is_some_and(|mesh| !mesh.is_sound()) {
            let said = format!("the method `{}` made a surface with numbers that are none", solver.method());
            return Err(OutputError::new(
                "draw frame",
                &self.dir.join(frame.to_string()),
                io::Error::other(said),
            ));
        }
        let time = FrameTime { frame, fps: self.run.fps };
        let (mut white, mut volume) = (None, None);
        if let Some(whitewater) = &mut self.whitewater {
            volume = outputs_s.stage("whitewater", || whitewater.frame(frame, solver))?;
            self.run.totals.whitewater = Some(whitewater.totals());
            white = Some(whitewater.points());
        } else if let Some(own) = solver.whitewater() {
            let (points, totals) = own_points(own);
            (white, self.run.totals.whitewater) = (Some(points), Some(totals));
        }
        let look = Look { solver, mesh: mesh.as_ref(), whitewater: white.as_ref(), volume };
        let files = self.formats.write(&self.dir, time, &look, outputs_s)?;
        let in_dir = |path: &PathBuf| Some(path.strip_prefix(&self.dir).ok()?.to_string_lossy().into_owned());
        let mut written: Vec<String> = files.iter().filter_map(in_dir).collect();
        if let (Some(picture), Some(mesh)) = (&mut self.picture, &mesh)
            && outputs_s.stage("preview", || picture.frame(frame, solver, mesh, white.as_ref(), elapsed))?
        {
            written.push(picture_name(frame));
        }
        outputs_s.stage("checksums", || self.manifest.record(&written))?;
        let bytes = written.iter().map(|name| self.manifest.entries().files[name].bytes).sum();
        self.frame_bytes = self.frame_bytes.max(bytes);
        self.run.last_frame = Some(frame);
        self.run.totals.wall_s = self.elapsed().as_secs_f64();
        self.run.write(&self.dir)?;
        tracing::info!("frame {frame} of {}: t = {:.4} s", self.run.frames, solver.time_s());
        Ok(())
    }

    fn pause(&mut self, at: Position, why: Pause, solver: &dyn Solver) -> Result<(), OutputError> {
        let room = self.look_at_disk();
        let due =
            room.is_err() || why != Pause::Going || self.last_checkpoint.elapsed() >= self.checkpoint_every;
        if due && self.checkpointed != Some(at) {
            self.checkpoint(at, solver)?;
        }
        room
    }

    fn failed(&mut self, solver: &dyn Solver) -> Option<PathBuf> {
        let path = self.dir.join("surface.failed.ply");
        match write_ply(&path, &solver.surface(&self.surface)) {
            Ok(()) => Some(path),
            Err(error) => {
                tracing::error!("no snapshot of the failed state: {error}");
                None
            }
        }
    }
}

impl Cache {
    /// Everything that the run needs to go on from here.
    fn checkpoint(&mut self, position: Position, solver: &dyn Solver) -> Result<(), OutputError> {
        let start = Instant::now();
        self.stats.sync()?;
        self.probes.sync()?;
        self.bodies.iter_mut().try_for_each(BodyTable::sync)?;
        self.run.totals.wall_s = self.elapsed().as_secs_f64();
        let saved = self.whitewater.as_ref().map(|w| w.save()).transpose();
        let whitewater = saved.map_err(|e| OutputError::new("save", &self.dir, e))?.unwrap_or_default();
        let header = CheckpointHeader {
            fluvial: self.run.fluvial.clone(),
            method: self.run.method.clone(),
            fingerprint: self.fingerprint,
            scene_crc32: self.run.scene_crc32(),
            position,
            time_s: solver.time_s(),
            stats: self.stats.mark(),
            probes: self.probes.mark(),
            bodies: self.bodies.as_ref().map(BodyTable::mark),
            whitewater_bytes: whitewater.len() as u64,
            totals: self.run.totals.clone(),
            pictures: self.picture.as_ref().map(|p| p.budget().clone()),
        };
        let path = write_checkpoint(&self.dir, &header, &whitewater, solver)?;
        // The old ones go when the new one is safe.
        remove_checkpoints(&self.dir, |n, _| n >= self.checkpoints_kept)?;
        self.checkpointed = Some(position);
        self.last_checkpoint = Instant::now();
        self.checkpoint_bytes = path.metadata().map_or(0, |m| m.len());
        let seconds = start.elapsed().as_secs_f64();
        self.run.totals.outputs_s.add("checkpoint", seconds);
        tracing::info!(
            "checkpoint at frame {}, step {}: {:.1} MB in {seconds:.3} s",
            position.frame,
            position.step,
            self.checkpoint_bytes as f64 / 1e6
        );
        Ok(())
    }

    /// An error where the next frame and checkpoint may not fit.
    fn look_at_disk(&self) -> Result<(), OutputError> {
        let needed = self.frame_bytes * 3 / 2 + self.checkpoint_bytes + (1 << 18);
        match free_bytes(&self.dir).filter(|free| self.watch_disk && *free < needed) {
            None => Ok(()),
            Some(free) => {
                let mb = |bytes: u64| bytes as f64 / 1e6;
                let message = format!(
                    "the disk is almost full: {:.1} MB are free, the next frame and checkpoint need about {:.1} MB",
                    mb(free),
                    mb(needed)
                );
                Err(OutputError::new(
                    "go on in",
                    &self.dir,
                    io::Error::new(io::ErrorKind::StorageFull, message),
                ))
            }
        }
    }
}
