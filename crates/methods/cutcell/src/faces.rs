//! Grid faces: the liquid on the faces of the grid, by marching squares, and the pieces on its two sides.

use crate::cases::{CASES, EDGE_CORNERS, Site};
use crate::cut::{FACE_BITS, Labels, Source, find, unite};
use crate::mesh::{CutCells, GridFace, NONE};
use crate::nodes::{CellClass, crossing};
use crate::solid_cells::OWN;
use crate::solid_faces::{SolidFaceWork, solid_face};
use fluvial_foundation::{Axis, DVec3, parallel};

/// What one row of faces gives; polygons are counted from the row's first.
#[derive(Default)]
pub(crate) struct RowFaces {
    pub faces: Vec<GridFace>,
    pub polygon_lengths: Vec<u32>,
    pub polygon_vertices: Vec<u32>,
    /// Vertices that only this row knows, beside solids.
    pub own_vertices: Vec<DVec3>,
}

/// Memory of one row's faces.
#[derive(Default)]
struct FaceWork {
    /// Sets of the face's nodes.
    parent: Vec<u32>,
    /// Polygons with the root of their set: nodes' root, fine face, signs.
    polygons: Vec<(u32, u16, u8)>,
    solid: SolidFaceWork,
}

/// A face of the grid between two cells.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub axis: Axis,
    /// Coordinates in the lattice of faces.
    pub at: [usize; 3],
    /// Cells on the low and on the high side.
    pub cells: [Option<usize>; 2],
}

/// Fills grid faces, their polygons and the lists of faces of every piece.
pub(crate) fn cut_faces(mesh: &mut CutCells, source: &Source, labels: &Labels) {
    for axis in 0..3 {
        let lattice = mesh.grid.faces(axis);
        let [nx, ny, nz] = lattice.size;
        let rows = parallel::map_indices(ny * nz, |row| {
            let (mut out, mut work) = (RowFaces::default(), FaceWork::default());
            for i in 0..nx {
                let at = [i, row % ny, row / ny];
                let place = Place { axis, at, cells: cells_beside(mesh, axis, at) };
                cut_face(&mut out, mesh, source, labels, place, &mut work);
            }
            out
        });
        join_rows(mesh, &rows);
    }
    list_faces_of_pieces(mesh);
}

fn cells_beside(mesh: &CutCells, axis: Axis, at: [usize; 3]) -> [Option<usize>; 2] {
    let cells = mesh.grid.cell_centers();
    let high = (at[axis] < cells.size[axis]).then(|| cells.index(at[0], at[1], at[2]));
    let low = (at[axis] > 0).then(|| {
        let mut low = at;
        low[axis] -= 1;
        cells.index(low[0], low[1], low[2])
    });
    [low, high]
}

fn join_rows(mesh: &mut CutCells, rows: &[RowFaces]) {
    for row in rows {
        let first = mesh.first_vertex.len() as u32 - 1;
        mesh.faces
            .extend(row.faces.iter().map(|f| GridFace { polygons: f.polygons.map(|p| p + first), ..*f }));
        let mut end = *mesh.first_vertex.last().expect("a start");
        mesh.first_vertex.extend(row.polygon_lengths.iter().map(|n| {
            end += n;
            end
        }));
        let first_own = mesh.vertices.len() as u32;
        let number = |v: &u32| if v & OWN == 0 { *v } else { first_own + (v & !OWN) };
        mesh.polygon_vertices.extend(row.polygon_vertices.iter().map(number));
        mesh.vertices.extend_from_slice(&row.own_vertices);
    }
}

pub(crate) fn list_faces_of_pieces(mesh: &mut CutCells) {
    let mut start = vec![0u32; mesh.pieces.len() + 1];
    let sides = |f: &GridFace| f.pieces.into_iter().filter(|&p| p != NONE);
    for piece in mesh.faces.iter().flat_map(sides) {
        start[piece as usize + 1] += 1;
    }
    for n in 1..start.len() {
        start[n] += start[n - 1];
    }
    let mut next = start.clone();
    mesh.piece_faces = vec![0; *start.last().expect("a start") as usize];
    for (n, face) in mesh.faces.iter().enumerate() {
        for piece in sides(face) {
            mesh.piece_faces[next[piece as usize] as usize] = n as u32;
            next[piece as usize] += 1;
        }
    }
    mesh.first_face = start;
}

