//! Cells that solids pass through: tracker cells are divided by the triangles of the surface and of the
//! solids, liquid regions are joined through what is open, and what hangs together is a piece.

use crate::cases::{CASES, Case, EDGE_CORNERS, Site, winding};
use crate::complex::{Complex, Facet, Kind, LEAST_OVERLAP, NOTHING, OUTSIDE, SLIVER, area_vector, clip};
use crate::cut::{RowCells, Source, find, unite};
use crate::mesh::{NONE, Piece, Triangle};
use crate::nodes::crossing;
use crate::solids::{Bins, Solids, touches_unit_cube};
use fluvial_foundation::{Axis, DVec3};

/// Marks numbers of vertices that count within their row's own list.
pub(crate) const OWN: u32 = 1 << 31;

/// A convex polygon of liquid on a face of the grid, seen from one of the two cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SidePolygon {
    pub cell: u32,
    /// Face of the cell, 0 to 5.
    pub face: u8,
    /// Fine face within it, the first of its two axes fastest.
    pub fine: u16,
    /// Piece within the cell.
    pub piece: u32,
    /// Range of its points in the row's list.
    pub points: [u32; 2],
}

/// A polygon on a face of a tracker cell.
#[derive(Clone, Copy)]
struct FinePolygon {
    face: u8,
    element: u32,
    points: [u32; 2],
}

/// A connected part of the liquid in one tracker cell, in tracker cells.
#[derive(Clone, Copy, Default)]
struct Element {
    volume: f64,
    moment: DVec3,
    surface_area: f64,
    /// Area of solid faces that see it inside the solid, less the area of those that see it outside.
    inside: f64,
}

/// Memory of the solid cells of a row.
#[derive(Default)]
pub(crate) struct SolidWork {
    complex: Complex,
    clips: [Vec<DVec3>; 2],
    near: Vec<u32>,
    elements: Vec<Element>,
    parent: Vec<u32>,
    polygons: Vec<FinePolygon>,
    /// First polygon of every tracker cell, and one more.
    first_polygon: Vec<u32>,
    points: Vec<DVec3>,
    /// Element, corners in tracker cells, solid.
    triangles: Vec<(u32, [DVec3; 3], u32)>,
    region_parent: Vec<u32>,
    is_liquid: Vec<bool>,
    element_of: Vec<u32>,
    wet: WetCells,
}

/// Tracker cells without a surface, as solids divide them: found once, and kept as long as the solids are.
#[derive(Default)]
struct WetCells {
    /// Lowest nodes of the cells, sorted, each with the cell's number; [`NONE`] where no solid passes.
    number_of: Vec<(usize, u32)>,
    /// Where the lists of each cell begin.
    cells: Vec<ListEnds>,
    elements: Vec<Element>,
    /// Elements and points count from the first of their cell.
    polygons: Vec<FinePolygon>,
    points: Vec<DVec3>,
    triangles: Vec<(u32, [DVec3; 3], u32)>,
}

/// Lengths of lists.
#[derive(Clone, Copy, Default)]
struct ListEnds {
    elements: usize,
    polygons: usize,
    points: usize,
    triangles: usize,
}

impl SolidWork {
    fn ends(&self) -> ListEnds {
        ListEnds {
            elements: self.elements.len(),
            polygons: self.polygons.len(),
            points: self.points.len(),
            triangles: self.triangles.len(),
        }
    }

    /// Remembers what a cell has added since `first`, or, with None, that no solid passes through it.
    fn remember(&mut self, node: usize, first: Option<ListEnds>) {
        let number = first.map_or(NONE, |_| self.wet.cells.len() as u32);
        let place = self.wet.number_of.partition_point(|known| known.0 < node);
        self.wet.number_of.insert(place, (node, number));
        let Some(first) = first else { return };
        let wet = &mut self.wet;
        wet.cells.push(wet.ends());
        wet.elements.extend_from_slice(&self.elements[first.elements..]);
        wet.points.extend_from_slice(&self.points[first.points..]);
        let (element, point) = (first.elements as u32, first.points as u32);
        wet.polygons.extend(self.polygons[first.polygons..].iter().map(|p| FinePolygon {
            element: p.element - element,
            points: p.points.map(|n| n - point),
            ..*p
        }));
        let triangles = self.triangles[first.triangles..].iter();
        wet.triangles.extend(triangles.map(|&(e, corners, solid)| (e - element, corners, solid)));
    }

