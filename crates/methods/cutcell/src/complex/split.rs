//! Splitting facets and regions by a plane.

use super::planes::Plane;
use super::{Complex, Facet, NEAR, NOTHING, OUTSIDE, REMOVED, SLIVER, area_vector};
use fluvial_foundation::DVec3;

impl Complex {
    /// The point where an edge meets the plane of the current split.
    pub(super) fn crossing(&mut self, a: u32, b: u32) -> u32 {
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

    pub(super) fn measure(&mut self, plane: Plane) {
        self.height.clear();
        self.height.extend(self.points.iter().map(|&p| plane.height(p)));
        self.crossings.clear();
    }

    /// Splits a facet by the measured heights: it keeps the low part, and the high one is a new facet.
    pub(super) fn split_facet(&mut self, f: usize) -> Option<usize> {
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

    /// Splits a region by a plane that passes through it; returns the first of the facets between the low
    /// part, which keeps its number, and the high part.
    ///
    /// A facet of the region may lie in the plane within rounding, where two triangles meet at a tiny angle.
    /// The part of the section on it would bound a layer without thickness, through which the two sides
    /// of the surface would be connected (test `hinges_of_any_angle_are_tight`): it is taken out, and the
    /// facet bounds whichever part lies behind it.
    pub(super) fn split(&mut self, region: u32, plane: Plane) -> usize {
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

    /// Area of a facet that lies in the plane of the current split, positive where the region lies below it;
    /// zero for others.
    pub(super) fn outward_area_in_plane(&self, facet: &Facet, region: u32, n: DVec3) -> f64 {
        if self.polygon(facet).iter().any(|&p| self.height[p as usize] != 0.0) {
            return 0.0;
        }
        let area = area_vector(self.positions(facet)).dot(n);
        if facet.sides[0] == region { area } else { -area }
    }

    /// Takes the polygon of facet `f` out of the facets from `first` on, which lie in one plane with it.
    pub(super) fn subtract(&mut self, first: usize, f: usize, n: DVec3) {
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
}
