//! From a volume to the bytes of a file.

use super::level_set::LevelSets;
use super::tree::{self, LeafValues, Tree, Value};
use super::{COMPRESSION, FILE_VERSION, HALF_WIDTH_CELLS, LEAF, LEAF_VOXELS, LIBRARY_VERSION, MAGIC};
use super::{SURFACE, UNCUT, VELOCITY, child_index, child_origin};
use crate::{FrameTime, OutputError, VolumeSource, write_bytes_atomic};
use fluvial_foundation::AXES;
use fluvial_grids::UniformGrid;
use std::path::Path;

/// Writes level set and velocity of a frame.
pub fn write_vdb<S: VolumeSource + ?Sized>(
    path: &Path,
    volume: &S,
    time: FrameTime,
) -> Result<(), OutputError> {
    write_bytes_atomic(path, &encode_vdb(volume, time))
}

/// The bytes of the file.
pub fn encode_vdb<S: VolumeSource + ?Sized>(volume: &S, time: FrameTime) -> Vec<u8> {
    let grid = &volume.grid();
    let sets = LevelSets::new(volume);
    let (surface, uncut) = level_set_trees(&sets, grid);
    let velocity = velocity_tree(volume, &sets);
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
fn level_set_trees<S: VolumeSource + ?Sized>(sets: &LevelSets<S>, grid: &UniformGrid) -> (Tree, Tree) {
    let background = sets.background();
    let margin = HALF_WIDTH_CELLS.ceil() as i32;
    let cells = grid.cells.map(|n| n as i32);
    let high = |origin: [i32; 3]| origin.map(|o| o + LEAF);
    let fill_surface = |origin, leaf: &mut LeafValues<f32>| {
        sets.for_each(origin, high(origin), &mut |at, value| {
            let n = child_index(at, 1, 3);
            leaf.values[n] = value.closed;
            leaf.active[n] = value.closed.abs() < background;
            leaf.inside[n] = value.closed <= -background;
        });
    };
    let surface = tree::build([-margin; 3], cells.map(|n| n + margin), background, fill_surface);
    let fill_uncut = |origin, leaf: &mut LeafValues<f32>| {
        if sets.is_uncut(origin, high(origin)) {
            return;
        }
        sets.for_each(origin, high(origin), &mut |at, value| {
            if AXES.iter().all(|&a| at[a] < cells[a]) {
                let n = child_index(at, 1, 3);
                leaf.values[n] = value.uncut;
                leaf.active[n] = value.uncut != value.closed;
            }
        });
    };
    let uncut = tree::build([0; 3], cells, background, fill_uncut);
    (surface, uncut)
}

/// Face velocities of all cells that lie in the liquid or its band; of a sparse volume only near its closed
/// surface.
fn velocity_tree<S: VolumeSource + ?Sized>(volume: &S, sets: &LevelSets<S>) -> Tree {
    /// Edge of a leaf with the cells below it.
    const WIDE: i32 = LEAF + 1;
    let grid = volume.grid();
    let (band, in_depth) = (sets.background(), !volume.is_sparse());
    let size = grid.cells.map(|n| n as i32);
    let fill = |origin: [i32; 3], leaf: &mut LeafValues<[f32; 3]>| {
        let low = origin.map(|o| o - 1);
        let mut near = [false; (WIDE * WIDE * WIDE) as usize];
        let index = |at: [i32; 3]| {
            let [i, j, k]: [i32; 3] = std::array::from_fn(|a| at[a] - low[a]);
            (i + WIDE * (j + WIDE * k)) as usize
        };
        sets.for_each(low, low.map(|o| o + WIDE), &mut |at, value| {
            let is_near = if in_depth { value.uncut < band } else { value.closed.abs() < band };
            near[index(at)] = is_near && AXES.iter().all(|&a| at[a] >= 0 && at[a] < size[a]);
        });
        for n in 0..LEAF_VOXELS {
            let at = child_origin(origin, n, 1, 3);
            let below = |a: usize| near[index(std::array::from_fn(|b| at[b] - i32::from(a == b)))];
            leaf.active[n] = near[index(at)] || below(0) || below(1) || below(2);
            if leaf.active[n] {
                leaf.values[n] = AXES.map(|a| {
                    let has_face = AXES.iter().all(|&b| at[b] < size[b] + i32::from(a == b));
                    if has_face { volume.velocity(a, at.map(|v| v as usize)) } else { 0.0 }
                });
            }
        }
    };
    tree::build([0; 3], size.map(|n| n + 1), [0.0; 3], fill)
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
