use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_mac::SurfaceCells;

/// Where phi is a distance, the cells on both sides of a crossed face lie within so many cells of the surface.
const REACH: f32 = 1.1;

/// Around films phi is no distance: a neighbour across the surface may lie beyond [`REACH`].
#[test]
fn every_crossed_face_is_listed() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [7, 6, 8], dx: 0.1 };
    let cells = grid.cell_centers();
    let phi: Vec<f32> = (0..cells.len()).map(|c| 0.4 * (unit_f32(c as u64, 3) - 0.5)).collect();
    let mut found = SurfaceCells::default();
    found.find(&phi, grid.dx, &grid);
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
