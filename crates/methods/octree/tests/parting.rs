use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::fractions::close_walls;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::parting::{AtBoundaries, let_go, open_gaps, parting_cells};

fn tree() -> Octree {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels: 1, roots: [3, 4, 3] };
    Octree::build(shape, 0, |_| false)
}

fn cell(tree: &Octree, at: [u32; 3]) -> usize {
    tree.leaf_at(0, at).unwrap() as usize
}

fn closed_at(tree: &Octree, walls: [bool; 6]) -> Vec<f32> {
    let mut area = vec![1.0; tree.face_count()];
    close_walls(&mut area, tree, walls);
    area
}

#[test]
fn cells_part_from_boundaries_that_do_not_hold() {
    let tree = tree();
    let mut area = closed_at(&tree, [false, false, true, true, false, false]);
    let middle = cell(&tree, [1, 2, 1]);
    area[tree.cell_faces()[middle][2] as usize] = 0.5;
    let holds_floor = [false, false, true, false, false, false];
    let may_part = parting_cells(&tree, &area, holds_floor, |x, _| x.y < 0.5);
    for (n, may_part) in may_part.iter().enumerate() {
        let at = tree.cells()[n].at;
        assert_eq!(*may_part, at[1] == 3 || n == middle, "{at:?}");
    }
}

#[test]
fn a_closed_face_goes_with_liquid_that_leaves() {
    let tree = tree();
    let area = closed_at(&tree, [false, false, false, true, false, false]);
    let top = cell(&tree, [1, 3, 1]);
    let (phi, still) = (vec![-1.0; tree.cell_count()], vec![0.0; tree.face_count()]);
    let may_part: Vec<bool> = (0..tree.cell_count()).map(|n| tree.cells()[n].at[1] == 3).collect();
    let mut residual = vec![0.0; tree.cell_count()];
    residual[top] = -0.2;
    let at = AtBoundaries {
        liquid: Geometry { tree: &tree, phi_cell: &phi, open_area: &area },
        u_boundary: &still,
        may_part_cell: &may_part,
        residual_cell: &residual,
        fall_m_s: 0.1,
        adhesion: &|_| 0.0,
    };
    let (mut parted, mut impulse) = (vec![false; tree.cell_count()], vec![0.0; tree.cell_count()]);
    impulse[top] = -0.1;
    assert_eq!(at.revise(&mut parted, &phi, &impulse, &still), 1);
    assert!(parted[top], "it pulls");
    let (mut u, below) = (still.clone(), tree.cell_faces()[top][2] as usize);
    u[below] = -0.5;
    let mut seen = phi.clone();
    at.show(&mut seen, &parted);
    let_go(&mut u, &parted, &seen, &at);
    assert_eq!(u[tree.cell_faces()[top][3] as usize], -0.5);
    // Pressed together it stays apart while there is a gap, and is taken back without one.
    u[below] = 0.5;
    assert_eq!(at.revise(&mut parted, &seen, &impulse, &u), 0);
    let at = AtBoundaries { residual_cell: &vec![0.0; tree.cell_count()], ..at };
    assert_eq!(at.revise(&mut parted, &seen, &impulse, &u), 1);
    assert!(!parted[top]);
}

#[test]
fn a_gap_at_the_centre_is_air() {
    let tree = tree();
    let top = cell(&tree, [1, 3, 1]);
    let (mut phi, mut parted) = (vec![-1.0; tree.cell_count()], vec![false; tree.cell_count()]);
    let mut residual = vec![0.0; tree.cell_count()];
    parted[top] = true;
    residual[top] = -0.4;
    open_gaps(&mut phi, &mut parted, &residual, &tree, |_| 0.125);
    assert!(parted[top] && phi[top] == -1.0, "a gap of 0.1 is beside phi");
    residual[top] = -0.8;
    open_gaps(&mut phi, &mut parted, &residual, &tree, |_| 0.125);
    assert!(!parted[top] && (phi[top] - 0.075).abs() < 1e-6);
    // The surface lies between it and its neighbours.
    let at = |at| phi[cell(&tree, at)];
    assert!((at([1, 2, 1]) - (0.075 - 0.25)).abs() < 1e-6 && (at([1, 1, 1]) - (0.075 - 0.5)).abs() < 1e-6);
    assert_eq!(at([1, 0, 1]), 0.075 - 0.75);
}

/// A lid that rises pulls on the liquid below it: deep inside it holds on, and lets go where there is air beside it.
/// From a lid at rest it falls in either case.
#[test]
fn liquid_holds_on_to_a_moving_solid_until_air_gets_in() {
    let tree = tree();
    let area = closed_at(&tree, [false, false, false, true, false, false]);
    let top = cell(&tree, [1, 3, 1]);
    let (mut phi, mut u_boundary) = (vec![-1.0; tree.cell_count()], vec![0.0; tree.face_count()]);
    let (residual, mut impulse) = (vec![0.0; tree.cell_count()], vec![0.0; tree.cell_count()]);
    impulse[top] = -0.1;
    let may_part = vec![true; tree.cell_count()];
    let lets_go = |phi: &[f32], u_boundary: &[f32]| {
        let at = AtBoundaries {
            liquid: Geometry { tree: &tree, phi_cell: phi, open_area: &area },
            u_boundary,
            may_part_cell: &may_part,
            residual_cell: &residual,
            fall_m_s: 0.1,
            adhesion: &|_| 0.0,
        };
        at.revise(&mut vec![false; tree.cell_count()], phi, &impulse, u_boundary) == 1
    };
    assert!(lets_go(&phi, &u_boundary));
    u_boundary[tree.cell_faces()[top][3] as usize] = 0.5;
    assert!(!lets_go(&phi, &u_boundary));
    phi[cell(&tree, [0, 3, 1])] = 0.1;
    assert!(lets_go(&phi, &u_boundary));
}
