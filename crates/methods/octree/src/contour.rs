//! The surface of a level set at cell centres as a closed, oriented, manifold mesh across all levels: dual
//! contouring on the dual cells of the tree's nodes [octree §7.1; ju-2002].
//!
//! Every smallest face between a cell inside and one outside (beyond walls is outside) is a polygon through
//! the nodes on its boundary, nodes in the middle of its edges among them: where smaller cells share an edge,
//! so do their polygons. A node has one vertex for every sheet of surface through it [nielson-2004]: around
//! each of the six tree edges that meet in it, polygons are joined two by two, those of one inside cell where
//! there are four. The rule sees only the four cells around the edge, so that both of its ends agree, and
//! every mesh edge has two polygons. Where all four belong to one sheet at both ends, those of one outside
//! cell are joined instead [wenger-2013 §3.5]; such a node has no other edge with four. Verified by
//! `contour.rs`: closed and manifold on random trees with random signs, exact on planes, second
//! order on balls.

mod outside;
mod sheets;

pub use outside::SolidClip;

use fluvial_foundation::eigen::eigen;
use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::octree::{OUTSIDE, Side};
use fluvial_grids::{Octree, TriangleMesh};
use sheets::{PAIRS, Sheets, pair, pair_of, sheets};

/// Nodes that one task handles.
const CHUNK: usize = 4096;

/// The node at the other end of one of a node's edges (`2 axis + side`).
fn other_end(tree: &Octree, node: usize, edge: usize) -> Option<u32> {
    let (axis, side) = (edge / 2, edge % 2);
    let place = tree.nodes()[node];
    // The edge is as long as the smallest cell around it.
    let around = (0..8).filter(|o| (o >> axis) & 1 == side).map(|o| tree.node_cells()[node][o]);
    let level = around.filter(|&c| c != OUTSIDE).map(|c| tree.cells()[c as usize].level).min()?;
    let mut at = place.at.map(|v| v as u32 >> (level - place.level));
    at[axis] = if side == 1 { at[axis] + 1 } else { at[axis].checked_sub(1)? };
    tree.node_at(level as usize, at)
}

/// Meshes the zero set of `phi_cell` (negative inside).
pub fn contour(tree: &Octree, phi_cell: &[f32]) -> TriangleMesh {
    contour_of(tree, phi_cell, None)
}

/// As [`contour`] with the liquid cut off at solids: where the two surfaces meet vertices lie on both, and those at edges of a
/// solid on the edge. Test: `liquid_fills_the_edges_of_a_tank`.
pub fn contour_outside(tree: &Octree, phi_cell: &[f32], solid: &SolidClip) -> TriangleMesh {
    assert_eq!(solid.distance_cell.len(), tree.cell_count(), "one distance per cell");
    let clipped: Vec<f32> =
        phi_cell.iter().zip(solid.distance_cell).map(|(phi, distance)| phi.max(-distance)).collect();
    contour_of(tree, &clipped, Some((phi_cell, solid)))
}

/// The liquid's own phi and the solids that have been cut out of it.
type Uncut<'a> = (&'a [f32], &'a SolidClip<'a>);

fn contour_of(tree: &Octree, phi_cell: &[f32], uncut: Option<Uncut>) -> TriangleMesh {
    assert_eq!(phi_cell.len(), tree.cell_count(), "one phi per cell");
    let table: Vec<Sheets> =
        [false, true].into_iter().flat_map(|merged| (0..=255u8).map(move |s| sheets(s, merged))).collect();
    let inside = |node: usize| {
        let cells = &tree.node_cells()[node];
        (0..8).fold(0u8, |set, o| {
            set | (((cells[o] != OUTSIDE && phi_cell[cells[o] as usize] < 0.0) as u8) << o)
        })
    };
    let signs = parallel::map_indices(tree.node_count(), inside);
    // Where both ends of an edge pinch there, four polygons would meet in one mesh edge: both merge instead.
    let signs = parallel::map_indices(tree.node_count(), |node| {
        let case = signs[node] as usize;
        let merged = table[case].pinched.is_some_and(|edge| {
            let other = other_end(tree, node, edge as usize);
            other.is_some_and(|o| table[signs[o as usize] as usize].pinched == Some(edge ^ 1))
        });
        case + 256 * merged as usize
    });
    // Vertices are numbered node by node.
    let mut first = Vec::with_capacity(tree.node_count() + 1);
    first.push(0u32);
    let mut end = 0;
    first.extend(signs.iter().map(|&s| {
        end += table[s].count as u32;
        end
    }));
    let parts = parallel::chunk_count(tree.node_count(), CHUNK);
    let positions = parallel::map_indices(parts, |part| {
        let mut positions = vec![];
        for node in parallel::chunk_range(part, CHUNK, tree.node_count()) {
            place(&mut positions, tree, (phi_cell, uncut), node, &table[signs[node]]);
        }
        positions
    });
    let vertex = |node: u32, octant: usize, axis: Axis| {
        let sheet = table[signs[node as usize]].of[pair_of(octant, axis)];
        first[node as usize] + sheet as u32
    };
    let faces = parallel::chunk_count(tree.face_count(), CHUNK);
    let pieces = parallel::map_indices(faces, |part| {
        let mut piece = Piece::default();
        for face in parallel::chunk_range(part, CHUNK, tree.face_count()) {
            polygons(&mut piece, tree, phi_cell, face, &vertex);
        }
        piece
    });
    let (mut positions, mut triangles) = (positions.concat(), vec![]);
    for piece in pieces {
        let base = positions.len() as u32;
        for middle in piece.middles {
            let ring = &middle[..middle.iter().position(|&v| v == u32::MAX).unwrap_or(8)];
            let sum: Vec3 = ring.iter().map(|&v| positions[v as usize]).sum();
            positions.push(sum / ring.len() as f32);
        }
        let number = |v: u32| if v & MIDDLE != 0 { base + (v & !MIDDLE) } else { v };
        triangles.extend(piece.triangles.iter().map(|t| t.map(number)));
    }
    TriangleMesh { positions, velocities: vec![], triangles }
}

