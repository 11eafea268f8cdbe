//! What a scene will cost, before anything is computed: the method's own needs, and what pictures and files
//! add.

use crate::released::{WhiteCount, whitewater};
use crate::{MeshFormat, Ready, VolumeFormat};
use fluvial_solver_interface::{Scenario, Survey};

/// Pictures: the one being drawn and a batch of the film's; every frame of the film, compressed.
const PICTURE_BYTES_PER_PIXEL: f64 = 80.0;
const FILM_BYTES_PER_PIXEL: f64 = 0.4;
const PICTURE_BYTES_FIXED: f64 = 4e6;
/// A picture in its file: 0.53 to 0.59 in `breaking-wave`, `buoy`, `floating-crates` and `body-in-jet`.
const PICTURE_FILE_BYTES_PER_PIXEL: f64 = 0.6;
/// Meshes in the mean over the frames, as a part of the largest, which memory must hold: 0.48, 0.44 and 0.56 in the first three of
/// those scenes.
const MEAN_OF_LARGEST_MESH: f64 = 0.55;
/// A particle in a file.
const POINT_BYTES: f64 = 42.0;
/// Spray, foam and bubbles: a particle in memory, its birth, its place in a file that is being written and in the picture.
const WHITEWATER_BYTES: f64 = 260.0;
/// A liquid at a frame in memory, over its volume file: two of them, and the making of one.
const FIELDS_OVER_VOLUME: f64 = 5.0;

/// What a scene will need.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// Cells of the grid.
    pub cells: u64,
    /// Cells that hold liquid at the start.
    pub liquid_cells: u64,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Disk for each frame, meshes, volumes, particles and pictures, bytes.
    pub disk_bytes_per_frame: u64,
    /// Disk for a checkpoint, bytes, at most.
    pub checkpoint_bytes: u64,
}

/// Predicts cells, memory and disk.
pub fn predict(ready: &Ready) -> Prediction {
    let survey = Survey::of(&ready.setup);
    let end_s = f64::from(ready.frames) / ready.fps;
    let needs = ready.method.predict(&Scenario { setup: &ready.setup, survey: &survey, end_s });
    let output = &ready.output;
    let when = |wanted: bool, bytes: f64| if wanted { bytes } else { 0.0 };
    let [width, height] = output.preview_size.map(f64::from);
    let pixels = when(output.preview, width * height);
    let picture_bytes = pixels * (PICTURE_BYTES_PER_PIXEL + FILM_BYTES_PER_PIXEL * f64::from(ready.frames))
        + when(output.preview, PICTURE_BYTES_FIXED);
    let white = match &ready.whitewater {
        Some(params) => whitewater(&ready.setup, params, end_s),
        None => WhiteCount::default(),
    };
    let field_bytes = when(ready.whitewater.is_some(), needs.volume_bytes);
    let frame_bytes = MEAN_OF_LARGEST_MESH * mesh_bytes(output.mesh, needs.vertices)
        + white.mean * POINT_BYTES
        + when(output.particles, needs.particles * POINT_BYTES)
        + when(output.volumes != VolumeFormat::None, needs.volume_bytes)
        + PICTURE_FILE_BYTES_PER_PIXEL * pixels;
    Prediction {
        cells: needs.cells as u64,
        liquid_cells: needs.liquid_cells as u64,
        memory_bytes: (needs.memory_bytes
            + picture_bytes
            + white.most * WHITEWATER_BYTES
            + FIELDS_OVER_VOLUME * field_bytes) as u64,
        disk_bytes_per_frame: frame_bytes as u64,
        checkpoint_bytes: (needs.checkpoint_bytes + white.most * POINT_BYTES + 2.0 * field_bytes) as u64,
    }
}

/// Six floats a vertex, two triangles a vertex; text takes somewhat more.
fn mesh_bytes(format: MeshFormat, vertices: f64) -> f64 {
    vertices
        * match format {
            MeshFormat::Ply => 50.0,
            MeshFormat::Obj => 65.0,
            MeshFormat::Usd | MeshFormat::Abc | MeshFormat::Vtk => 56.0,
            MeshFormat::None => 0.0,
        }
}
