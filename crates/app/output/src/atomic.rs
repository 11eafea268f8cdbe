//! Files that are complete or absent: temporary name in the same folder, checked write, fsync, rename, fsync
//! of the folder. A crash, a full disk or a kill leaves at worst a `*.partial` file beside the good ones.

use crate::OutputError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Ending of a file that is being written.
const PARTIAL: &str = "partial";

/// A file whose write position can be moved, for formats whose start refers to what stands at their end.
pub trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Writes a file through `body`; it appears under its name only when every byte is on the disk.
pub fn write_atomic(
    path: &Path,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_atomic_seek(path, |mut w| body(&mut w))
}

/// As [`write_atomic`], for a `body` that moves the write position.
pub fn write_atomic_seek(
    path: &Path,
    body: impl FnOnce(&mut dyn WriteSeek) -> io::Result<()>,
) -> Result<(), OutputError> {
    let partial = partial_name(path);
    let result =
        write_checked(&partial, body).and_then(|()| fs::rename(&partial, path)).and_then(|()| sync_dir(path));
    if result.is_err() {
        // The first error is the one to report; a leftover file is harmless, and the next run removes it.
        let _ = fs::remove_file(&partial);
    }
    result.map_err(|e| OutputError::new("write", path, e))
}

/// [`write_atomic`] of bytes at hand.
pub fn write_bytes_atomic(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    write_atomic(path, |w| w.write_all(bytes))
}

/// [`write_atomic`] of a value as indented JSON, ended by a line break.
pub fn write_json_atomic(path: &Path, value: &impl serde::Serialize) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        serde_json::to_writer_pretty(&mut *w, value)?;
        w.write_all(b"\n")
    })
}

/// Makes a folder and those above it.
pub fn create_dir(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|e| OutputError::new("create the folder", path, e))
}

/// Removes what a killed run left half written in a folder; returns how many files.
pub fn remove_leftovers(dir: &Path) -> Result<usize, OutputError> {
    let error = |e| OutputError::new("read the folder", dir, e);
    let mut removed = 0;
    for entry in fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|e| e == PARTIAL) {
            fs::remove_file(&path).map_err(|e| OutputError::new("remove", &path, e))?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(PARTIAL);
    name.into()
}

fn write_checked(partial: &Path, body: impl FnOnce(&mut dyn WriteSeek) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 18, File::create(partial)?);
    body(&mut writer)?;
    // `into_inner` flushes and reports; dropping the writer would swallow a full disk.
    writer.into_inner().map_err(|e| e.into_error())?.sync_all()
}

/// Makes a rename durable. Folders cannot be opened as files outside Unix.
fn sync_dir(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let dir = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
