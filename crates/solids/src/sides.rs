//! Sides of thin solids on a uniform grid, see [`Sides`].

use crate::{open_cell_volume, open_face_area};
use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::sides::{LOW_CORNERS, NEAR_CELLS, shared_corners};
use fluvial_grids::{Lattice, Sides, UniformGrid};

/// The corners of a cell in a wall two cells thick are less deep than this on average, cells.
const DEEPEST_CELLS: f32 = 1.0;

/// Solids of this thickness have no sides, cells: walls of up to two do.
const THICK_CELLS: f32 = 3.0;

/// Two sides of a wall face away from each other: the cosine between them is less than this. Those of a wedge of 75
/// degrees and more, and of bumps, do not.
const OPPOSITE: f32 = -0.3;
/// Single nodes on the two sides of a wall face away from each other as its flat parts do, which is more: beside the edges of a box
/// single normals turn from one face to the next, and those at two edges may be as far apart as those of a wedge.
const OPPOSITE_NODES: f32 = -0.8;
/// Normals whose mean is shorter than this show no direction.
const SHORTEST_MEAN: f32 = 0.2;

/// What [`find_sides`] works in; kept from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideSearch {
    /// Bit axis: the grid edge from the node up along the axis meets a solid although both ends are open.
    crossed_node: Vec<u8>,
    /// Closed cells of walls about one cell thick.
    thin_cell: Vec<u8>,
    /// Cells that a solid divides, and their parts on the other sides.
    pub(crate) divided: Vec<Divided>,
}

impl SideSearch {
    /// Does an edge of a cell meet a solid although both its ends are open?
    pub(crate) fn is_crossed(&self, at: [usize; 3], nodes: &Lattice) -> bool {
        let base = nodes.index(at[0], at[1], at[2]);
        (0..8).any(|corner| {
            let offset: usize = AXES.iter().map(|&a| (corner >> a & 1) * nodes.stride(a)).sum();
            let of_cell = AXES.iter().fold(0, |bits, &a| bits | ((corner >> a & 1 == 0) as u8) << a);
            self.crossed_node[base + offset] & of_cell != 0
        })
    }
}

/// A part of a cell on a side that is not the cell's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Divided {
    pub cell: u32,
    /// The part's open corners; 0 for a cell whose other parts have all been listed.
    pub corners: u8,
}

/// Finds the sides of thin solids from the distance at the nodes; `is_crossed(a, b)` says whether the segment
/// between two open nodes meets a solid, and all solids are at least `thickness_m` thick. `out` is empty when no face is barred.
///
/// Open corners of a cell that grid edges join without meeting a solid lie on one side; the cell belongs to
/// the side that holds most of it. A face is barred when its cells have no own corner in common there, and
/// around closed cells between two sides.
/// Tests: `nothing_passes_a_closed_wall_of_any_thickness`, `thick_solids_have_no_sides`.
pub(crate) fn find_sides(
    out: &mut Sides,
    search: &mut SideSearch,
    phi_node: &[f32],
    (is_crossed, thickness_m): (impl Fn(Vec3, Vec3) -> bool + Sync + Send, f32),
    grid: &UniformGrid,
) {
    let (nodes, cells) = (grid.nodes(), grid.cell_centers());
    search.divided.clear();
    find_crossed_edges(&mut search.crossed_node, phi_node, is_crossed, &nodes);
    if thickness_m >= THICK_CELLS * grid.dx {
        out.own_corners.clear();
        out.barred.clear();
        return;
    }
    let crossed = &search.crossed_node;
    let corners = Corners { nodes: &nodes, phi_node, crossed_node: crossed };
    out.own_corners.resize(cells.len(), 0);
    cells.for_each_mut(&mut out.own_corners, |_, at, own| *own = corners.largest_part(at));
    let own = &out.own_corners;
    search.thin_cell.resize(cells.len(), 0);
    cells.for_each_mut(&mut search.thin_cell, |cell, at, thin| {
        *thin = (own[cell] == 0 && corners.is_between_sides(at)) as u8;
    });
    let thin = &search.thin_cell;
    out.barred.resize(cells.len(), 0);
    cells.for_each_mut(&mut out.barred, |cell, at, barred| {
        *barred = (0..6).fold(0, |bits, face| {
            let (axis, up) = (face / 2, face % 2 == 1);
            let other = neighbour(&cells, at, cell, axis, up);
            let is_barred = |other: usize| match (own[cell], own[other]) {
                (0, 0) => false,
                (0, _) => thin[cell] != 0,
                (_, 0) => thin[other] != 0,
                (a, b) if shared_corners(a, b, axis, up) != 0 => false,
                // The question is always asked from the lower cell, so that both cells get the same answer.
                (a, b) if up => corners.are_opposite(at, axis, [a, b]),
                (a, b) => corners.are_opposite(cells.coordinates(other), axis, [b, a]),
            };
            bits | (other.is_some_and(is_barred) as u8) << face
        });
    });
    let any = parallel::map_indices(cells.size[2], |k| {
        out.barred[k * cells.slab()..(k + 1) * cells.slab()].iter().any(|&b| b != 0)
    });
    if !any.contains(&true) {
        out.own_corners.clear();
        out.barred.clear();
        return;
    }
    mark_near(&mut out.barred, &mut search.thin_cell, &cells);
    bar_closed_faces(&mut out.barred, (&out.own_corners, &search.thin_cell), &cells);
    let found = parallel::map_indices(cells.size[2], |k| {
        let range = k * cells.slab()..(k + 1) * cells.slab();
        let mut found = Vec::new();
        for cell in range {
            let at = cells.coordinates(cell);
            corners.other_parts(at, out.own_corners[cell], |corners| {
                found.push(Divided { cell: cell as u32, corners })
            });
        }
        found
    });
    search.divided.extend(found.into_iter().flatten());
}

