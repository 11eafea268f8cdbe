//! A tracker cell divided by triangles: convex regions and the facets between them.
//!
//! Solids may be thinner than a tracker cell, so their triangles are cut exactly. Where they pass, the cell begins as one convex
//! region. Every triangle, of the liquid's surface or of a solid, splits the regions it passes through along its plane; the new
//! facet is divided along the triangle's edges into the part that the triangle covers and the rest, which stays open.
//! Facets are shared by the regions on their two sides, so that whatever divides one divides the other: regions stay
//! closed. Positions are in tracker cells from the cell's low corner.

use crate::cases::FACE_CORNERS;
use fluvial_foundation::DVec3;

/// Distance below which a point counts as lying in a plane: rounding.
const NEAR: f64 = 1e-13;
/// A triangle that departs from an earlier plane by less than this, inside the cell, is moved into it. Flat walls and
/// surfaces come with the rounding of f32; planes between them would meet at angles that f64 cannot resolve.
const SAME_PLANE: f64 = 5e-7;
/// No corner is moved further than this.
const MOVE: f64 = 1e-5;
/// Areas below this are none.
const NO_AREA: f64 = 1e-18;
/// Open facets smaller than this do not connect: along the hinge of two triangles rounding leaves a gap of `NEAR` over their
/// angle, which is at least `SAME_PLANE` over the diagonal of a cell.
pub(crate) const SLIVER: f64 = 2e-6;
/// Liquid on the two sides of a face that has less than this in common, in fine faces, is not connected: corners may be moved by
/// `SAME_PLANE` in one cell and not in the other, and the two sides of a wall would meet along it.
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

/// A corner of triangles, and where it was moved to.
#[derive(Clone, Copy)]
struct Moved {
    from: DVec3,
    at: DVec3,
    /// Planes that it must stay in.
    planes: [u32; 3],
    count: usize,
}