/// Triangles of some faces. Polygons of more than four corners have a vertex in their middle: a diagonal
/// could join two nodes that a neighbour's joins too.
#[derive(Default)]
struct Piece {
    triangles: Vec<[u32; 3]>,
    /// The corners around each middle vertex, then `u32::MAX`.
    middles: Vec<[u32; 8]>,
}

/// Marks the number of a middle vertex in its piece.
const MIDDLE: u32 = 1 << 31;

/// The vertices of a node: means of the points where phi changes sign between cells of a sheet. Vertices of
/// nodes on a wall lie on the wall; where the surface meets it, at the surface's height: centres of cells
/// beside the wall do not count there.
fn place(
    positions: &mut Vec<Vec3>,
    tree: &Octree,
    (phi_cell, uncut): (&[f32], Option<Uncut>),
    node: usize,
    sheets: &Sheets,
) {
    let cells = tree.node_cells()[node];
    let at = tree.node_position(node);
    for sheet in 0..sheets.count {
        // Of points between cells, and of centres at walls.
        let mut means = [(Vec3::ZERO, 0.0f32); 2];
        let mut seen = [(OUTSIDE, OUTSIDE); PAIRS];
        for p in (0..PAIRS).filter(|&p| sheets.of[p] == sheet) {
            let (low, axis) = pair(p);
            let ends = (cells[low], cells[low | (1 << axis)]);
            // A large face that the node lies on the edge of is met twice.
            if seen.contains(&ends) && ends.0 != OUTSIDE && ends.1 != OUTSIDE {
                continue;
            }
            seen[p] = ends;
            let mean = &mut means[(ends.0 == OUTSIDE || ends.1 == OUTSIDE) as usize];
            *mean = (mean.0 + crossing(tree, phi_cell, ends, axis, at), mean.1 + 1.0);
        }
        let vertex = uncut.and_then(|(phi_cell_uncut, solid)| {
            let met = seen.into_iter().filter(|ends| ends.0 != OUTSIDE && ends.1 != OUTSIDE);
            let from_inside = |(a, b): (u32, u32)| if phi_cell[a as usize] < 0.0 { (a, b) } else { (b, a) };
            solid.vertex(tree, phi_cell_uncut, &cells, met.map(from_inside))
        });
        if let Some(x) = vertex {
            positions.push(x);
            continue;
        }
        let (sum, n) = if means[0].1 > 0.0 { means[0] } else { means[1] };
        let mut x = sum / n;
        for axis in AXES {
            let beyond =
                |side: usize| (0..8).filter(|o| (o >> axis) & 1 == side).all(|o| cells[o] == OUTSIDE);
            if beyond(0) || beyond(1) {
                x[axis] = at[axis];
            }
        }
        positions.push(x);
    }
}