/// The cell beside one, if there is one.
pub(crate) fn neighbour(cells: &Lattice, at: [usize; 3], cell: usize, axis: Axis, up: bool) -> Option<usize> {
    let stride = cells.stride(axis);
    match up {
        true => (at[axis] + 1 < cells.size[axis]).then(|| cell + stride),
        false => (at[axis] > 0).then(|| cell - stride),
    }
}

fn find_crossed_edges(
    crossed_node: &mut Vec<u8>,
    phi_node: &[f32],
    is_crossed: impl Fn(Vec3, Vec3) -> bool + Sync + Send,
    nodes: &Lattice,
) {
    // A solid between two nodes is at most their distance away from both together; the rest is rounding.
    let nearest = (1.0 + 1e-3) * nodes.spacing;
    crossed_node.resize(nodes.len(), 0);
    nodes.for_each_mut(crossed_node, |node, at, crossed| {
        *crossed = 0;
        if phi_node[node] <= 0.0 || phi_node[node] > nearest {
            return;
        }
        let x = nodes.position(at[0], at[1], at[2]);
        for axis in AXES.into_iter().filter(|&axis| at[axis] + 1 < nodes.size[axis]) {
            let other = phi_node[node + nodes.stride(axis)];
            if other > 0.0 && phi_node[node] + other <= nearest {
                let mut end = at;
                end[axis] += 1;
                *crossed |= (is_crossed(x, nodes.position(end[0], end[1], end[2])) as u8) << axis;
            }
        }
    });
}

/// The corners of cells and the edges between them.
struct Corners<'a> {
    nodes: &'a Lattice,
    phi_node: &'a [f32],
    crossed_node: &'a [u8],
}

