//! Files of the cache directory: surfaces, line streams, `run.json`, plots.
//!
//! A file is complete or absent ([`write_atomic`]); a stream that grows through the run holds whole lines
//! only ([`LineStream`]). Nothing here knows a solver.

mod alembic;
mod atomic;
mod disk;
mod frame;
mod lines;
mod machine;
mod manifest;
mod obj;
mod plot;
mod ply;
mod ply_cells;
mod ply_points;
mod usd;
mod vdb;
mod vtk;

pub use alembic::{AbcFrame, AbcWriter, write_abc, write_abc_sequence};
pub use atomic::{
    WriteSeek, create_dir, remove_leftovers, write_atomic, write_atomic_seek, write_bytes_atomic,
    write_json_atomic,
};
pub use disk::free_bytes;
pub use frame::{BodyMesh, FrameTime, PointCloud, Points, PointsOf, VolumeSource, VolumeView};
pub use lines::LineStream;
pub use machine::{Machine, peak_rss_bytes, reset_peak_rss};
pub use manifest::{FileMark, MANIFEST, Manifest, ManifestEntries, read_manifest};
pub use obj::write_obj;
pub use plot::{Axis, Plot, Series, Style};
pub use ply::{PlyError, decode_ply, encode_ply, read_ply, write_ply};
pub use ply_cells::{CellCut, CutCell, decode_ply_cells, encode_ply_cells, read_ply_cells, write_ply_cells};
pub use ply_points::{decode_ply_points, encode_ply_points, read_ply_points, write_ply_points};
pub use usd::{
    BodyLayers, write_usd, write_usd_body_meshes, write_usd_body_poses, write_usd_points, write_usd_stage,
};
pub use vdb::{HALF_WIDTH_CELLS, VdbError, VdbVisitor, VdbVolume, encode_vdb, write_vdb};
pub use vtk::{write_pvd, write_vti, write_vtp, write_vtp_points};

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
