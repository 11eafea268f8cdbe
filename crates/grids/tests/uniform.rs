use fluvial_foundation::Vec3;
use fluvial_grids::uniform::UniformGrid;

#[test]
fn faces_and_nodes_lie_half_a_cell_from_centres() {
    let grid = UniformGrid { min: Vec3::new(1.0, 2.0, 3.0), cells: [4, 5, 6], dx: 0.5 };
    let center = grid.cell_centers().position(1, 2, 3);
    for axis in 0..3 {
        let mut half = Vec3::ZERO;
        half[axis] = 0.25;
        assert_eq!(grid.faces(axis).position(1, 2, 3), center - half);
    }
    assert_eq!(grid.nodes().position(1, 2, 3), center - 0.25);
    assert_eq!(grid.bounds().max, Vec3::new(3.0, 4.5, 6.0));
}