    /// Adds a remembered cell; false where it is not known.
    fn recall(&mut self, node: usize, add_plain: impl FnOnce(&mut Self)) -> bool {
        let Ok(place) = self.wet.number_of.binary_search_by_key(&node, |known| known.0) else { return false };
        let number = self.wet.number_of[place].1;
        if number == NONE {
            add_plain(self);
            return true;
        }
        let (element, point) = (self.elements.len() as u32, self.points.len() as u32);
        let wet = &self.wet;
        let from = wet.cells[number as usize];
        let to = wet.cells.get(number as usize + 1).copied().unwrap_or_else(|| wet.ends());
        self.elements.extend_from_slice(&wet.elements[from.elements..to.elements]);
        self.points.extend_from_slice(&wet.points[from.points..to.points]);
        self.polygons.extend(wet.polygons[from.polygons..to.polygons].iter().map(|p| FinePolygon {
            element: p.element + element,
            points: p.points.map(|n| n + point),
            ..*p
        }));
        let triangles = wet.triangles[from.triangles..to.triangles].iter();
        self.triangles.extend(triangles.map(|&(e, corners, solid)| (e + element, corners, solid)));
        true
    }
}

impl WetCells {
    fn ends(&self) -> ListEnds {
        ListEnds {
            elements: self.elements.len(),
            polygons: self.polygons.len(),
            points: self.points.len(),
            triangles: self.triangles.len(),
        }
    }
}

/// Number of the case whose eight corners are liquid.
const ALL_LIQUID: u8 = 255;

/// Adds the pieces of one cell.
pub(crate) fn solid_cell(
    out: &mut RowCells,
    cell: usize,
    source: &Source,
    (solids, bins): (&Solids, &Bins),
    work: &mut SolidWork,
) {
    let r = source.tracker.factor;
    let at = source.tracker.grid.cell_centers().coordinates(cell);
    work.elements.clear();
    work.polygons.clear();
    work.points.clear();
    work.triangles.clear();
    work.first_polygon.clear();
    work.first_polygon.push(0);
    for fine in 0..r * r * r {
        let offset = [fine % r, fine / r % r, fine / (r * r)];
        let node_at: [usize; 3] = std::array::from_fn(|a| r * at[a] + offset[a]);
        let node = source.nodes.index(node_at[0], node_at[1], node_at[2]);
        let case = source.flags.case(node, [0, 1, 2].map(|a| source.nodes.stride(a)));
        let low = DVec3::from_array(node_at.map(|n| n as f64));
        let is_wet = case == ALL_LIQUID;
        let is_known = is_wet && work.recall(node, |work| plain_cell(work, (node, case), low, source));
        if case != 0 && !is_known {
            let local = |t: u32| solids.triangles[t as usize].map(|x| r as f64 * x - low);
            let mut near = std::mem::take(&mut work.near);
            near.clear();
            near.extend(bins.of(cell).iter().filter(|&&t| touches_unit_cube(local(t), &mut work.clips)));
            let first = (!near.is_empty()).then(|| work.ends());
            match first {
                None => plain_cell(work, (node, case), low, source),
                Some(_) => divided_cell(work, (node, case), low, source, solids, &near),
            }
            if is_wet {
                work.remember(node, first);
            }
            work.near = near;
        }
        work.first_polygon.push(work.polygons.len() as u32);
    }
    join_elements(work, r);
    let center = DVec3::from_array(at.map(|n| n as f64)) + 0.5;
    emit_pieces(out, (cell, center), work, r);
}

/// Positions of the case's sites in a tracker cell, from its low corner.
fn site_positions(node: usize, case: u8, source: &Source) -> [DVec3; 20] {
    let corner_at = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    let stride = [0, 1, 2].map(|a| source.nodes.stride(a));
    let corner_node =
        |c: u8| node + (c & 1) as usize + stride[1] * (c >> 1 & 1) as usize + stride[2] * (c >> 2) as usize;
    let phi = source.tracker.phi_node;
    std::array::from_fn(|n| match n.checked_sub(8) {
        None => corner_at(n),
        Some(e) => {
            let [a, b] = EDGE_CORNERS[e];
            let mut x = corner_at(a as usize);
            if (case >> a ^ case >> b) & 1 == 1 {
                x[e / 4] = crossing(phi[corner_node(a)], phi[corner_node(b)]);
            }
            x
        }
    })
}

