use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_f32;
use fluvial_grids::UniformGrid;
use fluvial_particles::mark_near;

#[test]
fn cells_around_the_liquid_are_near() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [9, 7, 8], dx: 1.0 };
    let cells = grid.cell_centers();
    let phi: Vec<f32> = (0..cells.len()).map(|c| unit_f32(c as u64, 1) - 0.02).collect();
    let mut near = vec![];
    mark_near(&mut near, &phi, &grid);
    for cell in 0..cells.len() {
        let at = cells.coordinates(cell);
        let wet = (0..cells.len()).any(|other| {
            let to = cells.coordinates(other);
            phi[other] < 0.0 && (0..3).all(|a| at[a].abs_diff(to[a]) <= 1)
        });
        assert_eq!(near[cell] != 0, wet, "{at:?}");
    }
}
