//! The cache directory of a run: what is written at every step and every frame.
//!
//! ```text
//! run.json            scene as resolved, version, machine, command, status, totals
//! stats.jsonl         one line per step; step 0 is the initial state
//! probes.csv          time_s and one column per probe, a row per step
//! bodies.csv          pose, velocities, force and torque of the liquid, a row per step and body
//! surface.0000.ply    the initial state; frame n is the state at n / fps seconds
//! volume.0000.vdb, particles.0000.ply, whitewater.0000.ply and other formats: see [`crate::frame_files`]
//! preview/0000.png    and preview.png, the film
//! checkpoint/         the newest, from which `fluvial resume` goes on
//! manifest.txt        the checksum of every finished file
//! report.html
//! log.txt
//! ```

mod recorder;

use crate::bodies::BodyTable;
use crate::checkpoint::{Checkpoint, remove_checkpoints};
use crate::draw::FILM;
use crate::frame_files::FileFormats;
use crate::guard::Guard;
use crate::picture::Picture;
use crate::probes::ProbeTable;
use crate::record::{InputFile, RunRecord, RunStatus, SceneSource};
use crate::run::{FramePlan, Position, RunEnd};
use crate::whitewater::SceneWhitewater;
use fluvial_output::{LineStream, Machine, Manifest, OutputError, create_dir, remove_leftovers};
use fluvial_scene::Probe;
use fluvial_solver_interface::SurfaceParams;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use crate::record::Totals;

/// The stream of statistics, in the run's folder.
pub const STATS: &str = "stats.jsonl";
/// The table of bodies, in the folder of a run that has any.
pub const BODIES: &str = "bodies.csv";
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
    /// What the method computes, see [`crate::fingerprint`].
    pub fingerprint: u32,
    /// Threads in use.
    pub threads: usize,
    /// What computes, see `Solver::computes_on`.
    pub computes_on: String,
    /// Frames.
    pub plan: FramePlan,
    /// Gauges.
    pub probes: Vec<Probe>,
    /// Does the scene have bodies?
    pub has_bodies: bool,
    /// Spray, foam and bubbles, as they were at the place where the run begins or goes on.
    pub whitewater: Option<SceneWhitewater>,
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
    /// Looks at every step.
    pub guard: Guard,
}

/// The open cache directory.
pub struct Cache {
    dir: PathBuf,
    formats: FileFormats,
    surface: SurfaceParams,
    stats: LineStream,
    probes: ProbeTable,
    bodies: Option<BodyTable>,
    manifest: Manifest,
    whitewater: Option<SceneWhitewater>,
    picture: Option<Box<dyn Picture>>,
    run: RunRecord,
    fingerprint: u32,
    start: Instant,
    /// Wall time before `start`, of a run that was resumed.
    before: Duration,
    checkpoint_every: Duration,
    checkpoints_kept: usize,
    last_checkpoint: Instant,
    /// Where the newest checkpoint stands.
    checkpointed: Option<Position>,
    watch_disk: bool,
    guard: Guard,
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
        let bodies = settings.has_bodies.then(|| BodyTable::create(&dir.join(BODIES))).transpose()?;
        let manifest = Manifest::create(&dir)?;
        Ok(Cache { bodies, ..Cache::over(settings, run, stats, probes, manifest) })
    }

    /// Goes on in the folder of a run from one of its checkpoints. `record` is the run's, with what `resume`
    /// changes in place already. With `changed`, what lies after the checkpoint is no longer part of the
    /// run and removed.
    pub fn resume(
        settings: CacheSettings,
        record: RunRecord,
        checkpoint: &Checkpoint,
        changed: bool,
    ) -> Result<Cache, OutputError> {
        let dir = settings.dir.clone();
        let header = &checkpoint.header;
        sweep(&dir)?;
        // All are looked at before any is cut: a damaged one leaves everything as it is.
        let stats = LineStream::reopen(&dir.join(STATS), header.stats)?;
        let probes = ProbeTable::reopen(&dir.join(PROBES), settings.probes.clone(), header.probes)?;
        let bodies = header.bodies.map(|mark| BodyTable::reopen(&dir.join(BODIES), mark)).transpose()?;
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
        let mut cache = Cache { bodies, ..Cache::over(settings, record, stats, probes, manifest) };
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
            formats: settings.formats.clone(),
            surface: settings.surface,
            stats,
            probes,
            bodies: None,
            manifest,
            whitewater: settings.whitewater,
            picture: settings.picture,
            run,
            fingerprint: settings.fingerprint,
            start: Instant::now(),
            before: Duration::ZERO,
            checkpoint_every: settings.checkpoint_every,
            checkpoints_kept: settings.checkpoints_kept,
            last_checkpoint: Instant::now(),
            checkpointed: None,
            watch_disk: settings.watch_disk,
            guard: settings.guard,
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
        if let Some(bodies) = &mut self.bodies {
            bodies.sync()?;
            finished.push(BODIES.to_owned());
        }
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
}

/// Removes what a killed run left half written in its folder.
pub fn sweep(dir: &Path) -> Result<(), OutputError> {
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
        computes_on: settings.computes_on.clone(),
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

#[cfg(test)]
mod tests;
