//! Checkpoints: everything that a run needs to go on as if it had never stopped.
//!
//! ```text
//! "FLUVCKPT"  version u32  length of header u32  header (JSON)  whitewater  state of the solver  CRC-32 of all before
//! ```
//! Numbers are little-endian. A file is written under a temporary name, synced and renamed; it is verified
//! whole before a byte of it is believed.

use crate::picture::PictureBudget;
use crate::record::Totals;
use crate::run::Position;
use fluvial_output::{FileMark, OutputError, create_dir, write_atomic};
use fluvial_solver_interface::{RestoreError, Solver, StateReader, StateWriter};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The folder of the checkpoints in a run's folder.
pub const CHECKPOINT_DIR: &str = "checkpoint";
const ENDING: &str = ".checkpoint";
const MAGIC: &[u8; 8] = b"FLUVCKPT";
const VERSION: u32 = 1;
/// Magic, version, length of the header.
const FRONT_BYTES: u64 = 16;
const CRC_BYTES: u64 = 4;

/// What the frame loop and the cache remember, beside the solver's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckpointHeader {
    /// Version of the program.
    pub fluvial: String,
    /// Method.
    pub method: String,
    /// What the method computes, see [`crate::fingerprint`]; 0 in files that do not say.
    #[serde(default)]
    pub fingerprint: u32,
    /// Of the scene, see [`crate::record::RunRecord::scene_crc32`].
    pub scene_crc32: u32,
    /// Where the loop stands.
    pub position: Position,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// `stats.jsonl` up to here.
    pub stats: FileMark,
    /// `probes.csv` up to here.
    pub probes: FileMark,
    /// `bodies.csv` up to here, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<FileMark>,
    /// Length of the whitewater between header and state; 0 where there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub whitewater_bytes: u64,
    /// Sums up to here.
    pub totals: Totals,
    /// How much time pictures have had.
    pub pictures: Option<PictureBudget>,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// A verified checkpoint.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its file.
    pub path: PathBuf,
    /// Length of the file.
    pub bytes: u64,
    /// What it holds beside the state.
    pub header: CheckpointHeader,
    state_at: u64,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] OutputError),
    /// It was changed, cut, or is none.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// Another format version wrote it.
    #[error("{path} has the checkpoint format {found}, this program reads {VERSION}")]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
    },
    /// It belongs to another scene.
    #[error("{path}: {source}")]
    State {
        /// The file.
        path: String,
        /// What the solver said.
        source: RestoreError,
    },
}

/// Takes the checksum of what passes.
pub struct CrcWriter<'a> {
    out: &'a mut dyn Write,
    hasher: crc32fast::Hasher,
}

impl<'a> CrcWriter<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        CrcWriter { out, hasher: crc32fast::Hasher::new() }
    }

    /// Ends with the checksum of all before, four bytes.
    pub fn write_crc32(self) -> io::Result<()> {
        self.out.write_all(&self.hasher.finalize().to_le_bytes())
    }
}

impl Write for CrcWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a checkpoint into the run's folder `dir`; returns its file. `whitewater` is as long as the header says.
pub fn write_checkpoint(
    dir: &Path,
    header: &CheckpointHeader,
    whitewater: &[u8],
    solver: &dyn Solver,
) -> Result<PathBuf, OutputError> {
    let folder = dir.join(CHECKPOINT_DIR);
    create_dir(&folder)?;
    let Position { frame, step } = header.position;
    let path = folder.join(format!("{frame:04}-{step:06}{ENDING}"));
    write_atomic(&path, |out| {
        let mut out = CrcWriter::new(out);
        let text = serde_json::to_vec(header)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(text.len() as u32).to_le_bytes())?;
        out.write_all(&text)?;
        out.write_all(whitewater)?;
        solver.save(&mut StateWriter::new(&mut out))?;
        out.write_crc32()
    })?;
    Ok(path)
}

/// Reads a checkpoint's header and verifies the whole file.
pub fn read_checkpoint(path: &Path) -> Result<Checkpoint, CheckpointError> {
    let file = File::open(path).map_err(|e| OutputError::new("read", path, e))?;
    let bytes = file.metadata().map_err(|e| OutputError::new("read", path, e))?.len();
    let (state_at, header) = read_verified(&mut BufReader::new(file), bytes, path)?;
    Ok(Checkpoint { path: path.to_owned(), bytes, header, state_at })
}

/// Reads a checkpoint's header and verifies the whole file, `bytes` long; returns where the solver's state
/// begins.
pub fn read_verified(
    from: &mut dyn Read,
    bytes: u64,
    path: &Path,
) -> Result<(u64, CheckpointHeader), CheckpointError> {
    let io = |e| CheckpointError::Io(OutputError::new("read", path, e));
    let name = || path.display().to_string();
    let damaged = |what: &str| CheckpointError::Damaged { path: name(), what: what.into() };
    let mut front = [0; FRONT_BYTES as usize];
    if bytes < FRONT_BYTES + CRC_BYTES {
        return Err(damaged("it is too short"));
    }
    from.read_exact(&mut front).map_err(io)?;
    if front[..8] != *MAGIC {
        return Err(damaged("it does not begin as a checkpoint does"));
    }
    let number = |at: usize| u32::from_le_bytes([front[at], front[at + 1], front[at + 2], front[at + 3]]);
    let (version, length) = (number(8), u64::from(number(12)));
    if FRONT_BYTES + length + CRC_BYTES > bytes {
        return Err(damaged("it is too short for its header"));
    }
    let mut text = vec![0; length as usize];
    from.read_exact(&mut text).map_err(io)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&front);
    hasher.update(&text);
    let rest = FileMark::of_reader(&mut from.take(bytes - FRONT_BYTES - length - CRC_BYTES)).map_err(io)?;
    hasher.combine(&crc32fast::Hasher::new_with_initial_len(rest.crc32, rest.bytes));
    let mut crc = [0; CRC_BYTES as usize];
    from.read_exact(&mut crc).map_err(io)?;
    if hasher.finalize() != u32::from_le_bytes(crc) {
        return Err(damaged("its checksum does not match"));
    }
    if version != VERSION {
        return Err(CheckpointError::Version { path: name(), found: version });
    }
    let header: CheckpointHeader = serde_json::from_slice(&text).map_err(|e| damaged(&e.to_string()))?;
    let state_at = (FRONT_BYTES + length).checked_add(header.whitewater_bytes);
    match state_at.filter(|at| at.saturating_add(CRC_BYTES) <= bytes) {
        Some(state_at) => Ok((state_at, header)),
        None => Err(damaged("it is too short for its whitewater")),
    }
}

