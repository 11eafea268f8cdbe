//! `manifest.txt`: the checksum of every finished file of a run.
//!
//! The file only grows. A line is `CHECK CRC32 BYTES NAME`: CHECK is the CRC-32 of the rest of the line,
//! CRC32 and BYTES are those of the file, NAME its path in the run's folder with `/`. A file is recorded
//! after it has got its final name, as it reads back; the last line of a name counts. A run that is killed
//! leaves at most the last line short, which readers skip and the next writer cuts off.

use crate::{LineStream, OutputError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The manifest's name in the run's folder.
pub const MANIFEST: &str = "manifest.txt";

/// What a file must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileMark {
    /// Its length.
    pub bytes: u64,
    /// CRC-32 of its bytes.
    pub crc32: u32,
}

impl FileMark {
    /// Reads a file once through.
    pub fn of(path: &Path) -> io::Result<FileMark> {
        FileMark::of_reader(&mut File::open(path)?)
    }

    /// The mark of everything that is left in a reader.
    pub fn of_reader(from: &mut dyn Read) -> io::Result<FileMark> {
        let (mut hasher, mut bytes, mut buffer) = (crc32fast::Hasher::new(), 0, vec![0; 1 << 15]);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(FileMark { bytes, crc32: hasher.finalize() }),
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                    bytes += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// What a manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestEntries {
    /// The files by name, as last recorded.
    pub files: BTreeMap<String, FileMark>,
    /// Lines that are damaged (a short last line is not counted: that is how a kill looks).
    pub damaged_lines: usize,
    /// Length of the part that ends with a line break.
    whole_bytes: u64,
}

/// Reads the manifest of a run's folder; a run without one has recorded nothing.
pub fn read_manifest(dir: &Path) -> Result<ManifestEntries, OutputError> {
    let path = dir.join(MANIFEST);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(ManifestEntries::parse(&bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(ManifestEntries::default()),
        Err(e) => Err(OutputError::new("read", &path, e)),
    }
}

impl ManifestEntries {
    /// What the bytes of a manifest say.
    pub fn parse(bytes: &[u8]) -> ManifestEntries {
        let mut entries = ManifestEntries::default();
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let Some((b'\n', line)) = line.split_last() else { break };
            entries.whole_bytes += line.len() as u64 + 1;
            match parse_line(line) {
                Some((name, mark)) => drop(entries.files.insert(name, mark)),
                None => entries.damaged_lines += 1,
            }
        }
        entries
    }
}

fn parse_line(line: &[u8]) -> Option<(String, FileMark)> {
    let (check, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let hex = |text: &str| u32::from_str_radix(text, 16).ok().filter(|n| format!("{n:08x}") == text);
    if hex(check)? != crc32fast::hash(rest.as_bytes()) {
        return None;
    }
    let (crc32, rest) = rest.split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    Some((name.to_owned(), FileMark { bytes: bytes.parse().ok()?, crc32: hex(crc32)? }))
}

/// The open manifest of a run.
#[derive(Debug)]
pub struct Manifest {
    dir: PathBuf,
    stream: LineStream,
    entries: ManifestEntries,
}

impl Manifest {
    /// Starts anew.
    pub fn create(dir: &Path) -> Result<Manifest, OutputError> {
        let stream = LineStream::create(&dir.join(MANIFEST))?;
        Ok(Manifest { dir: dir.to_owned(), stream, entries: ManifestEntries::default() })
    }

    /// Goes on where a run stopped.
    pub fn reopen(dir: &Path) -> Result<Manifest, OutputError> {
        let entries = read_manifest(dir)?;
        if entries.whole_bytes == 0 {
            return Manifest::create(dir);
        }
        let stream = LineStream::open_at(&dir.join(MANIFEST), entries.whole_bytes)?;
        Ok(Manifest { dir: dir.to_owned(), stream, entries })
    }

    /// Records finished files, by their paths in the run's folder, and makes the lines durable.
    pub fn record(&mut self, names: &[String]) -> Result<(), OutputError> {
        for name in names {
            let path = self.dir.join(name);
            let mark = FileMark::of(&path).map_err(|e| OutputError::new("read back", &path, e))?;
            if self.entries.files.insert(name.clone(), mark) != Some(mark) {
                let rest = format!("{:08x} {} {name}", mark.crc32, mark.bytes);
                self.stream.write_line(&format!("{:08x} {rest}", crc32fast::hash(rest.as_bytes())))?;
            }
        }
        self.stream.sync()
    }

    /// What has been recorded.
    pub fn entries(&self) -> &ManifestEntries {
        &self.entries
    }

    /// Forgets files that were removed, by writing everything else anew.
    pub fn forget(&mut self, gone: impl Fn(&str) -> bool) -> Result<(), OutputError> {
        self.entries.files.retain(|name, _| !gone(name));
        let lines: String = self
            .entries
            .files
            .iter()
            .map(|(name, mark)| {
                let rest = format!("{:08x} {} {name}", mark.crc32, mark.bytes);
                format!("{:08x} {rest}\n", crc32fast::hash(rest.as_bytes()))
            })
            .collect();
        let path = self.dir.join(MANIFEST);
        crate::write_bytes_atomic(&path, lines.as_bytes())?;
        self.stream = LineStream::open_at(&path, lines.len() as u64)?;
        Ok(())
    }
}
