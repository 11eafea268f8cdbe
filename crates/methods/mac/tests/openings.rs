use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{Openings, fastest_boundary_m_s, find_closed_cells, for_each_face};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [4, 3, 3], dx: 0.5 };

fn linear(slopes: [f32; 3]) -> FaceField {
    let mut u = FaceField::constant(&GRID, 0.0);
    for axis in AXES {
        let lattice = GRID.faces(axis);
        for_each_face(&mut u[axis], &GRID, axis, |face, _, u| {
            let [i, j, k] = lattice.coordinates(face);
            *u = slopes[axis] * lattice.position(i, j, k)[axis];
        });
    }
    u
}

#[test]
fn a_linear_velocity_flows_out_by_its_divergence() {
    let (u, still) = (linear([1.0, -3.0, 0.5]), FaceField::constant(&GRID, 0.0));
    let open = FaceField::constant(&GRID, 1.0);
    let openings =
        Openings { grid: &GRID, area_face: &open, u_boundary: &still, inflow_cell: &[], at_source_cell: &[] };
    assert_eq!(openings.outflow(&u, [1, 2, 0]), -1.5 * GRID.dx);
    // What flows through a closed face is the boundary's velocity, half of each through a half open one.
    let half = FaceField::constant(&GRID, 0.5);
    let openings =
        Openings { grid: &GRID, area_face: &half, u_boundary: &u, inflow_cell: &[], at_source_cell: &[] };
    assert_eq!(openings.outflow(&still, [1, 2, 0]), -0.75 * GRID.dx);
}

#[test]
fn closed_cells_have_six_closed_faces() {
    let mut open = FaceField::constant(&GRID, 0.0);
    open[1][GRID.faces(1).index(2, 1, 1)] = 0.1;
    let mut closed = vec![false; GRID.cell_count()];
    find_closed_cells(&mut closed, &open, &GRID);
    let cells = GRID.cell_centers();
    let opened: Vec<usize> = (0..closed.len()).filter(|&c| !closed[c]).collect();
    assert_eq!(opened, [cells.index(2, 0, 1), cells.index(2, 1, 1)]);
}

#[test]
fn the_fastest_boundary_has_the_largest_components() {
    let mut u = FaceField::constant(&GRID, 0.0);
    (u[0][3], u[2][7]) = (-3.0, 4.0);
    assert_eq!(fastest_boundary_m_s(&u), 5.0);
}

#[test]
fn slivers_of_faces_do_not_count_for_the_speed() {
    let (mut area, still) = (FaceField::constant(&GRID, 1.0), FaceField::constant(&GRID, 0.0));
    let mut u = FaceField::constant(&GRID, 1.0);
    let high = GRID.faces(0).index(2, 1, 1);
    (area[0][high], u[0][high]) = (1e-3, 20.0);
    let none = (&[][..], &[][..]);
    let openings = Openings {
        grid: &GRID,
        area_face: &area,
        u_boundary: &still,
        inflow_cell: none.0,
        at_source_cell: none.1,
    };
    let square = openings.mean_square_speed(&u, [1, 1, 1]);
    assert!((square - 2.7).abs() < 0.01, "{square}");
}

#[test]
fn liquid_beside_a_wall_in_the_cell_is_as_fast_as_its_faces() {
    let (mut area, still) = (FaceField::constant(&GRID, 1.0), FaceField::constant(&GRID, 0.0));
    let mut u = FaceField::constant(&GRID, 0.0);
    for x in [1, 2] {
        let face = GRID.faces(0).index(x, 1, 1);
        (area[0][face], u[0][face]) = (0.5, 2.0);
    }
    let none = (&[][..], &[][..]);
    let openings = Openings {
        grid: &GRID,
        area_face: &area,
        u_boundary: &still,
        inflow_cell: none.0,
        at_source_cell: none.1,
    };
    assert_eq!(openings.mean_square_speed(&u, [1, 1, 1]), 4.0);
}
