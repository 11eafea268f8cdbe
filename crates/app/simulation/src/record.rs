//! `run.json`: what is run, on what, how far it is. Written whole at every frame, verified when read.

use crate::guard::Findings;
use crate::stats;
use crate::whitewater::WhitewaterTotals;
use fluvial_foundation::StageTimers;
use fluvial_output::{FileMark, Machine, OutputError, write_bytes_atomic};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The record's name in the run's folder.
pub const RUN_JSON: &str = "run.json";

/// More stages than any version has, and longer names.
const MOST_STAGES: usize = 200;
const LONGEST_STAGE: usize = 60;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// At work, or killed.
    Running,
    /// All frames are there.
    Done,
    /// Stopped on request.
    Interrupted,
    /// It could not go on.
    Failed,
}

/// Where the scene came from, so that `resume` can tell whether it has changed since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SceneSource {
    /// Path of the file, absolute, or name of a built-in scene.
    pub scene: String,
    /// `--set`, as (path, value).
    pub set: Vec<(String, String)>,
    /// Are pictures drawn, as far as the command line says?
    pub preview: bool,
}

/// A file that the scene names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    /// Absolute.
    pub path: PathBuf,
    /// As it was at the start.
    #[serde(flatten)]
    pub mark: FileMark,
}

/// `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of the program.
    pub fluvial: String,
    /// Scene name.
    pub name: String,
    /// Where the run stands.
    pub status: RunStatus,
    /// The command line that began it, ready to be pasted.
    pub command: String,
    /// How often it was resumed.
    pub resumed: u32,
    /// Method.
    pub method: String,
    /// Threads in use.
    pub threads: usize,
    /// What computes: the processor, or a GPU's name and driver.
    #[serde(default)]
    pub computes_on: String,
    /// Where it runs.
    pub machine: Machine,
    /// Frames after frame 0.
    pub frames: u32,
    /// Frames per simulated second.
    pub fps: f64,
    /// The last frame whose files are all there; `None` before frame 0.
    pub last_frame: Option<u32>,
    /// Sums so far.
    pub totals: Totals,
    /// Where the scene came from.
    pub source: SceneSource,
    /// Files that the scene names.
    pub inputs: Vec<InputFile>,
    /// The scene with every default and override in place.
    pub scene: Value,
}

/// Sums over the run so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Wall time, seconds; pauses between a stop and a resume are not counted.
    pub wall_s: f64,
    /// Steps taken.
    pub steps: u64,
    /// Tries that failed and were redone.
    pub retries: u64,
    /// Seconds by stage of the step.
    #[serde(serialize_with = "stats::stages", deserialize_with = "read_stages")]
    pub stages_s: StageTimers,
    /// Seconds by output.
    #[serde(serialize_with = "stats::stages", deserialize_with = "read_stages")]
    pub outputs_s: StageTimers,
    /// Largest volume error seen, relative.
    pub largest_volume_error: f64,
    /// Most memory held.
    pub peak_rss_bytes: Option<u64>,
    /// Spray, foam and bubbles, where the scene has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whitewater: Option<WhitewaterTotals>,
    /// What cannot be trusted.
    #[serde(default)]
    pub findings: Findings,
}

fn read_stages<'de, D: Deserializer<'de>>(from: D) -> Result<StageTimers, D::Error> {
    let map = serde_json::Map::<String, Value>::deserialize(from)?;
    let mut timers = StageTimers::default();
    for (name, seconds) in map {
        let name = kept_name(name).ok_or_else(|| D::Error::custom("there are too many stages"))?;
        timers.add(name, seconds.as_f64().unwrap_or(0.0));
    }
    Ok(timers)
}