/// A tracker cell without solids: the table's parts, faces and triangles.
fn plain_cell(work: &mut SolidWork, (node, number): (usize, u8), low: DVec3, source: &Source) {
    let case = &CASES[number as usize];
    let at = site_positions(node, number, source);
    let first = work.elements.len();
    work.elements.resize(first + 1 + case.second_part.is_some() as usize, Element::default());
    for (face, polygon) in case.faces.iter().enumerate().filter(|f| !f.1.is_empty()) {
        let element = first + case.part_of(polygon[0].liquid_corner(number));
        let positions = || polygon.iter().map(|s| at[s.0 as usize]);
        add_boundary(&mut work.elements[element], positions());
        add_polygon(work, face as u8, element as u32, positions().map(|x| x + low));
    }
    for t in &case.triangles {
        let element = first + case.part_of(Site(Site::EDGE + t[0]).liquid_corner(number));
        let corners = t.map(|e| at[(Site::EDGE + e) as usize]);
        add_boundary(&mut work.elements[element], corners.into_iter());
        work.elements[element].surface_area += area_vector(corners.into_iter()).length();
        work.triangles.push((element as u32, corners.map(|x| x + low), NONE));
    }
    for element in &mut work.elements[first..] {
        element.moment += element.volume * low;
    }
}

fn add_polygon(work: &mut SolidWork, face: u8, element: u32, points: impl Iterator<Item = DVec3>) {
    let start = work.points.len() as u32;
    work.points.extend(points);
    work.polygons.push(FinePolygon { face, element, points: [start, work.points.len() as u32] });
}

/// Adds the tetrahedra between a boundary polygon, counter-clockwise seen from outside, and the cell's low
/// corner.
fn add_boundary(element: &mut Element, mut points: impl Iterator<Item = DVec3>) {
    let (Some(first), Some(mut last)) = (points.next(), points.next()) else { return };
    for p in points {
        let volume = first.dot(last.cross(p)) / 6.0;
        element.volume += volume;
        element.moment += volume * 0.25 * (first + last + p);
        last = p;
    }
}

/// A tracker cell that solids pass through.
fn divided_cell(
    work: &mut SolidWork,
    (node, number): (usize, u8),
    low: DVec3,
    source: &Source,
    solids: &Solids,
    near: &[u32],
) {
    let r = source.tracker.factor as f64;
    let at = site_positions(node, number, source);
    let complex = &mut work.complex;
    complex.reset();
    for t in &CASES[number as usize].triangles {
        complex.insert(t.map(|e| at[(Site::EDGE + e) as usize]), Kind::Surface);
    }
    for &t in near {
        complex.insert(solids.triangles[t as usize].map(|x| r * x - low), Kind::Solid(t));
    }
    find_liquid_regions(work, &CASES[number as usize], &at);
    let first = number_elements(work);
    // The facets are read while elements are written.
    let complex = std::mem::take(&mut work.complex);
    for facet in &complex.facets {
        for side in 0..2 {
            let (own, other) = (facet.sides[side], facet.sides[1 - side]);
            if own != OUTSIDE && work.is_liquid[own as usize] {
                let element = work.element_of[own as usize];
                add_facet(work, &complex, (facet, side, other), element, low, (solids, near[0]));
            }
        }
    }
    work.complex = complex;
    for element in &mut work.elements[first..] {
        element.moment += element.volume * low;
    }
}

/// Which regions are liquid: those whose middle the liquid of marching cubes encloses. Its solid angle is
/// summed, 4 pi inside and 0 outside; no connection between regions is asked, so that no sliver can lead the
/// answer astray.
fn find_liquid_regions(work: &mut SolidWork, case: &Case, at: &[DVec3; 20]) {
    let SolidWork { complex, is_liquid, .. } = work;
    is_liquid.clear();
    for region in 0..complex.regions {
        let (mut middle, mut count) = (DVec3::ZERO, 0.0);
        let own = complex.facets.iter().filter(|f| f.sides.contains(&region));
        for p in own.flat_map(|f| complex.positions(f)) {
            (middle, count) = (middle + p, count + 1.0);
        }
        middle /= count;
        let angle = winding(case, at, middle);
        is_liquid.push(angle > 2.0 * std::f64::consts::PI);
    }
}

