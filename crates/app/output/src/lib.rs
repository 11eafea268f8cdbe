//! Files of the cache directory: surfaces, line streams, `run.json`, plots.
//!
//! A file is complete or absent ([`write_atomic`]); a stream that grows through the run holds whole lines
//! only ([`LineStream`]). Nothing here knows a solver.

mod atomic;
mod frame;
mod disk;
mod lines;
mod machine;
mod manifest;
mod obj;
mod plot;
mod ply;
mod vdb;

pub use atomic::{create_dir, remove_leftovers, write_atomic, write_bytes_atomic, write_json_atomic};
pub use frame::{FrameTime, PointCloud, Points, VolumeView};
pub use disk::free_bytes;
pub use lines::LineStream;
pub use machine::{Machine, peak_rss_bytes, reset_peak_rss};
pub use manifest::{FileMark, MANIFEST, Manifest, ManifestEntries, read_manifest};
pub use obj::write_obj;
pub use plot::{Axis, Plot, Series, Style};
pub use ply::{PlyError, encode_ply, read_ply, write_ply};
pub use vdb::{HALF_WIDTH_CELLS, VdbError, VdbVolume, encode_vdb, write_vdb};

use std::path::{Path, PathBuf};

/// A file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}: {source}", path.display())]
pub struct OutputError {
    /// What was tried: "write", "create", "read"...
    pub action: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

impl OutputError {
    /// Adds what was tried and on which file to a system error.
    pub fn new(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        OutputError { action, path: path.to_owned(), source }
    }
}
