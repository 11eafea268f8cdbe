//! Marching cubes as a table: the surface, the liquid on the faces and the liquid parts of a fine cell, by
//! the signs of its corners.
//!
//! The one rule for ambiguous faces is "liquid is joined": where two opposite corners of a face are liquid,
//! the two air corners are cut off [cutcell §2.1]. It reads only the face's own four signs, so two cells that
//! share a face agree on it (test `neighbours_agree_on_their_common_face`). Joined liquid gives every face at
//! most one polygon, and that polygon is convex. Two liquid parts in one fine cell then exist only where
//! exactly two opposite corners of the cube are liquid.
//!
//! Corners are numbered x fastest. Edge `4 a + n` runs along axis `a`.

use fluvial_foundation::DVec3;
use std::sync::LazyLock;

/// Corners around each face, counter-clockwise seen from outside: x low, x high, y low, y high, z low, z
/// high.
pub const FACE_CORNERS: [[u8; 4]; 6] =
    [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];

/// Low and high corner of each edge.
pub const EDGE_CORNERS: [[u8; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

/// A vertex of a polygon on a fine cell: a corner (0 to 7) or, from [`Site::EDGE`] on, the crossing on an
/// edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site(pub u8);

impl Site {
    /// The code of the crossing on edge 0.
    pub const EDGE: u8 = 8;

    fn edge(edge: u8) -> Site {
        Site(Site::EDGE + edge)
    }

    /// The corner, or the liquid end of the crossed edge.
    pub fn liquid_corner(self, case: u8) -> u8 {
        match self.0 {
            corner @ 0..8 => corner,
            code => {
                let [low, high] = EDGE_CORNERS[(code - Site::EDGE) as usize];
                if case >> low & 1 == 1 { low } else { high }
            }
        }
    }
}

/// What one pattern of signs means.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Triangles of the surface by the edges they cross, counter-clockwise seen from the air.
    pub triangles: Vec<[u8; 3]>,
    /// The liquid polygon of each face, counter-clockwise seen from outside; empty where the face is dry.
    pub faces: [Vec<Site>; 6],
    /// Liquid corner of the second part, where there are two parts.
    pub second_part: Option<u8>,
}

/// The table: bit `c` of the index is set where corner `c` is liquid.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| (0..=255).map(build).collect());

impl Case {
    /// The part (0 or 1) that a polygon's or triangle's liquid corner belongs to.
    pub fn part_of(&self, liquid_corner: u8) -> usize {
        (self.second_part == Some(liquid_corner)) as usize
    }
}

fn build(case: u8) -> Case {
    let faces = std::array::from_fn(|face| liquid_on_face(case, FACE_CORNERS[face]));
    let triangles = loops(case).iter().flat_map(|polygon| triangulate(polygon)).collect();
    let opposite = (0..4u8).find(|&c| case == 1 << c | 1 << (7 - c));
    Case { triangles, faces, second_part: opposite.map(|c| 7 - c) }
}

/// Number of the edge between two corners.
pub fn edge_between(a: u8, b: u8) -> u8 {
    let found = EDGE_CORNERS.iter().position(|e| *e == [a.min(b), a.max(b)]);
    found.expect("neighbours around a face share an edge") as u8
}

/// Marching squares with joined liquid: the boundary walk, less the dry corners.
fn liquid_on_face(case: u8, corners: [u8; 4]) -> Vec<Site> {
    let wet = |n: usize| case >> corners[n % 4] & 1 == 1;
    let mut polygon = Vec::new();
    for n in 0..4 {
        if wet(n) {
            polygon.push(Site(corners[n]));
        }
        if wet(n) != wet(n + 1) {
            polygon.push(Site::edge(edge_between(corners[n], corners[(n + 1) % 4])));
        }
    }
    polygon
}

/// Closed polygons of crossed edges. Around a dry run of a face's corners the face's polygon goes from the
/// crossing before to the one after it; the surface goes back.
pub fn loops(case: u8) -> Vec<Vec<u8>> {
    let mut next = [None; 12];
    for corners in FACE_CORNERS {
        let wet = |n: usize| case >> corners[n % 4] & 1 == 1;
        let edge = |n: usize| edge_between(corners[n % 4], corners[(n + 1) % 4]);
        for n in (0..4).filter(|&n| wet(n) && !wet(n + 1)) {
            let entry = (n + 1..n + 4).find(|&m| wet(m + 1)).expect("the walk comes back to a wet corner");
            next[edge(entry) as usize] = Some(edge(n));
        }
    }
    let mut polygons = Vec::new();
    for start in 0..12 {
        let mut polygon = Vec::new();
        let mut at = start;
        while let Some(to) = next[at].take() {
            polygon.push(at as u8);
            at = to as usize;
        }
        if !polygon.is_empty() {
            polygons.push(polygon);
        }
    }
    polygons
}

/// Do two edges lie on one face of the cube? A diagonal between them would lie in that face, and the surface
/// with it.
fn on_one_face(a: u8, b: u8) -> bool {
    let on = |e: u8, f: &[u8; 4]| EDGE_CORNERS[e as usize].iter().all(|c| f.contains(c));
    FACE_CORNERS.iter().any(|f| on(a, f) && on(b, f))
}

/// Middle of an edge, in half edges of the cube.
fn middle(edge: u8) -> [f64; 3] {
    let [a, b] = EDGE_CORNERS[edge as usize];
    [0, 1, 2].map(|axis| ((a >> axis & 1) + (b >> axis & 1)) as f64)
}

/// Twice the area of a triangle between middles of edges.
fn area(corners: [u8; 3]) -> f64 {
    let [p, q, r] = corners.map(middle);
    let (u, v) = ([0, 1, 2].map(|a| q[a] - p[a]), [0, 1, 2].map(|a| r[a] - p[a]));
    let cross = [0, 1, 2].map(|a: usize| u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3]);
    cross.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// The triangles of least area that fill a polygon, without diagonals in faces of the cube. Others of the
/// same polygon may fold through each other (test `liquid_never_overlaps_itself`).
fn triangulate(polygon: &[u8]) -> Vec<[u8; 3]> {
    least(polygon).expect("every polygon of marching cubes has such triangles").1
}

fn least(polygon: &[u8]) -> Option<(f64, Vec<[u8; 3]>)> {
    let n = polygon.len();
    if n < 3 {
        return Some((0.0, vec![]));
    }
    let is_side = |m: usize, end: usize| m.abs_diff(end) == 1;
    let allowed = |m: usize, end: usize| is_side(m, end) || !on_one_face(polygon[m], polygon[end]);
    let mut best: Option<(f64, Vec<[u8; 3]>)> = None;
    for m in (1..n - 1).filter(|&m| allowed(m, 0) && allowed(m, n - 1)) {
        let (Some(left), Some(right)) = (least(&polygon[..=m]), least(&polygon[m..])) else { continue };
        let triangle = [polygon[0], polygon[m], polygon[n - 1]];
        let cost = left.0 + right.0 + area(triangle);
        if best.as_ref().is_none_or(|b| cost < b.0 - 1e-9) {
            let triangles = [left.1, vec![triangle], right.1].concat();
            best = Some((cost, triangles));
        }
    }
    best
}

/// Solid angle of the liquid's boundary in a tracker cell, seen from a point; `at` is where the eight corners and then
/// the twelve crossings lie. Test: `liquid_never_overlaps_itself`.
pub fn winding(case: &Case, at: &[DVec3; 20], x: DVec3) -> f64 {
    let triangle = |t: &[u8; 3]| solid_angle(t.map(|e| at[(Site::EDGE + e) as usize] - x));
    let face = |polygon: &Vec<Site>| {
        let corner = |n: usize| at[polygon[n].0 as usize] - x;
        (2..polygon.len()).map(|n| solid_angle([corner(0), corner(n - 1), corner(n)])).sum::<f64>()
    };
    case.triangles.iter().map(triangle).sum::<f64>() + case.faces.iter().map(face).sum::<f64>()
}

/// Signed solid angle of a triangle seen from the origin [van-oosterom-1983 eq. 8].
fn solid_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let [la, lb, lc] = [a.length(), b.length(), c.length()];
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * a.dot(b.cross(c)).atan2(denominator)
}
