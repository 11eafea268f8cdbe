//! The cutter: from the tracker's signs to pieces, geometry triangles and grid faces.
//!
//! Triangles of marching cubes lie in one tracker cell each and thereby in one cell of the simulation grid,
//! so that no mesh is intersected with the grid: the paper names this as its way forward [cutcell §6]. Rows
//! of cells are cut in parallel into lists of their own, which are then joined in order.

use crate::cases::{CASES, Case, EDGE_CORNERS, FACE_CORNERS, Site};
use crate::mesh::{CutCells, NONE, Piece, Triangle};
use crate::nodes::{CellClass, NodeFlags, Tracker, crossing};
use crate::solid_cells::{OWN, SidePolygon, SolidWork, solid_cell};
use crate::solids::{Bins, Solids};
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::{Lattice, UniformGrid};

/// Everything the passes over cells and faces read.
pub(crate) struct Source<'a> {
    pub tracker: Tracker<'a>,
    pub nodes: Lattice,
    pub flags: &'a NodeFlags,
    pub classes: &'a [CellClass],
}

/// Memory of the cutter, kept from step to step.
#[derive(Default)]
pub struct CutScratch {
    flags: NodeFlags,
    classes: Vec<CellClass>,
    known: KnownSolids,
    rows: Vec<Row>,
}

/// The solids of the last cut, sorted into cells. As long as they are the same, so is what they divide.
#[derive(Default)]
struct KnownSolids {
    solids: Solids,
    grid: Option<(UniformGrid, usize)>,
    bins: Bins,
    /// Does a solid pass through the cell? Empty without solids.
    is_solid: Vec<bool>,
}

impl KnownSolids {
    /// Takes up solids; true where they differ from those known.
    fn update(&mut self, solids: &Solids, tracker: &Tracker) -> bool {
        let grid = Some((tracker.grid, tracker.factor));
        let is_new = self.grid != grid || self.solids != *solids;
        if is_new {
            self.grid = grid;
            self.solids.clone_from(solids);
            self.bins = Bins::new(solids, &tracker.grid);
            self.is_solid.clear();
            if !solids.triangles.is_empty() {
                self.is_solid.extend((0..tracker.grid.cell_count()).map(|c| !self.bins.of(c).is_empty()));
            }
        }
        is_new
    }
}

/// What one row of cells gives, and its memory.
#[derive(Default)]
pub(crate) struct Row {
    cells: RowCells,
    work: CellWork,
    solid_work: SolidWork,
}

/// What one row of cells gives.
#[derive(Default)]
pub(crate) struct RowCells {
    /// Pieces of each cell.
    pub piece_counts: Vec<u32>,
    pub pieces: Vec<Piece>,
    pub triangle_counts: Vec<u32>,
    pub triangles: Vec<Triangle>,
    /// Piece, within the cell, of the two parts of every tracker cell, for the cut cells of the row in
    /// order.
    pub labels: Vec<[u16; 2]>,
    /// Vertices that only this row knows, beside solids.
    pub own_vertices: Vec<DVec3>,
    /// Polygons on faces of the grid, of cells with solids.
    pub side_polygons: Vec<SidePolygon>,
    pub side_points: Vec<DVec3>,
    /// Pieces of the row that see a closed solid from behind.
    pub in_solid: Vec<u32>,
}

impl RowCells {
    fn clear(&mut self) {
        self.piece_counts.clear();
        self.pieces.clear();
        self.triangle_counts.clear();
        self.triangles.clear();
        self.labels.clear();
        self.own_vertices.clear();
        self.side_polygons.clear();
        self.side_points.clear();
        self.in_solid.clear();
    }
}

/// Cuts the liquid of a tracker into cells.
pub fn cut_liquid(tracker: &Tracker, scratch: &mut CutScratch) -> CutCells {
    cut(tracker, &Solids::default(), scratch)
}

