//! A tracker cell divided by triangles: convex regions and the facets between them.
//!
//! Solids may be thinner than a tracker cell, so their triangles are cut exactly. Where they pass, the cell begins as one convex
//! region. Every triangle, of the liquid's surface or of a solid, splits the regions it passes through along its plane; the new
//! facet is divided along the triangle's edges into the part that the triangle covers and the rest, which stays open.
//! Facets are shared by the regions on their two sides, so that whatever divides one divides the other: regions stay
//! closed. Positions are in tracker cells from the cell's low corner.

use crate::cases::FACE_CORNERS;
use fluvial_foundation::DVec3;

/// Distance below which a point counts as lying in a plane.
const NEAR: f64 = 1e-9;
/// Open facets smaller than this do not connect: they are what rounding leaves between triangles that share an edge.
pub(crate) const SLIVER: f64 = 1e-10;
/// Outside the cell.
pub(crate) const OUTSIDE: u32 = u32::MAX;
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
    // Scratch of a split.
    height: Vec<f64>,
    crossings: Vec<([u32; 2], u32)>,
    section: Vec<(f64, u32)>,
    polygon: Vec<DVec3>,
    clipped: Vec<DVec3>,
    low: Vec<u32>,
    high: Vec<u32>,
}

/// A plane `n . x = d`.
#[derive(Clone, Copy)]
struct Plane {
    n: DVec3,
    d: f64,
}

