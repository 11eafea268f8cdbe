//! Where surfaces end on edges, and where they meet, from points on them and their normals.

use crate::Vec3;
use crate::eigen::{Symmetric, apply, eigen};

/// Steps to where an edge meets a surface.
const ROOT_STEPS: usize = 6;
/// Of the squares of normals in their main directions, the least share of the second in the first that shows an edge: one of
/// 145 degrees. Across a cell, a ball of two cells' radius shows a smaller one.
const EDGE_SHARE: f32 = 0.1;

/// Tangent planes of surfaces: the sums of n n^T, n (n . x), for points x and normals n.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planes {
    square: Symmetric,
    right: Vec3,
}

impl Planes {
    /// Adds the plane through `x` with normal `n`; planes whose normal is 0 do not count.
    pub fn add(&mut self, x: Vec3, n: Vec3) {
        let products = [n.x * n.x, n.y * n.y, n.z * n.z, n.x * n.y, n.x * n.z, n.y * n.z];
        self.square.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        self.right += n.dot(x) * n;
    }

    /// These and others.
    pub fn and(mut self, other: &Planes) -> Planes {
        self.square.iter_mut().zip(other.square).for_each(|(sum, more)| *sum += more);
        self.right += other.right;
        self
    }

    /// Do they lie in more than one direction, more than those of a surface that bends?
    pub fn meet_in_an_edge(&self) -> bool {
        let values = eigen(&self.square).values;
        values[1] > EDGE_SHARE * values[0]
    }

    /// The point nearest to `x` among those that lie on all of them, in the mean square [ju-2002].
    pub fn nearest(&self, x: Vec3) -> Vec3 {
        let (eigen, off) = (eigen(&self.square), self.right - apply(&self.square, x));
        (0..3)
            .filter(|&n| eigen.values[n] > EDGE_SHARE * eigen.values[0])
            .fold(x, |x, n| x + off.dot(eigen.vectors[n]) / eigen.values[n] * eigen.vectors[n])
    }
}

/// Where a function that is `low` < 0 at 0 and `high` at 1 is 0: by false position [dowell-1971].
pub fn root(f: impl Fn(f32) -> f32, mut low: f32, mut high: f32) -> f32 {
    let (mut from, mut to, mut at, mut was_below) = (0.0, 1.0, 0.0, None);
    for _ in 0..ROOT_STEPS {
        at = (from * high - to * low) / (high - low);
        let value = f(at);
        let is_below = value < 0.0;
        // An end that stays twice counts for half, or it would stay for good where the function bends.
        let share = if was_below == Some(is_below) { 0.5 } else { 1.0 };
        match is_below {
            true => (from, low, high) = (at, value, share * high),
            false => (to, high, low) = (at, value, share * low),
        }
        if low == high {
            break;
        }
        was_below = Some(is_below);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_planes_meet_in_a_point_and_two_in_a_line() {
        let (corner, x) = (Vec3::new(0.3, -0.2, 0.9), Vec3::new(0.1, 0.4, 0.2));
        let normals = [Vec3::new(1.0, 0.2, 0.0), Vec3::new(-0.1, 1.0, 0.3), Vec3::new(0.2, 0.1, -1.0)]
            .map(Vec3::normalize);
        let through = |normals: &[Vec3]| {
            normals.iter().fold(Planes::default(), |mut planes, n| {
                // Any point of the plane will do.
                let along = n.any_orthonormal_vector();
                planes.add(corner + 0.7 * along, *n);
                planes
            })
        };
        assert!(through(&normals).nearest(x).distance(corner) < 1e-5);
        let two = through(&normals[..2]);
        let on_line = two.nearest(x);
        let line = normals[0].cross(normals[1]).normalize();
        assert!((on_line - corner).cross(line).length() < 1e-5 && (on_line - x).dot(line).abs() < 1e-5);
        assert!(two.meet_in_an_edge() && !through(&normals[..1]).meet_in_an_edge());
    }

    /// A distance that bends within the edge, from one wall to another one: the secant alone would miss it by a fifth of the edge.
    #[test]
    fn the_root_of_a_bent_function_is_found() {
        let f = |t: f32| (t - 0.75).max(-0.1 - 0.1 * t);
        assert!((root(f, f(0.0), f(1.0)) - 0.75).abs() < 1e-3);
    }
}