impl Moved {
    fn keep(&mut self, plane: u32) {
        if self.count < 3 && !self.planes[..self.count].contains(&plane) {
            self.planes[self.count] = plane;
            self.count += 1;
        }
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

    /// The plane of the triangle `corners` (numbers of `self.moved`), or an earlier one that it does not depart from inside the cell
    /// and that its corners can be moved into; None for triangles outside.
    fn plane_of(&mut self, corners: [usize; 3]) -> Option<Plane> {
        let triangle = corners.map(|c| self.moved[c].at);
        let [p, q, r] = triangle;
        let n = (q - p).cross(r - p);
        // Thinner than rounding: it separates nothing.
        if n.length() < NO_AREA {
            return None;
        }
        let own = Plane { n: n.normalize(), d: n.normalize().dot(p) };
        let [mut a, mut b] = [std::mem::take(&mut self.polygon), std::mem::take(&mut self.clipped)];
        a.clear();
        a.extend(triangle);
        for axis in 0..3 {
            clip(&mut b, &a, |x| -SAME_PLANE - x[axis]);
            clip(&mut a, &b, |x| x[axis] - 1.0 - SAME_PLANE);
        }
        let same = |p: &Plane| a.iter().all(|&x| (p.n.dot(x) - p.d).abs() < SAME_PLANE);
        let earlier = (0..self.planes.len()).find(|&n| same(&self.planes[n]));
        let touches = a.len() > 2;
        (self.polygon, self.clipped) = (a, b);
        if !touches {
            return None;
        }
        if let Some(number) = earlier.filter(|&n| self.move_into(corners, n)) {
            let plane = self.planes[number];
            let sign = plane.n.dot(own.n).signum();
            return Some(Plane { n: sign * plane.n, d: sign * plane.d });
        }
        self.planes.push(own);
        let number = self.planes.len() as u32 - 1;
        corners.iter().for_each(|&c| self.moved[c].keep(number));
        Some(own)
    }

    /// Moves a triangle's corners into a plane, each within the planes of earlier triangles that it is a corner of. False, and nothing
    /// is moved, where that is too far.
    fn move_into(&mut self, corners: [usize; 3], number: usize) -> bool {
        let plane = self.planes[number];
        let target = |v: &Moved| {
            let height = plane.n.dot(v.at) - plane.d;
            let kept = &v.planes[..v.count];
            if height.abs() < NEAR || kept.contains(&(number as u32)) {
                return Some(v.at);
            }
            let direction = match *kept {
                [] => plane.n,
                [one] => {
                    let m = self.planes[one as usize].n;
                    plane.n - plane.n.dot(m) * m
                }
                [one, two, ..] => self.planes[one as usize].n.cross(self.planes[two as usize].n),
            };
            let slope = plane.n.dot(direction);
            let way = height / slope * direction;
            (kept.len() < 3 && way.length() < MOVE).then(|| v.at - way)
        };
        let to = corners.map(|c| target(&self.moved[c]));
        let [Some(p), Some(q), Some(r)] = to else { return false };
        for (c, x) in corners.into_iter().zip([p, q, r]) {
            self.moved[c].at = x;
            self.moved[c].keep(number as u32);
        }
        true
    }

    /// The corner at a place: triangles that share it must go on sharing it when it is moved.
    fn corner_at(&mut self, x: DVec3) -> usize {
        if let Some(found) = self.moved.iter().position(|v| v.from == x) {
            return found;
        }
        self.moved.push(Moved { from: x, at: x, planes: [0; 3], count: 0 });
        self.moved.len() - 1
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

    /// Splits a region by a plane that passes through it; returns the first of the facets between the low part, which keeps its
    /// number, and the high part.
    ///
    /// A facet of the region may lie in the plane within rounding, where two triangles meet at a tiny angle. The part of the
    /// section on it would bound a layer without thickness, through which the two sides of the surface would be connected
    /// (test `hinges_of_any_angle_are_tight`): it is taken out, and the facet bounds whichever part lies behind it.
    fn split(&mut self, region: u32, plane: Plane) -> usize {
        self.measure(plane);
        let new_region = self.regions;
        self.regions += 1;
        let mut section = std::mem::take(&mut self.section);
        section.clear();
        self.in_plane.clear();
        for f in 0..self.facets.len() {
            if !self.facets[f].sides.contains(&region) {
                continue;
            }
            let high = self.split_facet(f);
            let facet = self.facets[f];
            let in_plane = self.outward_area_in_plane(&facet, region, plane.n);
            let is_high =
                in_plane < -SLIVER || self.polygon(&facet).iter().any(|&p| self.height[p as usize] > 0.0);
            if in_plane.abs() > SLIVER {
                self.in_plane.push(f as u32);
            }
            let moved = high.or_else(|| is_high.then_some(f));
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
        let first = self.facets.len() - 1;
        for n in 0..self.in_plane.len() {
            self.subtract(first, self.in_plane[n] as usize, plane.n);
        }
        first
    }

    /// Area of a facet that lies in the plane of the current split, positive where the region lies below it; zero for others.
    fn outward_area_in_plane(&self, facet: &Facet, region: u32, n: DVec3) -> f64 {
        if self.polygon(facet).iter().any(|&p| self.height[p as usize] != 0.0) {
            return 0.0;
        }
        let area = area_vector(self.positions(facet)).dot(n);
        if facet.sides[0] == region { area } else { -area }
    }

    /// Takes the polygon of facet `f` out of the facets from `first` on, which lie in one plane with it.
    fn subtract(&mut self, first: usize, f: usize, n: DVec3) {
        let facet = self.facets[f];
        let sign = area_vector(self.positions(&facet)).dot(n).signum();
        let count = self.polygon(&facet).len();
        for s in first..self.facets.len() {
            for c in 0..count {
                let corner = |c: usize| self.points[self.polygon(&facet)[c % count] as usize];
                let (p, q) = (corner(c), corner(c + 1));
                let normal = sign * (q - p).cross(n).normalize_or_zero();
                self.measure(Plane { n: normal, d: normal.dot(p) });
                self.split_facet(s);
            }
            let middle =
                self.positions(&self.facets[s]).sum::<DVec3>() / self.polygon(&self.facets[s]).len() as f64;
            let inside = (0..count).all(|c| {
                let corner = |c: usize| self.points[self.polygon(&facet)[c % count] as usize];
                let (p, q) = (corner(c), corner(c + 1));
                sign * (q - p).cross(n).dot(middle - p) <= NEAR * (q - p).length()
            });
            if inside {
                let nothing = &mut self.facets[s];
                (nothing.start, nothing.end) = (0, 0);
                (nothing.sides, nothing.wall) = ([OUTSIDE; 2], REMOVED);
            }
        }
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

    /// Fans of triangles whose corners are off a plane by less and less: no open facets lead from the cell's bottom to its top.
    #[test]
    fn hinges_of_any_angle_are_tight() {
        let mut complex = Complex::default();
        for case in 0..2000u64 {
            let noise = 10f64.powf(-0.006 * case as f64);
            let corner = |k: u64, x: f64, z: f64| {
                let y = 0.4 + 0.2 * x - 0.1 * z + 0.2 * noise * (unit_vec3(case, k).x as f64 - 0.5);
                DVec3::new(x, y, z)
            };
            let u = unit_vec3(case, 9);
            let ring = [
                corner(0, 0.0, 0.0),
                corner(1, 0.0, 1.0),
                corner(2, u.x as f64, 1.0),
                corner(3, 1.0, 1.0),
                corner(4, 1.0, u.y as f64),
                corner(5, 1.0, 0.0),
            ];
            complex.reset();
            for n in 1..5 {
                complex.insert([ring[0], ring[n], ring[n + 1]], Kind::Surface);
            }
            let mut seen = vec![false; complex.regions as usize];
            let bottom = complex.facets.iter().find(|f| f.wall == 2).expect("a bottom").sides[0];
            let mut stack = vec![bottom];
            while let Some(region) = stack.pop() {
                seen[region as usize] = true;
                let open = complex.facets.iter().filter(|f| {
                    let wide = area_vector(complex.positions(f)).length() > SLIVER;
                    f.wall == NOTHING && f.surface == 0 && wide && f.sides.contains(&region)
                });
                stack.extend(open.flat_map(|f| f.sides).filter(|&s| !seen[s as usize]));
            }
            let top = complex.facets.iter().find(|f| f.wall == 3).expect("a top").sides[0];
            assert!(!seen[top as usize], "case {case}, noise {noise:e}");
        }
    }
}
