//! Meshes as the renderer's shaders read them.

use crate::Drawn;
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_preview::WhiteKind;

/// Position, normal and colour.
pub(crate) type Vertex = [f32; 9];
/// Middle, radius, colour and cover.
pub(crate) type Disc = [f32; 8];

/// Edges of solids stay edges where their normals differ by more than this cosine.
const SMOOTH: f32 = 0.8;
const BODY_COLORS: [Vec3; 6] = [
    Vec3::new(0.72, 0.42, 0.18),
    Vec3::new(0.78, 0.22, 0.14),
    Vec3::new(0.85, 0.62, 0.16),
    Vec3::new(0.36, 0.46, 0.24),
    Vec3::new(0.24, 0.34, 0.52),
    Vec3::new(0.60, 0.52, 0.44),
];
const STONE: Vec3 = Vec3::new(0.36, 0.32, 0.26);
/// Cover of a spray drop, a foam patch, a bubble and a puff of mist, and how much larger than the particle they are drawn.
const LOOKS: [(f32, f32); 4] = [(0.8, 0.8), (0.35, 3.0), (0.12, 1.0), (0.05, 12.0)];

fn vertex(x: Vec3, normal: Vec3, color: Vec3) -> Vertex {
    [x.x, x.y, x.z, normal.x, normal.y, normal.z, color.x, color.y, color.z]
}

/// Triangles one after the other, with smooth normals but for edges, and for what `is_flat` says lies flat and bends no normals.
fn triangles(
    out: &mut Vec<Vertex>,
    mesh: &TriangleMesh,
    color: Vec3,
    smooth: f32,
    is_flat: impl Fn([Vec3; 3]) -> bool,
) {
    let corners = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize]);
    let mut normals = vec![Vec3::ZERO; mesh.positions.len()];
    for t in mesh.triangles.iter().filter(|t| !is_flat(corners(t))) {
        let [a, b, c] = corners(t);
        let area = (b - a).cross(c - a);
        t.iter().for_each(|&v| normals[v as usize] += area);
    }
    for t in &mesh.triangles {
        let [a, b, c] = corners(t);
        let flat = (b - a).cross(c - a).normalize_or(Vec3::Y);
        let is_flat = is_flat([a, b, c]);
        out.extend(t.map(|v| {
            let mean = normals[v as usize].normalize_or(flat);
            let normal = if is_flat || mean.dot(flat) < smooth { flat } else { mean };
            vertex(mesh.positions[v as usize], normal, color)
        }));
    }
}

/// The liquid. What lies on a wall is flat.
pub(crate) fn liquid(drawn: &Drawn) -> Vec<Vertex> {
    let (domain, near) = (drawn.domain, 4e-3 * drawn.domain.size().max_element());
    let on_wall = |corners: [Vec3; 3]| {
        let lies = |a: usize, at: f32| corners.iter().all(|x| (x[a] - at).abs() < near);
        AXES.into_iter().any(|a| lies(a, domain.min[a]) || lies(a, domain.max[a]))
    };
    let mut out = Vec::with_capacity(3 * drawn.liquid.triangles.len());
    triangles(&mut out, &drawn.liquid, Vec3::ONE, -1.0, on_wall);
    out
}

/// Solids and bodies.
pub(crate) fn solids(drawn: &Drawn) -> Vec<Vertex> {
    let mut out = vec![];
    for (mesh, body) in &drawn.solids {
        let color = body.map_or(STONE, |n| BODY_COLORS[n % BODY_COLORS.len()]);
        triangles(&mut out, mesh, color, SMOOTH, |_| false);
    }
    out
}

/// The edges of the tank, as lines.
pub(crate) fn edges(domain: Aabb) -> Vec<Vertex> {
    let corner = |n: usize| {
        let side = |a: usize| if n >> a & 1 == 1 { domain.max[a] } else { domain.min[a] };
        Vec3::new(side(0), side(1), side(2))
    };
    let mut out = vec![];
    for n in 0..8 {
        for a in (0..3).filter(|a| n >> a & 1 == 0) {
            out.extend([n, n | 1 << a].map(|n| vertex(corner(n), Vec3::Y, Vec3::splat(0.30))));
        }
    }
    out
}

/// Spray, foam and bubbles.
pub(crate) fn discs(drawn: &Drawn) -> Vec<Disc> {
    let disc = |p: &fluvial_preview::WhitePoint| {
        let kind = match p.kind {
            WhiteKind::Spray => 0,
            WhiteKind::Foam => 1,
            WhiteKind::Bubble => 2,
            WhiteKind::Mist => 3,
        };
        let (cover, larger) = LOOKS[kind];
        [p.x.x, p.x.y, p.x.z, larger * p.radius, 0.95, 0.97, 1.0, cover]
    };
    drawn.white.iter().map(disc).collect()
}
