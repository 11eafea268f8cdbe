//! Triangles for the simple shapes: solids of revolution and boxes.

use crate::Shape;
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use std::f32::consts::{FRAC_PI_2, PI, TAU};

/// Two meshes in one.
pub(crate) fn joined(mut a: TriangleMesh, b: TriangleMesh) -> TriangleMesh {
    let first = a.positions.len() as u32;
    a.positions.extend(b.positions);
    a.triangles.extend(b.triangles.into_iter().map(|t| t.map(|v| v + first)));
    a
}

/// A box or a solid of revolution in steps of about `cell`; nothing for other shapes.
pub(crate) fn primitive(shape: &Shape, cell: f32) -> TriangleMesh {
    // Half a cell of chord keeps the sag far below a cell.
    let steps = |length: f32, least: usize| ((2.0 * length / cell) as usize).clamp(least, 512);
    let arc = |radius: f32, from: f32, to: f32| {
        let n = steps(radius * (to - from).abs(), 12);
        (0..=n).map(move |i| {
            let angle = from + (to - from) * i as f32 / n as f32;
            let (sin, cos) = angle.sin_cos();
            // The poles lie on the axis exactly, so that they become one vertex.
            let out = if (angle.abs() - FRAC_PI_2).abs() < 1e-5 { 0.0 } else { radius * cos };
            [out, radius * sin]
        })
    };
    let around = |radius: f32| steps(TAU * radius, 48);
    match shape {
        Shape::Box { min, max } => box_mesh(*min, *max),
        Shape::Sphere { center, radius } => {
            let profile: Vec<_> = arc(*radius, -FRAC_PI_2, FRAC_PI_2).collect();
            revolve(&profile, false, *center, Vec3::Y, around(*radius))
        }
        Shape::Cylinder { from, to, radius } => {
            let height = from.distance(*to);
            let profile = [[0.0, 0.0], [*radius, 0.0], [*radius, height], [0.0, height]];
            revolve(&profile, false, *from, (*to - *from).normalize_or_zero(), around(*radius))
        }
        Shape::Capsule { from, to, radius } => {
            let height = from.distance(*to);
            let top = arc(*radius, 0.0, FRAC_PI_2).map(|[r, h]| [r, h + height]);
            let profile: Vec<_> = arc(*radius, -FRAC_PI_2, 0.0).chain(top).collect();
            let axis = if height > 0.0 { (*to - *from) / height } else { Vec3::Y };
            revolve(&profile, false, *from, axis, around(*radius))
        }
        Shape::Torus { center, axis, major_radius, minor_radius } => {
            let n = steps(TAU * minor_radius, 24);
            let profile: Vec<_> = (0..n)
                .map(|i| {
                    let (sin, cos) = (2.0 * PI * i as f32 / n as f32).sin_cos();
                    [major_radius + minor_radius * cos, minor_radius * sin]
                })
                .collect();
            revolve(&profile, true, *center, axis.normalize_or_zero(), around(major_radius + minor_radius))
        }
        _ => TriangleMesh::default(),
    }
}

fn box_mesh(min: Vec3, max: Vec3) -> TriangleMesh {
    let pick = |n: usize, a: usize| if n >> a & 1 == 0 { min[a] } else { max[a] };
    let positions = (0..8).map(|n| Vec3::new(pick(n, 0), pick(n, 1), pick(n, 2))).collect();
    let quads: [[u32; 4]; 6] =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriangleMesh { positions, velocities: Vec::new(), triangles }
}

/// Turns a profile of (radius, height), listed upwards on the outside, about an axis. Radius 0 is a single
/// vertex.
fn revolve(profile: &[[f32; 2]], closed: bool, origin: Vec3, axis: Vec3, sectors: usize) -> TriangleMesh {
    let (u, v) = axis.any_orthonormal_pair();
    let mut mesh = TriangleMesh::default();
    let rings: Vec<Vec<u32>> = profile
        .iter()
        .map(|&[radius, height]| {
            let first = mesh.positions.len() as u32;
            let count = if radius > 0.0 { sectors } else { 1 };
            mesh.positions.extend((0..count).map(|s| {
                let (sin, cos) = (TAU * s as f32 / sectors as f32).sin_cos();
                origin + height * axis + radius * (cos * u + sin * v)
            }));
            (0..sectors as u32).map(|s| first + if count == 1 { 0 } else { s }).collect()
        })
        .collect();
    let pairs = rings.len() - !closed as usize;
    for r in 0..pairs {
        let (low, high) = (&rings[r], &rings[(r + 1) % rings.len()]);
        for s in 0..sectors {
            let e = (s + 1) % sectors;
            for t in [[low[s], low[e], high[e]], [low[s], high[e], high[s]]] {
                if t[0] != t[1] && t[1] != t[2] && t[2] != t[0] {
                    mesh.triangles.push(t);
                }
            }
        }
    }
    mesh
}