fn cut_face(
    out: &mut RowFaces,
    mesh: &CutCells,
    source: &Source,
    labels: &Labels,
    place: Place,
    work: &mut FaceWork,
) {
    let class = place.cells.map(|c| c.map(|c| source.classes[c]));
    if class.contains(&Some(CellClass::Empty)) {
        return;
    }
    if class.iter().all(|c| matches!(c, None | Some(CellClass::Full))) {
        let pieces = place.cells.map(|c| c.map_or(NONE, |c| mesh.first_piece[c]));
        let mut centroid = DVec3::new(place.at[0] as f64, place.at[1] as f64, place.at[2] as f64) + 0.5;
        centroid[place.axis] -= 0.5;
        let none = out.polygon_lengths.len() as u32;
        out.faces.push(GridFace { axis: place.axis as u8, pieces, area: 1.0, centroid, polygons: [none; 2] });
        return;
    }
    if class.contains(&Some(CellClass::Solid)) {
        return solid_face(out, mesh, source, labels, place, &mut work.solid);
    }
    find_patches(work, source, place);
    // Patches in the order of their first node; the polygons of each in the order of their fine faces.
    work.polygons.sort_unstable();
    let mut start = 0;
    while start < work.polygons.len() {
        let root = work.polygons[start].0;
        let end = start + work.polygons[start..].partition_point(|p| p.0 == root);
        add_patch(out, mesh, source, labels, place, &work.polygons[start..end]);
        start = end;
    }
}

/// The two axes of a face; the first is the faster one.
pub(crate) fn in_plane(axis: Axis) -> [Axis; 2] {
    [[1, 2], [0, 2], [0, 1]][axis]
}

pub(crate) fn first_node(source: &Source, place: Place) -> usize {
    let r = source.tracker.factor;
    source.nodes.index(r * place.at[0], r * place.at[1], r * place.at[2])
}

/// Polygons of the face's fine faces with the connected set of nodes that they belong to.
fn find_patches(work: &mut FaceWork, source: &Source, place: Place) {
    let r = source.tracker.factor;
    let first = first_node(source, place);
    let [s, t] = in_plane(place.axis).map(|a| source.nodes.stride(a));
    work.parent.clear();
    work.parent.extend(0..((r + 1) * (r + 1)) as u32);
    work.polygons.clear();
    for fine in 0..r * r {
        let (a, b) = (fine % r, fine / r);
        let node = first + a * s + b * t;
        let wet = [0, s, t, s + t].map(|o| source.flags.is_liquid(node + o));
        let corner = a + (r + 1) * b;
        let own = [corner, corner + 1, corner + r + 1, corner + r + 2];
        // All liquid of a fine face is joined.
        let mut joined = (0..4).filter(|&n| wet[n]).map(|n| own[n] as u32);
        if let Some(one) = joined.next() {
            joined.for_each(|other| unite(&mut work.parent, one, other));
            let signs = (0..4).fold(0, |m, n| m | (wet[n] as u8) << n);
            work.polygons.push((one, fine as u16, signs));
        }
    }
    for n in 0..work.polygons.len() {
        work.polygons[n].0 = find(&mut work.parent, work.polygons[n].0);
    }
}

/// Corners of the low side's cell that form its high face along an axis, the first in-plane axis fastest.
pub(crate) fn face_corners(axis: Axis) -> [u8; 4] {
    let [a, b] = in_plane(axis);
    let high = 1u8 << axis;
    [high, high | 1 << a, high | 1 << b, high | 1 << a | 1 << b]
}

