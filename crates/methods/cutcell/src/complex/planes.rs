//! Planes of triangles, and corners moved so that nearly flat surfaces are flat.

use super::{Complex, NEAR, NO_AREA, clip};
use fluvial_foundation::DVec3;

/// A triangle that departs from an earlier plane by less than this, inside the cell, is moved into it. Flat
/// walls and surfaces come with the rounding of f32; planes between them would meet at angles that f64 cannot
/// resolve.
const SAME_PLANE: f64 = 5e-7;
/// No corner is moved further than this.
const MOVE: f64 = 1e-5;

/// A plane `n . x = d`.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub n: DVec3,
    pub d: f64,
}

impl Plane {
    pub(super) fn height(&self, x: DVec3) -> f64 {
        let h = self.n.dot(x) - self.d;
        if h.abs() < NEAR { 0.0 } else { h }
    }
}

/// A corner of triangles, and where it was moved to.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub from: DVec3,
    pub at: DVec3,
    /// Planes that it must stay in.
    pub planes: [u32; 3],
    pub count: usize,
}

impl Moved {
    pub(super) fn keep(&mut self, plane: u32) {
        if self.count < 3 && !self.planes[..self.count].contains(&plane) {
            self.planes[self.count] = plane;
            self.count += 1;
        }
    }
}

impl Complex {
    /// The plane of the triangle `corners` (numbers of `self.moved`), or an earlier one that it does not
    /// depart from inside the cell and that its corners can be moved into; None for triangles outside.
    pub(super) fn plane_of(&mut self, corners: [usize; 3]) -> Option<Plane> {
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

    /// Moves a triangle's corners into a plane, each within the planes of earlier triangles that it is a
    /// corner of. False, and nothing is moved, where that is too far.
    pub(super) fn move_into(&mut self, corners: [usize; 3], number: usize) -> bool {
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
    pub(super) fn corner_at(&mut self, x: DVec3) -> usize {
        if let Some(found) = self.moved.iter().position(|v| v.from == x) {
            return found;
        }
        self.moved.push(Moved { from: x, at: x, planes: [0; 3], count: 0 });
        self.moved.len() - 1
    }
}
