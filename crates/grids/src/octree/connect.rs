//! Fills the flat arrays from the levels' sets.

use super::find::number;
use super::level::{Block, Level};
use super::{Cell, Face, OUTSIDE, Octree, QUAD, Shape, bits, each, wide};
use fluvial_foundation::{AXES, Axis, parallel};

/// Blocks that one task fills.
const BLOCKS: usize = 32;

/// The tree over finished levels.
pub fn build(shape: Shape, levels: Vec<Level>) -> Octree {
    let starts = |count: &dyn Fn(&Block) -> u32, base: usize| {
        let mut starts = vec![base];
        for level in &levels {
            let count: usize = level.blocks.iter().map(|b| count(b) as usize).sum();
            starts.push(starts.last().expect("a start") + count);
        }
        starts
    };
    let leaf_start = starts(&|b| b.leaves.count_ones(), 0);
    let mut face_start: [Vec<usize>; 3] = Default::default();
    for axis in AXES {
        let base = if axis == 0 { 0 } else { face_start[axis - 1][shape.levels] };
        face_start[axis] = starts(&|b| b.faces[axis].count_ones(), base);
    }
    let leaf_count = leaf_start[shape.levels];
    let face_count = face_start[2][shape.levels];
    let node_count: usize =
        levels.iter().flat_map(|l| &l.blocks).map(|b| b.corners.count_ones() as usize).sum();
    assert!(leaf_count.max(face_count) < QUAD as usize, "cells and faces are counted in 31 bits");
    let mut tree = Octree { shape, levels, leaf_start, face_start, ..Octree::default() };

    tree.leaves = vec![Cell::default(); leaf_count];
    let mut out = std::mem::take(&mut tree.leaves);
    tree.by_blocks(&mut out, |b| b.leaves, |_, place| place);
    tree.leaves = out;

    let mut places = vec![Cell::default(); face_count];
    let mut faces = vec![Face::default(); face_count];
    for axis in AXES {
        let range = tree.faces(axis);
        tree.by_blocks(&mut places[range.clone()], |b| b.faces[axis], |_, place| place);
        tree.by_blocks(
            &mut faces[range],
            |b| b.faces[axis],
            |around, place| tree.connect_face(around, axis, place),
        );
    }
    (tree.face_places, tree.faces) = (places, faces);
    let mut quads = vec![];
    for axis in AXES {
        let blocks = tree.levels.iter().flat_map(|l| &l.blocks);
        let count = blocks.map(|b| b.junctions[axis].count_ones() as usize).sum();
        let mut out = vec![[0; 4]; count];
        tree.by_blocks(&mut out, |b| b.junctions[axis], |_, place| tree.small_cells(axis, place));
        quads.append(&mut out);
    }
    tree.quads = quads;

    let mut cell_faces = vec![[0; 6]; leaf_count];
    tree.by_blocks(&mut cell_faces, |b| b.leaves, |around, place| tree.connect_cell(around, place));
    tree.cell_faces = cell_faces;
    let mut across = vec![[0; 6]; leaf_count];
    tree.by_blocks(&mut across, |b| b.leaves, |around, place| tree.connect_neighbours(around, place));
    tree.across = across;

    let (mut nodes, mut node_cells) = (vec![Cell::default(); node_count], vec![[0; 8]; node_count]);
    tree.by_blocks(&mut nodes, |b| b.corners, |_, place| place);
    tree.by_blocks(&mut node_cells, |b| b.corners, |around, place| tree.connect_node(around, place));
    (tree.nodes, tree.node_cells) = (nodes, node_cells);
    tree
}

/// A block and the 26 around it, found once for all of its members.
struct Around<'a> {
    blocks: [&'a Block; 27],
    base: [u32; 3],
}

impl<'a> Around<'a> {
    fn new(level: &'a Level, block: &'a Block) -> Self {
        let mut blocks = [block; 27];
        for (n, out) in blocks.iter_mut().enumerate().filter(|&(n, _)| n != 13) {
            *out = level.neighbour(block.at, [n as i32 % 3 - 1, n as i32 / 3 % 3 - 1, n as i32 / 9 - 1]);
        }
        Around { blocks, base: each(|a| 4 * block.at[a]) }
    }

    /// The block of a place in it or next to it.
    #[inline(always)]
    fn of(&self, at: [u32; 3]) -> &'a Block {
        let step = |a: Axis| (at[a].wrapping_sub(self.base[a]).wrapping_add(4) >> 2) as usize;
        self.blocks[step(0) + 3 * step(1) + 9 * step(2)]
    }

    #[inline(always)]
    fn leaf(&self, at: [u32; 3]) -> Option<u32> {
        let block = self.of(at);
        number(block.leaves, block.first_leaf, at)
    }

    #[inline(always)]
    fn face(&self, axis: Axis, at: [u32; 3]) -> Option<u32> {
        let block = self.of(at);
        number(block.faces[axis], block.first_face[axis], at)
    }
}

