//! The surface of a shape as triangles, for walls of any thickness.
//!
//! What is sampled on a lattice, as [`Shape::triangulate`] does with intersections and differences, has no walls thinner than
//! the lattice: a bowl of a tenth of a cell is not there. Here a boolean's surface is what the surfaces of its parts leave of
//! each other: a triangle of one part stays where the material behind it belongs to the whole. Where two parts meet, their
//! edges differ by the sag of a chord; nothing is closed there to rounding.

use crate::{Shape, contour, tessellate};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use std::f32::consts::FRAC_PI_2;

/// The material behind a triangle is looked for so far behind it, in cells: much less than any wall is thick.
const BEHIND: f32 = 1e-4;
/// Looks for the place where an edge leaves a part.
const BISECTIONS: usize = 24;
/// Triangles along an edge of the octahedron that balls are made of, at least.
const FEWEST: f32 = 4.0;

type Corners = [Vec3; 3];

impl Shape {
    /// The surface as triangles with edges of about half of `cell` where it is round: balls without poles, booleans of their
    /// parts' surfaces, all else as [`Shape::triangulate`]. Test: `a_boolean_keeps_its_thin_walls`.
    pub fn skin(&self, clip: Aabb, cell: f32) -> TriangleMesh {
        match self {
            Shape::Sphere { center, radius } => ball(*center, *radius, cell),
            Shape::Union(shapes) => shapes
                .iter()
                .fold(TriangleMesh::default(), |all, s| tessellate::joined(all, s.skin(clip, cell))),
            Shape::Intersection(shapes) => {
                let parts = shapes.iter().enumerate().map(|(n, shape)| {
                    let others = shapes.iter().enumerate().filter(|(other, _)| *other != n);
                    others.fold(corners_of(&shape.skin(clip, cell)), |kept, (_, other)| {
                        keep(&kept, &|x| other.distance(x), cell)
                    })
                });
                mesh_of(&parts.collect::<Vec<_>>().concat())
            }
            Shape::Difference(a, b) => {
                let mut all = keep(&corners_of(&a.skin(clip, cell)), &|x| -b.distance(x), cell);
                let hollow: Vec<Corners> =
                    corners_of(&b.skin(clip, cell)).iter().map(|&[p, q, r]| [p, r, q]).collect();
                // Where the two only touch, nothing is taken from `a`, whose own face is there.
                let in_front = keep(&hollow, &|x| a.distance(x), -cell);
                all.extend(keep(&in_front, &|x| a.distance(x), cell));
                mesh_of(&all)
            }
            Shape::Transform { shape, scale, rotation, translate } => {
                let into = |x: Vec3| rotation.inverse() * (x - *translate) / *scale;
                let inner = (0..8).fold(Aabb::EMPTY, |bounds, c| {
                    let pick = |a: usize| if c >> a & 1 == 0 { clip.min[a] } else { clip.max[a] };
                    bounds.include(into(Vec3::new(pick(0), pick(1), pick(2))))
                });
                let mut mesh = shape.skin(inner, cell / scale);
                mesh.positions.iter_mut().for_each(|p| *p = *rotation * (*scale * *p) + *translate);
                mesh
            }
            Shape::Plane { .. } => contour::dual_contour(self, clip, cell),
            _ => self.triangulate(clip, cell),
        }
    }
}

fn corners_of(mesh: &TriangleMesh) -> Vec<Corners> {
    mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize])).collect()
}

fn mesh_of(corners: &[Corners]) -> TriangleMesh {
    TriangleMesh {
        positions: corners.concat(),
        velocities: vec![],
        triangles: (0..corners.len() as u32).map(|n| [3 * n, 3 * n + 1, 3 * n + 2]).collect(),
    }
}

/// An octahedron whose faces are divided evenly and blown up. Balls of nearly one size have the same triangles, so that those of
/// a thin shell's two sides do not cross.
fn ball(center: Vec3, radius: f32, cell: f32) -> TriangleMesh {
    let wanted = (2.0 * FRAC_PI_2 * radius / cell).max(FEWEST);
    let count = 2.0f32.powf(wanted.log2().ceil()) as usize;
    let mut corners = vec![];
    for octant in 0..8 {
        let sign = |a: usize| if octant >> a & 1 == 1 { 1.0 } else { -1.0f32 };
        let at = |i: usize, j: usize| {
            let way = Vec3::new(i as f32 * sign(0), j as f32 * sign(1), (count - i - j) as f32 * sign(2));
            center + radius * way.normalize()
        };
        let is_turned = sign(0) * sign(1) * sign(2) < 0.0;
        let mut push = |[p, q, r]: Corners| corners.push(if is_turned { [p, r, q] } else { [p, q, r] });
        for i in 0..count {
            for j in 0..count - i {
                push([at(i, j), at(i + 1, j), at(i, j + 1)]);
                if i + j + 1 < count {
                    push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
                }
            }
        }
    }
    mesh_of(&corners)
}

/// What of triangles has material behind it where a distance is negative; in front of it with a negative `cell`.
fn keep(triangles: &[Corners], distance: &dyn Fn(Vec3) -> f32, cell: f32) -> Vec<Corners> {
    let mut kept = vec![];
    for &triangle in triangles {
        let [p, q, r] = triangle;
        let behind = BEHIND * cell * (q - p).cross(r - p).normalize_or_zero();
        keep_part(&mut kept, triangle, &|x| distance(x - behind), cell.abs());
    }
    kept
}

/// Divides a triangle until it is all of one side or no longer than a cell, and cuts it there.
fn keep_part(kept: &mut Vec<Corners>, triangle: Corners, distance: &dyn Fn(Vec3) -> f32, cell: f32) {
    let lengths = [0, 1, 2].map(|n| triangle[n].distance(triangle[(n + 1) % 3]));
    let longest = lengths.into_iter().fold(0.0, f32::max);
    let d = triangle.map(distance);
    if d.iter().all(|d| *d > longest) {
        return;
    }
    if d.iter().all(|d| *d < -longest) {
        kept.push(triangle);
        return;
    }
    if longest > cell {
        let n = lengths.iter().position(|l| *l == longest).unwrap_or(0);
        let [p, q, r] = [0, 1, 2].map(|m| triangle[(n + m) % 3]);
        let middle = 0.5 * (p + q);
        keep_part(kept, [p, middle, r], distance, cell);
        keep_part(kept, [middle, q, r], distance, cell);
        return;
    }
    let mut polygon = vec![];
    for n in 0..3 {
        let (from, to) = (triangle[n], triangle[(n + 1) % 3]);
        let is_in = [n, (n + 1) % 3].map(|n| d[n] < 0.0);
        if is_in[0] {
            polygon.push(from);
        }
        if is_in[0] != is_in[1] {
            let (mut a, mut b) = (0.0f32, 1.0f32);
            for _ in 0..BISECTIONS {
                let half = 0.5 * (a + b);
                let beyond = (distance(from.lerp(to, half)) < 0.0) != is_in[0];
                if beyond { b = half } else { a = half }
            }
            polygon.push(from.lerp(to, 0.5 * (a + b)));
        }
    }
    kept.extend((2..polygon.len()).map(|n| [polygon[0], polygon[n - 1], polygon[n]]));
}
