//! A graded octree as a pyramid of sparse levels: cells, faces, nodes, neighbours, point location.
//!
//! [`Octree::build`] subdivides from coarse to fine and smooths the result from fine to coarse as [octree
//! §6.3] does: no two cells that touch, be it in a corner, differ by more than a factor of two. The domain is
//! a box of any number of coarsest cells along each axis.
//!
//! Everything is numbered in flat arrays. **Leaves** level by level, finest first, in Morton order within a
//! level: loops over a level have one cell size, and numbers follow from sets of bits by counting. **Faces**
//! axis by axis, then likewise: a face lies between two leaves of one size, between a leaf and four smaller
//! ones (a *T-junction*, one face, as large as the large cell's), or between a leaf and a wall. Every side of
//! every leaf is thus exactly one face ([`Octree::cell_faces`]). **Nodes** are the leaves' corners, each with
//! the eight leaves around it ([`Octree::node_cells`]): the dual cells of interpolation and of dual
//! contouring.
//!
//! Level 0 is the finest. A place `at` on a level counts cells of that level from the domain's low corner;
//! face `at` of an axis and node `at` lie on the low side of cell `at`.

mod bits;
mod blocks;
mod check;
mod connect;
mod find;
mod level;
mod nodes;

pub use find::Located;

use fluvial_foundation::{Aabb, Axis, Vec3};
use std::ops::Range;

/// No cell: beyond a wall.
pub const OUTSIDE: u32 = u32::MAX;
/// Passes of dilation in [octree §6.3]: every level is then at least three cells wide.
pub const SMOOTHING_PASSES: u32 = 3;
/// Most cells along an axis, on the finest level.
pub const MAX_CELLS: usize = 1 << 15;

/// The box that a tree fills, and its levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Lower corner, metres.
    pub min: Vec3,
    /// Edge of a finest cell, metres.
    pub dx: f32,
    /// Number of levels; 1 is a uniform grid.
    pub levels: usize,
    /// Cells of the coarsest level along each axis.
    pub roots: [usize; 3],
}

impl Shape {
    /// Cells along each axis if all were of this level.
    #[inline]
    pub fn cells(&self, level: usize) -> [usize; 3] {
        each(|a| self.roots[a] << (self.levels - 1 - level))
    }

    /// Edge of a cell of this level, metres.
    #[inline]
    pub fn dx_of(&self, level: usize) -> f32 {
        self.dx * (1u32 << level) as f32
    }

    /// The domain.
    #[inline]
    pub fn bounds(&self) -> Aabb {
        let [x, y, z] = self.cells(0).map(|n| n as f32);
        Aabb { min: self.min, max: self.min + self.dx * Vec3::new(x, y, z) }
    }

    /// Centre of a cell, metres.
    #[inline]
    pub fn center(&self, cell: Cell) -> Vec3 {
        let [x, y, z] = each(|a| cell.at[a] as f32 + 0.5);
        self.min + self.dx_of(cell.level as usize) * Vec3::new(x, y, z)
    }
}

/// A place on a level: a cell, or the face or node on its low side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Coordinates in cells of the level.
    pub at: [u16; 3],
    /// Level, 0 is the finest.
    pub level: u8,
}

/// What lies on one side of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The wall of the domain.
    Outside,
    /// One cell as large as the face.
    Cell(u32),
    /// Four cells of half the size.
    Quad([u32; 4]),
}

/// The two sides of a face, packed; [`Octree::sides`] unpacks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Face {
    low: u32,
    high: u32,
}

/// Marks the number of a quad.
const QUAD: u32 = 1 << 31;

/// A graded octree. Two trees built from the same decisions are equal, whatever the number of threads.
#[derive(Clone, Debug, Default)]
pub struct Octree {
    shape: Shape,
    levels: Vec<level::Level>,
    leaf_start: Vec<usize>,
    leaves: Vec<Cell>,
    cell_faces: Vec<[u32; 6]>,
    across: Vec<[u32; 6]>,
    face_start: [Vec<usize>; 3],
    face_places: Vec<Cell>,
    faces: Vec<Face>,
    quads: Vec<[u32; 4]>,
    nodes: Vec<Cell>,
    node_cells: Vec<[u32; 8]>,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [1; 3] }
    }
}

impl Octree {
    /// Builds the tree coarse to fine: a cell is divided where `subdivide` says so, which is asked for every
    /// cell that comes to exist and is not of the finest level. Then, from fine to coarse, the cells of
    /// every level are grown by `passes` rings of face neighbours and completed to octets ([octree §6.3];
    /// [`SMOOTHING_PASSES`] there). With few or no passes the tree is still graded across faces, edges
    /// and corners, but levels may be thin.
    pub fn build(shape: Shape, passes: u32, subdivide: impl Fn(Cell) -> bool + Sync) -> Octree {
        Octree::build_by(shape, passes, &subdivide)
    }

