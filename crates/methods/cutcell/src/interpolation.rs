//! Interpolation inside a piece by spherical barycentric coordinates [cutcell §2.1.3; langer-2006].
//!
//! The piece's boundary is projected onto a unit sphere around the point. Every face has a vector, the
//! integral of the outward direction over its image, and the vectors of a closed surface add up to zero;
//! written in the directions of the face's vertices they give weights that reproduce linear fields. Polygons
//! are divided into triangles first: on a triangle that writing is unique, and the coordinates are the mean
//! value coordinates of Ju, Schaefer and Warren 2005, whose evaluation is used. On a face the limit is linear
//! interpolation in its triangle, exactly, so that a wall whose vertices move along it is never crossed.
//!
//! In a piece that is not convex some triangles are seen from behind, through the air or a solid, and weigh less than
//! nothing. Across a gap of width g, whose two sides move apart or together, the coordinates then multiply the sides'
//! difference by up to `1 / (2 sqrt(g))`: 3 m/s became 2100 beside a ball. Such triangles are left out, so that a value
//! lies among those of the vertices. What that costs of the reproduction of linear fields is given back as far as no weight
//! becomes negative (`Boundary::reproduce_position`).

use crate::mesh::CutCells;
use fluvial_foundation::{AXES, Axis, DMat3, DVec3, parallel};

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
/// Differences of positions below this, in cells, are rounding.
const ROUNDING: f64 = 1e-12;

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

    /// The boundary, to be asked.
    pub fn boundary(&self) -> Boundary<'_> {
        Boundary { vertices: &self.vertices, positions: &self.positions, triangles: &self.triangles }
    }
}

/// Pieces per chunk of parallel loops.
const PIECES: usize = 64;

/// The boundaries of many pieces, gathered once and asked for many points.
#[derive(Clone, Debug, Default)]
pub struct PieceShapes {
    /// First vertex and first triangle of every piece, and one more.
    first: Vec<[u32; 2]>,
    vertices: Vec<u32>,
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl PieceShapes {
    /// Gathers the boundaries of the wanted pieces; those of others are empty.
    pub fn gather(&mut self, mesh: &CutCells, is_wanted: impl Fn(usize) -> bool + Sync) {
        let pieces = mesh.pieces.len();
        let parts = parallel::map_indices(parallel::chunk_count(pieces, PIECES), |chunk| {
            let (mut part, mut shape) = (PieceShapes::default(), PieceShape::default());
            for piece in parallel::chunk_range(chunk, PIECES, pieces) {
                if is_wanted(piece) {
                    shape.gather(mesh, piece);
                    part.vertices.extend_from_slice(&shape.vertices);
                    part.positions.extend_from_slice(&shape.positions);
                    part.triangles.extend_from_slice(&shape.triangles);
                }
                part.first.push([part.vertices.len() as u32, part.triangles.len() as u32]);
            }
            part
        });
        self.first.clear();
        self.vertices.clear();
        self.positions.clear();
        self.triangles.clear();
        self.first.push([0; 2]);
        for part in parts {
            let [vertices, triangles] = [self.vertices.len() as u32, self.triangles.len() as u32];
            self.first.extend(part.first.iter().map(|[v, t]| [vertices + v, triangles + t]));
            self.vertices.extend_from_slice(&part.vertices);
            self.positions.extend_from_slice(&part.positions);
            self.triangles.extend_from_slice(&part.triangles);
        }
    }

    /// The boundary of a piece.
    pub fn of(&self, piece: usize) -> Boundary<'_> {
        let [[v, t], [v_end, t_end]] = [self.first[piece], self.first[piece + 1]];
        Boundary {
            vertices: &self.vertices[v as usize..v_end as usize],
            positions: &self.positions[v as usize..v_end as usize],
            triangles: &self.triangles[t as usize..t_end as usize],
        }
    }
}

/// The boundary of a piece, as [`PieceShape`] and [`PieceShapes`] hold it.
#[derive(Clone, Copy, Debug)]
pub struct Boundary<'a> {
    /// Numbers of its vertices in the mesh.
    pub vertices: &'a [u32],
    /// Their positions, in cells.
    pub positions: &'a [DVec3],
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: &'a [[u32; 3]],
}

