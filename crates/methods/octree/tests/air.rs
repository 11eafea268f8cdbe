use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::air::{AirScratch, balance_surface_air};
use fluvial_octree::gradient::Geometry;

/// A front that spreads, `u = (x, 0, 0)`, diverges at the rate 1 everywhere. Over a flat pool on equal
/// cells, the air cells beside it come out free of divergence, and no face of the liquid has changed.
#[test]
fn air_beside_a_surface_keeps_its_volume() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - 0.51).collect();
    let area = vec![1.0; tree.face_count()];
    let along = |face: usize| if tree.face_axis(face) == 0 { tree.face_center(face, 0).x } else { 0.0 };
    let before: Vec<f32> = (0..tree.face_count()).map(along).collect();
    let mut u = before.clone();
    let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: &area };
    let closed = vec![false; tree.cell_count()];
    balance_surface_air(&mut u, &geometry, &closed, &mut AirScratch::default());
    let mut balanced = 0;
    for cell in 0..tree.cell_count() {
        let faces = tree.cell_faces()[cell].map(|f| f as usize);
        let divergence: f32 = (0..3).map(|a| (u[faces[2 * a + 1]] - u[faces[2 * a]]) * 16.0).sum();
        if phi[cell] >= 0.0 && phi[cell] < 1.0 / 16.0 {
            assert!(divergence.abs() < 1e-5, "{divergence}");
            balanced += 1;
        }
        if phi[cell] < 0.0 {
            assert!(faces.iter().all(|&f| u[f] == before[f]));
        }
    }
    assert_eq!(balanced, 16 * 16);
}