impl Corners<'_> {
    /// Distances at the corners of a cell.
    fn phi(&self, at: [usize; 3]) -> [f32; 8] {
        self.nodes.corner_values(self.phi_node, self.nodes.index(at[0], at[1], at[2]))
    }

    /// Open corners, and per axis those on its low side whose edge meets a solid.
    fn open(&self, at: [usize; 3], phi: &[f32; 8]) -> (u8, [u8; 3]) {
        let base = self.nodes.index(at[0], at[1], at[2]);
        let (mut open, mut crossed) = (0u8, [0u8; 3]);
        for corner in 0..8 {
            open |= ((phi[corner] > 0.0) as u8) << corner;
            let offset: usize = AXES.iter().map(|&a| (corner >> a & 1) * self.nodes.stride(a)).sum();
            let bits = self.crossed_node[base + offset];
            AXES.iter().for_each(|&a| crossed[a] |= (bits >> a & 1) << corner);
        }
        (open, crossed.map(|c| c & open))
    }

    /// Runs `body` over the parts into which solids divide the open corners.
    fn for_each_part(&self, at: [usize; 3], phi: &[f32; 8], mut body: impl FnMut(u8)) {
        let (open, crossed) = self.open(at, phi);
        let mut rest = open;
        while rest != 0 {
            let mut part = rest & rest.wrapping_neg();
            loop {
                let mut grown = part;
                for axis in AXES {
                    let free = LOW_CORNERS[axis] & !crossed[axis];
                    grown |= (grown & free) << (1 << axis) & open;
                    grown |= grown >> (1 << axis) & free & open;
                }
                if grown == part {
                    break;
                }
                part = grown;
            }
            body(part);
            rest &= !part;
        }
    }

    /// The part of a cell's open corners that holds most of the cell.
    fn largest_part(&self, at: [usize; 3]) -> u8 {
        let phi = self.phi(at);
        // Far from solids, and deep in them, most cells are of one part.
        if phi.iter().all(|&phi| phi > self.nodes.spacing) {
            return 0xff;
        }
        let open = (0..8).fold(0, |open, n| open | ((phi[n] > 0.0) as u8) << n);
        if open == 0 {
            return 0;
        }
        let mut best = (0, f32::NEG_INFINITY);
        self.for_each_part(at, &phi, |part| {
            let volume = if part == open { 1.0 } else { open_cell_volume(signed(&phi, part)) };
            if volume > best.1 {
                best = (part, volume);
            }
        });
        best.0
    }

    /// The parts that are not the cell's own.
    fn other_parts(&self, at: [usize; 3], own: u8, mut body: impl FnMut(u8)) {
        if own != 0xff && own != 0 {
            self.for_each_part(at, &self.phi(at), |part| {
                if part != own {
                    body(part)
                }
            });
        }
    }

    /// Do the open nodes around a closed cell belong to different sides, as far as the 27 cells around tell? Walls of up
    /// to two cells are between two sides: neighbours across a corner and stencils of four cells reach through them. Nodes
    /// on the two faces of an edge of a thick solid, or around a bump, are on one side, though what joins them may be
    /// farther away.
    fn is_between_sides(&self, at: [usize; 3]) -> bool {
        if self.phi(at).iter().sum::<f32>() / 8.0 < -DEEPEST_CELLS * self.nodes.spacing {
            return false;
        }
        let (mut rest, mut normals) = (self.open_around(at).0, [None; 64]);
        let mut count = 0;
        while rest != 0 {
            let part = self.joined_around(at, rest & rest.wrapping_neg());
            if count > 0 || part != rest {
                normals[count] = self.mean_normal(
                    (0..64)
                        .filter(|n| part >> n & 1 == 1)
                        .map(|n| std::array::from_fn(|a| (at[a] + (n >> (2 * a) & 3)).wrapping_sub(1))),
                );
            }
            rest &= !part;
            count += 1;
        }
        match count {
            1 => self.has_opposite_nodes(at),
            _ => (1..count).any(|n| normals[..n].iter().any(|other| face_apart(normals[n], *other))),
        }
    }

    /// Do two of the open nodes around a closed cell face away from each other, with less than a thick solid between them? Within
    /// two cells of a rim the sides of a wall meet among the 27 cells around, and still nothing passes through the wall. The
    /// closed cell is between the two, and at least a cell wide in every direction; nodes in a gap between two solids face each
    /// other.
    fn has_opposite_nodes(&self, at: [usize; 3]) -> bool {
        let (open, mut found, mut count) = (self.open_around(at).0, [(Vec3::ZERO, Vec3::ZERO, 0.0); 64], 0);
        for n in (0..64).filter(|n| open >> n & 1 == 1) {
            let around = [n & 3, n >> 2 & 3, n >> 4];
            let node: [usize; 3] = std::array::from_fn(|a| (at[a] + around[a]).wrapping_sub(1));
            if let Some(normal) = self.mean_normal(std::iter::once(node)) {
                let cells = self.phi_node[self.nodes.index(node[0], node[1], node[2])] / self.nodes.spacing;
                found[count] = (Vec3::from_array(around.map(|a| a as f32)), normal, cells);
                count += 1;
            }
        }
        let is_wall_between = |(x, normal, x_cells): (Vec3, Vec3, f32),
                               (y, other, y_cells): (Vec3, Vec3, f32)| {
            let apart_cells = (x - y).dot((normal - other).normalize_or_zero());
            let is_thin = apart_cells > 1.0 && apart_cells - x_cells - y_cells < THICK_CELLS;
            is_thin && normal.dot(other) < OPPOSITE_NODES
        };
        (1..count).any(|n| found[..n].iter().any(|&other| is_wall_between(found[n], other)))
    }

    /// Do the own corners of a cell and of the one above, which have none in common, lie on different sides of a wall? They do
    /// where the two sides face away from each other, also near a rim: round the rim the sides meet, and through the closed face
    /// still nothing passes. (Told apart only where no way leads round, they let particles and traces through the last two
    /// cells below every rim.) At an edge of a thick solid they do not, though no way leads from one to the other nearby; at the edge
    /// of a box with thin walls they do, though their sides need not face away from each other.
    fn are_opposite(&self, at: [usize; 3], axis: Axis, [own, above]: [u8; 2]) -> bool {
        let mut high = at;
        high[axis] += 1;
        if !self.is_thick_around(at) {
            let here = (0..8).filter(|n| own >> n & 1 == 1);
            let start = here.fold(0, |bits, n| bits | 1 << node_bit([1; 3], n));
            let mut low = [1; 3];
            low[axis] += 1;
            let there =
                (0..8).filter(|n| above >> n & 1 == 1).fold(0, |bits, n| bits | 1 << node_bit(low, n));
            if self.joined_around(at, start) & there == 0 {
                return true;
            }
        }
        let normal = |low: [usize; 3], own: u8| {
            let of_side = (0..8).filter(|n| own >> n & 1 == 1);
            self.mean_normal(of_side.map(|n| std::array::from_fn(|a| low[a] + (n >> a & 1))))
        };
        face_apart(normal(at, own), normal(high, above))
    }

    /// Is a node of the 27 cells around as deep in a solid as no wall of two cells is?
    fn is_thick_around(&self, at: [usize; 3]) -> bool {
        let deepest_m = -DEEPEST_CELLS * self.nodes.spacing;
        (0..64).any(|n| {
            let p: [usize; 3] = std::array::from_fn(|a| (at[a] + (n >> (2 * a) & 3)).wrapping_sub(1));
            AXES.iter().all(|&a| p[a] < self.nodes.size[a])
                && self.phi_node[self.nodes.index(p[0], p[1], p[2])] < deepest_m
        })
    }

    /// The mean direction away from solids at some nodes, if they agree on one.
    fn mean_normal(&self, at_nodes: impl Iterator<Item = [usize; 3]>) -> Option<Vec3> {
        let (mut sum, mut count) = (Vec3::ZERO, 0.0);
        for at in at_nodes {
            let node = self.nodes.index(at[0], at[1], at[2]);
            // What lies behind a solid between two open nodes says nothing.
            let is_free = |node: usize, axis: Axis| self.crossed_node[node] >> axis & 1 == 0;
            let slope = AXES.map(|axis| {
                let stride = self.nodes.stride(axis);
                let is_above = at[axis] + 1 < self.nodes.size[axis] && is_free(node, axis);
                let is_below = at[axis] > 0 && is_free(node - stride, axis);
                let high = if is_above { node + stride } else { node };
                let low = if is_below { node - stride } else { node };
                (self.phi_node[high] - self.phi_node[low]) * if high - low > stride { 0.5 } else { 1.0 }
            });
            sum += Vec3::from_array(slope).normalize_or_zero();
            count += 1.0;
        }
        let mean = sum / count;
        (mean.length() > SHORTEST_MEAN).then(|| mean.normalize())
    }

    /// The open nodes of the 27 cells around, 4 x 4 x 4 nodes, a bit each, and per axis those whose edge upwards meets
    /// no solid.
    fn open_around(&self, at: [usize; 3]) -> (u64, [u64; 3]) {
        let (mut open, mut free) = (0u64, [0u64; 3]);
        for n in 0..64 {
            let p: [isize; 3] = std::array::from_fn(|a| at[a] as isize - 1 + (n >> (2 * a) & 3) as isize);
            if AXES.iter().any(|&a| p[a] < 0 || p[a] as usize >= self.nodes.size[a]) {
                continue;
            }
            let node = self.nodes.index(p[0] as usize, p[1] as usize, p[2] as usize);
            open |= ((self.phi_node[node] > 0.0) as u64) << n;
            for axis in AXES {
                let inner = n >> (2 * axis) & 3 < 3;
                free[axis] |= ((inner && self.crossed_node[node] >> axis & 1 == 0) as u64) << n;
            }
        }
        (open, free)
    }

    /// The open nodes around that edges join to `start`.
    fn joined_around(&self, at: [usize; 3], start: u64) -> u64 {
        let (open, free) = self.open_around(at);
        let mut part = start;
        loop {
            let mut grown = part;
            for (axis, free) in free.iter().enumerate() {
                grown |= (grown & free) << (1 << (2 * axis)) & open;
                grown |= grown >> (1 << (2 * axis)) & free & open;
            }
            if grown == part {
                return part;
            }
            part = grown;
        }
    }
}

