//! Surface tension as pressure on the surface [cutcell §4, eq. 12 to 14].
//!
//! Every pressure sample of a cut piece carries `q = sigma kappa` of the nearest point of its own surface:
//! the sum `p + q` is the liquid's pressure there. Along the surface's normal q vanishes from the gradient
//! [cutcell eq. 13], so that the matrix stays as it is and q stands on the right side only [cutcell eq. 14].
//! Pieces without free surface carry none.

use crate::iso::{IsoSamples, PIECES};
use crate::mesh::{CutCells, NONE};
use crate::poisson::coefficient;
use crate::velocity::StepScales;
use crate::vertices::find_walls;
use fluvial_foundation::{DVec3, parallel};

/// q at the two samples of every grid face, from q at the mesh's vertices. Only the piece's own surface is
/// read: nothing is seen through a wall.
pub fn pressure_at_samples(out: &mut [[f64; 2]], mesh: &CutCells, iso: &IsoSamples, q_vertex: &[f64]) {
    assert_eq!(out.len(), mesh.faces.len());
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (n, q) in out.iter_mut().enumerate() {
            let face = chunk * PIECES + n;
            *q = [0, 1].map(|side| {
                let piece = mesh.faces[face].pieces[side];
                if piece == NONE || iso.phi_piece[piece as usize] == 0.0 {
                    return 0.0;
                }
                nearest(mesh, piece as usize, iso.position(mesh, face, side), q_vertex)
            });
        }
    });
}

/// A vertex value at the point of a piece's surface that is nearest to `x`.
fn nearest(mesh: &CutCells, piece: usize, x: DVec3, of_vertex: &[f64]) -> f64 {
    let (mut best, mut value) = (f64::INFINITY, 0.0);
    for t in mesh.triangles_of(piece).iter().filter(|t| t.is_surface()) {
        let corners = t.vertices.map(|v| mesh.vertices[v as usize] - x);
        let weights = closest_on_triangle(corners);
        let point: DVec3 = (0..3).map(|n| weights[n] * corners[n]).sum();
        if point.length_squared() < best {
            best = point.length_squared();
            value = (0..3).map(|n| weights[n] * of_vertex[t.vertices[n] as usize]).sum();
        }
    }
    value
}

/// Barycentric coordinates of the point of a triangle that is nearest to the origin: inside its edges' reach
/// the projection, else the nearest point of its edges.
fn closest_on_triangle(c: [DVec3; 3]) -> [f64; 3] {
    let n = (c[1] - c[0]).cross(c[2] - c[0]);
    let square = n.length_squared();
    if square > 0.0 {
        let w = [c[1].cross(c[2]), c[2].cross(c[0]), c[0].cross(c[1])].map(|v| v.dot(n) / square);
        if w.iter().all(|w| *w >= 0.0) {
            return w;
        }
    }
    let mut best = (f64::INFINITY, [1.0, 0.0, 0.0]);
    for i in 0..3 {
        let j = (i + 1) % 3;
        let edge = c[j] - c[i];
        let length = edge.length_squared();
        let t = if length > 0.0 { (-c[i].dot(edge) / length).clamp(0.0, 1.0) } else { 0.0 };
        let distance = (c[i] + t * edge).length_squared();
        if distance < best.0 {
            best = (distance, [0.0; 3]);
            best.1[i] = 1.0 - t;
            best.1[j] = t;
        }
    }
    best.1
}

/// Adds q to the right side [cutcell eq. 14]: `-sum A (q_own - q_other) / distance` for every piece.
pub fn add_to_right_side(rhs: &mut [f64], mesh: &CutCells, iso: &IsoSamples, q_face: &[[f64; 2]]) {
    parallel::for_each_chunk_mut(rhs, PIECES, |chunk, out| {
        for (n, rhs) in out.iter_mut().enumerate() {
            for (f, side) in mesh.faces_of(chunk * PIECES + n) {
                *rhs -= coefficient(mesh, iso, f) * (q_face[f][side] - q_face[f][1 - side]);
            }
        }
    });
}

/// The tangential part of the surface's acceleration [cutcell §4]: `u -= dt / rho grad_s q` at the vertices
/// of the surface, from the gradients on the triangles around them, and along walls where they touch some.
pub fn accelerate_along_surface(
    u_vertex: &mut [DVec3],
    mesh: &CutCells,
    q_vertex: &[f64],
    scales: &StepScales,
) {
    let mut sums = vec![(DVec3::ZERO, 0.0); mesh.vertices.len()];
    for t in mesh.triangles.iter().filter(|t| t.is_surface()) {
        let [a, b, c] = t.vertices.map(|v| mesh.vertices[v as usize]);
        let [qa, qb, qc] = t.vertices.map(|v| q_vertex[v as usize]);
        let n = (b - a).cross(c - a);
        let double_area = n.length();
        if double_area <= 0.0 {
            continue;
        }
        // Area times gradient: finite on slivers.
        let n = n / double_area;
        let gradient = 0.5 * (qa * n.cross(c - b) + qb * n.cross(a - c) + qc * n.cross(b - a));
        for v in t.vertices {
            sums[v as usize].0 += gradient;
            sums[v as usize].1 += 0.5 * double_area;
        }
    }
    let mut walls = Vec::new();
    find_walls(&mut walls, mesh);
    let scale = scales.dt_s / (scales.density * scales.dx);
    for (v, (gradient, area)) in sums.iter().enumerate().filter(|s| s.1.1 > 0.0) {
        u_vertex[v] -= scale * walls[v].without(*gradient / *area);
    }
}
