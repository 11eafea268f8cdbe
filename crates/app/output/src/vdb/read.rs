//! Reads back what `write.rs` writes, and nothing else: every length is checked, leaves are unpacked when
//! asked for, and the memory held is that of the file.

use super::write::{checksum, header, put_transform};
use super::{
    ALL_BACKGROUND, ALL_MINUS, COMPRESSION, HALF_WIDTH_CELLS, LEAF, LEAF_VOXELS, LOWER, LOWER_CHILDREN,
    MASK_SELECTS, SURFACE, UNCUT, UPPER, UPPER_CHILDREN, VELOCITY, child_origin,
};
use crate::{FrameTime, OutputError};
use flate2::{Decompress, FlushDecompress, Status};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use std::borrow::Cow;
use std::path::Path;

/// Why a VDB file could not be read as a volume of ours.
#[derive(Debug, thiserror::Error)]
pub enum VdbError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] OutputError),
    /// Not what [`crate::write_vdb`] writes.
    #[error("{path} is not a volume written by fluvial: {what}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Scenes may not have more.
const MOST_CELLS: u64 = 4_000_000_000;

/// A volume file, checked, its values still packed.
pub struct VdbVolume<'a> {
    bytes: Cow<'a, [u8]>,
    /// The simulation's grid.
    pub grid: UniformGrid,
    /// Which frame it is.
    pub time: FrameTime,
    surface: Tree,
    velocity: Tree,
    uncut: Tree,
}

/// Where the nodes of a tree lie in the file.
#[derive(Default)]
struct Tree {
    /// Internal nodes that have inside tiles.
    inside: Vec<InsideTiles>,
    leaves: Vec<Leaf>,
}

struct InsideTiles {
    origin: [i32; 3],
    is_upper: bool,
    /// Where the child mask starts; the mask of outside tiles, where only some are inside.
    children_at: usize,
    outside_at: Option<usize>,
}

struct Leaf {
    origin: [i32; 3],
    inactive: u8,
    mask_at: usize,
    /// For `MASK_SELECTS`, the mask of inactive voxels outside lies before it, and the length between.
    data_at: usize,
    /// Length of the zip stream; where negative, minus the length of plain bytes.
    length: i64,
}

/// Is told what a volume holds, without a value for every cell of the grid.
pub trait VdbVisitor {
    /// A cube of cells that is liquid, three cells or more from the surface; corner and edge are multiples of 8.
    fn liquid(&mut self, origin: [i32; 3], edge: i32);
    /// The liquid's own level set at a cell, metres. A later value replaces an earlier one.
    fn phi(&mut self, cell: [i32; 3], phi: f32);
    /// Velocities on the low faces of a cell, which may lie one beyond the last, m/s.
    fn velocity(&mut self, cell: [i32; 3], u: [f32; 3]);
}

