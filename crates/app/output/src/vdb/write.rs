//! From a volume to the bytes of a file.

use super::level_set::LevelSets;
use super::tree::{self, LeafValues, Tree, Value};
use super::{COMPRESSION, FILE_VERSION, HALF_WIDTH_CELLS, LEAF, LEAF_VOXELS, LIBRARY_VERSION, MAGIC};
use super::{SURFACE, UNCUT, VELOCITY};
use crate::{FrameTime, OutputError, VolumeView, write_bytes_atomic};
use fluvial_foundation::AXES;
use fluvial_grids::UniformGrid;
use std::path::Path;

/// Writes level set and velocity of a frame.
pub fn write_vdb(path: &Path, volume: &VolumeView, time: FrameTime) -> Result<(), OutputError> {
    write_bytes_atomic(path, &encode_vdb(volume, time))
}

/// The bytes of the file.
pub fn encode_vdb(volume: &VolumeView, time: FrameTime) -> Vec<u8> {
    let grid = &volume.grid;
    let (surface, uncut) = level_set_trees(volume);
    let velocity = velocity_tree(volume);
    let about = about(time);
    // Positions in a file are absolute; the header's length does not depend on what it says.
    let mut at = header(grid, time, 0).len();
    let mut body = Vec::new();
    let mut put = |bytes: Vec<u8>| {
        at += bytes.len();
        body.extend_from_slice(&bytes);
        at
    };
    let at =
        put(encode_grid::<f32>(header(grid, time, 0).len(), SURFACE, "level set", &surface, grid, &about));
    let mut vector = about.clone();
    vector.push(("vector_type", Meta::Text("contravariant relative".into())));
    let at = put(encode_grid::<[f32; 3]>(at, VELOCITY, "staggered", &velocity, grid, &vector));
    put(encode_grid::<f32>(at, UNCUT, "unknown", &uncut, grid, &about));
    let mut bytes = header(grid, time, checksum(grid, time, &body));
    bytes.extend_from_slice(&body);
    bytes
}

/// `surface` and `surface_uncut`.
fn level_set_trees(volume: &VolumeView) -> (Tree, Tree) {
    let sets = LevelSets::new(*volume);
    let background = sets.background();
    let margin = HALF_WIDTH_CELLS.ceil() as i32;
    let cells = volume.grid.cells.map(|n| n as i32);
    let high = |origin: [i32; 3]| origin.map(|o| o + LEAF);
    let fill_surface = |origin, leaf: &mut LeafValues<f32>| {
        let is_uncut = sets.is_uncut(origin, high(origin));
        for n in 0..LEAF_VOXELS {
            let at = voxel(origin, n);
            let value = if is_uncut { sets.uncut(at) } else { sets.closed(at) };
            leaf.values[n] = value;
            leaf.active[n] = value.abs() < background;
            leaf.inside[n] = value <= -background;
        }
    };
    let surface = tree::build([-margin; 3], cells.map(|n| n + margin), background, fill_surface);
    let fill_uncut = |origin, leaf: &mut LeafValues<f32>| {
        if sets.is_uncut(origin, high(origin)) {
            return;
        }
        for n in 0..LEAF_VOXELS {
            let at = voxel(origin, n);
            if AXES.iter().all(|&a| at[a] < cells[a]) {
                leaf.values[n] = sets.uncut(at);
                leaf.active[n] = leaf.values[n] != sets.closed(at);
            }
        }
    };
    let uncut = tree::build([0; 3], cells, background, fill_uncut);
    (surface, uncut)
}

/// Face velocities of all cells that lie in the liquid or its band.
fn velocity_tree(volume: &VolumeView) -> Tree {
    let grid = &volume.grid;
    let (cells, faces) = (grid.cell_centers(), AXES.map(|a| grid.faces(a)));
    let band = HALF_WIDTH_CELLS * grid.dx;
    let size = grid.cells.map(|n| n as i32);
    let index = |at: [i32; 3]| cells.index(at[0] as usize, at[1] as usize, at[2] as usize);
    let near = |at: [i32; 3]| {
        AXES.iter().all(|&a| at[a] >= 0 && at[a] < size[a]) && volume.phi_cell[index(at)] < band
    };
    let fill = |origin: [i32; 3], leaf: &mut LeafValues<[f32; 3]>| {
        for n in 0..LEAF_VOXELS {
            let at = voxel(origin, n);
            let below = |a: usize| near(std::array::from_fn(|b| at[b] - i32::from(a == b)));
            leaf.active[n] = near(at) || below(0) || below(1) || below(2);
            if leaf.active[n] {
                leaf.values[n] = AXES.map(|a| {
                    let has_face = AXES.iter().all(|&b| (at[b] as usize) < faces[a].size[b]);
                    let face = || faces[a].index(at[0] as usize, at[1] as usize, at[2] as usize);
                    if has_face { volume.u_face[a][face()] } else { 0.0 }
                });
            }
        }
    };
    tree::build([0; 3], size.map(|n| n + 1), [0.0; 3], fill)
}

/// Voxel `n` of the leaf at `origin`.
fn voxel(origin: [i32; 3], n: usize) -> [i32; 3] {
    [origin[0] + (n >> 6) as i32, origin[1] + ((n >> 3) & 7) as i32, origin[2] + (n & 7) as i32]
}

