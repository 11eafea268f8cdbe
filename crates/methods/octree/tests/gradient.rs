use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::gradient::{Geometry, GradientParams, face_row};

/// A tilted plane passes a cell centre at a distance of 5e-4 cells, and the pressure is hydrostatic. Its
/// gradient is the plane's normal on every face of that cell with this floor, and off by half of it on
/// the steepest one with a floor of 1e-3.
#[test]
fn only_a_floor_below_the_distance_keeps_a_tilted_surface_at_rest() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.125, levels: 1, roots: [8; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let cell = tree.locate(Vec3::splat(0.5625)).cell as usize;
    let normal = Vec3::new(-0.35, 1.0, 0.25).normalize();
    let away_m = 5e-4 * shape.dx;
    let phi = |c: usize| normal.dot(tree.cell_center(c) - tree.cell_center(cell)) - away_m;
    let phi_cell: Vec<f32> = (0..tree.cell_count()).map(phi).collect();
    let p_cell: Vec<f64> = phi_cell.iter().map(|&phi| phi.min(0.0) as f64).collect();
    let open_area = vec![1.0; tree.face_count()];
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let worst = |theta_min: f64| {
        let params = GradientParams { theta_min, ..GradientParams::default() };
        let off = |side: usize| {
            let row = face_row(&geometry, &params, tree.cell_faces()[cell][side] as usize);
            (row.apply(&p_cell) - normal[side / 2] as f64).abs()
        };
        AXES.iter().map(|&axis| off(2 * axis).max(off(2 * axis + 1))).fold(0.0, f64::max)
    };
    let floor = GradientParams::default().theta_min;
    assert!(worst(floor) < 1e-3, "{}", worst(floor));
    assert!(worst(10.0 * floor) > 0.3, "{}", worst(10.0 * floor));
}