/// The bit of a corner of the cell at `low` among 4 x 4 x 4 nodes.
fn node_bit(low: [usize; 3], corner: usize) -> usize {
    (0..3).map(|a| (low[a] + (corner >> a & 1)) << (2 * a)).sum()
}

/// Do two sides face away from each other? Where one shows no direction they may.
fn face_apart(one: Option<Vec3>, other: Option<Vec3>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one.dot(other) < OPPOSITE)
}

/// Corner distances as the cell's own side sees them: what lies on other sides is solid.
pub(crate) fn signed(phi: &[f32; 8], own: u8) -> [f32; 8] {
    std::array::from_fn(|n| if own >> n & 1 == 1 { phi[n] } else { -phi[n].abs() })
}

/// The same where `reach(corner, axis)` says how far the edge from an own corner along an axis is open, as a part
/// of the edge: between two open corners the wall has a thickness, and only its near face bounds the side. With
/// `in_solid_too`, corners in the solid are seen so as well: the face that they are nearest to may be the far one.
pub(crate) fn signed_by_reach(
    phi: &[f32; 8],
    own: u8,
    in_solid_too: bool,
    reach: impl Fn(usize, Axis) -> f32,
) -> [f32; 8] {
    std::array::from_fn(|n| {
        if own >> n & 1 == 1 || phi[n] <= 0.0 && !in_solid_too {
            return phi[n];
        }
        let (mut sum, mut count) = (0.0, 0);
        for axis in AXES {
            let corner = n ^ 1 << axis;
            if own >> corner & 1 == 1 {
                let part = reach(corner, axis).clamp(0.01, 0.999);
                (sum, count) = (sum + phi[corner] * (1.0 - part) / part, count + 1);
            }
        }
        if count > 0 { -sum / count as f32 } else { -phi[n].abs() }
    })
}

