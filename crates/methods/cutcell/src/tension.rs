//! Surface tension as pressure on the surface [cutcell §4, eq. 12 to 14].
//!
//! Every piece with a free surface carries `q = sigma kappa`, the mean over its own surface: the sum `p + q` is the
//! liquid's pressure there. Along the surface's normal q vanishes from the gradient [cutcell eq. 13], so that the matrix stays as
//! it is and q stands on the right side only [cutcell eq. 14]. Pieces without free surface carry none.
//!
//! The paper reads q at the point of the surface that is nearest to a pressure sample. The surface of a piece moves with one
//! normal velocity u (the flux budget), so that tension does the work `u sum q A` on it: what it gives to the liquid is what the
//! area loses where q is the mean, and nowhere else. Read at points, curvature of waves shorter than a cell, which no velocity of
//! the grid answers to, stands for that of long ones, and a drop at rest gained energy until it ran at 0.25 m/s.
//! Test: `a_drop_at_rest_stays_at_rest` of the solver.
//!
//! Between two pieces q is taken to be linear: it belongs to the middles of their surfaces, which are l apart, and the two
//! samples of the face between them are d apart, often far less. The samples' q then differ by `(q_high - q_low) d / l`.
//! With the whole difference over d, the largest velocity in a static drop was seven times as large after a step, and an oscillating
//! one swung 4 % too fast.

use crate::iso::{IsoSamples, PIECES};
use crate::mesh::{CutCells, NONE};
use crate::poisson::coefficient;
use crate::velocity::Given;
use crate::velocity::StepScales;
use crate::vertices::find_walls;
use fluvial_foundation::{DVec3, parallel};

/// q of every piece, 0 without free surface: the mean of what its surface's vertices say.
pub fn pressure_of_pieces(out: &mut [f64], mesh: &CutCells, q_vertex: &[f64]) {
    assert_eq!(out.len(), mesh.pieces.len());
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (n, q) in out.iter_mut().enumerate() {
            let (mut sum, mut area) = (0.0, 0.0);
            for t in mesh.triangles_of(chunk * PIECES + n).iter().filter(|t| t.is_surface()) {
                let weight = mesh.area_vector(t).length();
                sum += weight * t.vertices.iter().map(|&v| q_vertex[v as usize]).sum::<f64>() / 3.0;
                area += weight;
            }
            *q = if area > 0.0 { sum / area } else { 0.0 };
        }
    });
}

/// q at vertices of the surface as pieces have it: the mean of those around, by area. What moves the surface along itself has
/// the same short waves taken out as what moves it outward.
pub fn spread_to_vertices(q_vertex: &mut [f64], mesh: &CutCells, q_piece: &[f64]) {
    let mut sums = vec![(0.0, 0.0); mesh.vertices.len()];
    for (piece, q) in q_piece.iter().enumerate() {
        for t in mesh.triangles_of(piece).iter().filter(|t| t.is_surface()) {
            let weight = mesh.area_vector(t).length();
            for v in t.vertices {
                sums[v as usize].0 += weight * q;
                sums[v as usize].1 += weight;
            }
        }
    }
    for (q, (sum, area)) in q_vertex.iter_mut().zip(sums).filter(|s| s.1.1 > 0.0) {
        *q = sum / area;
    }
}

/// The middle of a piece's free surface, in cells; a piece without any has none.
fn middle_of_surface(mesh: &CutCells, piece: u32) -> Option<DVec3> {
    let (mut sum, mut area) = (DVec3::ZERO, 0.0);
    for t in mesh.triangles_of(piece as usize).iter().filter(|t| t.is_surface()) {
        let weight = mesh.area_vector(t).length();
        sum += weight * t.vertices.iter().map(|&v| mesh.vertices[v as usize]).sum::<DVec3>() / 3.0;
        area += weight;
    }
    (area > 0.0).then(|| sum / area)
}

/// How much larger q is at the high sample of every grid face than at the low one; 0 on the domain's walls.
pub fn differences_at_faces(out: &mut [f64], mesh: &CutCells, iso: &IsoSamples, q_piece: &[f64]) {
    assert_eq!(out.len(), mesh.faces.len());
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (n, difference) in out.iter_mut().enumerate() {
            let f = chunk * PIECES + n;
            let pieces = mesh.faces[f].pieces;
            *difference = 0.0;
            if pieces.contains(&NONE) {
                continue;
            }
            let [low, high] = pieces.map(|p| q_piece[p as usize]);
            let part = match pieces.map(|p| middle_of_surface(mesh, p)) {
                [Some(a), Some(b)] if low != high => {
                    let apart = iso.to_sample[f][0] + iso.to_sample[f][1];
                    if apart < a.distance(b) { apart / a.distance(b) } else { 1.0 }
                }
                _ => 1.0,
            };
            *difference = part * (high - low);
        }
    });
}

/// Adds q to the right side [cutcell eq. 14]: `-sum A (q_own - q_other) / distance` for every piece, from the differences at faces.
pub fn add_to_right_side(rhs: &mut [f64], mesh: &CutCells, iso: &IsoSamples, q_face: &[f64], given: &Given) {
    parallel::for_each_chunk_mut(rhs, PIECES, |chunk, out| {
        for (n, rhs) in out.iter_mut().enumerate() {
            for (f, side) in mesh.faces_of(chunk * PIECES + n) {
                let own_less_other = if side == 0 { -q_face[f] } else { q_face[f] };
                *rhs -= coefficient(mesh, iso, given, f) * own_less_other;
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
    find_walls(&mut walls, mesh, true);
    let scale = scales.dt_s / (scales.density * scales.dx);
    for (v, (gradient, area)) in sums.iter().enumerate().filter(|s| s.1.1 > 0.0) {
        u_vertex[v] -= scale * walls[v].without(*gradient / *area);
    }
}
