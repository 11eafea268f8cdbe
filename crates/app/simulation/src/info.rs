//! What a run's folder holds: every file compared with its checksum.

use crate::cache::{BODIES, PROBES, STATS, frame_of};
use crate::checkpoint::{CHECKPOINT_DIR, list_checkpoints, read_checkpoint};
use crate::record::{RUN_JSON, RunRecord, RunStatus};
use fluvial_output::{FileMark, MANIFEST, OutputError, read_manifest};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What a run's folder holds.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// Scene name.
    pub name: String,
    /// Method.
    pub method: String,
    /// In a word or two: done, running, killed, interrupted, failed.
    pub state: &'static str,
    /// Frames after frame 0.
    pub frames: u32,
    /// Frames per simulated second.
    pub fps: f64,
    /// The last frame whose files are all there.
    pub last_frame: Option<u32>,
    /// Files that are as they were written, and their bytes.
    pub good: usize,
    /// Bytes of the good files.
    pub good_bytes: u64,
    /// Recorded, or due, but not there.
    pub missing: Vec<String>,
    /// Not as they were written.
    pub damaged: Vec<String>,
    /// Temporary files of a run that was killed.
    pub leftovers: Vec<String>,
    /// A run's files without a record: it was killed before it could note them.
    pub unrecorded: Vec<String>,
    /// Files that no run writes.
    pub foreign: Vec<String>,
    /// First and last frames of the stretches whose files are all good.
    pub trusted: Vec<[u32; 2]>,
    /// Newest first.
    pub checkpoints: Vec<CheckpointInfo>,
    /// How to go on.
    pub advice: Option<String>,
}

/// A checkpoint, verified.
#[derive(Clone, Debug, Serialize)]
pub struct CheckpointInfo {
    /// In the run's folder.
    pub file: String,
    /// The last complete frame.
    pub frame: u32,
    /// The last step.
    pub step: u64,
    /// Length.
    pub bytes: u64,
    /// What is wrong with it.
    pub error: Option<String>,
}

impl Info {
    /// Is everything there that should be, undamaged?
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.damaged.is_empty()
    }
}

/// Reads every file of a run's folder. `at_work`: a program is writing into it.
pub fn inspect(dir: &Path, record: &RunRecord, at_work: bool) -> Result<Info, OutputError> {
    let manifest = read_manifest(dir)?;
    let checkpoints = verified_checkpoints(dir);
    let mut info = Info {
        name: record.name.clone(),
        method: record.method.clone(),
        state: match record.status {
            RunStatus::Running if at_work => "running",
            RunStatus::Running => "killed",
            RunStatus::Done => "done",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
        },
        frames: record.frames,
        fps: record.fps,
        last_frame: record.last_frame,
        good: 0,
        good_bytes: 0,
        missing: vec![],
        damaged: vec![],
        leftovers: vec![],
        unrecorded: vec![],
        foreign: vec![],
        trusted: vec![],
        advice: None,
        checkpoints,
    };
    // What changes through the run is as recorded only once the run has ended.
    let settled = record.status != RunStatus::Running;
    let mut bad_frames = BTreeSet::new();
    for (name, mark) in &manifest.files {
        if frame_of(name).is_none() && !settled {
            continue;
        }
        match FileMark::of(&dir.join(name)) {
            Ok(found) if found == *mark => {
                info.good += 1;
                info.good_bytes += mark.bytes;
                continue;
            }
            Err(e) if e.kind() == ErrorKind::NotFound => info.missing.push(name.clone()),
            _ => info.damaged.push(name.clone()),
        }
        bad_frames.extend(frame_of(name));
    }
    if manifest.damaged_lines > 0 {
        info.damaged.push(MANIFEST.into());
    }
    look_for_gaps(&mut info, &manifest.files, &mut bad_frames);
    info.damaged.extend(info.checkpoints.iter().filter(|c| c.error.is_some()).map(|c| c.file.clone()));
    look_at_the_rest(&mut info, dir, &manifest.files)?;
    if !settled && let Some(name) = damaged_stream(dir) {
        info.damaged.push(name.into());
    }
    info.trusted = stretches(&manifest.files, &bad_frames);
    info.advice = advice(dir, &info, &bad_frames, settled);
    Ok(info)
}

fn verified_checkpoints(dir: &Path) -> Vec<CheckpointInfo> {
    let describe = |(position, path): (crate::Position, std::path::PathBuf)| CheckpointInfo {
        file: format!("{CHECKPOINT_DIR}/{}", path.file_name().unwrap_or_default().to_string_lossy()),
        frame: position.frame,
        step: position.step,
        bytes: path.metadata().map_or(0, |m| m.len()),
        error: read_checkpoint(&path).err().map(|e| e.to_string()),
    };
    list_checkpoints(dir).into_iter().map(describe).collect()
}

