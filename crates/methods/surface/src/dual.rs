//! Dual marching cubes over the padded lattice: one vertex per loop in a cell, one quad per crossed edge.

use crate::cases::{CASES, JOINED};
use crate::place::{CellSamples, DepthAt, Sample, WallFlags};
use crate::signs::{SignBits, for_each_bit, next_bits};
use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::Lattice;

/// The cut cells of one z-slab in (j, i) order, found again by counting bits.
pub struct SlabCells {
    words: usize,
    /// One bit per cell of the slab: is it cut?
    cut: Vec<u64>,
    /// Cut cells before each word.
    before: Vec<u32>,
    /// Case (with [`JOINED`]) of each cut cell.
    case: Vec<u16>,
    /// First vertex of each cut cell, counted from the slab's first.
    first_vertex: Vec<u32>,
    /// Vertices of the slab.
    pub positions: Vec<Vec3>,
    /// Walls each vertex lies on.
    pub flags: Vec<WallFlags>,
}

impl SlabCells {
    /// Finds the cut cells of padded slab `k` and places their vertices.
    pub fn build(
        lattice: &Lattice,
        signs: &SignBits,
        k: usize,
        (sample_at, depth_at): (&(impl Fn([usize; 3]) -> Sample + Sync), &DepthAt),
    ) -> SlabCells {
        let (words, rows) = (signs.words(), signs.size[1] - 1);
        let mut slab = SlabCells {
            words,
            cut: vec![0; words * rows],
            before: vec![0; words * rows],
            case: vec![],
            first_vertex: vec![],
            positions: vec![],
            flags: vec![],
        };
        for j in 0..rows {
            let four = [signs.row(j, k), signs.row(j + 1, k), signs.row(j, k + 1), signs.row(j + 1, k + 1)];
            for w in 0..words {
                // A cell is cut when its corners are neither all liquid nor all air; the last padded sample
                // starts no cell, and being air with air behind it, is never cut.
                let (mut any, mut all) = (0u64, !0u64);
                for row in four {
                    let (here, next) = (row[w], next_bits(row, w));
                    any |= here | next;
                    all &= here & next;
                }
                let cut = any & !all;
                slab.cut[j * words + w] = cut;
                slab.before[j * words + w] = slab.case.len() as u32;
                for_each_bit(cut, |bit| {
                    slab.add_cell(lattice, signs, [64 * w + bit, j, k], (sample_at, depth_at))
                });
            }
        }
        slab
    }

    fn add_cell(
        &mut self,
        lattice: &Lattice,
        signs: &SignBits,
        cell: [usize; 3],
        (sample_at, depth_at): (&(impl Fn([usize; 3]) -> Sample + Sync), &DepthAt),
    ) {
        let corner_signs = signs.cell(cell[0], cell[1], cell[2]);
        let number = corner_signs | if is_joined(signs, cell, corner_signs) { JOINED } else { 0 };
        let case = &CASES[number];
        self.case.push(number as u16);
        self.first_vertex.push(self.positions.len() as u32);
        let samples = CellSamples::gather(lattice, cell, sample_at);
        for which in 0..case.loops {
            let (x, flags) = samples.vertex(corner_signs, case, which, depth_at);
            self.positions.push(x);
            self.flags.push(flags);
        }
    }

    /// The vertex (counted from the slab's first) of the loop through `edge` of cut cell (i, j).
    #[inline]
    fn vertex(&self, i: usize, j: usize, edge: usize) -> u32 {
        let word = j * self.words + i / 64;
        let below = self.cut[word] & ((1u64 << (i % 64)) - 1);
        let cell = (self.before[word] + below.count_ones()) as usize;
        self.first_vertex[cell] + CASES[self.case[cell] as usize].loop_of_edge[edge] as u32
    }
}

/// Must the cell join the liquid corners of its ambiguous face? See [`crate::cases`].
fn is_joined(signs: &SignBits, cell: [usize; 3], corner_signs: usize) -> bool {
    let Some(face) = CASES[corner_signs].pinching_face else { return false };
    let (axis, side) = (face as usize / 2, face as usize % 2);
    let mut other = cell;
    // A face with liquid corners is never on the hull of the padded lattice: the neighbour exists.
    other[axis] = if side == 1 { cell[axis] + 1 } else { cell[axis] - 1 };
    CASES[signs.cell(other[0], other[1], other[2])].pinching_face == Some(face ^ 1)
}

/// Triangles of all crossed edges that start in padded sample slab `k`. `first` gives each cell slab's first
/// vertex, `positions` all vertices.
pub fn slab_triangles(
    signs: &SignBits,
    slabs: &[SlabCells],
    first: &[u32],
    positions: &[Vec3],
    k: usize,
) -> Vec<[u32; 3]> {
    let mut triangles = vec![];
    for j in 0..signs.size[1] - 1 {
        let row = signs.row(j, k);
        let above = [signs.row(j + 1, k), signs.row(j, k + 1)];
        for w in 0..signs.words() {
            let others = [next_bits(row, w), above[0][w], above[1][w]];
            for axis in AXES {
                for_each_bit(row[w] ^ others[axis], |bit| {
                    let sample = [64 * w + bit, j, k];
                    let corner = |cell: [usize; 3], edge| {
                        first[cell[2]] + slabs[cell[2]].vertex(cell[0], cell[1], edge)
                    };
                    let mut quad = quad_around(sample, axis, corner);
                    if row[w] >> bit & 1 == 0 {
                        quad.reverse(); // liquid on the high side: the surface faces down the axis
                    }
                    triangles.extend(split(quad, positions));
                });
            }
        }
    }
    triangles
}

/// The vertices in the four cells around the edge from padded `sample` along `axis`, counter-clockwise seen
/// from the edge's high end.
#[inline]
fn quad_around(sample: [usize; 3], axis: Axis, corner: impl Fn([usize; 3], usize) -> u32) -> [u32; 4] {
    let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
    [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(db, dc)| {
        let mut cell = sample;
        cell[b] = sample[b] + db - 1;
        cell[c] = sample[c] + dc - 1;
        // Seen from the cell, the edge lies on the other side.
        let (u, v) = if b < c { (1 - db, 1 - dc) } else { (1 - dc, 1 - db) };
        corner(cell, 4 * axis + u + 2 * v)
    })
}

/// Two triangles, cut along the shorter diagonal.
#[inline]
fn split([a, b, c, d]: [u32; 4], positions: &[Vec3]) -> [[u32; 3]; 2] {
    let p = |v: u32| positions[v as usize];
    if p(a).distance_squared(p(c)) <= p(b).distance_squared(p(d)) {
        [[a, b, c], [a, c, d]]
    } else {
        [[b, c, d], [b, d, a]]
    }
}

/// Joins the slabs' vertices in order; returns them with each slab's first vertex.
pub fn join_vertices(slabs: &mut [SlabCells]) -> (Vec<Vec3>, Vec<WallFlags>, Vec<u32>) {
    let total = slabs.iter().map(|s| s.positions.len()).sum();
    let (mut positions, mut flags) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let mut first = Vec::with_capacity(slabs.len());
    for slab in slabs {
        first.push(positions.len() as u32);
        positions.extend(std::mem::take(&mut slab.positions));
        flags.extend(std::mem::take(&mut slab.flags));
    }
    (positions, flags, first)
}

/// All triangles, slab by slab in parallel, in slab order.
pub fn triangles(signs: &SignBits, slabs: &[SlabCells], first: &[u32], positions: &[Vec3]) -> Vec<[u32; 3]> {
    parallel::map_indices(slabs.len(), |k| slab_triangles(signs, slabs, first, positions, k)).concat()
}