impl Plane {
    fn height(&self, x: DVec3) -> f64 {
        let h = self.n.dot(x) - self.d;
        if h.abs() < NEAR { 0.0 } else { h }
    }
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
        let [a, b, c] = triangle;
        let n = (b - a).cross(c - a);
        // Thinner than rounding: it separates nothing.
        if n.length() < NEAR * NEAR {
            return;
        }
        let n = n.normalize();
        let plane = Plane { n, d: n.dot(a) };
        let edges = edge_planes(triangle, n);
        self.cover_facets_in_plane(plane, &edges, kind);
        for region in 0..self.regions {
            if self.section_is_met(region, plane, &edges) {
                let facet = self.split(region, plane);
                self.cover(facet, &edges, kind, true);
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
            area_vector(polygon.iter().copied()).length() > NEAR * NEAR
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

    /// The point where an edge meets the plane of the current split.
    fn crossing(&mut self, a: u32, b: u32) -> u32 {
        let key = [a.min(b), a.max(b)];
        if let Some(found) = self.crossings.iter().find(|c| c.0 == key) {
            return found.1;
        }
        let [a, b] = key;
        let (ha, hb) = (self.height[a as usize], self.height[b as usize]);
        let (pa, pb) = (self.points[a as usize], self.points[b as usize]);
        let point = self.points.len() as u32;
        self.points.push(pa + ha / (ha - hb) * (pb - pa));
        self.height.push(0.0);
        self.crossings.push((key, point));
        point
    }

    fn measure(&mut self, plane: Plane) {
        self.height.clear();
        self.height.extend(self.points.iter().map(|&p| plane.height(p)));
        self.crossings.clear();
    }

    /// Splits a facet by the measured heights: it keeps the low part, and the high one is a new facet.
    fn split_facet(&mut self, f: usize) -> Option<usize> {
        let facet = self.facets[f];
        let of = |h: &[f64], p: u32| h[p as usize];
        let points = &self.corners[facet.start as usize..facet.end as usize];
        let straddles = points.iter().any(|&p| of(&self.height, p) < 0.0)
            && points.iter().any(|&p| of(&self.height, p) > 0.0);
        if !straddles {
            return None;
        }
        let (mut low, mut high) = (std::mem::take(&mut self.low), std::mem::take(&mut self.high));
        low.clear();
        high.clear();
        let count = (facet.end - facet.start) as usize;
        for n in 0..count {
            let corner = |n: usize| self.corners[facet.start as usize + n % count];
            let (p, q) = (corner(n), corner(n + 1));
            let (hp, hq) = (of(&self.height, p), of(&self.height, q));
            if hp <= 0.0 {
                low.push(p);
            }
            if hp >= 0.0 {
                high.push(p);
            }
            if hp * hq < 0.0 {
                let x = self.crossing(p, q);
                low.push(x);
                high.push(x);
            }
        }
        let [low_range, high_range] = [&low, &high].map(|part| {
            let start = self.corners.len() as u32;
            self.corners.extend_from_slice(part);
            [start, self.corners.len() as u32]
        });
        (self.low, self.high) = (low, high);
        [self.facets[f].start, self.facets[f].end] = low_range;
        self.facets.push(Facet { start: high_range[0], end: high_range[1], ..facet });
        Some(self.facets.len() - 1)
    }

    /// Splits a region by a plane that passes through it; returns the facet between the low part, which keeps its number, and
    /// the high part.
    fn split(&mut self, region: u32, plane: Plane) -> usize {
        self.measure(plane);
        let new_region = self.regions;
        self.regions += 1;
        self.section.clear();
        let mut section = std::mem::take(&mut self.section);
        for f in 0..self.facets.len() {
            if !self.facets[f].sides.contains(&region) {
                continue;
            }
            let high = self.split_facet(f);
            let facet = self.facets[f];
            let is_high = |s: &Self| s.polygon(&facet).iter().any(|&p| s.height[p as usize] > 0.0);
            let moved = high.or_else(|| is_high(self).then_some(f));
            if let Some(moved) = moved {
                let sides = &mut self.facets[moved].sides;
                sides.iter_mut().filter(|s| **s == region).for_each(|s| *s = new_region);
            }
            for &p in self.polygon(&facet) {
                if self.height[p as usize] == 0.0 && !section.iter().any(|s| s.1 == p) {
                    section.push((0.0, p));
                }
            }
        }
        let center = section.iter().map(|s| self.points[s.1 as usize]).sum::<DVec3>() / section.len() as f64;
        let u = plane.n.any_orthonormal_vector();
        let v = plane.n.cross(u);
        for (angle, p) in &mut section {
            let r = self.points[*p as usize] - center;
            *angle = r.dot(v).atan2(r.dot(u));
        }
        section.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
        let start = self.corners.len() as u32;
        self.corners.extend(section.iter().map(|s| s.1));
        let end = self.corners.len() as u32;
        self.section = section;
        let sides = [region, new_region];
        self.facets.push(Facet {
            start,
            end,
            sides,
            wall: NOTHING,
            surface: 0,
            solid: NOTHING,
            solid_agrees: false,
        });
        self.facets.len() - 1
    }

    /// Marks the part of a facet inside a triangle's edges; the parts outside become facets of their own.
    fn cover(&mut self, facet: usize, edges: &[Plane; 3], kind: Kind, agrees: bool) {
        let inside = |s: &Self, e: &Plane| s.positions(&s.facets[facet]).any(|p| e.height(p) < 0.0);
        if !edges.iter().all(|e| inside(self, e)) {
            return;
        }
        // Find out first whether anything is covered: a facet beside the triangle must not be divided for nothing.
        let mut polygon = std::mem::take(&mut self.polygon);
        let mut clipped = std::mem::take(&mut self.clipped);
        polygon.clear();
        polygon.extend(self.positions(&self.facets[facet]));
        for edge in edges {
            clip(&mut clipped, &polygon, |x| edge.height(x));
            std::mem::swap(&mut clipped, &mut polygon);
        }
        let covered = area_vector(polygon.iter().copied()).length() > NEAR * NEAR;
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

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::random::unit_vec3;

    fn volume(complex: &Complex, region: u32) -> (f64, DVec3) {
        let mut sums = (0.0, DVec3::ZERO);
        for facet in complex.facets.iter().filter(|f| f.sides.contains(&region)) {
            let sign = if facet.sides[0] == region { 1.0 } else { -1.0 };
            let area = sign * area_vector(complex.positions(facet));
            let p = complex.positions(facet).next().expect("a point");
            sums = (sums.0 + area.dot(p) / 3.0, sums.1 + area);
        }
        sums
    }

    /// Random triangles through a cell: regions stay closed, their volumes add up to the cell, and what is covered has the area of
    /// the triangle clipped to the cell.
    #[test]
    fn regions_stay_closed_and_add_up() {
        let mut complex = Complex::default();
        for case in 0..1000 {
            complex.reset();
            let count = 1 + case % 6;
            let mut wanted = 0.0;
            for t in 0..count {
                // Some corners in common, some planes along the cell's own.
                let corner = |k: u64| {
                    let x = unit_vec3(case, if k == 0 { 50 } else { 3 * t + k }).as_dvec3() * 2.0 - 0.5;
                    if case % 4 == 3 { (4.0 * x).round() / 4.0 } else { x }
                };
                let triangle = [corner(0), corner(1), corner(2)];
                complex.insert(triangle, Kind::Solid(t as u32));
                if count == 1 {
                    let (mut a, mut b) = (triangle.to_vec(), vec![]);
                    for axis in 0..3 {
                        clip(&mut b, &a, |x| -x[axis]);
                        clip(&mut a, &b, |x| x[axis] - 1.0);
                    }
                    wanted = area_vector(a.into_iter()).length();
                }
            }
            let mut all = 0.0;
            for region in 0..complex.regions {
                let (volume, area) = volume(&complex, region);
                assert!(area.length() < 1e-8 && volume > -1e-12, "case {case}: {volume} {area}");
                all += volume;
            }
            assert!((all - 1.0).abs() < 1e-8, "case {case}: {all}");
            if count == 1 {
                let covered = complex.facets.iter().filter(|f| f.solid != NOTHING);
                let area: f64 = covered.map(|f| area_vector(complex.positions(f)).length()).sum();
                assert!((area - wanted).abs() < 1e-8, "case {case}: {area} {wanted}");
            }
        }
    }
}
