//! The cache directory of a run: what is written at every step and every frame.
//!
//! ```text
//! run.json            scene as resolved, version, machine, command, status, totals
//! stats.jsonl         one line per step; step 0 is the initial state
//! probes.csv          time_s and one column per probe, a row per step
//! surface.0000.ply    the initial state; frame n is the state at n / fps seconds
//! volume.0000.vdb, particles.0000.ply and other formats: see [`crate::frame_files`]
//! preview/0000.png    and preview.png, the film
//! checkpoint/         the newest, from which `fluvial resume` goes on
//! manifest.txt        the checksum of every finished file
//! report.html
//! log.txt
//! ```

use crate::checkpoint::{Checkpoint, CheckpointHeader, remove_checkpoints, write_checkpoint};
use crate::draw::{FILM, picture_name};
use crate::frame_files::FileFormats;
use crate::picture::Picture;
use crate::probes::ProbeTable;
use crate::record::{InputFile, RunRecord, RunStatus, SceneSource};
use crate::run::{FramePlan, Pause, Position, Recorder, RunEnd, StepRecord};
use crate::stats::StatsLine;
use fluvial_output::{
    FrameTime, LineStream, Machine, Manifest, OutputError, create_dir, free_bytes, peak_rss_bytes,
    remove_leftovers, write_ply,
};
use fluvial_scene::{MeshFormat, Probe};
use fluvial_solver_interface::{Solver, SurfaceParams};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use crate::record::Totals;

/// The stream of statistics, in the run's folder.
pub const STATS: &str = "stats.jsonl";
/// The table of probes, in the run's folder.
pub const PROBES: &str = "probes.csv";

/// What a cache directory holds beside what the loop tells it.
pub struct CacheSettings {
    /// The folder; made where it is missing.
    pub dir: PathBuf,
    /// Scene name, for messages.
    pub name: String,
    /// The command line that made it, ready to be pasted.
    pub command: String,
    /// Where the scene came from.
    pub source: SceneSource,
    /// Files that the scene names.
    pub inputs: Vec<InputFile>,
    /// The scene with every default and override in place.
    pub scene: serde_json::Value,
    /// Threads in use.
    pub threads: usize,
    /// Frames.
    pub plan: FramePlan,
    /// Gauges.
    pub probes: Vec<Probe>,
    /// Files of each frame.
    pub formats: FileFormats,
    /// How the surface is extracted.
    pub surface: SurfaceParams,
    /// Preview pictures, unless unwanted.
    pub picture: Option<Box<dyn Picture>>,
    /// Wall time between checkpoints.
    pub checkpoint_every: Duration,
    /// How many checkpoints are kept.
    pub checkpoints_kept: usize,
    /// Stop, with a checkpoint, before the disk is full?
    pub watch_disk: bool,
}

/// The open cache directory.
pub struct Cache {
    dir: PathBuf,
    formats: FileFormats,
    surface: SurfaceParams,
    stats: LineStream,
    probes: ProbeTable,
    manifest: Manifest,
    picture: Option<Box<dyn Picture>>,
    run: RunRecord,
    start: Instant,
    /// Wall time before `start`, of a run that was resumed.
    before: Duration,
    checkpoint_every: Duration,
    checkpoints_kept: usize,
    last_checkpoint: Instant,
    /// Where the newest checkpoint stands.
    checkpointed: Option<Position>,
    watch_disk: bool,
    /// Largest frame and checkpoint so far: what must be free for the next ones.
    frame_bytes: u64,
    checkpoint_bytes: u64,
}

impl Cache {
    /// Makes the folder and starts its files.
    pub fn create(settings: CacheSettings, method: &str) -> Result<Cache, OutputError> {
        let dir = settings.dir.clone();
        create_dir(&dir)?;
        sweep(&dir)?;
        // The record comes first: whatever is killed from here on can be resumed.
        let run = new_record(&settings, method);
        run.write(&dir)?;
        remove_checkpoints(&dir, |_, _| true)?;
        let stats = LineStream::create(&dir.join(STATS))?;
        let probes = ProbeTable::create(&dir.join(PROBES), settings.probes.clone())?;
        let manifest = Manifest::create(&dir)?;
        Ok(Cache::over(settings, run, stats, probes, manifest))
    }