    /// [`Self::build`] in the same box; None where the result is this tree, which is known before faces and nodes are
    /// numbered.
    pub fn rebuild(&self, passes: u32, subdivide: impl Fn(Cell) -> bool + Sync) -> Option<Octree> {
        self.rebuild_by(passes, &subdivide)
    }

    /// Not generic, so that it is compiled once and not with every rule of subdivision.
    fn build_by(shape: Shape, passes: u32, subdivide: &(dyn Fn(Cell) -> bool + Sync)) -> Octree {
        assert!(shape.levels >= 1 && shape.roots.iter().all(|&n| n >= 1), "a tree has cells");
        assert!(shape.cells(0).iter().all(|&n| n <= MAX_CELLS), "cells are counted in 16 bits");
        Octree::of_nodes(shape, nodes::build(&shape, passes, subdivide))
    }

    fn rebuild_by(&self, passes: u32, subdivide: &(dyn Fn(Cell) -> bool + Sync)) -> Option<Octree> {
        let nodes = nodes::build(&self.shape, passes, subdivide);
        let is_same = nodes.iter().zip(&self.levels).all(|(new, old)| {
            let new = new.at.iter().zip(&new.nodes).filter(|(_, nodes)| **nodes != 0);
            let old = old.blocks.iter().filter(|block| block.nodes != 0);
            new.eq(old.map(|block| (&block.at, &block.nodes)))
        });
        (!is_same).then(|| Octree::of_nodes(self.shape, nodes))
    }

    fn of_nodes(shape: Shape, nodes: Vec<nodes::LevelNodes>) -> Octree {
        let tree = connect::build(shape, level::build(&shape, nodes));
        #[cfg(debug_assertions)]
        tree.check();
        tree
    }

    /// The box and its levels.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of leaves.
    #[inline]
    pub fn cell_count(&self) -> usize {
        self.leaves.len()
    }

    /// All leaves.
    #[inline]
    pub fn cells(&self) -> &[Cell] {
        &self.leaves
    }

    /// The leaves of a level.
    #[inline]
    pub fn cells_of(&self, level: usize) -> Range<usize> {
        self.leaf_start[level]..self.leaf_start[level + 1]
    }

    /// Edge of a leaf, metres.
    #[inline]
    pub fn cell_dx(&self, cell: usize) -> f32 {
        self.shape.dx_of(self.leaves[cell].level as usize)
    }

    /// Centre of a leaf, metres.
    #[inline]
    pub fn cell_center(&self, cell: usize) -> Vec3 {
        self.shape.center(self.leaves[cell])
    }

    /// The faces of a leaf: x low, x high, y low, y high, z low, z high. On a side where the neighbour is
    /// larger this is the neighbour's face.
    #[inline]
    pub fn cell_faces(&self) -> &[[u32; 6]] {
        &self.cell_faces
    }

    /// What lies across a leaf's sides, in the order of [`Self::cell_faces`]: the far one of [`Self::sides`],
    /// without a look at the face.
    #[inline(always)]
    pub fn across(&self, cell: usize) -> [Side; 6] {
        let codes = &self.across[cell];
        [0, 1, 2, 3, 4, 5].map(|side| self.side(codes[side]))
    }

    /// The one leaf across a leaf's side, [`OUTSIDE`] at a wall, None where there are four smaller ones.
    #[inline(always)]
    pub fn leaf_across(&self, cell: usize, side: usize) -> Option<u32> {
        let code = self.across[cell][side];
        (code & QUAD == 0 || code == OUTSIDE).then_some(code)
    }

    /// The leaves across a leaf's sides, all four where they are smaller.
    #[inline(always)]
    pub fn for_neighbours(&self, cell: usize, mut body: impl FnMut(usize)) {
        for &code in &self.across[cell] {
            if code & QUAD == 0 {
                body(code as usize);
            } else if code != OUTSIDE {
                self.quads[(code & !QUAD) as usize].iter().for_each(|&other| body(other as usize));
            }
        }
    }

    /// Number of faces of all axes.
    #[inline]
    pub fn face_count(&self) -> usize {
        self.faces.len()
    }

    /// The faces whose normal is `axis`.
    #[inline]
    pub fn faces(&self, axis: Axis) -> Range<usize> {
        let start = &self.face_start[axis];
        start[0]..start[self.shape.levels]
    }

    /// Those of one level.
    #[inline]
    pub fn faces_of(&self, axis: Axis, level: usize) -> Range<usize> {
        self.face_start[axis][level]..self.face_start[axis][level + 1]
    }

    /// Where faces lie: the low side of these places.
    #[inline]
    pub fn face_places(&self) -> &[Cell] {
        &self.face_places
    }

    /// Axis of a face's normal.
    #[inline]
    pub fn face_axis(&self, face: usize) -> Axis {
        (face >= self.face_start[1][0]) as usize + (face >= self.face_start[2][0]) as usize
    }

