//! The tracker's nodes: signs, crossed edges and the numbers of the vertices on them.
//!
//! Every crossed edge of the tracker carries one vertex. Its number is a rank: a prefix per 64 nodes and a
//! count of the bits before it. No hash table is needed, the result does not depend on threads, and a node
//! costs one byte.

use crate::mesh::VertexKind;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::{Lattice, UniformGrid};

/// Liquid as the tracker sees it: phi at the nodes of a grid that nests in the simulation grid.
#[derive(Clone, Copy, Debug)]
pub struct Tracker<'a> {
    /// The simulation grid.
    pub grid: UniformGrid,
    /// Tracker cells along the edge of a cell, 2 to 8 (1 is allowed).
    pub factor: usize,
    /// Signed distance to the surface in metres, negative in the liquid, at the tracker's nodes.
    pub phi_node: &'a [f32],
}

impl Tracker<'_> {
    /// The tracker's nodes.
    pub fn nodes(&self) -> Lattice {
        Lattice {
            size: self.grid.cells.map(|n| n * self.factor + 1),
            origin: self.grid.min,
            spacing: self.grid.dx / self.factor as f32,
        }
    }
}

/// What a cell of the simulation grid holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CellClass {
    /// Air at all of its nodes.
    #[default]
    Empty,
    /// Liquid at all of its nodes.
    Full,
    /// Both.
    Cut,
    /// Solid triangles lie in it.
    Solid,
}

const LIQUID: u8 = 1 << 4;
const TRACKER_NODE: u8 = 3;
const VERTEX_BITS: u64 = 0x0f0f_0f0f_0f0f_0f0f;
const BLOCK: usize = 64;

/// Signs and vertex numbers. Kept from step to step as scratch.
#[derive(Clone, Debug, Default)]
pub struct NodeFlags {
    /// Bits 0 to 2: the edge towards the next node along x, y, z is crossed. Bit 3: the node is a vertex.
    /// Bit 4: liquid.
    flags: Vec<u8>,
    /// Vertices before each block of 64 nodes, and all at the end.
    prefix: Vec<u32>,
}

impl NodeFlags {
    /// Is the node liquid?
    #[inline]
    pub fn is_liquid(&self, node: usize) -> bool {
        self.flags[node] & LIQUID != 0
    }

    /// Signs of the fine cell whose low corner is `node`, as an index of [`crate::cases::CASES`].
    #[inline]
    pub fn case(&self, node: usize, [_, sy, sz]: [usize; 3]) -> u8 {
        let pair = |n: usize| (self.flags[n] >> 4 & 1) | (self.flags[n + 1] >> 3 & 2);
        pair(node) | pair(node + sy) << 2 | pair(node + sz) << 4 | pair(node + sy + sz) << 6
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.prefix.last().copied().unwrap_or(0) as usize
    }