impl Octree {
    /// `out = value(surroundings, place)` for the members of a set in every block, in the order of their
    /// numbers.
    fn by_blocks<T: Send>(
        &self,
        out: &mut [T],
        set: impl Fn(&Block) -> u64 + Sync,
        value: impl Fn(&Around, Cell) -> T + Sync,
    ) {
        let mut tasks = vec![];
        let mut rest = out;
        for (number, level) in self.levels.iter().enumerate() {
            for blocks in level.blocks.chunks(BLOCKS) {
                let count: u32 = blocks.iter().map(|b| set(b).count_ones()).sum();
                let (own, after) = rest.split_at_mut(count as usize);
                rest = after;
                tasks.push((number, blocks, own));
            }
        }
        parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| {
            let (level, blocks, out) = &mut task[0];
            let mut out = out.iter_mut();
            for block in blocks.iter().filter(|b| set(b) != 0) {
                let around = Around::new(&self.levels[*level], block);
                for bit in bits::members(set(block)) {
                    let p = bits::place_of(bit);
                    let at = each(|a| (around.base[a] + p[a]) as u16);
                    *out.next().expect("one value per member") =
                        value(&around, Cell { at, level: *level as u8 });
                }
            }
        });
    }

    #[inline(always)]
    fn connect_face(&self, around: &Around, axis: Axis, place: Cell) -> Face {
        let cells = self.levels[place.level as usize].cells;
        let high = wide(place.at);
        let mut low = high;
        low[axis] = low[axis].wrapping_sub(1);
        let side = |at: [u32; 3]| {
            if at[axis] as usize >= cells[axis] {
                return OUTSIDE;
            }
            around.leaf(at).unwrap_or_else(|| {
                let block = around.of(high);
                QUAD | (block.first_junction[axis] + bits::rank(block.junctions[axis], bits::bit_of(high)))
            })
        };
        Face { low: side(low), high: side(high) }
    }

    /// The four small cells of a T-junction.
    fn small_cells(&self, axis: Axis, place: Cell) -> [u32; 4] {
        let at = wide(place.at);
        let level = place.level as usize;
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        let high = self.is_divided(level, at);
        [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[s, t]| {
            let mut fine = each(|a| 2 * at[a]);
            fine[axis] -= !high as u32;
            fine[b] += s;
            fine[c] += t;
            self.leaf_at(level - 1, fine).expect("cells beside a face differ by one level at most")
        })
    }

    #[inline(always)]
    fn connect_cell(&self, around: &Around, place: Cell) -> [u32; 6] {
        let mut faces = [0; 6];
        for (side, out) in faces.iter_mut().enumerate() {
            let axis = side / 2;
            let mut face = wide(place.at);
            face[axis] += side as u32 % 2;
            *out = around.face(axis, face).unwrap_or_else(|| {
                let parent = each(|a| face[a] >> 1);
                self.face_at(place.level as usize + 1, axis, parent).expect("a larger neighbour's face")
            });
        }
        faces
    }

    /// Codes of what lies across a leaf's sides, as faces have them.
    #[inline(always)]
    fn connect_neighbours(&self, around: &Around, place: Cell) -> [u32; 6] {
        let level = place.level as usize;
        let cells = self.levels[level].cells;
        let mut codes = [OUTSIDE; 6];
        for (side, out) in codes.iter_mut().enumerate() {
            let (axis, high) = (side / 2, side as u32 % 2);
            let (mut next, mut face) = (wide(place.at), wide(place.at));
            next[axis] = next[axis].wrapping_add(2 * high).wrapping_sub(1);
            face[axis] += high;
            if next[axis] as usize >= cells[axis] {
                continue;
            }
            *out = around.leaf(next).unwrap_or_else(|| {
                let (bit, block) = (bits::bit_of(face), around.of(face));
                if (block.junctions[axis] >> bit) & 1 != 0 {
                    return QUAD | (block.first_junction[axis] + bits::rank(block.junctions[axis], bit));
                }
                let parent = each(|a| next[a] >> 1);
                self.leaf_at(level + 1, parent).expect("a larger neighbour")
            });
        }
        codes
    }

    #[inline(always)]
    fn connect_node(&self, around: &Around, place: Cell) -> [u32; 8] {
        let level = place.level as usize;
        let cells = self.levels[level].cells;
        let node = wide(place.at);
        let mut leaves = [OUTSIDE; 8];
        for (octant, out) in leaves.iter_mut().enumerate() {
            let at = each(|a| (node[a] + ((octant as u32 >> a) & 1)).wrapping_sub(1));
            let outside = |a: Axis| at[a] as usize >= cells[a];
            if outside(0) | outside(1) | outside(2) {
                continue;
            }
            *out = around.leaf(at).unwrap_or_else(|| {
                let parent = each(|a| at[a] >> 1);
                self.leaf_at(level + 1, parent).expect("cells around a node differ by one level at most")
            });
        }
        leaves
    }
}
