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

/// Directed edges of a piece's surface, by vertex number: each must be met by its reverse. Only for pieces that marching cubes made,
/// where neighbouring polygons share vertices.
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
