use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{NO_GAP, Openings, find_parting_cells, let_go, open_gaps};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [3, 4, 3], dx: 0.25 };

#[test]
fn cells_part_from_boundaries_that_do_not_hold() {
    let mut open = FaceField::constant(&GRID, 1.0);
    let (faces, cells) = (GRID.faces(1), GRID.cell_centers());
    for (i, k) in [(0, 0), (1, 1), (2, 2)] {
        open[1][faces.index(i, 0, k)] = 0.0;
        open[1][faces.index(i, 4, k)] = 0.0;
    }
    open[1][faces.index(1, 2, 1)] = 0.5;
    let mut may_part = vec![true; cells.len()];
    let holds_floor = [false, false, true, false, false, false];
    find_parting_cells(&mut may_part, &GRID, &open, holds_floor, |x| x.y < 0.5);
    let found: Vec<[usize; 3]> =
        (0..cells.len()).filter(|&c| may_part[c]).map(|c| cells.coordinates(c)).collect();
    assert_eq!(found, [[0, 3, 0], [1, 2, 1], [1, 3, 1], [2, 3, 2]]);
}

#[test]
fn a_gap_opens_as_fast_as_the_liquid_leaves() {
    let mut open = FaceField::constant(&GRID, 1.0);
    let (faces, cells) = (GRID.faces(1), GRID.cell_centers());
    let (top, face) = (cells.index(1, 3, 1), faces.index(1, 4, 1));
    open[1][face] = 0.0;
    let still = FaceField::constant(&GRID, 0.0);
    let openings =
        Openings { grid: &GRID, area_face: &open, u_boundary: &still, inflow_cell: &[], at_source_cell: &[] };
    let (mut gap, mut phi) = (vec![NO_GAP; cells.len()], vec![-1.0; cells.len()]);
    gap[top] = 0.0;
    // The cell below falls: the closed face goes with it.
    let mut u = still.clone();
    u[1][faces.index(1, 3, 1)] = -0.5;
    let mut parted = vec![false; cells.len()];
    parted[top] = true;
    let (may_part, liquid) = (parted.clone(), vec![true; cells.len()]);
    let_go(&mut u, &parted, &may_part, &liquid, &openings);
    assert_eq!(u[1][face], -0.5);
    open_gaps(&mut gap, &mut phi, &u, &openings, |_| f32::MAX, 0.1);
    assert!((gap[top] - 0.05).abs() < 1e-6 && phi[top] == -1.0, "{} {}", gap[top], phi[top]);
    // It closes again when the liquid comes back, and ends where it has become air.
    let below = faces.index(1, 3, 1);
    u[1][below] = 1.0;
    open_gaps(&mut gap, &mut phi, &u, &openings, |_| f32::MAX, 0.1);
    assert_eq!((gap[top], phi[top]), (0.0, -1.0));
    u[1][below] = -2.0;
    open_gaps(&mut gap, &mut phi, &u, &openings, |_| f32::MAX, 0.1);
    assert_eq!(gap[top], NO_GAP);
    assert!((phi[top] - 0.075).abs() < 1e-6);
    // The surface lies between it and its neighbours.
    assert!((phi[cells.index(1, 2, 1)] - (0.075 - 0.25)).abs() < 1e-6);
    assert!((phi[cells.index(1, 1, 1)] - (0.075 - 0.5)).abs() < 1e-6 && phi[0] == -1.0);
}