/// A value of OpenVDB's metadata.
#[derive(Clone)]
pub(super) enum Meta {
    Text(String),
    Flag(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Ints([i32; 3]),
    Floats([f32; 3]),
}

/// Metadata that every grid carries, because programs show grids rather than files.
pub(super) fn about(time: FrameTime) -> Vec<(&'static str, Meta)> {
    vec![
        ("creator", Meta::Text(concat!("fluvial ", env!("CARGO_PKG_VERSION")).into())),
        ("fps", Meta::Double(time.fps)),
        ("frame", Meta::Int(time.frame as i32)),
        ("time_s", Meta::Double(time.time_s())),
        ("units", Meta::Text("metre, second; y up".into())),
    ]
}

/// Everything before the first grid. It depends on few numbers, and the reader compares it byte for byte.
pub(super) fn header(grid: &UniformGrid, time: FrameTime, crc: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&FILE_VERSION.to_le_bytes());
    LIBRARY_VERSION.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    out.push(1); // grids can be found by their offsets
    // OpenVDB wants a unique name for the content; that of equal files is equal.
    out.extend_from_slice(format!("f1071a1d-0000-4000-8000-{crc:012x}").as_bytes());
    let mut meta = about(time);
    meta.push(("fluvial_cells", Meta::Ints(grid.cells.map(|n| n as i32))));
    meta.push(("fluvial_crc32", Meta::Text(format!("{crc:08x}"))));
    meta.push(("fluvial_dx", Meta::Floats([grid.dx; 3])));
    meta.push(("fluvial_min", Meta::Floats(grid.min.to_array())));
    put_meta(&mut out, &meta);
    out.extend_from_slice(&3u32.to_le_bytes()); // grids
    out
}

/// CRC-32 of the whole file with zeros in the place of the checksum.
pub(super) fn checksum(grid: &UniformGrid, time: FrameTime, body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header(grid, time, 0));
    crc.update(body);
    crc.finalize()
}

/// A grid with its descriptor, to stand at byte `at` of the file.
fn encode_grid<T: Value>(
    at: usize,
    name: &str,
    class: &str,
    tree: &Tree,
    grid: &UniformGrid,
    about: &[(&'static str, Meta)],
) -> Vec<u8> {
    let [low, high] = tree.bounds.unwrap_or([[0; 3], [-1; 3]]);
    let mut meta = vec![
        ("class", Meta::Text(class.into())),
        ("file_bbox_max", Meta::Ints(high)),
        ("file_bbox_min", Meta::Ints(low)),
        ("file_compression", Meta::Text("zip + active values".into())),
        ("file_mem_bytes", Meta::Long((tree.leaves * (size_of::<T>() * LEAF_VOXELS + 88) as u64) as i64)),
        ("file_voxel_count", Meta::Long(tree.active_voxels as i64)),
        ("is_saved_as_half_float", Meta::Flag(false)),
        ("name", Meta::Text(name.into())),
    ];
    meta.extend_from_slice(about);
    let mut block = COMPRESSION.to_le_bytes().to_vec();
    put_meta(&mut block, &meta);
    put_transform(&mut block, grid);
    block.extend_from_slice(&tree.topology);

    let mut out = Vec::with_capacity(block.len() + tree.buffers.len() + 128);
    put_text(&mut out, name);
    put_text(&mut out, T::TREE);
    put_text(&mut out, ""); // shares no tree with another grid
    let grid_at = at + out.len() + 24;
    let buffers_at = grid_at + block.len();
    for position in [grid_at, buffers_at, buffers_at + tree.buffers.len()] {
        out.extend_from_slice(&(position as i64).to_le_bytes());
    }
    out.extend_from_slice(&block);
    out.extend_from_slice(&tree.buffers);
    out
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_meta(out: &mut Vec<u8>, entries: &[(&str, Meta)]) {
    out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    for (name, value) in entries {
        put_text(out, name);
        let (kind, bytes): (&str, Vec<u8>) = match value {
            Meta::Text(t) => ("string", t.as_bytes().to_vec()),
            Meta::Flag(b) => ("bool", vec![u8::from(*b)]),
            Meta::Int(i) => ("int32", i.to_le_bytes().to_vec()),
            Meta::Long(i) => ("int64", i.to_le_bytes().to_vec()),
            Meta::Double(d) => ("double", d.to_le_bytes().to_vec()),
            Meta::Ints(v) => ("vec3i", v.iter().flat_map(|c| c.to_le_bytes()).collect()),
            Meta::Floats(v) => ("vec3s", v.iter().flat_map(|c| c.to_le_bytes()).collect()),
        };
        put_text(out, kind);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}

/// World from index: x = dx i + translation.
pub(super) fn put_transform(out: &mut Vec<u8>, grid: &UniformGrid) {
    put_text(out, "UniformScaleTranslateMap");
    let dx = f64::from(grid.dx);
    let center = grid.min.as_dvec3() + 0.5 * dx;
    out.extend(center.to_array().iter().flat_map(|c| c.to_le_bytes()));
    // Scale, voxel size, and three numbers that OpenVDB derives from them and stores.
    for value in [dx, dx, 1.0 / dx, 1.0 / (dx * dx), 0.5 / dx] {
        (0..3).for_each(|_| out.extend_from_slice(&value.to_le_bytes()));
    }
}