/// Joins liquid regions through open facets and gives every set an element.
fn number_elements(work: &mut SolidWork) -> usize {
    let SolidWork { complex, region_parent, is_liquid, element_of, elements, .. } = work;
    let regions = complex.regions;
    region_parent.clear();
    region_parent.extend(0..regions);
    for f in complex.facets.iter().filter(|f| f.wall == NOTHING && f.solid == NOTHING) {
        let both = f.sides.iter().all(|&s| is_liquid[s as usize]);
        if both && area_vector(complex.positions(f)).length() > SLIVER {
            unite(region_parent, f.sides[0], f.sides[1]);
        }
    }
    let first = elements.len();
    element_of.clear();
    for region in 0..regions {
        let root = find(region_parent, region);
        element_of.push(if !is_liquid[region as usize] {
            NOTHING
        } else if root == region {
            elements.push(Element::default());
            elements.len() as u32 - 1
        } else {
            element_of[root as usize]
        });
    }
    first
}

/// A facet as seen from the liquid on one of its sides.
fn add_facet(
    work: &mut SolidWork,
    complex: &Complex,
    (facet, side, other): (&Facet, usize, u32),
    number: u32,
    low: DVec3,
    (solids, sealed_by): (&Solids, u32),
) {
    let polygon = complex.polygon(facet);
    let count = polygon.len();
    let position = |n: usize| {
        let n = if side == 0 { n } else { count - 1 - n };
        complex.points[polygon[n] as usize]
    };
    let element = &mut work.elements[number as usize];
    add_boundary(element, (0..count).map(position));
    let is_solid = facet.solid != NOTHING;
    if !is_solid && other == OUTSIDE {
        add_polygon(work, facet.wall as u8, number, (0..count).map(|n| position(n) + low));
        return;
    }
    if !is_solid && work.is_liquid[other as usize] && work.element_of[other as usize] == number {
        return; // open
    }
    let is_sealed = !is_solid && work.is_liquid[other as usize];
    let area = area_vector((0..count).map(position)).length();
    if is_sealed {
        // A gap of rounding between triangles of a solid, too small to connect: it is closed on both sides.
    } else if !is_solid {
        element.surface_area += area;
    } else if !solids.is_sheet[facet.solid as usize] {
        // Seen from outside the solid, the piece's outward normal is opposite to the solid's.
        element.inside += if (side == 0) == facet.solid_agrees { area } else { -area };
    }
    let solid = if is_solid {
        facet.solid
    } else if is_sealed {
        sealed_by
    } else {
        NONE
    };
    for n in 1..count - 1 {
        let corners = [position(0), position(n), position(n + 1)].map(|x| x + low);
        work.triangles.push((number, corners, solid));
    }
}

/// Area that two convex polygons in a plane normal to `axis` have in common, left in `scratch[0]`; the second
/// one is counter-clockwise seen from its side, `sign`.
pub(crate) fn overlap(scratch: &mut [Vec<DVec3>; 2], p: &[DVec3], q: &[DVec3], axis: Axis, sign: f64) -> f64 {
    let [a, b] = scratch;
    a.clear();
    a.extend_from_slice(p);
    let mut normal = DVec3::ZERO;
    normal[axis] = sign;
    for n in 0..q.len() {
        let (from, to) = (q[n], q[(n + 1) % q.len()]);
        let outward = (to - from).cross(normal);
        if outward.length_squared() > 0.0 {
            clip(b, a, |x| outward.dot(x - from));
            std::mem::swap(a, b);
        }
    }
    area_vector(a.iter().copied())[axis].abs()
}

