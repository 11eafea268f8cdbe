use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{Openings, Unknowns, mark_unknowns};

#[test]
fn a_lone_cell_is_no_unknown() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [8, 5, 5], dx: 1.0 };
    let cells = grid.cell_centers();
    let mut area = FaceField::constant(&grid, 1.0);
    let mut phi = vec![1.0; cells.len()];
    // Alone; a pair; alone but beside a solid; alone at the wall; closed.
    let [alone, pair, other] = [cells.index(1, 1, 1), cells.index(3, 3, 3), cells.index(3, 3, 2)];
    let [beside, wall, closed] = [cells.index(5, 1, 1), cells.index(0, 3, 3), cells.index(6, 3, 3)];
    for cell in [alone, pair, other, beside, wall, closed] {
        phi[cell] = -0.1;
    }
    area[0][grid.faces(0).index(5, 1, 1)] = 0.5;
    for axis in AXES {
        let (faces, mut at) = (grid.faces(axis), [6, 3, 3]);
        area[axis][faces.index(6, 3, 3)] = 0.0;
        at[axis] += 1;
        area[axis][faces.index(at[0], at[1], at[2])] = 0.0;
    }
    let still = FaceField::constant(&grid, 0.0);
    let mut found = Unknowns::none(&grid);
    let openings =
        Openings { grid: &grid, area_face: &area, u_boundary: &still, inflow_cell: &[], at_source_cell: &[] };
    mark_unknowns(&mut found, &phi, &openings);
    let all = |marks: &[bool]| (0..marks.len()).filter(|&c| marks[c]).collect::<Vec<_>>();
    let mut unknown = vec![pair, other, beside, wall];
    unknown.sort_unstable();
    assert_eq!(all(&found.unknown_cell), unknown);
    assert_eq!(all(&found.lone_cell), [alone]);
}
