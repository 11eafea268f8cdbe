//! Grid faces beside cells that solids pass through: the polygons of the two sides are intersected, and what
//! two pieces have in common is their face. Connected patches of one pair of pieces are one face here.

use crate::cases::CASES;
use crate::complex::{LEAST_OVERLAP, area_vector};
use crate::cut::{Labels, Source};
use crate::faces::{Place, RowFaces, face_corners, first_node, in_plane, local_piece, site_on_face};
use crate::mesh::{CutCells, GridFace, NONE};
use crate::nodes::CellClass;
use crate::solid_cells::{OWN, overlap};
use fluvial_foundation::DVec3;

/// Two pieces and the range of points of a polygon that they have in common.
type Common = ([u32; 2], [u32; 2]);

/// Memory of one row's faces.
#[derive(Default)]
pub(crate) struct SolidFaceWork {
    sides: [Side; 2],
    clips: [Vec<DVec3>; 2],
    common: Vec<Common>,
    points: Vec<DVec3>,
}

/// Polygons on one side of a face, in tracker cells, counter-clockwise seen from the high side.
#[derive(Default)]
struct Side {
    /// Fine face, piece, range of points.
    polygons: Vec<(u16, u32, [u32; 2])>,
    points: Vec<DVec3>,
}

impl Side {
    fn clear(&mut self) {
        self.polygons.clear();
        self.points.clear();
    }

    fn add(&mut self, fine: u16, piece: u32, points: impl Iterator<Item = DVec3>) {
        let start = self.points.len() as u32;
        self.points.extend(points);
        self.polygons.push((fine, piece, [start, self.points.len() as u32]));
    }

    fn polygon(&self, range: [u32; 2]) -> &[DVec3] {
        &self.points[range[0] as usize..range[1] as usize]
    }
}

/// Adds the grid faces between two cells of which at least one has solids.
pub(crate) fn solid_face(
    out: &mut RowFaces,
    mesh: &CutCells,
    source: &Source,
    labels: &Labels,
    place: Place,
    work: &mut SolidFaceWork,
) {
    for side in 0..2 {
        work.sides[side].clear();
        if let Some(cell) = place.cells[side] {
            if source.classes[cell] == CellClass::Solid {
                divided_side(&mut work.sides[side], mesh, labels, (place, side), cell);
            } else {
                plain_side(&mut work.sides[side], mesh, source, labels, (place, side), cell);
            }
        }
    }
    work.common.clear();
    work.points.clear();
    find_common(work, place);
    work.common.sort_by_key(|c| c.0);
    let mut start = 0;
    while start < work.common.len() {
        let pieces = work.common[start].0;
        let end = start + work.common[start..].partition_point(|c| c.0 == pieces);
        let polygons = &work.common[start..end];
        let own = |c: &Common| &work.points[c.1[0] as usize..c.1[1] as usize];
        let area: f64 = polygons.iter().map(|c| area_vector(own(c).iter().copied()).length()).sum();
        if area > LEAST_OVERLAP {
            add_face(out, place, (pieces, polygons), &work.points, source.tracker.factor);
        }
        start = end;
    }
}

fn divided_side(side: &mut Side, mesh: &CutCells, labels: &Labels, (place, n): (Place, usize), cell: usize) {
    let row = labels.row_of(cell, mesh.grid.cells[0]);
    let face = (2 * place.axis + 1 - n) as u8;
    let start = row.side_polygons.partition_point(|p| (p.cell as usize) < cell);
    let own = row.side_polygons[start..].iter().take_while(|p| p.cell as usize == cell);
    for p in own.filter(|p| p.face == face) {
        let points = &row.side_points[p.points[0] as usize..p.points[1] as usize];
        let piece = mesh.first_piece[cell] + p.piece;
        // Polygons of the high cell's low face are seen from the low side.
        let count = points.len();
        side.add(p.fine, piece, (0..count).map(|m| points[if n == 0 { m } else { count - 1 - m }]));
    }
}

fn plain_side(
    side: &mut Side,
    mesh: &CutCells,
    source: &Source,
    labels: &Labels,
    (place, n): (Place, usize),
    cell: usize,
) {
    let (r, axis) = (source.tracker.factor, place.axis);
    let axes = in_plane(axis);
    let [s, t] = axes.map(|a| source.nodes.stride(a));
    let corners = face_corners(axis);
    let origin = DVec3::from_array(place.at.map(|c| (r * c) as f64));
    for fine in 0..r * r {
        let node = first_node(source, place) + fine % r * s + fine / r * t;
        let wet = [0, s, t, s + t].map(|o| source.flags.is_liquid(node + o));
        let case = (0..4).fold(0u8, |c, m| c | (wet[m] as u8) << corners[m]);
        if case == 0 {
            continue;
        }
        let mut low = origin;
        low[axes[0]] += (fine % r) as f64;
        low[axes[1]] += (fine / r) as f64;
        let piece = local_piece(source, labels, (place, n), (cell, fine), case.trailing_zeros() as u8);
        let polygon = &CASES[case as usize].faces[2 * axis + 1];
        let at = |&site: &_| site_on_face(site, axis, (node, low), source).0;
        side.add(fine as u16, mesh.first_piece[cell] + piece, polygon.iter().map(at));
    }
}

fn find_common(work: &mut SolidFaceWork, place: Place) {
    let SolidFaceWork { sides, clips, common, points } = work;
    let [low, high] = &*sides;
    let mut add = |pieces: [u32; 2], polygon: &[DVec3]| {
        let start = points.len() as u32;
        points.extend_from_slice(polygon);
        common.push((pieces, [start, points.len() as u32]));
    };
    match place.cells {
        [Some(_), Some(_)] => {
            for &(fine, a, p) in &low.polygons {
                for &(_, b, q) in high.polygons.iter().filter(|q| q.0 == fine) {
                    if overlap(clips, low.polygon(p), high.polygon(q), place.axis, 1.0) > 0.0 {
                        add([a, b], &clips[0]);
                    }
                }
            }
        }
        [Some(_), None] => low.polygons.iter().for_each(|&(_, a, p)| add([a, NONE], low.polygon(p))),
        [None, _] => high.polygons.iter().for_each(|&(_, b, q)| add([NONE, b], high.polygon(q))),
    }
}

fn add_face(
    out: &mut RowFaces,
    place: Place,
    (pieces, polygons): ([u32; 2], &[Common]),
    points: &[DVec3],
    factor: usize,
) {
    let h = 1.0 / factor as f64;
    let first = out.polygon_lengths.len() as u32;
    let (mut area, mut moment) = (0.0, DVec3::ZERO);
    for &(_, [start, end]) in polygons {
        let polygon = &points[start as usize..end as usize];
        for n in 1..polygon.len() - 1 {
            let corners = [polygon[0], polygon[n], polygon[n + 1]];
            let part = area_vector(corners.into_iter())[place.axis];
            area += part;
            moment += part * corners.into_iter().sum::<DVec3>() / 3.0;
        }
        let own = out.own_vertices.len() as u32;
        out.own_vertices.extend(polygon.iter().map(|&x| h * x));
        out.polygon_vertices.extend((0..polygon.len() as u32).map(|n| (own + n) | OWN));
        out.polygon_lengths.push(polygon.len() as u32);
    }
    out.faces.push(GridFace {
        axis: place.axis as u8,
        pieces,
        area: area * h * h,
        centroid: if area > 0.0 { moment / area * h } else { h * points[polygons[0].1[0] as usize] },
        polygons: [first, out.polygon_lengths.len() as u32],
    });
}