    /// Goes on in the folder of a run from one of its checkpoints. `record` is the run's, with what `resume` changes
    /// in place already. With `changed`, what lies after the checkpoint is no longer part of the run and removed.
    pub fn resume(
        settings: CacheSettings,
        record: RunRecord,
        checkpoint: &Checkpoint,
        changed: bool,
    ) -> Result<Cache, OutputError> {
        let dir = settings.dir.clone();
        let header = &checkpoint.header;
        sweep(&dir)?;
        // Both are looked at before either is cut: a damaged one leaves everything as it is.
        let stats = LineStream::reopen(&dir.join(STATS), header.stats)?;
        let probes = ProbeTable::reopen(&dir.join(PROBES), settings.probes.clone(), header.probes)?;
        remove_checkpoints(&dir, |_, position| position > header.position)?;
        let mut manifest = Manifest::reopen(&dir)?;
        let is_stale = |name: &str| {
            // Streams, film and series change until the run ends.
            frame_of(name).is_none_or(|frame| changed && frame > header.position.frame)
        };
        let stale: Vec<String> = manifest.entries().files.keys().filter(|n| is_stale(n)).cloned().collect();
        if !stale.is_empty() {
            manifest.forget(is_stale)?;
            for name in stale.iter().filter(|n| frame_of(n).is_some()) {
                let path = dir.join(name);
                std::fs::remove_file(&path).map_err(|e| OutputError::new("remove", &path, e))?;
            }
        }
        let mut cache = Cache::over(settings, record, stats, probes, manifest);
        cache.before = Duration::try_from_secs_f64(header.totals.wall_s).unwrap_or_default();
        cache.run.totals = header.totals.clone();
        cache.run.last_frame = Some(header.position.frame);
        cache.run.status = RunStatus::Running;
        cache.run.resumed += 1;
        cache.checkpointed = (!changed).then_some(header.position);
        cache.checkpoint_bytes = checkpoint.bytes;
        cache.run.write(&cache.dir)?;
        Ok(cache)
    }

    fn over(
        settings: CacheSettings,
        run: RunRecord,
        stats: LineStream,
        probes: ProbeTable,
        manifest: Manifest,
    ) -> Cache {
        Cache {
            dir: settings.dir,
            formats: settings.formats,
            surface: settings.surface,
            stats,
            probes,
            manifest,
            picture: settings.picture,
            run,
            start: Instant::now(),
            before: Duration::ZERO,
            checkpoint_every: settings.checkpoint_every,
            checkpoints_kept: settings.checkpoints_kept,
            last_checkpoint: Instant::now(),
            checkpointed: None,
            watch_disk: settings.watch_disk,
            frame_bytes: 0,
            checkpoint_bytes: 0,
        }
    }

    /// The last frame whose files are all there.
    pub fn last_frame(&self) -> Option<u32> {
        self.run.last_frame
    }

    /// Is there a checkpoint to go on from?
    pub fn has_checkpoint(&self) -> bool {
        self.checkpointed.is_some()
    }

    /// Ends the run: the film, the streams on disk, the final `run.json`. Returns the totals.
    ///
    /// A run that stops on request stops at once: its film is made when it is resumed.
    pub fn finish(mut self, end: Option<RunEnd>) -> Result<Totals, OutputError> {
        self.run.status = match end {
            Some(RunEnd::Done) => RunStatus::Done,
            Some(RunEnd::Interrupted) => RunStatus::Interrupted,
            None => RunStatus::Failed,
        };
        let mut finished = vec![STATS.to_owned(), PROBES.to_owned()];
        if let Some(picture) = &mut self.picture
            && end == Some(RunEnd::Done)
            && self.run.totals.outputs_s.stage("film", || picture.finish())?
        {
            finished.push(FILM.to_owned());
        }
        self.stats.sync()?;
        self.probes.sync()?;
        self.manifest.record(&finished)?;
        self.run.totals.wall_s = self.elapsed().as_secs_f64();
        self.run.write(&self.dir)?;
        Ok(self.run.totals)
    }

    fn elapsed(&self) -> Duration {
        self.before + self.start.elapsed()
    }

