//! Files that grow by a line per step: `stats.jsonl` and `probes.csv`.

use crate::{FileMark, OutputError};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A text file that gains whole lines. Each line is handed to the system in one write, so that a run that is
/// killed leaves at most the last line short, and readers may follow the file while the run goes on.
#[derive(Debug)]
pub struct LineStream {
    file: File,
    path: PathBuf,
    line: Vec<u8>,
    bytes: u64,
    hasher: crc32fast::Hasher,
}

impl LineStream {
    /// Starts the file anew.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let file = File::create(path).map_err(|e| OutputError::new("create", path, e))?;
        Ok(LineStream::over(file, path))
    }

    fn over(file: File, path: &Path) -> Self {
        LineStream {
            file,
            path: path.to_owned(),
            line: Vec::new(),
            bytes: 0,
            hasher: crc32fast::Hasher::new(),
        }
    }

    /// Goes on after the first `bytes` bytes of a file; what follows them is cut off.
    pub fn open_at(path: &Path, bytes: u64) -> Result<Self, OutputError> {
        let fail = |e| OutputError::new("go on with", path, e);
        let mut file = File::options().read(true).write(true).open(path).map_err(fail)?;
        let mut stream = LineStream::over(file.try_clone().map_err(fail)?, path);
        let mut buffer = vec![0; 1 << 18];
        while stream.bytes < bytes {
            let wanted = (bytes - stream.bytes).min(buffer.len() as u64) as usize;
            match file.read(&mut buffer[..wanted]).map_err(fail)? {
                0 => return Err(fail(io::Error::new(io::ErrorKind::UnexpectedEof, "it is too short"))),
                n => {
                    stream.hasher.update(&buffer[..n]);
                    stream.bytes += n as u64;
                }
            }
        }
        file.set_len(bytes).map_err(fail)?;
        file.seek(SeekFrom::Start(bytes)).map_err(fail)?;
        Ok(stream)
    }

    /// Goes on after the place that [`Self::mark`] returned, if the file still holds the same bytes up to there.
    pub fn reopen(path: &Path, mark: FileMark) -> Result<Self, OutputError> {
        // The bytes are compared before anything is cut off.
        let fail = |e| OutputError::new("go on with", path, e);
        let file = File::open(path).map_err(fail)?;
        if FileMark::of_reader(&mut file.take(mark.bytes)).map_err(fail)? != mark {
            return Err(fail(io::Error::new(io::ErrorKind::InvalidData, "it is not what it was")));
        }
        LineStream::open_at(path, mark.bytes)
    }

    /// Length and checksum of everything written so far.
    pub fn mark(&self) -> FileMark {
        FileMark { bytes: self.bytes, crc32: self.hasher.clone().finalize() }
    }

    /// Appends one line (without its line break).
    pub fn write_line(&mut self, line: &str) -> Result<(), OutputError> {
        debug_assert!(!line.contains('\n'));
        self.line.clear();
        self.line.extend_from_slice(line.as_bytes());
        self.put()
    }

    fn put(&mut self) -> Result<(), OutputError> {
        self.line.push(b'\n');
        self.file.write_all(&self.line).map_err(|e| OutputError::new("write", &self.path, e))?;
        self.hasher.update(&self.line);
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Appends one value as a line of JSON.
    pub fn write_json(&mut self, value: &impl serde::Serialize) -> Result<(), OutputError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|e| OutputError::new("write", &self.path, e.into()))?;
        self.put()
    }

    /// Makes everything written so far durable.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.file.sync_all().map_err(|e| OutputError::new("write", &self.path, e))
    }
}
