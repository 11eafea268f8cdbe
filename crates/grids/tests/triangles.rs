use fluvial_foundation::Vec3;
use fluvial_grids::triangles::{MeshDefects, TriangleMesh};

fn tetrahedron() -> TriangleMesh {
    TriangleMesh {
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z],
        velocities: vec![],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }
}

#[test]
fn a_tetrahedron_is_clean_and_has_its_volume() {
    assert!(tetrahedron().defects().is_clean());
    assert!((tetrahedron().volume() - 1.0 / 6.0).abs() < 1e-12);
}

#[test]
fn holes_flips_and_pinches_are_found() {
    let mut hole = tetrahedron();
    hole.triangles.pop();
    assert_eq!(hole.defects().boundary_edges, 3);

    let mut flipped = tetrahedron();
    flipped.triangles[3].swap(0, 1);
    assert!(flipped.defects().bad_edges > 0);

    let mut pinched = tetrahedron();
    let shifted = tetrahedron().positions.iter().map(|&p| p - Vec3::ONE).collect::<Vec<_>>();
    pinched.positions.extend(&shifted[1..]);
    // second tetrahedron shares vertex 0 only
    pinched
        .triangles
        .extend(tetrahedron().triangles.iter().map(|t| t.map(|v| if v == 0 { 0 } else { v + 3 })));
    assert_eq!(pinched.defects(), MeshDefects { bad_vertices: 1, ..Default::default() });
}
