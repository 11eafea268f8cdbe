//! Where surfaces end on edges of cells, and where they meet, from points on them and their normals.

use crate::eigen::{Symmetric, apply, eigen};
use crate::{AXES, Vec3};

/// Steps to where an edge meets a surface.
const ROOT_STEPS: usize = 6;
/// Of the squares of normals in their main directions, the least share of the second in the first that shows an edge: one of
/// 145 degrees. Across a cell, a ball of two cells' radius shows a smaller one.
const EDGE_SHARE: f32 = 0.1;
/// By how much of a cell's edge the growth of depth along two edges differs where a solid has an edge between them.
const KINK: f32 = 0.2;
/// Distance over which a normal is taken, in edges of a cell.
const CLOSE: f32 = 0.02;

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

/// Does a solid have an edge in a cell, from its depths at the corners (bit `a` of a corner: the upper side of axis a)? They then grow
/// along parallel edges of the cell by different amounts.
pub fn has_kink(depth: &[f32; 8], size: Vec3) -> bool {
    AXES.into_iter().any(|axis| {
        let low = (0..8).filter(|corner| corner >> axis & 1 == 0);
        let (least, most) = low
            .map(|corner| depth[corner | 1 << axis] - depth[corner])
            .fold((f32::MAX, f32::MIN), |(least, most), by| (least.min(by), most.max(by)));
        most - least > KINK * size[axis]
    })
}

/// The normal of a solid beside its edges, into it, next to a point in a cell of edge `dx`. Values at the cell's corners would show
/// a mean of both sides.
pub fn normal_beside_edge(depth_at: impl Fn(Vec3) -> f32, x: Vec3, dx: f32) -> Vec3 {
    let depth = depth_at(x);
    let step = |axis: Vec3| depth_at(x + CLOSE * dx * axis) - depth;
    Vec3::new(step(Vec3::X), step(Vec3::Y), step(Vec3::Z)).normalize_or_zero()
}

/// Where the liquid ends on the way from a place in it (0) to one outside (1), and whether a solid ends it there: from level set
/// and depth at both places and, beside edges of solids, the depth on the way.
pub fn end_of_liquid(
    phi: [f32; 2],
    depth: [f32; 2],
    depth_on_way: Option<impl Fn(f32) -> f32>,
) -> (f32, bool) {
    // Far from where it begins if a field does not end it.
    let way = |[low, high]: [f32; 2]| if high >= 0.0 { low / (low - high) } else { f32::INFINITY };
    let (to_surface, mut to_solid) = (way(phi), way(depth));
    if let (true, Some(depth_on_way)) = (to_solid <= 1.0, depth_on_way) {
        to_solid = root(depth_on_way, depth[0], depth[1]);
    }
    (to_solid.min(to_surface), to_solid < to_surface)
}

/// Where a function that is `low` < 0 at 0 and `high` at 1 is 0: by false position [dowell-1971].
fn root(f: impl Fn(f32) -> f32, mut low: f32, mut high: f32) -> f32 {
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

    /// A box's edge along z through the middle of a cell, and one of its sides.
    #[test]
    fn edges_of_solids_are_noticed_and_their_sides_have_their_own_normals() {
        let edge = |x: Vec3| -(0.5 - x.x).max(0.4 - x.y);
        let side = |x: Vec3| x.x - 0.5;
        let corner = |n: usize| Vec3::from_array(AXES.map(|a| (n >> a & 1) as f32));
        assert!(has_kink(&std::array::from_fn(|n| edge(corner(n))), Vec3::ONE));
        assert!(!has_kink(&std::array::from_fn(|n| side(corner(n))), Vec3::ONE));
        let normal = normal_beside_edge(edge, Vec3::new(0.5, 0.9, 0.3), 1.0);
        assert!(normal.distance(Vec3::X) < 1e-4, "{normal}");
    }

    #[test]
    fn liquid_ends_at_the_first_of_surface_and_solid() {
        let none: Option<fn(f32) -> f32> = None;
        assert_eq!(end_of_liquid([-1.0, 3.0], [-1.0, 1.0], none), (0.25, false));
        assert_eq!(end_of_liquid([-3.0, 1.0], [-1.0, 1.0], none), (0.5, true));
        assert_eq!(end_of_liquid([-1.0, 1.0], [f32::NEG_INFINITY; 2], none), (0.5, false));
        let bent = |t: f32| (t - 0.75).max(-0.1 - 0.1 * t);
        let (end, is_solid) = end_of_liquid([-1.0, -1.0], [bent(0.0), bent(1.0)], Some(bent));
        assert!(is_solid && (end - 0.75).abs() < 1e-3, "{end}");
    }

    /// A distance that bends within the edge, from one wall to another one: the secant alone would miss it by a fifth of the edge.
    #[test]
    fn the_root_of_a_bent_function_is_found() {
        let f = |t: f32| (t - 0.75).max(-0.1 - 0.1 * t);
        assert!((root(f, f(0.0), f(1.0)) - 0.75).abs() < 1e-3);
    }
}