impl<'a> VdbVolume<'a> {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<VdbVolume<'static>, VdbError> {
        let bytes = std::fs::read(path).map_err(|e| OutputError::new("read", path, e))?;
        VdbVolume::parse(bytes).map_err(|what| VdbError::Format { path: path.display().to_string(), what })
    }

    /// Checks the bytes of a file.
    pub fn parse(bytes: impl Into<Cow<'a, [u8]>>) -> Result<VdbVolume<'a>, String> {
        VdbVolume::parse_with(bytes.into(), true)
    }

    /// As [`Self::parse`], without comparing the checksum: tests and fuzzers reach the parser with damaged
    /// trees.
    #[doc(hidden)]
    pub fn parse_unverified(bytes: impl Into<Cow<'a, [u8]>>) -> Result<VdbVolume<'a>, String> {
        VdbVolume::parse_with(bytes.into(), false)
    }

    fn parse_with(bytes: Cow<'a, [u8]>, verify: bool) -> Result<VdbVolume<'a>, String> {
        let (grid, time, crc, body_at) = read_header(&bytes)?;
        if verify && checksum(&grid, time, &bytes[body_at..]) != crc {
            return Err("the checksum does not match: the file is damaged".into());
        }
        let mut at = Cursor { bytes: &bytes, at: body_at };
        let surface = read_grid(&mut at, SURFACE, 4, &grid)?;
        let velocity = read_grid(&mut at, VELOCITY, 12, &grid)?;
        let uncut = read_grid(&mut at, UNCUT, 4, &grid)?;
        if at.at != bytes.len() {
            return Err("bytes after the last grid".into());
        }
        Ok(VdbVolume { bytes, grid, time, surface, velocity, uncut })
    }

    /// The liquid's own level set on the whole grid, ± three cells where it is farther from the surface.
    pub fn phi_cell(&self) -> Result<Vec<f32>, String> {
        let cells = self.grid.cell_centers();
        let size = cells.size.map(|n| n as i32);
        let background = HALF_WIDTH_CELLS * self.grid.dx;
        let mut phi = vec![background; cells.len()];
        let index = |at: [i32; 3]| {
            let within = AXES.iter().all(|&a| at[a] >= 0 && at[a] < size[a]);
            within.then(|| cells.index(at[0] as usize, at[1] as usize, at[2] as usize))
        };
        for tiles in &self.surface.inside {
            let edge = if tiles.is_upper { LOWER } else { LEAF };
            self.for_each_inside(tiles, |origin| {
                let clip = |a: usize| origin[a].max(0)..(origin[a] + edge).min(size[a]);
                for k in clip(2) {
                    for j in clip(1) {
                        for i in clip(0) {
                            phi[cells.index(i as usize, j as usize, k as usize)] = -background;
                        }
                    }
                }
            });
        }
        for (tree, only_active) in [(&self.surface, false), (&self.uncut, true)] {
            for leaf in &tree.leaves {
                self.for_each_voxel::<1>(leaf, |at, value| {
                    if let Some(n) = index(at) {
                        match value {
                            Voxel::Active([v]) => phi[n] = v,
                            Voxel::Inside if !only_active => phi[n] = -background,
                            _ => {}
                        }
                    }
                })?;
            }
        }
        Ok(phi)
    }

    /// Tells a visitor all that is there: cubes of liquid first, then level set and velocities. What is not told is air, and
    /// has no velocity. Cells may lie beyond the grid.
    pub fn visit(&self, visitor: &mut dyn VdbVisitor) -> Result<(), String> {
        let background = HALF_WIDTH_CELLS * self.grid.dx;
        for tiles in &self.surface.inside {
            let edge = if tiles.is_upper { LOWER } else { LEAF };
            self.for_each_inside(tiles, |origin| visitor.liquid(origin, edge));
        }
        for (tree, only_active) in [(&self.surface, false), (&self.uncut, true)] {
            for leaf in &tree.leaves {
                self.for_each_voxel::<1>(leaf, |at, value| match value {
                    Voxel::Active([v]) => visitor.phi(at, v),
                    Voxel::Inside if !only_active => visitor.phi(at, -background),
                    _ => {}
                })?;
            }
        }
        for leaf in &self.velocity.leaves {
            self.for_each_voxel::<3>(leaf, |at, value| {
                if let Voxel::Active(u) = value {
                    visitor.velocity(at, u);
                }
            })?;
        }
        Ok(())
    }

    /// The solver's face velocities in the liquid and its band; 0 elsewhere.
    pub fn u_face(&self) -> Result<FaceField, String> {
        let mut u = FaceField::constant(&self.grid, 0.0);
        let faces = AXES.map(|a| self.grid.faces(a));
        for leaf in &self.velocity.leaves {
            self.for_each_voxel::<3>(leaf, |at, value| {
                let Voxel::Active(v) = value else { return };
                for a in AXES {
                    if AXES.iter().all(|&b| at[b] >= 0 && (at[b] as usize) < faces[a].size[b]) {
                        u[a][faces[a].index(at[0] as usize, at[1] as usize, at[2] as usize)] = v[a];
                    }
                }
            })?;
        }
        Ok(u)
    }

    fn bit(&self, mask_at: usize, n: usize) -> bool {
        self.bytes[mask_at + n / 8] >> (n % 8) & 1 == 1
    }

    fn for_each_inside(&self, tiles: &InsideTiles, mut body: impl FnMut([i32; 3])) {
        let (count, edge, log2) =
            if tiles.is_upper { (UPPER_CHILDREN, LOWER, 5) } else { (LOWER_CHILDREN, LEAF, 4) };
        for n in 0..count {
            let outside = tiles.outside_at.is_some_and(|mask| self.bit(mask, n));
            if !outside && !self.bit(tiles.children_at, n) {
                body(child_origin(tiles.origin, n, edge, log2));
            }
        }
    }

    /// Unpacks a leaf of values with `N` numbers each.
    fn for_each_voxel<const N: usize>(
        &self,
        leaf: &Leaf,
        mut body: impl FnMut([i32; 3], Voxel<N>),
    ) -> Result<(), String> {
        let active = (0..LEAF_VOXELS).filter(|&n| self.bit(leaf.mask_at, n)).count();
        let mut buffer = [0u8; 12 * LEAF_VOXELS];
        let raw = &mut buffer[..4 * N * active];
        let packed = &self.bytes[leaf.data_at..][..leaf.length.unsigned_abs() as usize];
        if leaf.length <= 0 {
            if packed.len() != raw.len() {
                return Err("a leaf of wrong length".into());
            }
            raw.copy_from_slice(packed);
        } else {
            let mut unpack = Decompress::new(true);
            let status = unpack.decompress(packed, raw, FlushDecompress::Finish);
            let whole = unpack.total_in() == packed.len() as u64 && unpack.total_out() == raw.len() as u64;
            if !matches!(status, Ok(Status::StreamEnd)) || !whole {
                return Err("a leaf that cannot be unpacked".into());
            }
        }
        let mut values = raw.chunks_exact(4 * N);
        for n in 0..LEAF_VOXELS {
            let at = child_origin(leaf.origin, n, 1, 3);
            if self.bit(leaf.mask_at, n) {
                let value = values.next().expect("as many as active voxels");
                let f = |c: usize| {
                    f32::from_le_bytes([value[4 * c], value[4 * c + 1], value[4 * c + 2], value[4 * c + 3]])
                };
                body(at, Voxel::Active(std::array::from_fn(f)));
            } else {
                let inside = match leaf.inactive {
                    ALL_BACKGROUND => false,
                    ALL_MINUS => true,
                    _ => !self.bit(leaf.data_at - size_of::<i64>() - LEAF_VOXELS / 8, n),
                };
                body(at, if inside { Voxel::Inside } else { Voxel::Outside });
            }
        }
        Ok(())
    }
}

enum Voxel<const N: usize> {
    Active([f32; N]),
    Inside,
    Outside,
}

/// A place in the file; every step is checked against its end.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|&e| e <= self.bytes.len());
        let end = end.ok_or("the file is cut short")?;
        let part = &self.bytes[self.at..end];
        self.at = end;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("N bytes"))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, String> {
        self.array().map(i64::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a [u8], String> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    fn expect(&mut self, wanted: &[u8], what: &str) -> Result<(), String> {
        if self.take(wanted.len())? == wanted { Ok(()) } else { Err(format!("unexpected {what}")) }
    }

    /// The entries of metadata, by name and value.
    fn meta(&mut self, mut entry: impl FnMut(&'a [u8], &'a [u8])) -> Result<(), String> {
        for _ in 0..self.u32()? {
            let name = self.text()?;
            self.text()?; // type
            entry(name, self.text()?);
        }
        Ok(())
    }
}

/// Grid, frame, checksum, and where the first grid starts. A header is good if writing it again gives the
/// same bytes.
fn read_header(bytes: &[u8]) -> Result<(UniformGrid, FrameTime, u32, usize), String> {
    let mut at = Cursor { bytes, at: 0 };
    at.take(8 + 4 + 8 + 1 + 36)?;
    let meta_at = at.at;
    at.meta(|_, _| ()).map_err(|_| "the header cannot be read")?;
    let find = |name: &str| {
        let mut found = None;
        Cursor { bytes, at: meta_at }.meta(|n, value| {
            if n == name.as_bytes() {
                found = found.or(Some(value));
            }
        })?;
        found.ok_or(format!("no `{name}` in the header"))
    };
    let number = |name: &str| {
        <[u8; 8]>::try_from(find(name)?).map(f64::from_le_bytes).map_err(|_| "bad number".to_string())
    };
    let three = |name: &str| -> Result<[[u8; 4]; 3], String> {
        let v = find(name)?;
        if v.len() != 12 {
            return Err(format!("bad `{name}`"));
        }
        Ok(std::array::from_fn(|a| [v[4 * a], v[4 * a + 1], v[4 * a + 2], v[4 * a + 3]]))
    };
    let frame = <[u8; 4]>::try_from(find("frame")?).map(u32::from_le_bytes).map_err(|_| "bad `frame`")?;
    let time = FrameTime { frame, fps: number("fps")? };
    let cells = three("fluvial_cells")?.map(i32::from_le_bytes);
    if cells.iter().any(|&n| !(1..=1 << 20).contains(&n)) {
        return Err("a grid that cannot be".into());
    }
    if cells.iter().map(|&n| n as u64).product::<u64>() > MOST_CELLS {
        return Err("a grid of more cells than any simulation has".into());
    }
    let grid = UniformGrid {
        min: Vec3::from_array(three("fluvial_min")?.map(f32::from_le_bytes)),
        cells: cells.map(|n| n as usize),
        dx: f32::from_le_bytes(three("fluvial_dx")?[0]),
    };
    let crc = std::str::from_utf8(find("fluvial_crc32")?).ok().and_then(|t| u32::from_str_radix(t, 16).ok());
    let crc = crc.ok_or("no checksum in the header")?;
    let wanted = header(&grid, time, crc);
    if !bytes.starts_with(&wanted) || at.at + 4 != wanted.len() {
        return Err("the header differs from the one fluvial writes".into());
    }
    Ok((grid, time, crc, wanted.len()))
}

fn read_grid(at: &mut Cursor, name: &str, value_bytes: usize, grid: &UniformGrid) -> Result<Tree, String> {
    if at.text()? != name.as_bytes() {
        return Err(format!("no grid `{name}` where it belongs"));
    }
    at.text()?; // kind of tree
    at.text()?; // parent
    let [start, buffers, end] = [at.i64()?, at.i64()?, at.i64()?];
    if start != at.at as i64 || at.u32()? != COMPRESSION {
        return Err(format!("the grid `{name}` is not where its descriptor says"));
    }
    at.meta(|_, _| ())?;
    let mut transform = Vec::new();
    put_transform(&mut transform, grid);
    at.expect(&transform, "transform")?;
    let mut tree = Tree::default();
    at.expect(&1u32.to_le_bytes(), "number of buffers")?;
    at.take(value_bytes)?; // background
    at.expect(&0u32.to_le_bytes(), "root tiles")?;
    for _ in 0..at.u32()? {
        let origin = [at.array()?, at.array()?, at.array()?].map(i32::from_le_bytes);
        if origin.iter().any(|&o| o % UPPER != 0 || !(-(1 << 24)..=1 << 24).contains(&o)) {
            return Err("a node out of place".into());
        }
        read_upper(at, origin, &mut tree)?;
    }
    if buffers != at.at as i64 {
        return Err(format!("the values of `{name}` are not where its descriptor says"));
    }
    tree.leaves.iter_mut().try_for_each(|leaf| read_leaf(at, leaf))?;
    if end != at.at as i64 {
        return Err(format!("the grid `{name}` does not end where its descriptor says"));
    }
    Ok(tree)
}

/// The nodes below a child of the root. Of the leaves, their places and masks; their values follow later.
fn read_upper(at: &mut Cursor, origin: [i32; 3], tree: &mut Tree) -> Result<(), String> {
    let children = read_node(at, origin, true, tree)?;
    for n in set_bits(children) {
        let lower_origin = child_origin(origin, n, LOWER, 5);
        let children = read_node(at, lower_origin, false, tree)?;
        // No room is made for leaves that the file cannot hold.
        let count = children.iter().map(|b| b.count_ones() as usize).sum::<usize>();
        if count > (at.bytes.len() - at.at) / (LEAF_VOXELS / 8) {
            return Err("the file is cut short".into());
        }
        tree.leaves.reserve_exact(count);
        for n in set_bits(children) {
            let origin = child_origin(lower_origin, n, LEAF, 4);
            tree.leaves.push(Leaf {
                origin,
                inactive: ALL_BACKGROUND,
                mask_at: at.at,
                data_at: 0,
                length: 0,
            });
            at.take(LEAF_VOXELS / 8)?;
        }
    }
    Ok(())
}

/// Masks and tiles of an internal node; returns its child mask.
fn read_node<'a>(
    at: &mut Cursor<'a>,
    origin: [i32; 3],
    is_upper: bool,
    tree: &mut Tree,
) -> Result<&'a [u8], String> {
    let mask_bytes = if is_upper { UPPER_CHILDREN } else { LOWER_CHILDREN } / 8;
    let children_at = at.at;
    let children = at.take(mask_bytes)?;
    if at.take(mask_bytes)?.iter().any(|&b| b != 0) {
        return Err("an active tile, which fluvial does not write".into());
    }
    let (inactive, outside_at) = read_inactive(at, mask_bytes)?;
    at.expect(&0i64.to_le_bytes(), "tile values")?;
    if inactive != ALL_BACKGROUND {
        let outside_at = (inactive == MASK_SELECTS).then_some(outside_at);
        tree.inside.push(InsideTiles { origin, is_upper, children_at, outside_at });
    }
    Ok(children)
}

fn read_inactive(at: &mut Cursor, mask_bytes: usize) -> Result<(u8, usize), String> {
    let inactive = at.take(1)?[0];
    let outside_at = at.at;
    match inactive {
        ALL_BACKGROUND | ALL_MINUS => {}
        MASK_SELECTS => drop(at.take(mask_bytes)?),
        _ => return Err("a kind of inactive values that fluvial does not write".into()),
    }
    Ok((inactive, outside_at))
}

fn read_leaf(at: &mut Cursor, leaf: &mut Leaf) -> Result<(), String> {
    let bytes = at.bytes;
    at.expect(&bytes[leaf.mask_at..leaf.mask_at + LEAF_VOXELS / 8], "leaf mask")?;
    (leaf.inactive, _) = read_inactive(at, LEAF_VOXELS / 8)?;
    leaf.length = at.i64()?;
    leaf.data_at = at.at;
    let count = usize::try_from(leaf.length.unsigned_abs()).map_err(|_| "the file is cut short")?;
    at.take(count).map(drop)
}

fn set_bits(mask: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let bytes = mask.iter().enumerate().filter(|(_, byte)| **byte != 0);
    bytes.flat_map(|(n, byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * n + bit))
}
