//! Interpolation inside a piece by spherical barycentric coordinates [cutcell §2.1.3; langer-2006].
//!
//! The piece's boundary is projected onto a unit sphere around the point. Every face has a vector, the
//! integral of the outward direction over its image, and the vectors of a closed surface add up to zero;
//! written in the directions of the face's vertices they give weights that reproduce linear fields. Polygons
//! are divided into triangles first: on a triangle that writing is unique, and the coordinates are the mean
//! value coordinates of Ju, Schaefer and Warren 2005, whose evaluation is used. On a face the limit is linear
//! interpolation in its triangle, exactly, so that a wall whose vertices move along it is never crossed.

use crate::mesh::CutCells;
use fluvial_foundation::DVec3;

/// The closed boundary of a piece as triangles over its own list of vertices. Kept from piece to piece as
/// scratch.
#[derive(Clone, Debug, Default)]
pub struct PieceShape {
    /// Numbers of its vertices in the mesh.
    pub vertices: Vec<u32>,
    /// Their positions, in cells.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A triangle seen under a smaller angle than this to its plane is seen edge-on and weighs nothing: rounding
/// over the angle is then as large as what is left out.
const EDGE_ON: f64 = 1e-9;
/// A point this near to a triangle, in cells, lies on it.
const ON_FACE: f64 = 1e-9;
/// A point this near to a vertex, in cells, is the vertex.
const AT_VERTEX: f64 = 1e-9;

impl PieceShape {
    /// Gathers the boundary of a cut piece. Full pieces, whose faces have no polygons, have no shape of their
    /// own.
    pub fn gather(&mut self, mesh: &CutCells, piece: usize) {
        self.vertices.clear();
        self.triangles.clear();
        for t in mesh.triangles_of(piece) {
            self.triangles.push(t.vertices);
        }
        for (f, side) in mesh.faces_of(piece) {
            let [first, end] = mesh.faces[f].polygons;
            for polygon in (first..end).map(|p| mesh.polygon(p as usize)) {
                for n in 1..polygon.len() - 1 {
                    let [a, b, c] = [polygon[0], polygon[n], polygon[n + 1]];
                    self.triangles.push(if side == 0 { [a, b, c] } else { [a, c, b] });
                }
            }
        }
        self.vertices.extend(self.triangles.iter().flatten());
        self.vertices.sort_unstable();
        self.vertices.dedup();
        for v in self.triangles.iter_mut().flatten() {
            *v = self.vertices.binary_search(v).expect("every vertex is listed") as u32;
        }
        self.positions.clear();
        self.positions.extend(self.vertices.iter().map(|&v| mesh.vertices[v as usize]));
    }

    /// Weights of the vertices at a point inside or on the boundary; they add up to 1. False, and nothing
    /// usable, where they do not exist: outside of the piece their sum may vanish.
    pub fn coordinates(&self, weights: &mut Vec<f64>, x: DVec3) -> bool {
        weights.clear();
        weights.resize(self.positions.len(), 0.0);
        if let Some(v) = self.positions.iter().position(|p| p.distance_squared(x) < AT_VERTEX * AT_VERTEX) {
            weights[v] = 1.0;
            return true;
        }
        for t in &self.triangles {
            let corners = t.map(|v| self.positions[v as usize] - x);
            match triangle_weights(corners) {
                Seen::EdgeOn => {}
                Seen::Beside(w) => (0..3).for_each(|n| weights[t[n] as usize] += w[n]),
                Seen::On(w) => {
                    weights.fill(0.0);
                    (0..3).for_each(|n| weights[t[n] as usize] += w[n]);
                    break;
                }
            }
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        sum > 0.0 && sum.is_finite()
    }

    /// Does a point lie inside? The boundary is seen under the full solid angle from inside and under none from outside
    /// [oosterom-1983].
    pub fn contains(&self, x: DVec3) -> bool {
        let angle = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| self.positions[v as usize] - x);
            let [la, lb, lc] = [a, b, c].map(DVec3::length);
            let volume = a.dot(b.cross(c));
            let cosine = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
            2.0 * volume.atan2(cosine)
        };
        self.triangles.iter().map(angle).sum::<f64>() > 2.0 * std::f64::consts::PI
    }

    /// Interpolates vectors of the mesh's vertices; None outside of the piece.
    pub fn interpolate(&self, of_vertex: &[DVec3], x: DVec3, weights: &mut Vec<f64>) -> Option<DVec3> {
        self.coordinates(weights, x).then(|| {
            let pairs = self.vertices.iter().zip(weights.iter());
            pairs.map(|(&v, &w)| w * of_vertex[v as usize]).sum()
        })
    }
}

/// How a triangle is seen from a point.
enum Seen {
    /// In its plane, outside of it.
    EdgeOn,
    /// From either side.
    Beside([f64; 3]),
    /// From a point on it.
    On([f64; 3]),
}

/// Weights of a triangle's corners, given from the point.
///
/// The face's vector is `m = 1/2 sum theta_e n_e` over the angles and unit normals of its edges' planes, and
/// its part along a corner's direction is `m . n / (u . n)` with the normal of the opposite edge [ju-2005 eq.
/// 10, 11]. Angles come from arc tangents: the paper's closed form loses half of the digits on slivers.
fn triangle_weights(corners: [DVec3; 3]) -> Seen {
    let [a, b, c] = corners;
    if let Some(weights) = weights_on(corners) {
        return Seen::On(weights);
    }
    let distance = corners.map(DVec3::length);
    let u: [DVec3; 3] = std::array::from_fn(|n| corners[n] / distance[n]);
    // Normal and angle of the edge opposite to each corner.
    let cross = [b.cross(c), c.cross(a), a.cross(b)];
    let dot = [b.dot(c), c.dot(a), a.dot(b)];
    let normal = cross.map(DVec3::normalize_or_zero);
    let theta: [f64; 3] = std::array::from_fn(|n| cross[n].length().atan2(dot[n]));
    let m = 0.5 * (theta[0] * normal[0] + theta[1] * normal[1] + theta[2] * normal[2]);
    let height: [f64; 3] = std::array::from_fn(|n| normal[n].dot(u[n]));
    if height.iter().any(|h| h.abs() < EDGE_ON) {
        return Seen::EdgeOn;
    }
    Seen::Beside(std::array::from_fn(|n| m.dot(normal[n]) / (height[n] * distance[n])))
}

/// Barycentric coordinates of the origin in a triangle that it lies on.
fn weights_on([a, b, c]: [DVec3; 3]) -> Option<[f64; 3]> {
    let n = (b - a).cross(c - a);
    let square = n.length_squared();
    if square == 0.0 || a.dot(n).powi(2) > ON_FACE * ON_FACE * square {
        return None;
    }
    let weights = [b.cross(c), c.cross(a), a.cross(b)].map(|v| v.dot(n) / square);
    weights.iter().all(|w| *w > -ON_FACE).then_some(weights)
}