    /// Number of the vertex on the edge that leaves `node` along `axis` (0 to 2), or on the node itself (3).
    #[inline]
    pub fn vertex(&self, node: usize, axis: usize) -> u32 {
        debug_assert!(self.flags[node] >> axis & 1 == 1, "no vertex there");
        let block = node / BLOCK;
        let bytes = &self.flags[block * BLOCK..(block + 1) * BLOCK];
        let word = |n: usize| {
            u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().expect("eight bytes")) & VERTEX_BITS
        };
        let (last, bit) = (node % BLOCK / 8, node % 8 * 8 + axis);
        let before: u32 = (0..last).map(|n| word(n).count_ones()).sum();
        self.prefix[block] + before + (word(last) & ((1 << bit) - 1)).count_ones()
    }

    /// Number of the vertex on a node.
    #[inline]
    pub fn node_vertex(&self, node: usize) -> u32 {
        self.vertex(node, TRACKER_NODE as usize)
    }

    /// Signs of all nodes and classes of all cells; cells marked in `is_solid` become [`CellClass::Solid`].
    pub fn classify(&mut self, classes: &mut Vec<CellClass>, tracker: &Tracker, is_solid: &[bool]) {
        self.find_signs(tracker);
        classes.clear();
        classes.resize(tracker.grid.cell_count(), CellClass::Empty);
        self.find_classes(classes, tracker, is_solid);
        self.mark_tracker_nodes(classes, tracker);
        let counts = parallel::map_indices(self.flags.len() / BLOCK, |b| {
            let words = self.flags[b * BLOCK..(b + 1) * BLOCK].chunks_exact(8);
            let bits = |w: &[u8]| u64::from_le_bytes(w.try_into().expect("eight bytes")) & VERTEX_BITS;
            words.map(|w| bits(w).count_ones()).sum::<u32>()
        });
        self.prefix.clear();
        self.prefix.push(0);
        let mut sum = 0;
        self.prefix.extend(counts.iter().map(|c| {
            sum += c;
            sum
        }));
    }

    fn find_signs(&mut self, tracker: &Tracker) {
        let nodes = tracker.nodes();
        let phi = tracker.phi_node;
        assert_eq!(phi.len(), nodes.len(), "one phi per node of the tracker");
        let [nx, ny, nz] = nodes.size;
        self.flags.clear();
        self.flags.resize(nodes.len().next_multiple_of(BLOCK), 0);
        parallel::for_each_chunk_mut(&mut self.flags[..nodes.len()], nodes.slab(), |k, slab| {
            for j in 0..ny {
                let here = nx * (j + ny * k);
                let row = |start: usize| &phi[start..start + nx];
                let own = row(here);
                let up_y = row(if j + 1 < ny { here + nx } else { here });
                let up_z = row(if k + 1 < nz { here + nx * ny } else { here });
                let out = &mut slab[nx * j..nx * (j + 1)];
                for i in 0..nx {
                    let liquid = own[i] < 0.0;
                    let crossed = |up: f32| ((up < 0.0) != liquid) as u8;
                    out[i] = liquid as u8 * LIQUID + crossed(up_y[i]) * 2 + crossed(up_z[i]) * 4;
                }
                for i in 0..nx - 1 {
                    out[i] |= (out[i] ^ out[i + 1]) >> 4 & 1;
                }
            }
        });
    }

    fn find_classes(&self, classes: &mut [CellClass], tracker: &Tracker, is_solid: &[bool]) {
        let (r, [nx, ny, _]) = (tracker.factor, tracker.grid.cells);
        let nodes = tracker.nodes();
        parallel::for_each_chunk_mut(classes, nx, |row, out| {
            let (j, k) = (row % ny, row / ny);
            for (i, class) in out.iter_mut().enumerate() {
                let (mut all, mut any) = (LIQUID, 0);
                for (b, c) in (0..=r).flat_map(|c| (0..=r).map(move |b| (b, c))) {
                    let start = nodes.index(r * i, r * j + b, r * k + c);
                    for flag in &self.flags[start..=start + r] {
                        all &= flag;
                        any |= flag;
                    }
                }
                *class = match (is_solid.get(nx * row + i), all & LIQUID, any & LIQUID) {
                    (_, _, 0) => CellClass::Empty,
                    (Some(true), ..) => CellClass::Solid,
                    (_, 0, _) => CellClass::Cut,
                    _ => CellClass::Full,
                };
            }
        });
    }

    /// Liquid nodes on faces of the grid become vertices where a cell beside them is not full.
    fn mark_tracker_nodes(&mut self, classes: &[CellClass], tracker: &Tracker) {
        let (r, cells) = (tracker.factor, tracker.grid.cells);
        let nodes = tracker.nodes();
        let [nx, ny, _] = nodes.size;
        // Cells whose closure holds the tracker's coordinate `n` along an axis.
        let beside = |n: usize, axis: usize| {
            let low = if n.is_multiple_of(r) { (n / r).saturating_sub(1) } else { n / r };
            low..=(n / r).min(cells[axis] - 1)
        };
        parallel::for_each_chunk_mut(&mut self.flags[..nodes.len()], nodes.slab(), |k, slab| {
            let mut has_cut = vec![false; cells[0]];
            for j in 0..ny {
                has_cut.fill(false);
                for (b, c) in beside(k, 2).flat_map(|c| beside(j, 1).map(move |b| (b, c))) {
                    let start = cells[0] * (b + cells[1] * c);
                    for (has, class) in has_cut.iter_mut().zip(&classes[start..start + cells[0]]) {
                        *has |= matches!(class, CellClass::Cut | CellClass::Solid);
                    }
                }
                let step = if j.is_multiple_of(r) || k.is_multiple_of(r) { 1 } else { r };
                let out = &mut slab[nx * j..nx * (j + 1)];
                for i in (0..nx).step_by(step) {
                    if out[i] & LIQUID != 0 && beside(i, 0).any(|a| has_cut[a]) {
                        out[i] |= 1 << TRACKER_NODE;
                    }
                }
            }
        });
    }

    /// Positions, in cells, and kinds of all vertices; returns how many were held off the ends of their
    /// edges.
    pub fn place(&self, vertices: &mut Vec<DVec3>, kinds: &mut Vec<VertexKind>, tracker: &Tracker) -> usize {
        let nodes = tracker.nodes();
        let blocks_per_chunk = 64;
        let chunks = parallel::chunk_count(self.flags.len() / BLOCK, blocks_per_chunk);
        let parts = parallel::map_indices(chunks, |chunk| {
            let range = parallel::chunk_range(chunk, blocks_per_chunk * BLOCK, nodes.len());
            let (mut part, mut clamped) = (Vec::new(), 0);
            for node in range.filter(|&n| self.flags[n] & 0xf != 0) {
                let at = nodes.coordinates(node);
                for axis in (0..4).filter(|&a| self.flags[node] >> a & 1 == 1) {
                    part.push(placed(tracker, &nodes, (node, at), axis));
                    clamped += (axis < 3 && is_clamped(tracker, &nodes, node, axis)) as usize;
                }
            }
            (part, clamped)
        });
        vertices.clear();
        kinds.clear();
        let mut all_clamped = 0;
        for (part, clamped) in parts {
            all_clamped += clamped;
            vertices.extend(part.iter().map(|p| p.0));
            kinds.extend(part.iter().map(|p| p.1));
        }
        all_clamped
    }
}