/// Open part of a face of a cell with own corners `own`.
pub(crate) fn open_area_of_side(phi: &[f32; 8], own: u8, axis: Axis, up: bool) -> f32 {
    let of_side = signed(phi, own);
    let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
    let base = (up as usize) << axis;
    open_face_area([0, 1 << s, 1 << t, 1 << s | 1 << t].map(|c| of_side[base | c]))
}

/// Near thin walls, bars the faces between open cells that have no own corner in common. Such a face is closed. Where the two
/// sides of a wall meet round its rim, they do so by two edges: over each of them cells of both sides may be neighbours, and two
/// steps through closed faces would lead from one side of the wall to the other.
fn bar_closed_faces(barred: &mut [u8], (own, near): (&[u8], &[u8]), cells: &Lattice) {
    cells.for_each_mut(barred, |cell, at, barred| {
        if near[cell] == 0 {
            return;
        }
        *barred |= (0..6).fold(0, |bits, face| {
            let (axis, up) = (face / 2, face % 2 == 1);
            let is_barred = |other: usize| {
                let both_open = near[other] != 0 && own[cell] != 0 && own[other] != 0;
                both_open && shared_corners(own[cell], own[other], axis, up) == 0
            };
            bits | (neighbour(cells, at, cell, axis, up).is_some_and(is_barred) as u8) << face
        });
    });
}

/// Sets [`Sides::NEAR`] in cells no farther than [`NEAR_CELLS`] along each axis from one with a barred face.
fn mark_near(barred: &mut [u8], scratch: &mut [u8], cells: &Lattice) {
    parallel::for_each_beside_mut(scratch, &*barred, |near, &barred| *near = (barred != 0) as u8);
    let mut from = scratch.to_vec();
    for axis in AXES {
        let (stride, size) = (cells.stride(axis), cells.size[axis]);
        cells.for_each_mut(scratch, |cell, at, near| {
            let low = cell - stride * at[axis].min(NEAR_CELLS);
            let high = cell + stride * (size - 1 - at[axis]).min(NEAR_CELLS);
            *near = (low..=high).step_by(stride).any(|c| from[c] != 0) as u8;
        });
        from.copy_from_slice(scratch);
    }
    parallel::for_each_beside_mut(barred, &*scratch, |barred, &near| {
        *barred |= if near != 0 { Sides::NEAR } else { 0 };
    });
}
