//! Cut cells are watertight over random liquids.

use crate::common::{random_liquid, unit_grid};
use fluvial_cutcell::cut::{CutScratch, cut_liquid};
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use std::collections::BTreeMap;

/// The divergence theorem on every piece, and what faces, pieces and cells must have in common.
pub fn assert_watertight(mesh: &CutCells, what: &str) {
    for n in 0..mesh.pieces.len() {
        let sums = mesh.surface_sums(n);
        let piece = &mesh.pieces[n];
        assert!(sums.area_vector.abs().max_element() < 1e-6, "{what}: piece {n} leaks {sums:?}");
        assert!((sums.volume - piece.volume).abs() < 1e-6, "{what}: piece {n} {sums:?} {piece:?}");
        assert!(piece.volume > -1e-9 && piece.volume < 1.0 + 1e-9, "{what}: {piece:?}");
    }
    for face in &mesh.faces {
        assert!(face.pieces.iter().any(|&p| p != NONE));
        assert!((-1e-9..1.0 + 1e-9).contains(&face.area), "{what}: {face:?}");
    }
}

/// Directed edges of a piece's surface, by vertex number: each must be met by its reverse. Only for pieces
/// that marching cubes made, where neighbouring polygons share vertices.
fn assert_closed_by_connectivity(mesh: &CutCells, piece: usize) {
    let mut balance: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    let mut walk = |polygon: &[u32], sign: i32| {
        for n in 0..polygon.len() {
            let (a, b) = (polygon[n], polygon[(n + 1) % polygon.len()]);
            *balance.entry((a.min(b), a.max(b))).or_default() += if a < b { sign } else { -sign };
        }
    };
    for t in mesh.triangles_of(piece) {
        walk(&t.vertices, 1);
    }
    for (f, side) in mesh.faces_of(piece) {
        let face = &mesh.faces[f];
        (face.polygons[0]..face.polygons[1])
            .for_each(|p| walk(mesh.polygon(p as usize), if side == 0 { 1 } else { -1 }));
    }
    assert!(balance.values().all(|&b| b == 0), "piece {piece}: {:?}", mesh.pieces[piece]);
}

#[test]
fn random_liquids_are_cut_into_closed_pieces() {
    let mut scratch = CutScratch::default();
    for case in 0..5000u64 {
        let factor = [1, 2, 3, 4][case as usize / 5 % 4];
        let grid = unit_grid([2, 2, 1 + case as usize % 2]);
        let phi_node = random_liquid(&grid, factor, case);
        let tracker = Tracker { grid, factor, phi_node: &phi_node };
        let mesh = cut_liquid(&tracker, &mut scratch);
        assert_watertight(&mesh, &format!("case {case}"));
        for piece in (0..mesh.pieces.len()).filter(|&p| !mesh.pieces[p].is_full) {
            assert_closed_by_connectivity(&mesh, piece);
        }
    }
}

/// The volume and the surface of a ball converge with second order in the tracker's cells.
#[test]
fn volume_and_area_of_a_ball_are_second_order() {
    let center = fluvial_foundation::DVec3::new(2.03, 1.98, 2.01);
    let radius = 1.57f64;
    let errors = [2, 4, 8].map(|factor| {
        let grid = unit_grid([4, 4, 4]);
        let phi_node = crate::common::phi_at_nodes(&grid, factor, |x| (x - center).length() - radius);
        let mesh = cut_liquid(&Tracker { grid, factor, phi_node: &phi_node }, &mut CutScratch::default());
        let pi = std::f64::consts::PI;
        let volume: f64 = mesh.pieces.iter().map(|p| p.volume).sum();
        let area: f64 = mesh.pieces.iter().map(|p| p.surface_area).sum();
        let moment = mesh.pieces.iter().map(|p| p.volume * p.centroid).sum::<fluvial_foundation::DVec3>();
        assert!((moment / volume - center).length() < 1e-2, "the centre of volume is the ball's");
        [4.0 / 3.0 * pi * radius.powi(3) - volume, 4.0 * pi * radius * radius - area]
    });
    for n in 0..2 {
        let order = 0.5 * (errors[0][n] / errors[2][n]).log2();
        assert!((order - 2.0).abs() < 0.15, "{order} {errors:?}");
    }
}

/// Kinds of vertices say where they lie.
#[test]
fn kinds_of_vertices_say_where_they_lie() {
    use fluvial_cutcell::mesh::VertexKind;
    let grid = unit_grid([3, 3, 3]);
    let center = fluvial_foundation::DVec3::new(1.53, 1.48, 1.51);
    let phi_node = crate::common::phi_at_nodes(&grid, 4, |x| (x - center).length() - 1.17);
    let mesh = cut_liquid(&Tracker { grid, factor: 4, phi_node: &phi_node }, &mut CutScratch::default());
    let mut on_geometry = vec![false; mesh.vertices.len()];
    mesh.triangles.iter().flat_map(|t| t.vertices).for_each(|v| on_geometry[v as usize] = true);
    let mut counts = [0; 5];
    for (v, x) in mesh.vertices.iter().enumerate() {
        let planes = x.to_array().iter().filter(|c| c.fract() == 0.0).count();
        let kind = mesh.vertex_kind[v];
        counts[kind as usize] += 1;
        let wanted = match (on_geometry[v], planes) {
            (true, 0) => VertexKind::Geometry,
            (true, 1) => VertexKind::Face,
            (true, _) => VertexKind::Edge,
            (false, 3) => VertexKind::Grid,
            (false, _) => VertexKind::Tracker,
        };
        assert_eq!(kind, wanted, "{x}");
    }
    assert!(counts.iter().all(|&c| c > 0), "{counts:?}");
}