/// Vertices stay this far from the ends of their edges, in tracker cells. Where phi is zero at a node, as in
/// every pool whose surface lies on the grid, triangles would otherwise lie in faces of the grid and liquid
/// layers would have no thickness.
pub const LEAST_FRACTION: f64 = 1e-5;

/// Part of the way from the low to the high end of a crossed edge, where phi vanishes.
#[inline]
pub(crate) fn crossing(low: f32, high: f32) -> f64 {
    let (low, high) = (low as f64, high as f64);
    let t = low / (low - high);
    // Only infinite or unknown phi is not finite here: its sign is all that is known.
    if t.is_finite() { t.clamp(LEAST_FRACTION, 1.0 - LEAST_FRACTION) } else { 0.5 }
}

fn is_clamped(tracker: &Tracker, nodes: &Lattice, node: usize, axis: usize) -> bool {
    let t = crossing(tracker.phi_node[node], tracker.phi_node[node + nodes.stride(axis)]);
    t == LEAST_FRACTION || t == 1.0 - LEAST_FRACTION
}

fn placed(
    tracker: &Tracker,
    nodes: &Lattice,
    (node, at): (usize, [usize; 3]),
    axis: usize,
) -> (DVec3, VertexKind) {
    let r = tracker.factor;
    let mut x = DVec3::new(at[0] as f64, at[1] as f64, at[2] as f64);
    let on_plane = |a: usize| at[a].is_multiple_of(r) as usize;
    if axis == TRACKER_NODE as usize {
        let on_all = (0..3).map(on_plane).sum::<usize>() == 3;
        return (x / r as f64, if on_all { VertexKind::Grid } else { VertexKind::Tracker });
    }
    x[axis] += crossing(tracker.phi_node[node], tracker.phi_node[node + nodes.stride(axis)]);
    let planes = on_plane((axis + 1) % 3) + on_plane((axis + 2) % 3);
    (x / r as f64, [VertexKind::Geometry, VertexKind::Face, VertexKind::Edge][planes])
}
