//! A tracker cell divided by triangles: convex regions and the facets between them.
//!
//! Solids may be thinner than a tracker cell, so their triangles are cut exactly. Where they pass, the cell
//! begins as one convex region. Every triangle, of the liquid's surface or of a solid, splits the regions it
//! passes through along its plane; the new facet is divided along the triangle's edges into the part that the
//! triangle covers and the rest, which stays open. Facets are shared by the regions on their two sides, so
//! that whatever divides one divides the other: regions stay closed. Positions are in tracker cells from the
//! cell's low corner.

mod planes;
mod split;

use super::cases::FACE_CORNERS;
use fluvial_foundation::DVec3;
use planes::{Moved, Plane};

/// Distance below which a point counts as lying in a plane: rounding.
const NEAR: f64 = 1e-13;
/// Areas below this are none.
const NO_AREA: f64 = 1e-18;
/// Open facets smaller than this do not connect: along the hinge of two triangles rounding leaves a gap of
/// `NEAR` over their angle, which is at least `SAME_PLANE` over the diagonal of a cell.
pub(crate) const SLIVER: f64 = 2e-6;
/// Liquid on the two sides of a face that has less than this in common, in fine faces, is not connected:
/// corners may be moved by `SAME_PLANE` in one cell and not in the other, and the two sides of a wall would
/// meet along it.
pub(crate) const LEAST_OVERLAP: f64 = 8e-7;
/// Outside the cell.
pub(crate) const OUTSIDE: u32 = u32::MAX;
/// The wall of facets that were taken out.
const REMOVED: u32 = 6;
/// No solid, no wall.
pub(crate) const NOTHING: u32 = u32::MAX;

/// A convex polygon between two regions; its normal points from the first to the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facet {
    start: u32,
    end: u32,
    pub sides: [u32; 2],
    /// Face of the cell, 0 to 5, or [`NOTHING`].
    pub wall: u32,
    /// +1 where it lies on the liquid's surface and its normal points into the air, -1 for the opposite.
    pub surface: i8,
    /// Triangle of a solid that covers it, or [`NOTHING`].
    pub solid: u32,
    /// Does the facet's normal agree with that triangle's?
    pub solid_agrees: bool,
}

/// What a triangle is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Of the liquid's surface, its normal into the air.
    Surface,
    /// Of a solid, by number.
    Solid(u32),
}

/// The division of one cell. Kept from cell to cell as scratch.
#[derive(Default)]
pub(crate) struct Complex {
    pub points: Vec<DVec3>,
    corners: Vec<u32>,
    pub facets: Vec<Facet>,
    pub regions: u32,
    planes: Vec<Plane>,
    moved: Vec<Moved>,
    // Scratch of a split.
    height: Vec<f64>,
    crossings: Vec<([u32; 2], u32)>,
    section: Vec<(f64, u32)>,
    in_plane: Vec<u32>,
    polygon: Vec<DVec3>,
    clipped: Vec<DVec3>,
    low: Vec<u32>,
    high: Vec<u32>,
}

/// The planes through a triangle's edges, along its normal; heights are positive outside.
fn edge_planes([a, b, c]: [DVec3; 3], n: DVec3) -> [Plane; 3] {
    [(a, b), (b, c), (c, a)].map(|(p, q)| {
        let n = (q - p).cross(n).normalize_or_zero();
        Plane { n, d: n.dot(p) }
    })
}

/// Area vector of a polygon.
pub(crate) fn area_vector(polygon: impl ExactSizeIterator<Item = DVec3> + Clone) -> DVec3 {
    let mut points = polygon;
    let Some(first) = points.next() else { return DVec3::ZERO };
    let Some(mut last) = points.next() else { return DVec3::ZERO };
    let mut sum = DVec3::ZERO;
    for p in points {
        sum += (last - first).cross(p - first);
        last = p;
    }
    0.5 * sum
}

/// Part of a polygon where a height is not positive.
pub(crate) fn clip(out: &mut Vec<DVec3>, polygon: &[DVec3], height: impl Fn(DVec3) -> f64) {
    out.clear();
    for n in 0..polygon.len() {
        let (a, b) = (polygon[n], polygon[(n + 1) % polygon.len()]);
        let (ha, hb) = (height(a), height(b));
        if ha <= 0.0 {
            out.push(a);
        }
        if ha * hb < 0.0 {
            out.push(a + ha / (ha - hb) * (b - a));
        }
    }
}

