//! After cutting beside solids: vertices at one place become one vertex, and pieces inside solids are taken
//! out.

use crate::mesh::{CutCells, GridFace, NONE, VertexKind};
use fluvial_foundation::DVec3;
use std::collections::HashMap;

/// Vertices closer than this are one, in cells.
const WELD: f64 = 1e-7;

/// Joins vertices from `first_own` on with each other and with the tracker's where they coincide. Numbers
/// depend on order alone: the table is only asked, never walked through.
pub(crate) fn weld(mesh: &mut CutCells, first_own: usize) {
    if first_own == mesh.vertices.len() {
        return;
    }
    let scale = 0.25 / WELD;
    let key = |x: DVec3| (x * scale).floor().as_i64vec3();
    let mut table: HashMap<[i64; 3], u32> = HashMap::new();
    let mut number: Vec<u32> = Vec::with_capacity(mesh.vertices.len() - first_own);
    let own: std::collections::HashSet<[i64; 3]> =
        mesh.vertices[first_own..].iter().map(|x| x.floor().as_i64vec3().to_array()).collect();
    // Tracker vertices in the cells of own vertices may be met; on cell boundaries their neighbours' cells
    // count too.
    let is_near = |x: DVec3| {
        let (low, high) = ((x - WELD).floor().as_i64vec3(), (x + WELD).floor().as_i64vec3());
        own.contains(&low.to_array()) || own.contains(&high.to_array())
    };
    let mut kept = first_own;
    for n in 0..mesh.vertices.len() {
        let x = mesh.vertices[n];
        if n < first_own && !is_near(x) {
            continue;
        }
        let found = corners_of(x, WELD).find_map(|corner| table.get(&key(corner).to_array()).copied());
        let close = found.filter(|&v| (mesh.vertices[v as usize] - x).abs().max_element() <= 2.0 * WELD);
        if n < first_own {
            table.entry(key(x).to_array()).or_insert(n as u32);
        } else if let Some(v) = close {
            number.push(v);
        } else {
            mesh.vertices[kept] = x;
            table.entry(key(x).to_array()).or_insert(kept as u32);
            number.push(kept as u32);
            kept += 1;
        }
    }
    mesh.vertices.truncate(kept);
    let renumber = |v: &mut u32| {
        if let Some(own) = (*v as usize).checked_sub(first_own) {
            *v = number[own];
        }
    };
    mesh.triangles.iter_mut().for_each(|t| t.vertices.iter_mut().for_each(renumber));
    mesh.polygon_vertices.iter_mut().for_each(renumber);
    mesh.vertex_kind.truncate(first_own);
    let kinds = mesh.vertices[first_own..].iter().map(|x| kind_of(*x));
    mesh.vertex_kind.extend(kinds);
}

/// The eight points at a distance along the axes, and the point itself first.
fn corners_of(x: DVec3, distance: f64) -> impl Iterator<Item = DVec3> {
    let corner = move |n: u32| {
        let sign = DVec3::new((n & 1) as f64, (n >> 1 & 1) as f64, (n >> 2) as f64) * 2.0 - 1.0;
        x + distance * sign
    };
    std::iter::once(x).chain((0..8).map(corner))
}

fn kind_of(x: DVec3) -> VertexKind {
    let planes = (x - x.round()).abs().to_array().iter().filter(|d| **d < WELD).count();
    [VertexKind::Geometry, VertexKind::Face, VertexKind::Edge, VertexKind::Grid][planes]
}

/// Takes pieces inside closed solids out: those that see a solid from behind, and what is connected with them up to pieces
/// that see one from the front. Where slivers of triangles meet, as at the poles of a ball, a crumb outside may see one from
/// behind: what is connected with it then borders on more pieces that see solids from the front than it has of its kind, and
/// only the crumb is taken out.
pub(crate) fn remove_pieces_in_solids(mesh: &mut CutCells, seen_from_behind: &[u32]) {
    if seen_from_behind.is_empty() {
        return;
    }
    let mut behind = vec![false; mesh.pieces.len()];
    seen_from_behind.iter().for_each(|&p| behind[p as usize] = true);
    let sees_front: Vec<bool> = (0..mesh.pieces.len())
        .map(|p| !behind[p] && mesh.triangles_of(p).iter().any(|t| !t.is_surface()))
        .collect();
    let mut inside = behind.clone();
    let mut is_seen = vec![false; mesh.pieces.len()];
    let (mut stack, mut group) = (vec![], vec![]);
    for &seed in seen_from_behind {
        if std::mem::replace(&mut is_seen[seed as usize], true) {
            continue;
        }
        group.clear();
        stack.push(seed);
        let (mut seeds, mut fronts) = (0, 0);
        while let Some(piece) = stack.pop() {
            group.push(piece);
            seeds += behind[piece as usize] as usize;
            for (f, side) in mesh.faces_of(piece as usize) {
                let other = mesh.faces[f].pieces[1 - side];
                if other == NONE {
                    continue;
                }
                if sees_front[other as usize] {
                    fronts += 1;
                } else if !std::mem::replace(&mut is_seen[other as usize], true) {
                    stack.push(other);
                }
            }
        }
        if fronts <= seeds {
            group.iter().for_each(|&p| inside[p as usize] = true);
        }
    }
    remove_pieces(mesh, &inside);
}

/// Takes the marked pieces out, with the faces that they share with others.
pub fn remove_pieces(mesh: &mut CutCells, inside: &[bool]) {
    let mut number = vec![NONE; mesh.pieces.len()];
    let (mut pieces, mut triangles, mut first_triangle) = (vec![], vec![], vec![0]);
    for (n, piece) in mesh.pieces.iter().enumerate().filter(|(n, _)| !inside[*n]) {
        number[n] = pieces.len() as u32;
        pieces.push(*piece);
        triangles.extend_from_slice(mesh.triangles_of(n));
        first_triangle.push(triangles.len() as u32);
    }
    let mut kept = 0;
    let mut at = 0;
    for start in &mut mesh.first_piece {
        while at < *start {
            kept += !inside[at as usize] as u32;
            at += 1;
        }
        *start = kept;
    }
    mesh.faces.retain(|f: &GridFace| f.pieces.iter().all(|&p| p == NONE || !inside[p as usize]));
    for p in mesh.faces.iter_mut().flat_map(|f| &mut f.pieces).filter(|p| **p != NONE) {
        *p = number[*p as usize];
    }
    (mesh.pieces, mesh.triangles, mesh.first_triangle) = (pieces, triangles, first_triangle);
    crate::faces::list_faces_of_pieces(mesh);
}
