use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_mac::{FaceCells, for_each_face};

#[test]
fn every_face_lies_between_its_cells() {
    let grid = UniformGrid { min: Vec3::new(1.0, 0.0, -1.0), cells: [3, 4, 5], dx: 0.5 };
    let centers = grid.cell_centers();
    for axis in AXES {
        let lattice = grid.faces(axis);
        let mut seen = vec![0; lattice.len()];
        for_each_face(&mut seen, &grid, axis, |face, cells, seen| {
            *seen += 1;
            let at = lattice.coordinates(face);
            let x = lattice.position(at[0], at[1], at[2]);
            let place = |cell: usize| {
                let [i, j, k] = centers.coordinates(cell);
                centers.position(i, j, k)
            };
            let half = 0.25 * Vec3::AXES[axis];
            assert_eq!(cells.low.map(place), (at[axis] > 0).then_some(x - half));
            assert_eq!(cells.high.map(place), (at[axis] < grid.cells[axis]).then_some(x + half));
            assert_eq!(cells, FaceCells::beside(&grid, axis, face));
        });
        assert!(seen.iter().all(|&n| n == 1));
    }
}