impl Complex {
    /// One region: the whole cell.
    pub fn reset(&mut self) {
        self.points.clear();
        self.points.extend((0..8).map(|c| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64)));
        self.corners.clear();
        self.facets.clear();
        self.regions = 1;
        self.planes.clear();
        self.moved.clear();
        self.planes.extend((0..6).map(|w| Plane { n: DVec3::AXES[w / 2], d: (w % 2) as f64 }));
        for (wall, corners) in FACE_CORNERS.iter().enumerate() {
            self.corners.extend(corners.map(u32::from));
            let start = 4 * wall as u32;
            self.facets.push(Facet {
                start,
                end: start + 4,
                sides: [0, OUTSIDE],
                wall: wall as u32,
                surface: 0,
                solid: NOTHING,
                solid_agrees: false,
            });
        }
    }

    /// Points of a facet.
    pub fn polygon(&self, facet: &Facet) -> &[u32] {
        &self.corners[facet.start as usize..facet.end as usize]
    }

    /// Positions of a facet's points.
    pub fn positions(&self, facet: &Facet) -> impl ExactSizeIterator<Item = DVec3> + Clone + '_ {
        self.polygon(facet).iter().map(|&p| self.points[p as usize])
    }

    /// Divides the cell by a triangle.
    pub fn insert(&mut self, triangle: [DVec3; 3], kind: Kind) {
        let corners = triangle.map(|x| self.corner_at(x));
        let Some(plane) = self.plane_of(corners) else { return };
        let edges = edge_planes(corners.map(|c| self.moved[c].at), plane.n);
        self.cover_facets_in_plane(plane, &edges, kind);
        for region in 0..self.regions {
            if self.section_is_met(region, plane, &edges) {
                let first = self.split(region, plane);
                for facet in first..self.facets.len() {
                    self.cover(facet, &edges, kind, true);
                }
            }
        }
    }

    /// Facets that lie in the triangle's plane already.
    fn cover_facets_in_plane(&mut self, plane: Plane, edges: &[Plane; 3], kind: Kind) {
        for f in 0..self.facets.len() {
            let facet = self.facets[f];
            if self.positions(&facet).all(|p| plane.height(p) == 0.0) {
                let agrees = area_vector(self.positions(&facet)).dot(plane.n) > 0.0;
                self.cover(f, edges, kind, agrees);
            }
        }
    }

    /// Does the triangle cover some of the region's section with its plane?
    fn section_is_met(&mut self, region: u32, plane: Plane, edges: &[Plane; 3]) -> bool {
        let mut polygon = std::mem::take(&mut self.polygon);
        polygon.clear();
        let (mut below, mut above) = (false, false);
        for facet in self.facets.iter().filter(|f| f.sides.contains(&region)) {
            let points = &self.corners[facet.start as usize..facet.end as usize];
            for n in 0..points.len() {
                let [p, q] = [points[n], points[(n + 1) % points.len()]].map(|p| self.points[p as usize]);
                let (hp, hq) = (plane.height(p), plane.height(q));
                below |= hp < 0.0;
                above |= hp > 0.0;
                if hp == 0.0 {
                    polygon.push(p);
                } else if hp * hq < 0.0 {
                    polygon.push(p + hp / (hp - hq) * (q - p));
                }
            }
        }
        let met = below && above && polygon.len() > 2 && {
            self.sort_positions(&mut polygon, plane.n);
            let mut clipped = std::mem::take(&mut self.clipped);
            for edge in edges {
                clip(&mut clipped, &polygon, |x| edge.height(x));
                std::mem::swap(&mut clipped, &mut polygon);
            }
            self.clipped = clipped;
            area_vector(polygon.iter().copied()).length() > NO_AREA
        };
        self.polygon = polygon;
        met
    }

    fn sort_positions(&self, polygon: &mut [DVec3], n: DVec3) {
        let center = polygon.iter().sum::<DVec3>() / polygon.len() as f64;
        let u = n.any_orthonormal_vector();
        let v = n.cross(u);
        let angle = |p: &DVec3| (*p - center).dot(v).atan2((*p - center).dot(u));
        polygon.sort_unstable_by(|p, q| angle(p).total_cmp(&angle(q)));
    }

    /// Marks the part of a facet inside a triangle's edges; the parts outside become facets of their own.
    fn cover(&mut self, facet: usize, edges: &[Plane; 3], kind: Kind, agrees: bool) {
        let inside = |s: &Self, e: &Plane| s.positions(&s.facets[facet]).any(|p| e.height(p) < 0.0);
        if !edges.iter().all(|e| inside(self, e)) {
            return;
        }
        // Find out first whether anything is covered: a facet beside the triangle must not be divided for
        // nothing.
        let mut polygon = std::mem::take(&mut self.polygon);
        let mut clipped = std::mem::take(&mut self.clipped);
        polygon.clear();
        polygon.extend(self.positions(&self.facets[facet]));
        for edge in edges {
            clip(&mut clipped, &polygon, |x| edge.height(x));
            std::mem::swap(&mut clipped, &mut polygon);
        }
        let covered = area_vector(polygon.iter().copied()).length() > NO_AREA;
        (self.polygon, self.clipped) = (polygon, clipped);
        if !covered {
            return;
        }
        for edge in edges {
            self.measure(*edge);
            self.split_facet(facet);
        }
        let facet = &mut self.facets[facet];
        match kind {
            Kind::Surface => facet.surface = if agrees { 1 } else { -1 },
            Kind::Solid(number) => (facet.solid, facet.solid_agrees) = (number, agrees),
        }
    }
}
