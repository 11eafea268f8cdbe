//! A tree of boxes over triangles: nearest point and winding number.

use fluvial_foundation::{Aabb, Vec3};

/// Triangles per leaf.
const LEAF: usize = 4;
/// Median splits of at most 2^32 triangles are no deeper than this.
const DEEPEST: usize = 64;
/// Relative amount by which triangles are enlarged in tests against segments.
const OVERLAP: f32 = 1e-4;
/// A node is taken as one dipole when it is farther than this many of its radii [barill-2018 §3.3].
const FAR_RADII: f32 = 2.0;

#[derive(Clone, Debug)]
struct Node {
    bounds: Aabb,
    /// First triangle of a leaf, or the second child of an inner node (the first one follows the node).
    at: u32,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
    /// Area-weighted centroid of the triangles below.
    center: Vec3,
    /// Sum of their area vectors.
    area: Vec3,
    /// All of them lie within this distance of `center`.
    radius: f32,
}

/// The tree, with the triangles in leaf order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    triangles: Vec<[Vec3; 3]>,
}

impl Bvh {
    /// Builds the tree by median splits along the longest axis of the centroids.
    pub(crate) fn new(mut triangles: Vec<[Vec3; 3]>) -> Bvh {
        let mut nodes = Vec::with_capacity(2 * triangles.len() / LEAF + 1);
        if !triangles.is_empty() {
            let all = triangles.len();
            build(&mut nodes, &mut triangles, 0, all);
        }
        Bvh { nodes, triangles }
    }

    /// Squared distance to the nearest triangle, which is known to be at most `bound`.
    pub(crate) fn distance_squared(&self, x: Vec3, bound: f32) -> f32 {
        let mut best = bound;
        let mut stack = [(0usize, 0.0f32); DEEPEST];
        let mut height = !self.nodes.is_empty() as usize;
        while height > 0 {
            height -= 1;
            let (n, lower) = stack[height];
            if lower >= best {
                continue;
            }
            let node = &self.nodes[n];
            if node.count > 0 {
                for triangle in &self.triangles[node.at as usize..][..node.count as usize] {
                    best = best.min(x.distance_squared(closest_point_on_triangle(x, triangle)));
                }
                continue;
            }
            let children =
                [n + 1, node.at as usize].map(|c| (c, distance_squared_to_box(x, &self.nodes[c].bounds)));
            let near_first = children[0].1 <= children[1].1;
            // The nearer child is taken first: pushed last.
            stack[height] = children[near_first as usize];
            stack[height + 1] = children[!near_first as usize];
            height += 2;
        }
        best
    }

    /// Does a segment meet a triangle? Triangles count as larger by [`OVERLAP`] of their size on all sides:
    /// rounding opens no gap between two that share an edge.
    pub(crate) fn is_crossed(&self, from: Vec3, to: Vec3) -> bool {
        let way = to - from;
        let mut stack = [0usize; DEEPEST];
        let mut height = !self.nodes.is_empty() as usize;
        while height > 0 {
            height -= 1;
            let n = stack[height];
            let node = &self.nodes[n];
            if !box_is_crossed(from, way, &node.bounds.expand(OVERLAP * 2.0 * node.radius)) {
                continue;
            }
            if node.count > 0 {
                let triangles = &self.triangles[node.at as usize..][..node.count as usize];
                if triangles.iter().any(|t| triangle_is_crossed(from, way, t)) {
                    return true;
                }
                continue;
            }
            (stack[height], stack[height + 1]) = (node.at as usize, n + 1);
            height += 2;
        }
        false
    }

    /// Winding number: 1 inside a closed, outward mesh, 0 outside. Near triangles count by their exact solid
    /// angle, far nodes by the first term of its expansion, sum of A . (c - x) / (4 pi |c - x|^3)
    /// [barill-2018 eq. 9].
    pub(crate) fn winding_number(&self, x: Vec3) -> f32 {
        let mut sum = 0.0;
        let mut stack = [0usize; DEEPEST];
        let mut height = !self.nodes.is_empty() as usize;
        while height > 0 {
            height -= 1;
            let n = stack[height];
            let node = &self.nodes[n];
            let offset = node.center - x;
            let distance = offset.length();
            if distance > FAR_RADII * node.radius {
                sum += node.area.dot(offset) / (distance * distance * distance);
            } else if node.count > 0 {
                sum += self.triangles[node.at as usize..][..node.count as usize]
                    .iter()
                    .map(|t| solid_angle(x, t))
                    .sum::<f32>();
            } else {
                (stack[height], stack[height + 1]) = (node.at as usize, n + 1);
                height += 2;
            }
        }
        sum / (4.0 * std::f32::consts::PI)
    }
}

