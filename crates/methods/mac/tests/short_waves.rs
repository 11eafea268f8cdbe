use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_mac::{SurfaceCells, drag_short_waves, ripple};

/// Where phi is a distance, the cells on both sides of a crossed face lie within so many cells of the surface.
const REACH: f32 = 1.1;

/// Around films phi is no distance: a neighbour across the surface may lie beyond [`REACH`].
#[test]
fn every_crossed_face_is_listed() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [7, 6, 8], dx: 0.1 };
    let cells = grid.cell_centers();
    let phi: Vec<f32> = (0..cells.len()).map(|c| 0.4 * (unit_f32(c as u64, 3) - 0.5)).collect();
    let mut found = SurfaceCells::default();
    found.find(&phi, grid.dx, &grid, Sides::NONE);
    let mut listed = vec![0.0; cells.len()];
    found.for_each(&mut listed, &cells, |_, index, slab| slab[index] = 1.0);
    let mut beyond_reach = 0;
    for cell in 0..cells.len() {
        let at = cells.coordinates(cell);
        for axis in AXES.into_iter().filter(|&axis| at[axis] > 0) {
            let other = cell - cells.stride(axis);
            if (phi[cell] < 0.0) != (phi[other] < 0.0) {
                assert!([cell, other].iter().all(|c| listed[*c] == 1.0), "{at:?}");
                beyond_reach += (phi[cell].abs().max(phi[other].abs()) > REACH * grid.dx) as usize;
            }
        }
    }
    assert!(beyond_reach > 50);
}

/// Water trembles on one side of a thin wall: on the other side nothing presses on the surface.
#[test]
fn waves_end_at_thin_walls() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [8, 6, 6], dx: 0.1 };
    let cells = grid.cell_centers();
    let is_behind = |cell: usize| cells.coordinates(cell)[0] > 3;
    let phi: Vec<f32> = (0..cells.len())
        .map(|cell| {
            let [i, j, k] = cells.coordinates(cell);
            cells.position(i, j, k).y - if is_behind(cell) { 0.33 } else { 0.31 }
        })
        .collect();
    let mut u_face = FaceField::constant(&grid, 0.0);
    let faces = grid.faces(1);
    for face in 0..faces.len() {
        let [i, _, k] = faces.coordinates(face);
        u_face[1][face] = if i > 3 { [0.3, -0.2, 0.1][(i + k) % 3] } else { 0.0 };
    }
    let barred = (0..cells.len()).map(|cell| match cells.coordinates(cell)[0] {
        3 => Sides::NEAR | 1 << 1,
        4 => Sides::NEAR | 1,
        _ => Sides::NEAR,
    });
    let wall = Sides { own_corners: vec![0xff; cells.len()], barred: barred.collect() };
    let most_before = |sides: &Sides| {
        let mut surface = SurfaceCells::default();
        surface.find(&phi, grid.dx, &grid, sides);
        let (mut s_cell, mut once) = (vec![0.0; cells.len()], vec![0.0; cells.len()]);
        drag_short_waves(&mut s_cell, &mut once, &surface, &u_face, &grid, 1.0);
        assert!((0..cells.len()).any(|cell| is_behind(cell) && s_cell[cell].abs() > 1e-3));
        (0..cells.len()).filter(|&cell| !is_behind(cell)).fold(0.0f32, |most, c| most.max(s_cell[c].abs()))
    };
    assert!(most_before(Sides::NONE) > 1e-3, "without a wall it is one surface");
    assert_eq!(most_before(&wall), 0.0);
}

/// Of values that alternate in two directions along a surface nothing but ripple is left, and of even ones nothing.
#[test]
fn a_chequered_surface_is_all_ripple() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [6, 6, 6], dx: 0.1 };
    let cells = grid.cell_centers();
    let phi: Vec<f32> = (0..cells.len()).map(|cell| 0.1 * cells.coordinates(cell)[1] as f32 - 0.27).collect();
    let mut surface = SurfaceCells::default();
    surface.find(&phi, grid.dx, &grid, Sides::NONE);
    for is_even in [false, true] {
        let value = |cell: usize| {
            let [i, _, k] = cells.coordinates(cell);
            if is_even || (i + k).is_multiple_of(2) { 1.0 } else { -1.0 }
        };
        let mut left = vec![0.0; cells.len()];
        surface.for_each(&mut left, &cells, |cell, n, left| left[n] = ripple(cell, &cells, value));
        let at = cells.index(2, 2, 3);
        assert_eq!(left[at], if is_even { 0.0 } else { value(at) });
    }
}