/// Cuts the liquid of a tracker, between solids of any thickness, into cells.
///
/// phi must say "air" deep inside closed solids; what it says within a cell behind their surfaces does not
/// matter: liquid that sees a solid from behind is taken out, with all that is connected to it.
pub fn cut(tracker: &Tracker, solids: &Solids, scratch: &mut CutScratch) -> CutCells {
    let CutScratch { flags, classes, known, rows } = scratch;
    let [nx, ny, nz] = tracker.grid.cells;
    if known.update(solids, tracker) {
        rows.clear();
    }
    rows.resize_with(ny * nz, Row::default);
    flags.classify(classes, tracker, &known.is_solid);
    let source = Source { tracker: *tracker, nodes: tracker.nodes(), flags, classes };
    parallel::for_each_chunk_mut(rows, 1, |row, out| {
        let Row { cells: out, work, solid_work } = &mut out[0];
        out.clear();
        for cell in nx * row..nx * (row + 1) {
            match classes[cell] {
                CellClass::Empty => out.piece_counts.push(0),
                CellClass::Full => full_cell(out, cell, &source),
                CellClass::Cut => cut_cell(out, cell, &source, work),
                CellClass::Solid => solid_cell(out, cell, &source, (solids, &known.bins), solid_work),
            }
        }
    });
    let mut mesh = CutCells::empty(tracker.grid, tracker.factor);
    mesh.clamped_vertices = flags.place(&mut mesh.vertices, &mut mesh.vertex_kind, tracker);
    let first_own = mesh.vertices.len();
    let in_solid = join_rows(&mut mesh, rows);
    let labels = Labels::new(rows, classes);
    crate::faces::cut_faces(&mut mesh, &source, &labels);
    crate::tidy::weld(&mut mesh, first_own);
    crate::tidy::remove_pieces_in_solids(&mut mesh, &in_solid);
    mesh
}

/// Joins what the rows found, in order; returns the pieces that see a solid from behind.
fn join_rows(mesh: &mut CutCells, rows: &[Row]) -> Vec<u32> {
    let (mut pieces, mut triangles) = (0, 0);
    let mut in_solid = Vec::new();
    for Row { cells: row, .. } in rows {
        in_solid.extend(row.in_solid.iter().map(|p| p + mesh.pieces.len() as u32));
        mesh.first_piece.extend(row.piece_counts.iter().map(|n| {
            pieces += n;
            pieces
        }));
        mesh.pieces.extend_from_slice(&row.pieces);
        mesh.first_triangle.extend(row.triangle_counts.iter().map(|n| {
            triangles += n;
            triangles
        }));
        let first_own = mesh.vertices.len() as u32;
        mesh.triangles.extend(row.triangles.iter().map(|t| {
            let number = |v: u32| if v & OWN == 0 { v } else { first_own + (v & !OWN) };
            Triangle { vertices: t.vertices.map(number), ..*t }
        }));
        mesh.vertices.extend_from_slice(&row.own_vertices);
    }
    in_solid
}

/// Where the labels of a cut cell begin.
pub(crate) struct Labels<'a> {
    rows: &'a [Row],
    /// Cut cells before this one in its row.
    rank: Vec<u32>,
}

impl<'a> Labels<'a> {
    fn new(rows: &'a [Row], classes: &[CellClass]) -> Self {
        let nx = classes.len() / rows.len().max(1);
        let mut rank = vec![0; classes.len()];
        parallel::for_each_chunk_mut(&mut rank, nx, |row, out| {
            let mut count = 0;
            for (out, class) in out.iter_mut().zip(&classes[nx * row..]) {
                *out = count;
                count += (*class == CellClass::Cut) as u32;
            }
        });
        Labels { rows, rank }
    }

    /// What the row of a cell gave.
    pub fn row_of(&self, cell: usize, cells_along_x: usize) -> &RowCells {
        &self.rows[cell / cells_along_x].cells
    }

    /// Pieces, within the cell, of the two parts of tracker cell `fine` (x fastest) of a cut cell.
    pub fn of(&self, cell: usize, fine: usize, cells_along_x: usize, factor: usize) -> [u16; 2] {
        let size = factor.pow(3);
        self.rows[cell / cells_along_x].cells.labels[self.rank[cell] as usize * size + fine]
    }
}

fn full_cell(out: &mut RowCells, cell: usize, source: &Source) {
    let [i, j, k] = source.tracker.grid.cell_centers().coordinates(cell);
    out.piece_counts.push(1);
    out.triangle_counts.push(0);
    out.pieces.push(Piece {
        cell: cell as u32,
        is_full: true,
        volume: 1.0,
        centroid: DVec3::new(i as f64, j as f64, k as f64) + 0.5,
        surface_area: 0.0,
    });
}