impl Checkpoint {
    /// The whitewater's state, as it was saved.
    pub fn whitewater(&self) -> Result<Vec<u8>, CheckpointError> {
        let io = |e| CheckpointError::Io(OutputError::new("read", &self.path, e));
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(self.state_at - self.header.whitewater_bytes)).map_err(io)?;
        let mut bytes = vec![];
        file.take(self.header.whitewater_bytes).read_to_end(&mut bytes).map_err(io)?;
        Ok(bytes)
    }

    /// Gives the state to a solver that was built from the same scene. After an error the solver is what it was.
    pub fn restore(&self, solver: &mut dyn Solver) -> Result<(), CheckpointError> {
        let io = |e| CheckpointError::Io(OutputError::new("read", &self.path, e));
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(self.state_at)).map_err(io)?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        let mut reader = StateReader::new(&mut file, self.bytes - self.state_at - CRC_BYTES);
        solver
            .restore(&mut reader)
            .map_err(|source| CheckpointError::State { path: self.path.display().to_string(), source })
    }
}

/// The checkpoints of a run's folder by their names, newest first; not verified.
pub fn list_checkpoints(dir: &Path) -> Vec<(Position, PathBuf)> {
    let parse = |name: &str| {
        let (frame, step) = name.strip_suffix(ENDING)?.split_once('-')?;
        Some(Position { frame: frame.parse().ok()?, step: step.parse().ok()? })
    };
    let entries = std::fs::read_dir(dir.join(CHECKPOINT_DIR)).into_iter().flatten().flatten();
    let mut found: Vec<(Position, PathBuf)> =
        entries.filter_map(|e| Some((parse(&e.file_name().to_string_lossy())?, e.path()))).collect();
    found.sort();
    found.reverse();
    found
}

/// Removes the checkpoints that `unwanted` says.
pub fn remove_checkpoints(dir: &Path, unwanted: impl Fn(usize, Position) -> bool) -> Result<(), OutputError> {
    for (n, (position, path)) in list_checkpoints(dir).into_iter().enumerate() {
        if unwanted(n, position) {
            std::fs::remove_file(&path).map_err(|e| OutputError::new("remove", &path, e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::FallingBlock;

    fn header() -> CheckpointHeader {
        let mark = FileMark { bytes: 12, crc32: 34 };
        CheckpointHeader {
            fluvial: "0.1.0".into(),
            method: "falling-block".into(),
            fingerprint: 6,
            scene_crc32: 5,
            position: Position { frame: 12, step: 345 },
            time_s: 0.1,
            stats: mark,
            probes: mark,
            bodies: None,
            whitewater_bytes: 0,
            totals: Totals::default(),
            pictures: Some(PictureBudget::new(3, 2, 1.5)),
        }
    }

    #[test]
    fn a_checkpoint_reads_back_and_the_newest_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut block = FallingBlock::new(0.1);
        block.step(0.1).unwrap();
        let path = write_checkpoint(dir.path(), &header(), &[], &block).unwrap();
        let read = read_checkpoint(&path).unwrap();
        assert_eq!(serde_json::to_string(&read.header).unwrap(), serde_json::to_string(&header()).unwrap());
        let mut other = FallingBlock::new(0.1);
        read.restore(&mut other).unwrap();
        assert_eq!((other.y, other.v, other.time_s), (block.y, block.v, block.time_s));

        for (frame, step) in [(9, 99), (12, 1000000), (10000, 2)] {
            let header = CheckpointHeader { position: Position { frame, step }, ..header() };
            write_checkpoint(dir.path(), &header, &[], &block).unwrap();
        }
        std::fs::write(dir.path().join("checkpoint/notes.txt"), "x").unwrap();
        let found: Vec<_> = list_checkpoints(dir.path()).iter().map(|(p, _)| (p.frame, p.step)).collect();
        assert_eq!(found, [(10000, 2), (12, 1000000), (12, 345), (9, 99)]);
        remove_checkpoints(dir.path(), |n, _| n >= 2).unwrap();
        assert_eq!(list_checkpoints(dir.path()).len(), 2);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_checkpoint(dir.path(), &header(), &[], &FallingBlock::new(0.1)).unwrap();
        let good = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| read_verified(&mut &*bytes, bytes.len() as u64, &path);
        assert!(read(&good).is_ok());
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "cut at {length}");
        }
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bad).is_err(), "bit {bit}");
        }
        assert!(read(&[good.clone(), vec![0]].concat()).is_err(), "trailing byte");
    }

    #[test]
    fn another_format_version_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_checkpoint(dir.path(), &header(), &[], &FallingBlock::new(0.1)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[8] = 9;
        let end = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let error = read_checkpoint(&path).unwrap_err().to_string();
        assert!(error.contains("format 9"), "{error}");
    }
}