/// Timers hold names of the program; one that was read is kept for good, once, and not too many of them.
fn kept_name(name: String) -> Option<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(known) = names.get(name.as_str()) {
        return Some(known);
    }
    if names.len() >= MOST_STAGES || name.len() > LONGEST_STAGE {
        return None;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    Some(name)
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refused; mostly: there is none.
    #[error(transparent)]
    Io(#[from] OutputError),
    /// It was changed or cut.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
}

impl RunRecord {
    /// Writes `dir/run.json`, its last line a checksum of all before.
    pub fn write(&self, dir: &Path) -> Result<(), OutputError> {
        let path = dir.join(RUN_JSON);
        let text = self.encode().map_err(|e| OutputError::new("write", &path, e.into()))?;
        write_bytes_atomic(&path, text.as_bytes())
    }

    /// Reads and verifies `dir/run.json`.
    pub fn read(dir: &Path) -> Result<RunRecord, RecordError> {
        let path = dir.join(RUN_JSON);
        let bytes = std::fs::read(&path).map_err(|e| OutputError::new("read", &path, e))?;
        RunRecord::decode(&bytes)
            .map_err(|what| RecordError::Damaged { path: path.display().to_string(), what })
    }

    fn encode(&self) -> Result<String, serde_json::Error> {
        let text = serde_json::to_string_pretty(self)?;
        let body = text.strip_suffix("\n}").unwrap_or(&text);
        Ok(body.to_owned() + &closing(body))
    }

    /// As [`Self::read`], from memory.
    pub fn decode(bytes: &[u8]) -> Result<RunRecord, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?;
        let at = text.rfind(",\n  \"crc32\": ").ok_or("its last line is missing")?;
        let (body, end) = text.split_at(at);
        if end != closing(body) {
            return Err("its checksum does not match".into());
        }
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// A number that stands for the scene, its number of frames apart: that may be changed by `resume`.
    pub fn scene_crc32(&self) -> u32 {
        scene_crc32(&self.scene)
    }
}

/// As [`RunRecord::scene_crc32`], for a scene as [`fluvial_scene::Scene::resolved`] gives it.
pub fn scene_crc32(scene: &Value) -> u32 {
    let mut scene = scene.clone();
    if let Some(time) = scene.get_mut("time").and_then(Value::as_object_mut) {
        time.shift_remove("frames");
    }
    crc32fast::hash(scene.to_string().as_bytes())
}

fn closing(body: &str) -> String {
    format!(",\n  \"crc32\": \"{:08x}\"\n}}\n", crc32fast::hash(body.as_bytes()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record() -> RunRecord {
        let mut totals = Totals { wall_s: 0.1 + 0.2, steps: 7, ..Totals::default() };
        totals.stages_s.add("pressure", 1.0 / 3.0);
        totals.stages_s.add("advect_surface", 0.25);
        RunRecord {
            fluvial: "0.1.0".into(),
            name: "block".into(),
            status: RunStatus::Running,
            command: "fluvial run block".into(),
            resumed: 0,
            method: "uniform".into(),
            threads: 2,
            computes_on: "processor".into(),
            machine: Machine::describe(),
            frames: 3,
            fps: 24.0,
            last_frame: Some(1),
            totals,
            source: SceneSource {
                scene: "block".into(),
                set: vec![("a.b".into(), "1".into())],
                preview: true,
            },
            inputs: vec![InputFile { path: "/a.obj".into(), mark: FileMark { bytes: 3, crc32: 7 } }],
            scene: serde_json::json!({"time": {"frames": 3}, "dx": 0.1, "g": -9.81}),
        }
    }

    #[test]
    fn a_record_reads_back_to_the_same_text() {
        let dir = tempfile::tempdir().unwrap();
        let record = record();
        record.write(dir.path()).unwrap();
        let read = RunRecord::read(dir.path()).unwrap();
        assert_eq!(read.encode().unwrap(), record.encode().unwrap());
        assert!(matches!(RunRecord::read(&dir.path().join("none")), Err(RecordError::Io(_))));
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_an_error() {
        let good = record().encode().unwrap().into_bytes();
        for length in 0..good.len() {
            assert!(RunRecord::decode(&good[..length]).is_err(), "cut at {length}");
        }
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(RunRecord::decode(&bad).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn more_frames_are_no_change_of_the_scene() {
        let (mut a, mut b) = (record(), record());
        b.scene["time"]["frames"] = 99.into();
        assert_eq!(a.scene_crc32(), b.scene_crc32());
        a.scene["dx"] = 0.2.into();
        assert_ne!(a.scene_crc32(), b.scene_crc32());
    }
}