fn build(nodes: &mut Vec<Node>, triangles: &mut [[Vec3; 3]], first: usize, end: usize) {
    let mine = &mut triangles[first..end];
    let points = || mine.iter().flatten().copied();
    let bounds = points().fold(Aabb::EMPTY, Aabb::include);
    let area_of = |t: &[Vec3; 3]| 0.5 * (t[1] - t[0]).cross(t[2] - t[0]);
    let centroid = |t: &[Vec3; 3]| (t[0] + t[1] + t[2]) / 3.0;
    let total: f32 = mine.iter().map(|t| area_of(t).length()).sum();
    let weighted: Vec3 = mine.iter().map(|t| area_of(t).length() * centroid(t)).sum();
    let center = if total > 0.0 { weighted / total } else { bounds.center() };
    let radius = points().map(|p| p.distance(center)).fold(0.0, f32::max);
    let area = mine.iter().map(area_of).sum();
    let me = nodes.len();
    nodes.push(Node { bounds, at: first as u32, count: mine.len() as u32, center, area, radius });
    if mine.len() <= LEAF {
        return;
    }
    let spread = mine.iter().map(centroid).fold(Aabb::EMPTY, Aabb::include).size();
    let axis = if spread.x >= spread.y && spread.x >= spread.z {
        0
    } else if spread.y >= spread.z {
        1
    } else {
        2
    };
    let half = mine.len() / 2;
    mine.select_nth_unstable_by(half, |a, b| centroid(a)[axis].total_cmp(&centroid(b)[axis]));
    build(nodes, triangles, first, first + half);
    let second = nodes.len() as u32;
    build(nodes, triangles, first + half, end);
    (nodes[me].at, nodes[me].count) = (second, 0);
}

/// Does the segment from a point along `way` touch a box?
fn box_is_crossed(from: Vec3, way: Vec3, bounds: &Aabb) -> bool {
    let (mut enter, mut leave) = (0.0f32, 1.0f32);
    for a in 0..3 {
        if way[a] == 0.0 {
            if from[a] < bounds.min[a] || from[a] > bounds.max[a] {
                return false;
            }
            continue;
        }
        let (s, t) = ((bounds.min[a] - from[a]) / way[a], (bounds.max[a] - from[a]) / way[a]);
        (enter, leave) = (enter.max(s.min(t)), leave.min(s.max(t)));
    }
    enter <= leave * (1.0 + 1e-5) + 1e-6
}

/// Does the segment from a point along `way` meet a triangle [moller-1997]?
fn triangle_is_crossed(from: Vec3, way: Vec3, &[a, b, c]: &[Vec3; 3]) -> bool {
    let (ab, ac) = (b - a, c - a);
    let across = way.cross(ac);
    let determinant = ab.dot(across);
    if determinant == 0.0 {
        return false; // parallel: the segment meets a neighbour or an edge, or nothing
    }
    let offset = from - a;
    let u = offset.dot(across) / determinant;
    let q = offset.cross(ab);
    let v = way.dot(q) / determinant;
    let t = ac.dot(q) / determinant;
    let least = -OVERLAP;
    u >= least && v >= least && u + v <= 1.0 - least && t >= least && t <= 1.0 - least
}

fn distance_squared_to_box(x: Vec3, bounds: &Aabb) -> f32 {
    (bounds.min - x).max(x - bounds.max).max(Vec3::ZERO).length_squared()
}

/// Nearest point of a triangle [ericson-2005 §5.1.5]; of its edges when it has no area.
pub(crate) fn closest_point_on_triangle(x: Vec3, &[a, b, c]: &[Vec3; 3]) -> Vec3 {
    let (ab, ac, ax) = (b - a, c - a, x - a);
    let (d1, d2) = (ab.dot(ax), ac.dot(ax));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bx = x - b;
    let (d3, d4) = (ab.dot(bx), ac.dot(bx));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let cx = x - c;
    let (d5, d6) = (ab.dot(cx), ac.dot(cx));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + d1 / (d1 - d3) * ab;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + d2 / (d2 - d6) * ac;
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b);
    }
    let sum = va + vb + vc;
    if sum > 0.0 { a + vb / sum * ab + vc / sum * ac } else { a }
}

/// Signed solid angle of a triangle [van-oosterom-1983].
fn solid_angle(x: Vec3, triangle: &[Vec3; 3]) -> f32 {
    let [a, b, c] = triangle.map(|p| p - x);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * numerator.atan2(denominator)
}
