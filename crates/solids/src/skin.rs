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

#[cfg(test)]
mod tests {
    use super::*;

    fn volume_and_area(mesh: &TriangleMesh) -> (f64, f64) {
        let area =
            corners_of(mesh).iter().map(|[p, q, r]| 0.5 * (*q - *p).cross(*r - *p).length() as f64).sum();
        (mesh.volume(), area)
    }

    const CLIP: Aabb = Aabb { min: Vec3::splat(-2.0), max: Vec3::splat(2.0) };

    #[test]
    fn a_boolean_keeps_its_thin_walls() {
        let ball = |radius: f32| Shape::Sphere { center: Vec3::new(0.01, 0.02, 0.03), radius };
        for wall in [0.1f32, 0.001, 0.00001] {
            let half = Shape::Plane {
                point: Vec3::new(0.0, 0.02, 0.0),
                normal: Vec3::new(0.1, 1.0, 0.0).normalize(),
            };
            let outer = Shape::Intersection(vec![ball(0.5), half]);
            let bowl = Shape::Difference(Box::new(outer), Box::new(ball(0.5 - wall)));
            let (_, area) = volume_and_area(&bowl.skin(CLIP, 0.08));
            let (r, s) = (0.5f64, 0.5 - f64::from(wall));
            let exact = 2.0 * std::f64::consts::PI * (r * r + s * s + 0.5 * (r * r - s * s));
            assert!((area / exact - 1.0).abs() < 0.02, "wall {wall}: {area} of {exact}");
        }
    }

    /// A tank without a lid, one with a wall inside, and two blocks that touch.
    #[test]
    fn faces_that_coincide_are_there_or_not() {
        let block = |min: f32, top: f32| Shape::Box {
            min: Vec3::splat(min),
            max: Vec3::new(1.0 - min, top, 1.0 - min),
        };
        let open = Shape::Difference(Box::new(block(0.0, 1.0)), Box::new(block(0.1, 1.0)));
        let (volume, area) = volume_and_area(&open.skin(CLIP, 0.2));
        assert!((volume - (1.0 - 0.64 * 0.9)).abs() < 1e-3, "{volume}");
        assert!((area - (5.0 + 4.0 * 0.72 + 0.64 + 0.36)).abs() < 1e-2, "{area}");
        let beside = Shape::Box { min: Vec3::X, max: Vec3::new(2.0, 1.0, 1.0) };
        let whole = Shape::Difference(Box::new(block(0.0, 1.0)), Box::new(beside));
        let (volume, area) = volume_and_area(&whole.skin(CLIP, 0.2));
        assert!((volume - 1.0).abs() < 1e-3 && (area - 6.0).abs() < 1e-3, "{volume} {area}");
    }

    #[test]
    fn a_ball_is_closed_and_points_outward() {
        let (volume, area) = volume_and_area(&ball(Vec3::ONE, 0.5, 0.05));
        assert!((volume / (4.0 / 3.0 * std::f64::consts::PI * 0.125) - 1.0).abs() < 0.01, "{volume}");
        assert!((area / std::f64::consts::PI - 1.0).abs() < 0.01, "{area}");
    }
}