/// Memory of one row's cells.
#[derive(Default)]
pub(crate) struct CellWork {
    cases: Vec<u8>,
    parent: Vec<u32>,
    /// Triangles and the piece they belong to.
    triangles: Vec<(u16, Triangle)>,
}

/// Index of the set of `n` in a forest whose roots are their own parents; paths are halved on the way.
pub(crate) fn find(parent: &mut [u32], mut n: u32) -> u32 {
    while parent[n as usize] != n {
        parent[n as usize] = parent[parent[n as usize] as usize];
        n = parent[n as usize];
    }
    n
}

/// Joins two sets under the smaller index.
pub(crate) fn unite(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parent, a), find(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

/// Corners of each face as bits.
pub(crate) const FACE_BITS: [u8; 6] = {
    let mut bits = [0; 6];
    let mut n = 0;
    while n < 24 {
        bits[n / 4] |= 1 << FACE_CORNERS[n / 4][n % 4];
        n += 1;
    }
    bits
};

/// A cut cell: liquid parts of tracker cells are joined through their faces, and what hangs together is a
/// piece.
fn cut_cell(out: &mut RowCells, cell: usize, source: &Source, work: &mut CellWork) {
    let r = source.tracker.factor;
    let [i, j, k] = source.tracker.grid.cell_centers().coordinates(cell);
    let base = source.nodes.index(r * i, r * j, r * k);
    let strides = [0, 1, 2].map(|a| source.nodes.stride(a));
    let node_of = |fine: usize| base + fine % r + strides[1] * (fine / r % r) + strides[2] * (fine / (r * r));
    let size = r * r * r;
    let cases: &[Case] = &CASES;
    work.cases.clear();
    work.cases.extend((0..size).map(|fine| source.flags.case(node_of(fine), strides)));
    join_parts(&mut work.parent, &work.cases, cases, r);

    // Number the roots in the order of their first tracker cell.
    let first_label = out.labels.len();
    let first_piece = out.pieces.len();
    for fine in 0..size {
        let case = work.cases[fine];
        let parts = match case {
            0 => 0,
            _ => 1 + cases[case as usize].second_part.is_some() as usize,
        };
        out.labels.push([0; 2]);
        for part in 0..parts {
            let own = (2 * fine + part) as u32;
            let root = find(&mut work.parent, own);
            out.labels[first_label + fine][part] = if root == own {
                out.pieces.push(Piece { cell: cell as u32, ..Piece::default() });
                (out.pieces.len() - 1 - first_piece) as u16
            } else {
                out.labels[first_label + root as usize / 2][root as usize % 2]
            };
        }
    }

    work.triangles.clear();
    let pieces = &mut out.pieces[first_piece..];
    for fine in (0..size).filter(|&fine| work.cases[fine] != 0) {
        let at = [fine % r, fine / r % r, fine / (r * r)];
        let low = DVec3::new((r * i + at[0]) as f64, (r * j + at[1]) as f64, (r * k + at[2]) as f64);
        let label = out.labels[first_label + fine];
        if work.cases[fine] == 255 {
            add_moments(&mut pieces[label[0] as usize], low, 1.0, DVec3::splat(0.5));
        } else {
            cut_fine_cell(
                pieces,
                &mut work.triangles,
                (node_of(fine), work.cases[fine]),
                (low, label),
                source,
            );
        }
    }
    let center = DVec3::new(i as f64, j as f64, k as f64) + 0.5;
    finish_cell(out, (first_piece, center), &work.triangles, r);
}

fn join_parts(parent: &mut Vec<u32>, fine_cases: &[u8], cases: &[Case], r: usize) {
    parent.clear();
    parent.extend(0..2 * fine_cases.len() as u32);
    for fine in 0..fine_cases.len() {
        let at = [fine % r, fine / r % r, fine / (r * r)];
        for axis in (0..3).filter(|&a| at[a] > 0) {
            let case = fine_cases[fine];
            let wet = case & FACE_BITS[2 * axis];
            if wet == 0 {
                continue;
            }
            let corner = wet.trailing_zeros() as u8;
            let before = fine - [1, r, r * r][axis];
            let own = cases[case as usize].part_of(corner);
            let other = cases[fine_cases[before] as usize].part_of(corner | 1 << axis);
            unite(parent, (2 * fine + own) as u32, (2 * before + other) as u32);
        }
    }
}

/// Adds volume and first moment, in tracker cells; the centroid is divided at the end.
fn add_moments(piece: &mut Piece, low: DVec3, volume: f64, centroid_in_fine: DVec3) {
    piece.volume += volume;
    piece.centroid += volume * (low + centroid_in_fine);
}

/// Volume, moment and triangles of a tracker cell that the surface crosses. Volumes are tetrahedra from the
/// low corner, to which the three low faces add nothing.
fn cut_fine_cell(
    pieces: &mut [Piece],
    triangles: &mut Vec<(u16, Triangle)>,
    (node, case_number): (usize, u8),
    (low, label): (DVec3, [u16; 2]),
    source: &Source,
) {
    let case = &CASES[case_number as usize];
    let stride = [0, 1, 2].map(|a| source.nodes.stride(a));
    let corner_node =
        |c: u8| node + (c & 1) as usize + stride[1] * (c >> 1 & 1) as usize + stride[2] * (c >> 2) as usize;
    let corner_at = |c: u8| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    let mut edge_at = [DVec3::ZERO; 12];
    for (e, &[a, b]) in EDGE_CORNERS.iter().enumerate() {
        if (case_number >> a ^ case_number >> b) & 1 == 1 {
            let phi = source.tracker.phi_node;
            edge_at[e] = corner_at(a);
            edge_at[e][e / 4] = crossing(phi[corner_node(a)], phi[corner_node(b)]);
        }
    }
    let at = |s: Site| match s.0 {
        c @ 0..8 => corner_at(c),
        code => edge_at[(code - Site::EDGE) as usize],
    };
    let mut moments = [(0.0, DVec3::ZERO); 2];
    let mut add = |part: usize, a: DVec3, b: DVec3, c: DVec3| {
        let volume = a.dot(b.cross(c)) / 6.0;
        moments[part].0 += volume;
        moments[part].1 += volume * 0.25 * (a + b + c);
    };
    for face in [1, 3, 5] {
        let polygon = &case.faces[face];
        if let Some(first) = polygon.first() {
            let part = case.part_of(first.liquid_corner(case_number));
            for n in 1..polygon.len() - 1 {
                add(part, at(*first), at(polygon[n]), at(polygon[n + 1]));
            }
        }
    }
    for t in &case.triangles {
        let part = case.part_of(Site(Site::EDGE + t[0]).liquid_corner(case_number));
        let [a, b, c] = t.map(|e| edge_at[e as usize]);
        add(part, a, b, c);
        let vertices =
            t.map(|e| source.flags.vertex(corner_node(EDGE_CORNERS[e as usize][0]), e as usize / 4));
        let label = label[part];
        pieces[label as usize].surface_area += 0.5 * (b - a).cross(c - a).length();
        triangles.push((label, Triangle { vertices, solid: NONE }));
    }
    for part in 0..2 {
        let (volume, moment) = moments[part];
        if volume != 0.0 || moment != DVec3::ZERO {
            let piece = &mut pieces[label[part] as usize];
            piece.volume += volume;
            piece.centroid += volume * low + moment;
        }
    }
}

/// From tracker cells to cells, and triangles into the order of their pieces.
fn finish_cell(
    out: &mut RowCells,
    (first_piece, cell_center): (usize, DVec3),
    triangles: &[(u16, Triangle)],
    r: usize,
) {
    let h = 1.0 / r as f64;
    let pieces = &mut out.pieces[first_piece..];
    for piece in pieces.iter_mut() {
        // A piece of no volume (phi of zero at a node) has no moment either; its cell's centre stands for it.
        piece.centroid = if piece.volume > 0.0 { piece.centroid / piece.volume * h } else { cell_center };
        piece.volume *= h * h * h;
        piece.surface_area *= h * h;
    }
    out.piece_counts.push(pieces.len() as u32);
    for piece in 0..pieces.len() {
        let before = out.triangles.len();
        let own = triangles.iter().filter(|t| t.0 as usize == piece);
        out.triangles.extend(own.map(|t| t.1));
        out.triangle_counts.push((out.triangles.len() - before) as u32);
    }
}
