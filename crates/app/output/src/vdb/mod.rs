//! OpenVDB files (format version 224), written and read without the library.
//!
//! A file holds three grids in one index space: voxel (i, j, k) is cell (i, j, k), its centre in the world at
//! `min + dx (i + 1/2, j + 1/2, k + 1/2)`, metres, Y up.
//!
//! - `surface`: class `level set`, f32. The closed surface of the liquid as it is drawn: cut off at the walls
//!   of the domain and inside solids. A distance within three voxels of it, [`HALF_WIDTH_CELLS`] dx outside,
//!   minus that inside; the background is that value.
//! - `vel`: class `staggered`, vec3s, m/s. Component a of voxel (i, j, k) lies on the low face of the cell
//!   along a: the solver's own values, nothing is averaged away. Houdini and OpenVDB's tools know this class.
//!   For a liquid whose cells differ in size ([`crate::VolumeSource::is_sparse`]) they are interpolated, and
//!   stored only where `surface` is active.
//! - `surface_uncut`: where walls or solids cut `surface`, the liquid's own level set. With it [`VdbVolume`]
//!   gives back what the solver had, and `fluvial mesh` the very mesh that the run wrote.
//!
//! Layout after `openvdb/io/*.h` and `openvdb/tree/*.h`: root, 32^3 and 16^3 internal nodes, 8^3 leaves,
//! values of active voxels zipped node by node.

mod level_set;
mod read;
mod tree;
mod write;

pub use read::{VdbError, VdbVisitor, VdbVolume};
pub use write::{encode_vdb, write_vdb};

/// Half width of the narrow band of a written level set, in voxels.
pub const HALF_WIDTH_CELLS: f32 = 3.0;

/// Name of the closed liquid surface.
const SURFACE: &str = "surface";
/// Name of the velocity.
const VELOCITY: &str = "vel";
/// Name of the level set where walls or solids cut it.
const UNCUT: &str = "surface_uncut";
/// Liquid reaches this far into solids, in cells, so that no gap shows between the two.
const SOLID_OVERLAP_CELLS: f32 = 0.25;

/// Edge of a leaf, voxels.
const LEAF: i32 = 8;
/// Voxels of a leaf.
const LEAF_VOXELS: usize = 512;
/// Words of a leaf's mask.
const LEAF_WORDS: usize = 8;
/// Edge of a lower internal node, voxels.
const LOWER: i32 = 128;
/// Edge of an upper internal node, voxels.
const UPPER: i32 = 4096;
/// Children of a lower node.
const LOWER_CHILDREN: usize = 4096;
/// Children of an upper node.
const UPPER_CHILDREN: usize = 32768;

/// First bytes of every OpenVDB file.
const MAGIC: i64 = 0x5644_4220;
/// Version of the file format.
const FILE_VERSION: u32 = 224;
/// Version of the library whose format this is.
const LIBRARY_VERSION: [u32; 2] = [10, 0];
/// Zip, active voxels only.
const COMPRESSION: u32 = 0x1 | 0x2;

/// What is known of a node's inactive values, as OpenVDB numbers it: all are the background...
const ALL_BACKGROUND: u8 = 0;
/// ...all are minus the background...
const ALL_MINUS: u8 = 1;
/// ...or a mask selects: on the background, off minus the background.
const MASK_SELECTS: u8 = 3;

/// Number of the child at `voxel` among those of a node: x slowest, z fastest.
fn child_index(voxel: [i32; 3], child_edge: i32, log2_children: u32) -> usize {
    let mask = (1 << log2_children) - 1;
    let n = voxel.map(|v| (v.div_euclid(child_edge) & mask) as usize);
    (n[0] << (2 * log2_children)) | (n[1] << log2_children) | n[2]
}

/// Lower corner of child `n` of the node at `origin`: the inverse of [`child_index`].
fn child_origin(origin: [i32; 3], n: usize, child_edge: i32, log2_children: u32) -> [i32; 3] {
    let mask = (1 << log2_children) - 1;
    let at = [n >> (2 * log2_children), (n >> log2_children) & mask, n & mask];
    std::array::from_fn(|a| origin[a] + child_edge * at[a] as i32)
}