    /// Everything that the run needs to go on from here.
    fn checkpoint(&mut self, position: Position, solver: &dyn Solver) -> Result<(), OutputError> {
        let start = Instant::now();
        self.stats.sync()?;
        self.probes.sync()?;
        self.run.totals.wall_s = self.elapsed().as_secs_f64();
        let header = CheckpointHeader {
            fluvial: self.run.fluvial.clone(),
            method: self.run.method.clone(),
            scene_crc32: self.run.scene_crc32(),
            position,
            time_s: solver.time_s(),
            stats: self.stats.mark(),
            probes: self.probes.mark(),
            totals: self.run.totals.clone(),
            pictures: self.picture.as_ref().map(|p| p.budget().clone()),
        };
        let path = write_checkpoint(&self.dir, &header, solver)?;
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

/// Removes what a killed run left half written.
fn sweep(dir: &Path) -> Result<(), OutputError> {
    for folder in [dir.to_owned(), dir.join("preview"), dir.join(crate::checkpoint::CHECKPOINT_DIR)] {
        if folder.is_dir() {
            remove_leftovers(&folder)?;
        }
    }
    Ok(())
}

fn new_record(settings: &CacheSettings, method: &str) -> RunRecord {
    RunRecord {
        fluvial: env!("CARGO_PKG_VERSION").to_owned(),
        name: settings.name.clone(),
        status: RunStatus::Running,
        command: settings.command.clone(),
        resumed: 0,
        method: method.to_owned(),
        threads: settings.threads,
        machine: Machine::describe(),
        frames: settings.plan.frames,
        fps: settings.plan.fps,
        last_frame: None,
        totals: Totals::default(),
        source: settings.source.clone(),
        inputs: settings.inputs.clone(),
        scene: settings.scene.clone(),
    }
}

/// The frame that a file of a run belongs to, by its name: `surface.0012.ply`, `preview/0012.png`.
pub fn frame_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix("preview/").unwrap_or_else(|| name.split_once('.').map_or("", |n| n.1));
    number.split('.').next()?.parse().ok()
}

impl Recorder for Cache {
    fn step(&mut self, step: &StepRecord, solver: &dyn Solver) -> Result<(), OutputError> {
        let wall_s = self.elapsed().as_secs_f64();
        let totals = &mut self.run.totals;
        totals.wall_s = wall_s;
        totals.steps = step.step;
        totals.retries += u64::from(step.retries);
        totals.peak_rss_bytes = totals.peak_rss_bytes.max(peak_rss_bytes());
        totals.largest_volume_error = totals.largest_volume_error.max(step.report.volume_error.abs());
        step.report.stages_s.iter().for_each(|(name, seconds)| totals.stages_s.add(name, seconds));
        let line = StatsLine::new(step, totals.peak_rss_bytes);
        let start = Instant::now();
        self.stats.write_json(&line)?;
        self.probes.record(step.time_s, solver)?;
        self.run.totals.outputs_s.add("statistics", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<(), OutputError> {
        let elapsed = self.elapsed();
        let outputs_s = &mut self.run.totals.outputs_s;
        let wants_mesh = self.formats.mesh != MeshFormat::None || self.picture.is_some();
        let mesh = wants_mesh.then(|| outputs_s.stage("surface", || solver.surface(&self.surface)));
        let time = FrameTime { frame, fps: self.run.fps };
        let files = self.formats.write(&self.dir, time, solver, mesh.as_ref(), outputs_s)?;
        let in_dir = |path: &PathBuf| Some(path.strip_prefix(&self.dir).ok()?.to_string_lossy().into_owned());
        let mut written: Vec<String> = files.iter().filter_map(in_dir).collect();
        if let (Some(picture), Some(mesh)) = (&mut self.picture, &mesh)
            && outputs_s.stage("preview", || picture.frame(frame, solver.time_s(), mesh, elapsed))?
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::run::run;
    use crate::toy::FallingBlock;
    use fluvial_output::read_ply;
    use fluvial_scene::{ProbeKind, VolumeFormat};
    use std::sync::atomic::AtomicBool;

    const PLAN: FramePlan = FramePlan { frames: 3, fps: 10.0 };

    fn settings(dir: &Path) -> CacheSettings {
        CacheSettings {
            dir: dir.to_owned(),
            name: "block".into(),
            command: "fluvial run block".into(),
            source: SceneSource::default(),
            inputs: vec![],
            scene: serde_json::json!({"fluvial": 1}),
            threads: 1,
            plan: PLAN,
            probes: vec![Probe { name: "H".into(), kind: ProbeKind::Height { x: 0.5, z: 0.5 } }],
            formats: FileFormats { mesh: MeshFormat::Ply, volumes: VolumeFormat::None, particles: false },
            surface: SurfaceParams::default(),
            picture: None,
            checkpoint_every: Duration::from_nanos(1),
            checkpoints_kept: 100,
            watch_disk: true,
        }
    }

    fn run_block(dir: &Path, block: &mut FallingBlock) -> Option<RunEnd> {
        let mut cache = Cache::create(settings(dir), block.method()).unwrap();
        let end = run(block, PLAN, &mut cache, &mut Silent, &AtomicBool::new(false)).ok();
        cache.finish(end).unwrap();
        end
    }

    fn json(text: &str) -> serde_json::Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_run_leaves_a_complete_cache() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(run_block(dir.path(), &mut FallingBlock::new(0.05)), Some(RunEnd::Done));
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();

        let lines: Vec<_> = read("stats.jsonl").lines().map(json).collect();
        assert_eq!(lines.len(), 7, "the initial state and six steps");
        assert_eq!(lines[0]["dt_limiter"], serde_json::Value::Null);
        assert_eq!(lines[1]["dt_limiter"], "cfl");
        assert_eq!(lines[2]["dt_limiter"], "frame");
        assert_eq!(lines[6]["clamps"]["theta_floor"], 2);
        for key in [
            "frame",
            "step",
            "time_s",
            "dt_s",
            "dt_limiter",
            "cells",
            "faces",
            "particles",
            "liquid_volume_m3",
            "volume_error",
            "kinetic_energy_j",
            "potential_energy_j",
            "max_speed_m_s",
            "max_divergence_1_s",
            "pressure",
            "stages_s",
            "peak_rss_bytes",
            "inflow_m3",
            "outflow_m3",
            "raw_volume_error",
        ] {
            assert!(lines[3].get(key).is_some(), "no {key}");
        }
        assert!(lines[3]["pressure"].get("relative_residual").is_some());

        // y after n steps of 0.05 s is 10 - 9.81 * 0.05^2 * n (n + 1) / 2; the gauge reads the top.
        let probes = read("probes.csv");
        let rows: Vec<Vec<&str>> = probes.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(rows[0], ["time_s", "H"]);
        assert_eq!(rows.len(), 8);
        let height: f64 = rows[7][1].parse().unwrap();
        assert!((height - (11.0 - 9.81 * 0.0025 * 21.0)).abs() < 1e-12, "{height}");

        for frame in 0..=3 {
            let mesh = read_ply(&dir.path().join(format!("surface.{frame:04}.ply"))).unwrap();
            assert!(mesh.defects().is_clean() && (mesh.volume() - 1.0).abs() < 1e-5);
        }
        let run = json(&read("run.json"));
        assert_eq!((run["status"].as_str(), run["last_frame"].as_u64()), (Some("done"), Some(3)));
        assert_eq!(run["totals"]["steps"], 6);
        assert_eq!(run["scene"]["fluvial"], 1);
    }

    #[test]
    fn a_failed_run_keeps_its_frames_and_a_snapshot() {
        let dir = tempfile::tempdir().unwrap();
        let mut block = FallingBlock::new(0.1);
        block.longest_good_dt_s = 0.0;
        assert_eq!(run_block(dir.path(), &mut block), None);
        let run = json(&std::fs::read_to_string(dir.path().join("run.json")).unwrap());
        assert_eq!((run["status"].as_str(), run["last_frame"].as_u64()), (Some("failed"), Some(0)));
        assert!(read_ply(&dir.path().join("surface.failed.ply")).unwrap().defects().is_clean());
        assert!(read_ply(&dir.path().join("surface.0000.ply")).is_ok());
    }

    /// Everything in a folder, without what may differ: times, memory, and the files that speak of them.
    fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let mut found = vec![];
        for entry in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap()) {
            let name = entry.file_name().into_string().unwrap();
            if name == "stats.jsonl" {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let lines = text.lines().map(|line| {
                    let mut line = json(line);
                    line["stages_s"].take();
                    line["peak_rss_bytes"].take();
                    line.to_string()
                });
                found.push((name, lines.collect::<String>().into_bytes()));
            } else if !["run.json", "manifest.txt", "checkpoint"].contains(&name.as_str()) {
                found.push((name, std::fs::read(entry.path()).unwrap()));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_run_resumed_from_any_of_its_checkpoints_ends_the_same() {
        let dir = tempfile::tempdir().unwrap();
        run_block(dir.path(), &mut FallingBlock::new(0.04));
        let expected = contents(dir.path());
        let checkpoints = crate::checkpoint::list_checkpoints(dir.path());
        assert_eq!(checkpoints.len(), 10, "before each of nine steps, and at the end");
        // From the newest to the oldest: resuming removes the checkpoints that lie ahead.
        for (position, path) in checkpoints {
            let checkpoint = crate::checkpoint::read_checkpoint(&path).unwrap();
            let mut record = RunRecord::read(dir.path()).unwrap();
            record.frames = PLAN.frames;
            // A line that a kill cut in two.
            let stats = dir.path().join("stats.jsonl");
            std::fs::write(&stats, std::fs::read_to_string(&stats).unwrap() + "{\"fra").unwrap();
            let mut block = FallingBlock::new(0.04);
            checkpoint.restore(&mut block).unwrap();
            let mut settings = settings(dir.path());
            settings.checkpoint_every = Duration::from_secs(1000);
            let mut cache = Cache::resume(settings, record, &checkpoint, false).unwrap();
            let stop = AtomicBool::new(false);
            let end = crate::run::run_from(position, &mut block, PLAN, &mut cache, &mut Silent, &stop);
            assert_eq!(end.unwrap(), RunEnd::Done);
            cache.finish(Some(RunEnd::Done)).unwrap();
            assert_eq!(contents(dir.path()), expected, "{position:?}");
            std::fs::remove_file(&crate::checkpoint::list_checkpoints(dir.path())[0].1).unwrap();
        }
    }

    #[test]
    fn frames_are_told_from_names() {
        let frames =
            ["surface.0012.ply", "preview/0003.png", "volume.10000.vdb", "run.json", "surface.failed.ply"];
        assert_eq!(frames.map(frame_of), [Some(12), Some(3), Some(10000), None, None]);
    }
}
