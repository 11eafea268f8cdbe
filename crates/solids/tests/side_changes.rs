//! Tests of `side_changes`.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape, SolidFields, rasterize, side_changes};

/// A plate 0.1 cells thick moves by 1.4 cells: the cells that it has passed belong to the side behind it,
/// and take what is there.
#[test]
fn a_sweeping_plate_hands_its_cells_over() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [12, 6, 6], dx: 1.0 };
    let plate = Shape::Box { min: Vec3::new(4.3, -1.0, -1.0), max: Vec3::new(4.4, 7.0, 7.0) };
    let speed = Vec3::new(1.4, 0.0, 0.0);
    let motion = Motion::Constant { linear: speed, angular: Vec3::ZERO, about: Vec3::ZERO };
    let solids = [(&plate, &motion)];
    let [mut old, mut new] = [SolidFields::default(), SolidFields::default()];
    rasterize(&mut old, &solids, [false; 6], &grid, 0.0);
    rasterize(&mut new, &solids, [false; 6], &grid, 1.0);
    let changes = side_changes([&old, &new], &solids, [0.0, 1.0], &grid);
    let cells = grid.cell_centers();
    // At 4.35 cell 4 belongs to the right, at 5.75 cells 4 and 5 belong to the left.
    let places: Vec<[usize; 3]> = changes.iter().map(|c| cells.coordinates(c.cell as usize)).collect();
    assert!(places.iter().all(|at| at[0] == 4 || at[0] == 5), "{places:?}");
    assert_eq!(changes.len(), 72);
    for (change, at) in changes.iter().zip(&places) {
        let place = |cell: Option<u32>| cells.coordinates(cell.unwrap() as usize);
        assert_eq!(place(change.donor), [3, at[1], at[2]]);
        assert_eq!(place(change.refuge), [6, at[1], at[2]]);
    }
    let still = side_changes([&old, &old], &solids, [0.0, 0.0], &grid);
    assert_eq!(still, []);
}