impl Boundary<'_> {
    /// Weights of the vertices at a point inside or on the boundary: none is negative, and they add up to 1. False, and
    /// nothing usable, where no triangle is seen from inside.
    /// Tests: `coordinates_are_linear_and_bounded`, `a_thin_gap_amplifies_nothing`.
    pub fn coordinates(&self, weights: &mut Vec<f64>, x: DVec3) -> bool {
        weights.clear();
        weights.resize(self.positions.len(), 0.0);
        if let Some(v) = self.positions.iter().position(|p| p.distance_squared(x) < AT_VERTEX * AT_VERTEX) {
            weights[v] = 1.0;
            return true;
        }
        for t in self.triangles {
            let corners = t.map(|v| self.positions[v as usize] - x);
            match triangle_weights(corners) {
                Seen::EdgeOn => {}
                // The three weights of a triangle have one sign: negative where it is seen from behind.
                Seen::Beside(w) => (0..3).for_each(|n| weights[t[n] as usize] += w[n].max(0.0)),
                Seen::On(w) => {
                    weights.fill(0.0);
                    (0..3).for_each(|n| weights[t[n] as usize] += w[n].max(0.0));
                    break;
                }
            }
        }
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return false;
        }
        weights.iter_mut().for_each(|w| *w /= sum);
        self.reproduce_position(weights, x);
        true
    }

    /// Tilts weights towards the point that they are for: `w_v (1 + (p_v - m) . C^-1 (x - m))`, with the mean m and the
    /// covariance C of the vertices' positions, have x for their mean and then reproduce every linear field. The tilt ends
    /// where a weight would become negative.
    fn reproduce_position(&self, weights: &mut [f64], x: DVec3) {
        let vertices = || self.positions.iter().zip(weights.iter());
        let mean: DVec3 = vertices().map(|(p, w)| *w * *p).sum();
        let missing = x - mean;
        if missing.length_squared() < ROUNDING * ROUNDING {
            return;
        }
        let mut covariance = DMat3::ZERO;
        for (p, w) in vertices() {
            let d = *p - mean;
            covariance += DMat3::from_cols(w * d.x * d, w * d.y * d, w * d.z * d);
        }
        let trace = covariance.x_axis.x + covariance.y_axis.y + covariance.z_axis.z;
        let tilt = (covariance + DMat3::from_diagonal(DVec3::splat(ROUNDING * trace))).inverse() * missing;
        let least = self.positions.iter().map(|p| tilt.dot(*p - mean)).fold(0.0, f64::min);
        let part = if least < -1.0 { -1.0 / least } else { 1.0 };
        if tilt.is_finite() {
            weights.iter_mut().zip(self.positions).for_each(|(w, p)| *w *= 1.0 + part * tilt.dot(*p - mean));
        }
    }

    /// Does a point lie inside? Rays along the axes count the triangles that they leave and enter through, before the
    /// point and behind it; the two sums of a closed boundary cancel. Where they do not, a ray has hit a seam that rounding
    /// has opened, and the next one is asked, in the end the solid angle.
    pub fn contains(&self, x: DVec3) -> bool {
        AXES.into_iter().find_map(|axis| self.is_inside(x, axis)).unwrap_or_else(|| self.surrounds(x))
    }

    /// Does a point lie inside, by a ray along an axis? None where the boundary has a gap on it.
    fn is_inside(&self, x: DVec3, axis: Axis) -> Option<bool> {
        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
        let (mut ahead, mut behind) = (0, 0);
        for t in self.triangles {
            let corners = t.map(|v| self.positions[v as usize]);
            let is_beside = |axis: usize| {
                let [a, b, c] = corners.map(|corner| corner[axis]);
                a.min(b).min(c) > x[axis] || a.max(b).max(c) < x[axis]
            };
            if is_beside(p) || is_beside(q) {
                continue;
            }
            let [a, b, c] = corners.map(|corner| corner - x);
            // The edge that two triangles share has one sign for one of them and the opposite for the other, to the bit.
            let is_left = |m: usize, n: usize, u: DVec3, v: DVec3| match t[m] < t[n] {
                true => u[p] * v[q] - u[q] * v[p] >= 0.0,
                false => v[p] * u[q] - v[q] * u[p] < 0.0,
            };
            let sides = [is_left(0, 1, a, b), is_left(1, 2, b, c), is_left(2, 0, c, a)];
            let leaves = match sides {
                [true, true, true] => 1,
                [false, false, false] => -1,
                _ => continue,
            };
            let [low, high] = [a[axis].min(b[axis]).min(c[axis]), a[axis].max(b[axis]).max(c[axis])];
            let is_ahead = low > 0.0 || high >= 0.0 && f64::from(leaves) * a.dot(b.cross(c)) >= 0.0;
            *(if is_ahead { &mut ahead } else { &mut behind }) += leaves;
        }
        (ahead + behind == 0).then_some(ahead > 0)
    }

    /// As [`Self::contains`], slowly: the boundary is seen under the full solid angle from inside and under none from
    /// outside [oosterom-1983].
    pub fn surrounds(&self, x: DVec3) -> bool {
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
/// 10, 11]. Angles come from arc tangents ([`angle_of`]): the paper's closed form loses half of the digits on slivers.
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
    let theta: [f64; 3] = std::array::from_fn(|n| {
        let (b, c) = ((n + 1) % 3, (n + 2) % 3);
        angle_of(cross[n].length(), dot[n], distance[b] * distance[c])
    });
    let m = 0.5 * (theta[0] * normal[0] + theta[1] * normal[1] + theta[2] * normal[2]);
    let height: [f64; 3] = std::array::from_fn(|n| normal[n].dot(u[n]));
    if height.iter().any(|h| h.abs() < EDGE_ON) {
        return Seen::EdgeOn;
    }
    Seen::Beside(std::array::from_fn(|n| m.dot(normal[n]) / (height[n] * distance[n])))
}

/// The angle between two vectors from the length of their cross product, their dot product and the product of their lengths:
/// twice the arc tangent of `sin / (1 + cos)`, which is at most 1 for angles up to a right one. The arc tangent is the
/// rational function of [cephes, atan.c], good to 2e-16: thrice as fast as the library's, and the same on every machine.
fn angle_of(cross: f64, dot: f64, lengths: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
    const P: [f64; 5] = [
        -0.8750608600031904,
        -16.157537187333652,
        -75.00855792314705,
        -122.88666844901361,
        -64.85021904942025,
    ];
    const Q: [f64; 5] =
        [24.858464901423062, 165.02700983169885, 432.88106049129027, 485.3903996359137, 194.5506571482614];
    let is_obtuse = dot < 0.0;
    let t = cross / (lengths + dot.abs());
    let (start, x) = if t > 0.66 { (FRAC_PI_4, (t - 1.0) / (t + 1.0)) } else { (0.0, t) };
    let z = x * x;
    let p = P.iter().fold(0.0, |sum, c| sum * z + c);
    let q = Q.iter().fold(1.0, |sum, c| sum * z + c);
    let acute = 2.0 * (start + x + x * z * p / q);
    if is_obtuse { 2.0 * FRAC_PI_2 - acute } else { acute }
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