/// One connected patch of liquid becomes one grid face.
fn add_patch(
    out: &mut RowFaces,
    mesh: &CutCells,
    source: &Source,
    labels: &Labels,
    place: Place,
    polygons: &[(u32, u16, u8)],
) {
    let (axis, r) = (place.axis, source.tracker.factor);
    let corners = face_corners(axis);
    let first = first_node(source, place);
    let strides = [0, 1, 2].map(|a| source.nodes.stride(a));
    let in_plane = in_plane(axis);
    let [s, t] = in_plane.map(|a| strides[a]);
    let origin = DVec3::from_array(place.at.map(|n| (r * n) as f64));
    let first_polygon = out.polygon_lengths.len() as u32;
    let (mut area, mut moment) = (0.0, DVec3::ZERO);
    for &(_, fine, signs) in polygons {
        let (a, b) = (fine as usize % r, fine as usize / r);
        let node = first + a * s + b * t;
        let mut low = origin;
        low[in_plane[0]] += a as f64;
        low[in_plane[1]] += b as f64;
        let case = (0..4).fold(0u8, |c, n| c | (signs >> n & 1) << corners[n]);
        let polygon = &CASES[case as usize].faces[2 * axis + 1];
        let at = |site: Site| site_on_face(site, axis, (node, low), source);
        let (a, _) = at(polygon[0]);
        for n in 1..polygon.len() - 1 {
            let (b, c) = (at(polygon[n]).0, at(polygon[n + 1]).0);
            let part = 0.5 * (b - a).cross(c - a)[axis];
            area += part;
            moment += part * (a + b + c) / 3.0;
        }
        out.polygon_vertices.extend(polygon.iter().map(|&s| at(s).1));
        out.polygon_lengths.push(polygon.len() as u32);
    }
    let h = 1.0 / r as f64;
    // Without area (phi of zero at nodes) any of its points is its centre.
    let any = mesh.vertices[*out.polygon_vertices.last().expect("a polygon") as usize];
    let centroid = if area > 0.0 { moment / area * h } else { any };
    let polygon_range = [first_polygon, out.polygon_lengths.len() as u32];
    let (_, fine, signs) = polygons[0];
    let corner = corners[signs.trailing_zeros() as usize];
    let piece = |side: usize| {
        place.cells[side].map_or(NONE, |cell| {
            mesh.first_piece[cell] + local_piece(source, labels, (place, side), (cell, fine as usize), corner)
        })
    };
    let pieces = [piece(0), piece(1)];
    out.faces.push(GridFace {
        axis: axis as u8,
        pieces,
        area: area * h * h,
        centroid,
        polygons: polygon_range,
    });
}

/// Position in tracker cells and number of a polygon's vertex; `node` and `low` are the fine face's low
/// corner.
pub(crate) fn site_on_face(
    site: Site,
    axis: Axis,
    (node, low): (usize, DVec3),
    source: &Source,
) -> (DVec3, u32) {
    let flat = |corner: u8| corner & !(1 << axis);
    let offset = |c: u8| {
        let bits = [c & 1, c >> 1 & 1, c >> 2].map(usize::from);
        let step = bits[0] + source.nodes.stride(1) * bits[1] + source.nodes.stride(2) * bits[2];
        (step, DVec3::from_array(bits.map(|b| b as f64)))
    };
    if site.0 < Site::EDGE {
        let (step, at) = offset(flat(site.0));
        return (low + at, source.flags.node_vertex(node + step));
    }
    let edge = (site.0 - Site::EDGE) as usize;
    let (step, mut at) = offset(flat(EDGE_CORNERS[edge][0]));
    let (from, along) = (node + step, edge / 4);
    let phi = source.tracker.phi_node;
    at[along] = crossing(phi[from], phi[from + source.nodes.stride(along)]);
    (low + at, source.flags.vertex(from, along))
}

/// The piece, within its cell, of the liquid at a wet corner of a fine face.
pub(crate) fn local_piece(
    source: &Source,
    labels: &Labels,
    (place, side): (Place, usize),
    (cell, fine): (usize, usize),
    corner_of_low_cell: u8,
) -> u32 {
    if source.classes[cell] == CellClass::Full {
        return 0;
    }
    let (axis, r) = (place.axis, source.tracker.factor);
    let steps = [1, r, r * r];
    let [p, q] = in_plane(axis);
    let beyond = if side == 0 { (r - 1) * steps[axis] } else { 0 };
    let fine_cell = fine % r * steps[p] + fine / r * steps[q] + beyond;
    let [s, t] = [p, q].map(|a| source.nodes.stride(a));
    let mut node = first_node(source, place) + fine % r * s + fine / r * t;
    let mut corner = corner_of_low_cell;
    if side == 0 {
        node -= source.nodes.stride(axis);
    } else {
        corner &= !(1 << axis);
    }
    let strides = [0, 1, 2].map(|a| source.nodes.stride(a));
    let case = source.flags.case(node, strides);
    debug_assert!(case & FACE_BITS[2 * axis + (side == 0) as usize] != 0);
    let part = CASES[case as usize].part_of(corner);
    labels.of(cell, fine_cell, source.tracker.grid.cells[0], r)[part] as u32
}