/// Joins the elements of neighbouring tracker cells wherever their liquid meets on the common face.
fn join_elements(work: &mut SolidWork, r: usize) {
    let SolidWork { parent, elements, polygons, first_polygon, points, clips, .. } = work;
    parent.clear();
    parent.extend(0..elements.len() as u32);
    let of = |fine: usize| &polygons[first_polygon[fine] as usize..first_polygon[fine + 1] as usize];
    let polygon = |p: &FinePolygon| &points[p.points[0] as usize..p.points[1] as usize];
    for fine in 0..r * r * r {
        let at = [fine % r, fine / r % r, fine / (r * r)];
        for axis in (0..3).filter(|&a| at[a] > 0) {
            let before = fine - [1, r, r * r][axis];
            let high = of(before).iter().filter(|p| p.face as usize == 2 * axis + 1);
            for q in high {
                for p in of(fine).iter().filter(|p| p.face as usize == 2 * axis) {
                    if overlap(clips, polygon(p), polygon(q), axis, 1.0) > LEAST_OVERLAP {
                        unite(parent, p.element, q.element);
                    }
                }
            }
        }
    }
}

/// Elements become pieces; lengths change from tracker cells to cells.
fn emit_pieces(out: &mut RowCells, (cell, cell_center): (usize, DVec3), work: &mut SolidWork, r: usize) {
    let h = 1.0 / r as f64;
    let first_piece = out.pieces.len();
    // The piece of every element takes the place of its set.
    let mut inside: Vec<f64> = Vec::new();
    for n in 0..work.elements.len() {
        let root = find(&mut work.parent, n as u32) as usize;
        if root == n {
            out.pieces.push(Piece { cell: cell as u32, ..Piece::default() });
            inside.push(0.0);
        }
    }
    let mut piece_of = vec![0u32; work.elements.len()];
    let mut count = 0;
    for (n, element) in work.elements.iter().enumerate() {
        let root = find(&mut work.parent, n as u32) as usize;
        if root == n {
            piece_of[n] = count;
            count += 1;
        } else {
            piece_of[n] = piece_of[root];
        }
        let piece = &mut out.pieces[first_piece + piece_of[n] as usize];
        piece.volume += element.volume;
        piece.centroid += element.moment;
        piece.surface_area += element.surface_area;
        inside[piece_of[n] as usize] += element.inside;
    }
    let row_pieces = out.pieces.len();
    for (n, piece) in out.pieces[first_piece..row_pieces].iter_mut().enumerate() {
        if inside[n] > 0.0 {
            out.in_solid.push((first_piece + n) as u32);
        }
        // A piece without volume has no moment; its cell's centre stands for it.
        piece.centroid = if piece.volume > 0.0 { piece.centroid / piece.volume * h } else { cell_center };
        piece.volume *= h * h * h;
        piece.surface_area *= h * h;
    }
    out.piece_counts.push(count);
    work.triangles.sort_by_key(|t| piece_of[t.0 as usize]);
    let mut triangles = work.triangles.iter().peekable();
    for piece in 0..count {
        let before = out.triangles.len();
        while let Some((_, corners, solid)) = triangles.next_if(|t| piece_of[t.0 as usize] == piece) {
            let first = out.own_vertices.len() as u32 | OWN;
            out.own_vertices.extend(corners.map(|x| x * h));
            out.triangles.push(Triangle { vertices: [first, first + 1, first + 2], solid: *solid });
        }
        out.triangle_counts.push((out.triangles.len() - before) as u32);
    }
    emit_sides(out, cell, work, &piece_of, r);
}

/// Polygons on the faces of the grid, for the pass over faces.
fn emit_sides(out: &mut RowCells, cell: usize, work: &SolidWork, piece_of: &[u32], r: usize) {
    for fine in 0..r * r * r {
        let at = [fine % r, fine / r % r, fine / (r * r)];
        let range = work.first_polygon[fine] as usize..work.first_polygon[fine + 1] as usize;
        for p in &work.polygons[range] {
            let axis = p.face as usize / 2;
            let outermost = if p.face % 2 == 0 { 0 } else { r - 1 };
            if at[axis] != outermost {
                continue;
            }
            let [a, b] = [[1, 2], [0, 2], [0, 1]][axis];
            let start = out.side_points.len() as u32;
            out.side_points.extend_from_slice(&work.points[p.points[0] as usize..p.points[1] as usize]);
            out.side_polygons.push(SidePolygon {
                cell: cell as u32,
                face: p.face,
                fine: (at[a] + r * at[b]) as u16,
                piece: piece_of[p.element as usize],
                points: [start, out.side_points.len() as u32],
            });
        }
    }
}