/// The gradient of the plane through the values of the cells around a node, in the mean square; 0 across directions in which they do
/// not differ.
fn gradient_at_node(tree: &Octree, value_cell: &[f32], cells: &[u32; 8]) -> Vec3 {
    let known = || {
        cells
            .iter()
            .filter(|&&c| c != OUTSIDE)
            .map(|&c| (tree.cell_center(c as usize), value_cell[c as usize]))
    };
    let count = known().count() as f32;
    let (middle, mean) = known().fold((Vec3::ZERO, 0.0), |(x, v), (y, w)| (x + y / count, v + w / count));
    let (mut square, mut right) = ([0.0f32; 6], Vec3::ZERO);
    for (x, value) in known() {
        let d = x - middle;
        let products = [d.x * d.x, d.y * d.y, d.z * d.z, d.x * d.y, d.x * d.z, d.y * d.z];
        square.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        right += (value - mean) * d;
    }
    let eigen = eigen(&square);
    (0..3)
        .filter(|&n| eigen.values[n] > 1e-3 * eigen.values[0])
        .fold(Vec3::ZERO, |sum, n| sum + right.dot(eigen.vectors[n]) / eigen.values[n] * eigen.vectors[n])
}

/// Where phi vanishes between two cells' centres, or a cell's centre at the wall.
fn crossing(tree: &Octree, phi_cell: &[f32], (low, high): (u32, u32), axis: Axis, node: Vec3) -> Vec3 {
    if low == OUTSIDE || high == OUTSIDE {
        let mut x = tree.cell_center(if low == OUTSIDE { high } else { low } as usize);
        x[axis] = node[axis];
        return x;
    }
    let (a, b) = (phi_cell[low as usize], phi_cell[high as usize]);
    let (from, to) = (tree.cell_center(low as usize), tree.cell_center(high as usize));
    from + (a / (a - b)).clamp(0.0, 1.0) * (to - from)
}

/// Adds the polygons of a face, one for each of its smallest faces with a change of sign.
fn polygons(
    out: &mut Piece,
    tree: &Octree,
    phi_cell: &[f32],
    face: usize,
    vertex: &impl Fn(u32, usize, Axis) -> u32,
) {
    let axis = tree.face_axis(face);
    let place = tree.face_places()[face];
    let wet = |cell: u32| phi_cell[cell as usize] < 0.0;
    let (level, at) = (place.level as usize, place.at.map(|v| v as u32));
    let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut one = |level: usize, at: [u32; 3], low: bool, high: bool| {
        if low != high {
            polygon(out, tree, (level, axis, at), low, vertex);
        }
    };
    match tree.sides(face) {
        [Side::Cell(low), Side::Cell(high)] => one(level, at, wet(low), wet(high)),
        [Side::Outside, Side::Cell(cell)] => one(level, at, false, wet(cell)),
        [Side::Cell(cell), Side::Outside] => one(level, at, wet(cell), false),
        [Side::Quad(quad), Side::Cell(cell)] | [Side::Cell(cell), Side::Quad(quad)] => {
            let low_is_quad = matches!(tree.sides(face)[0], Side::Quad(_));
            for (n, &small) in quad.iter().enumerate() {
                let mut fine = at.map(|v| 2 * v);
                fine[b] += n as u32 & 1;
                fine[c] += n as u32 >> 1;
                let (low, high) = if low_is_quad { (small, cell) } else { (cell, small) };
                one(level - 1, fine, wet(low), wet(high));
            }
        }
        sides => unreachable!("no face has {sides:?}"),
    }
}

/// The polygon of a smallest face, its triangles looking out of the liquid.
fn polygon(
    out: &mut Piece,
    tree: &Octree,
    (level, axis, at): (usize, Axis, [u32; 3]),
    liquid_is_low: bool,
    vertex: &impl Fn(u32, usize, Axis) -> u32,
) {
    let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut ring = [0u32; 8];
    let mut len = 0;
    // Corners and middles of the edges, counter-clockwise seen from the high side, in halves of the face's
    // size. A node has the face in the octants towards its centre; on the middle of an edge, any of the two
    // sides along it.
    for [s, t] in [[0u32, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]] {
        let corner = s != 1 && t != 1;
        let node = if corner {
            let mut place = at;
            place[b] += s / 2;
            place[c] += t / 2;
            Some(tree.node_at(level, place).expect("a corner of a leaf"))
        } else if level > 0 {
            let mut place = at.map(|v| 2 * v);
            place[b] += s;
            place[c] += t;
            tree.node_at(level - 1, place)
        } else {
            None
        };
        if let Some(node) = node {
            let octant = (((s < 2) as usize) << b) | (((t < 2) as usize) << c);
            ring[len] = vertex(node, octant, axis);
            len += 1;
        }
    }
    let ring = &mut ring[..len];
    if !liquid_is_low {
        ring.reverse();
    }
    if len == 4 {
        out.triangles.extend([[ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]]);
        return;
    }
    let middle = MIDDLE | out.middles.len() as u32;
    out.triangles.extend((0..len).map(|n| [ring[n], ring[(n + 1) % len], middle]));
    let mut corners = [u32::MAX; 8];
    corners[..len].copy_from_slice(ring);
    out.middles.push(corners);
}
