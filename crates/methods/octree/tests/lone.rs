use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::lone::hide_lone_cells;

#[test]
fn only_a_cell_with_air_all_around_is_lone() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.125, levels: 1, roots: [8; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let at = |x: f32, y: f32, z: f32| tree.locate(Vec3::new(x, y, z)).cell as usize;
    let (lone, pair) = (at(0.3, 0.3, 0.3), [at(0.7, 0.7, 0.7), at(0.7, 0.7, 0.8)]);
    let mut phi = vec![0.1; tree.cell_count()];
    [lone, pair[0], pair[1]].into_iter().for_each(|cell| phi[cell] = -0.02);
    let mut area = vec![1.0; tree.face_count()];
    let hidden = |area: &[f32]| {
        let mut out = vec![];
        hide_lone_cells(&mut out, &Geometry { tree: &tree, phi_cell: &phi, open_area: area });
        (0..out.len()).filter(|&cell| out[cell] != phi[cell]).collect::<Vec<_>>()
    };
    assert_eq!(hidden(&area), [lone]);
    // Beside a solid it is not free to fly.
    area[tree.cell_faces()[lone][3] as usize] = 0.5;
    assert!(hidden(&area).is_empty());
}