    /// Edge of a face: of its larger cell, metres.
    #[inline]
    pub fn face_dx(&self, face: usize) -> f32 {
        self.shape.dx_of(self.face_places[face].level as usize)
    }

    /// Centre of a face of an axis, metres.
    #[inline]
    pub fn face_center(&self, face: usize, axis: Axis) -> Vec3 {
        let place = self.face_places[face];
        let mut center = self.shape.center(place);
        center[axis] = self.shape.min[axis] + self.shape.dx_of(place.level as usize) * place.at[axis] as f32;
        center
    }

    /// What lies on a face's low and on its high side.
    #[inline]
    pub fn sides(&self, face: usize) -> [Side; 2] {
        let Face { low, high } = self.faces[face];
        [self.side(low), self.side(high)]
    }

    /// The cells beside a face, those of the low side first.
    #[inline(always)]
    pub fn cells_beside(&self, face: usize) -> impl Iterator<Item = usize> {
        let Face { low, high } = &self.faces[face];
        self.leaves_of(low).iter().chain(self.leaves_of(high)).map(|&cell| cell as usize)
    }

    #[inline(always)]
    fn leaves_of<'a>(&'a self, code: &'a u32) -> &'a [u32] {
        match *code {
            OUTSIDE => &[],
            quad if quad & QUAD != 0 => &self.quads[(quad & !QUAD) as usize],
            _ => std::slice::from_ref(code),
        }
    }

    #[inline(always)]
    fn side(&self, code: u32) -> Side {
        match code {
            OUTSIDE => Side::Outside,
            code if code & QUAD != 0 => Side::Quad(self.quads[(code & !QUAD) as usize]),
            code => Side::Cell(code),
        }
    }

    /// Does the face have four smaller cells on a side?
    #[inline]
    pub fn is_junction(&self, face: usize) -> bool {
        let Face { low, high } = self.faces[face];
        (low != OUTSIDE && low & QUAD != 0) || (high != OUTSIDE && high & QUAD != 0)
    }

    /// The number of a T-junction among all T-junctions, and its side with the four smaller cells (0 low, 1 high).
    #[inline]
    pub fn junction(&self, face: usize) -> Option<(usize, usize)> {
        let Face { low, high } = self.faces[face];
        let is_quad = |code: u32| code != OUTSIDE && code & QUAD != 0;
        let side = is_quad(high) as usize;
        let code = [low, high][side];
        is_quad(code).then_some(((code & !QUAD) as usize, side))
    }

    /// Number of T-junctions.
    #[inline]
    pub fn junction_count(&self) -> usize {
        self.quads.len()
    }

    /// Number of nodes.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Where nodes lie: the low corner of these places. A node's level is that of the finest leaf around it.
    #[inline]
    pub fn nodes(&self) -> &[Cell] {
        &self.nodes
    }

    /// Position of a node, metres.
    #[inline]
    pub fn node_position(&self, node: usize) -> Vec3 {
        let Cell { at, level } = self.nodes[node];
        let [x, y, z] = each(|a| at[a] as f32);
        self.shape.min + self.shape.dx_of(level as usize) * Vec3::new(x, y, z)
    }

    /// The eight leaves around each node, x fastest, low side first: [`OUTSIDE`] beyond walls, a leaf larger
    /// than the finest around the node several times where it fills several octants.
    #[inline]
    pub fn node_cells(&self) -> &[[u32; 8]] {
        &self.node_cells
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> usize {
        let cells = size_of::<Cell>() * self.leaves.capacity()
            + 24 * (self.cell_faces.capacity() + self.across.capacity());
        let faces = size_of::<Cell>() * self.face_places.capacity()
            + size_of::<Face>() * self.faces.capacity()
            + 16 * self.quads.capacity();
        let nodes = size_of::<Cell>() * self.nodes.capacity() + 32 * self.node_cells.capacity();
        cells + faces + nodes + self.levels.iter().map(level::Level::bytes).sum::<usize>()
    }

    /// The four nodes of a face that is as large as cell `at` of `level`, on that cell's low side,
    /// counter-clockwise seen from the high side.
    #[inline]
    pub fn face_nodes(&self, level: usize, axis: Axis, at: [u32; 3]) -> [u32; 4] {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[s, t]| {
            let mut corner = at;
            corner[b] += s;
            corner[c] += t;
            self.node_at(level, corner).expect("a corner of a leaf")
        })
    }
}

/// Coordinates as they are looked up.
#[inline(always)]
fn wide(at: [u16; 3]) -> [u32; 3] {
    each(|a| at[a] as u32)
}

/// `[f(0), f(1), f(2)]`. The standard library's maps over arrays are not always inlined, and cost more than
/// the lookups.
#[inline(always)]
fn each<T>(f: impl Fn(Axis) -> T) -> [T; 3] {
    [f(0), f(1), f(2)]
}