/// A frame without one of the files that the other frames have. Pictures may be left out.
fn look_for_gaps(info: &mut Info, files: &BTreeMap<String, FileMark>, bad_frames: &mut BTreeSet<u32>) {
    let kind = |name: &str| name.split('.').next().unwrap_or("").to_owned() + ending(name);
    let kinds: BTreeMap<String, String> = files
        .keys()
        .filter(|n| frame_of(n).is_some() && !n.starts_with("preview/"))
        .map(|n| (kind(n), n.clone()))
        .collect();
    let frames = info.last_frame.map_or(0..0, |last| 0..last + 1);
    for example in kinds.values() {
        let (stem, end) = (example.split('.').next().unwrap_or(""), ending(example));
        for frame in frames.clone() {
            let name = format!("{stem}.{frame:04}{end}");
            if !files.contains_key(&name) {
                info.missing.push(name);
                bad_frames.insert(frame);
            }
        }
    }
}

fn ending(name: &str) -> &str {
    name.rfind('.').map_or("", |at| &name[at..])
}

/// Files that the manifest does not know.
fn look_at_the_rest(
    info: &mut Info,
    dir: &Path,
    files: &BTreeMap<String, FileMark>,
) -> Result<(), OutputError> {
    let mut names = vec![];
    for folder in ["", "preview/"] {
        let path = dir.join(folder);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(OutputError::new("read the folder", &path, e)),
        };
        for entry in entries {
            let entry = entry.map_err(|e| OutputError::new("read the folder", &path, e))?;
            names.push(format!("{folder}{}", entry.file_name().to_string_lossy()));
        }
    }
    names.sort();
    let own = [RUN_JSON, MANIFEST, STATS, PROBES, "log.txt", "report.html", "preview.png"];
    let own_folders = [CHECKPOINT_DIR, "preview", "render", "whitewater"];
    for name in names {
        if files.contains_key(&name) || own.contains(&&*name) || own_folders.contains(&&*name) {
        } else if name.ends_with(".partial") {
            info.leftovers.push(name);
        } else if is_written_by_runs(&name) {
            info.unrecorded.push(name);
        } else {
            info.foreign.push(name);
        }
    }
    Ok(())
}

/// Does a run write files of this name?
pub fn is_written_by_runs(name: &str) -> bool {
    let kinds = ["surface", "volume", "particles", "whitewater", "bodies", "liquid"];
    name.starts_with("preview/") && frame_of(name).is_some()
        || name.split_once('.').is_some_and(|(kind, _)| kinds.contains(&kind))
}

/// A stream that no longer holds what it held at the newest checkpoint.
fn damaged_stream(dir: &Path) -> Option<&'static str> {
    let checkpoint = list_checkpoints(dir).iter().find_map(|(_, path)| read_checkpoint(path).ok())?;
    let holds = |name: &str, mark: FileMark| {
        let file = std::fs::File::open(dir.join(name));
        file.and_then(|f| FileMark::of_reader(&mut f.take(mark.bytes))).is_ok_and(|found| found == mark)
    };
    let streams = [(STATS, checkpoint.header.stats), (PROBES, checkpoint.header.probes)];
    let bodies = checkpoint.header.bodies.map(|mark| (BODIES, mark));
    streams.into_iter().chain(bodies).find(|(name, mark)| !holds(name, *mark)).map(|(name, _)| name)
}

fn stretches(files: &BTreeMap<String, FileMark>, bad: &BTreeSet<u32>) -> Vec<[u32; 2]> {
    let frames: BTreeSet<u32> =
        files.keys().filter_map(|n| frame_of(n)).filter(|f| !bad.contains(f)).collect();
    let mut found: Vec<[u32; 2]> = vec![];
    for frame in frames {
        match found.last_mut() {
            Some(last) if last[1] + 1 == frame => last[1] = frame,
            _ => found.push([frame, frame]),
        }
    }
    found
}

fn advice(dir: &Path, info: &Info, bad_frames: &BTreeSet<u32>, settled: bool) -> Option<String> {
    let command = format!("fluvial resume {}", dir.display());
    let checkpoint_before =
        |frame: u32| info.checkpoints.iter().any(|c| c.error.is_none() && c.frame < frame);
    match bad_frames.first() {
        Some(&frame) if checkpoint_before(frame) => Some(format!(
            "computes frame {frame} and those after it again: {command} --from-frame {}",
            frame - 1
        )),
        Some(_) => Some(format!("no checkpoint lies before; computes all again: {command} --from-start")),
        None if info.state == "running" => None,
        None if info.state != "done" || !settled => Some(format!("to continue: {command}")),
        None if info.is_sound() => None,
        None => Some(format!("computes what is damaged again: {command} --from-start")),
    }
}
