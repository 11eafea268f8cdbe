//! The cache directory of a run: what is written at every step and every frame.
//!
//! ```text
//! run.json            scene as resolved, version, machine, command, status, totals
//! stats.jsonl         one line per step; step 0 is the initial state
//! probes.csv          time_s and one column per probe, a row per step
//! surface.0000.ply    the initial state; frame n is the state at n / fps seconds
//! volume.0000.vdb, particles.0000.ply and other formats: see [`crate::frame_files`]
//! preview/0000.png    and preview.png, the film
//! log.txt
//! ```

use crate::frame_files::FileFormats;
use crate::picture::Picture;
use crate::probes::ProbeTable;
use crate::run::{FramePlan, Recorder, RunEnd, StepRecord};
use crate::stats::{self, StatsLine};
use fluvial_foundation::StageTimers;
use fluvial_output::{
    FrameTime, LineStream, Machine, OutputError, create_dir, peak_rss_bytes, remove_leftovers,
    write_json_atomic, write_ply,
};
use fluvial_scene::{MeshFormat, Probe};
use fluvial_solver_interface::{Solver, SurfaceParams};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// What a cache directory holds beside what the loop tells it.
pub struct CacheSettings {
    /// The folder; made where it is missing.
    pub dir: PathBuf,
    /// Scene name, for messages.
    pub name: String,
    /// The command line that made it, ready to be pasted.
    pub command: String,
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
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RunStatus {
    Running,
    Done,
    Interrupted,
    Failed,
}

/// `run.json`.
#[derive(Serialize)]
struct RunJson {
    fluvial: &'static str,
    name: String,
    status: RunStatus,
    command: String,
    method: String,
    threads: usize,
    machine: Machine,
    frames: u32,
    fps: f64,
    /// The last frame whose files are all there; `None` before frame 0.
    last_frame: Option<u32>,
    totals: Totals,
    scene: serde_json::Value,
}

/// Sums over the run so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Wall time since the start, seconds.
    pub wall_s: f64,
    /// Steps taken.
    pub steps: u64,
    /// Tries that failed and were redone.
    pub retries: u64,
    /// Seconds by stage of the step.
    #[serde(serialize_with = "stages")]
    pub stages_s: StageTimers,
    /// Seconds by output.
    #[serde(serialize_with = "stages")]
    pub outputs_s: StageTimers,
    /// Largest volume error seen, relative.
    pub largest_volume_error: f64,
    /// Most memory held.
    pub peak_rss_bytes: Option<u64>,
}

fn stages<S: serde::Serializer>(timers: &StageTimers, serializer: S) -> Result<S::Ok, S::Error> {
    stats::stages(timers, serializer)
}

/// The open cache directory.
pub struct Cache {
    dir: PathBuf,
    formats: FileFormats,
    surface: SurfaceParams,
    stats: LineStream,
    probes: ProbeTable,
    picture: Option<Box<dyn Picture>>,
    run: RunJson,
    start: Instant,
}

impl Cache {
    /// Makes the folder and starts its files.
    pub fn create(settings: CacheSettings, method: &str) -> Result<Cache, OutputError> {
        let CacheSettings { dir, plan, .. } = settings;
        create_dir(&dir)?;
        remove_leftovers(&dir)?;
        let cache = Cache {
            stats: LineStream::create(&dir.join("stats.jsonl"))?,
            probes: ProbeTable::create(&dir.join("probes.csv"), settings.probes)?,
            formats: settings.formats,
            surface: settings.surface,
            picture: settings.picture,
            run: RunJson {
                fluvial: env!("CARGO_PKG_VERSION"),
                name: settings.name,
                status: RunStatus::Running,
                command: settings.command,
                method: method.to_owned(),
                threads: settings.threads,
                machine: Machine::describe(),
                frames: plan.frames,
                fps: plan.fps,
                last_frame: None,
                totals: Totals::default(),
                scene: settings.scene,
            },
            start: Instant::now(),
            dir,
        };
        cache.write_run_json()?;
        Ok(cache)
    }

    /// The last frame whose files are all there.
    pub fn last_frame(&self) -> Option<u32> {
        self.run.last_frame
    }

    /// Ends the run: the film, the streams on disk, the final `run.json`. Returns the totals.
    pub fn finish(mut self, end: Option<RunEnd>) -> Result<Totals, OutputError> {
        self.run.status = match end {
            Some(RunEnd::Done) => RunStatus::Done,
            Some(RunEnd::Interrupted) => RunStatus::Interrupted,
            None => RunStatus::Failed,
        };
        if let Some(picture) = &mut self.picture {
            self.run.totals.outputs_s.stage("film", || picture.finish())?;
        }
        self.stats.sync()?;
        self.probes.sync()?;
        self.write_run_json()?;
        Ok(self.run.totals.clone())
    }

    fn write_run_json(&self) -> Result<(), OutputError> {
        write_json_atomic(&self.dir.join("run.json"), &self.run)
    }
}

impl Recorder for Cache {
    fn step(&mut self, step: &StepRecord, solver: &dyn Solver) -> Result<(), OutputError> {
        let totals = &mut self.run.totals;
        totals.wall_s = self.start.elapsed().as_secs_f64();
        totals.steps = step.step;
        totals.retries += u64::from(step.retries);
        totals.peak_rss_bytes = peak_rss_bytes();
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
        let outputs_s = &mut self.run.totals.outputs_s;
        let wants_mesh = self.formats.mesh != MeshFormat::None || self.picture.is_some();
        let mesh = wants_mesh.then(|| outputs_s.stage("surface", || solver.surface(&self.surface)));
        let time = FrameTime { frame, fps: self.run.fps };
        self.formats.write(&self.dir, time, solver, mesh.as_ref(), outputs_s)?;
        if let (Some(picture), Some(mesh)) = (&mut self.picture, &mesh) {
            outputs_s
                .stage("preview", || picture.frame(frame, solver.time_s(), mesh, self.start.elapsed()))?;
        }
        self.run.last_frame = Some(frame);
        self.run.totals.wall_s = self.start.elapsed().as_secs_f64();
        self.write_run_json()?;
        tracing::info!("frame {frame} of {}: t = {:.4} s", self.run.frames, solver.time_s());
        Ok(())
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
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    const PLAN: FramePlan = FramePlan { frames: 3, fps: 10.0 };

    fn settings(dir: &Path) -> CacheSettings {
        CacheSettings {
            dir: dir.to_owned(),
            name: "block".into(),
            command: "fluvial run block".into(),
            scene: serde_json::json!({"fluvial": 1}),
            threads: 1,
            plan: PLAN,
            probes: vec![Probe { name: "H".into(), kind: ProbeKind::Height { x: 0.5, z: 0.5 } }],
            formats: FileFormats { mesh: MeshFormat::Ply, volumes: VolumeFormat::None, particles: false },
            surface: SurfaceParams::default(),
            picture: None,
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
}
