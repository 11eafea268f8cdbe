use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::gradient::{Geometry, GradientParams, PressureGradient, face_row};

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

/// Liquid that ends a thousandth of a cell below the centre of its lowest cell, over a floor with an opening of 3 % of a
/// face: still water stays at rest there, and the flux that a pressure drives through the opening is not larger than what a
/// round hole in a wide wall lets through, `4 a p` with `a = sqrt(A / pi)`. Where the section does not change nothing does.
#[test]
fn narrow_openings_have_inertia() {
    let (dx, theta, open) = (0.5f64, 1e-3, 0.03f32);
    let shape = Shape { min: Vec3::ZERO, dx: dx as f32, levels: 1, roots: [1, 6, 1] };
    let tree = Octree::build(shape, 0, |_| false);
    let surface_m = 2.5 * dx - theta * dx;
    let phi_cell: Vec<f32> = (0..6).map(|c| (surface_m - f64::from(tree.cell_center(c).y)) as f32).collect();
    let lowest = (0..6).find(|&c| (tree.cell_center(c).y - 2.5 * dx as f32).abs() < 1e-6).unwrap();
    let mouth = tree.cell_faces()[lowest][2] as usize;
    let (g, dt_s) = (-9.81f32, 0.01f32);
    let solve = |open_area: Vec<f32>, p: f64| {
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let mut gradient = PressureGradient::default();
        gradient.prepare(&geometry, &GradientParams::default());
        let mut u = vec![0.0f32; tree.face_count()];
        u[mouth] = dt_s * g;
        gradient.hold_back_at_openings(&mut u, &tree, Vec3::new(0.0, dt_s * g, 0.0));
        let mut p_cell = vec![0.0; 6];
        p_cell[lowest] = p;
        gradient.subtract(&mut u, &geometry, &p_cell);
        u[mouth]
    };
    let mut narrow = vec![1.0f32; tree.face_count()];
    narrow[mouth] = open;
    // What balances gravity over the distance to the surface.
    let still = f64::from(dt_s * g) * theta * dx;
    assert!(solve(narrow.clone(), still).abs() < 1e-5 * dt_s * -g);
    let p = -1e-3;
    let driven = |area: &[f32]| f64::from(solve(area.to_vec(), p) - solve(area.to_vec(), 0.0));
    let hole_m = (f64::from(open) / std::f64::consts::PI).sqrt() * dx;
    let most_m3_s = 4.0 * hole_m * p.abs() / (1.0 - 1.4092 * f64::from(open).sqrt());
    let flux_m3_s = f64::from(open) * dx * dx * driven(&narrow).abs();
    assert!(flux_m3_s < most_m3_s && flux_m3_s > 0.5 * most_m3_s, "{flux_m3_s} {most_m3_s}");
    let tube = vec![open; tree.face_count()];
    assert!((driven(&tube).abs() * theta * dx / p.abs() - 1.0).abs() < 1e-3);
    assert!(driven(&tube).abs() > 20.0 * driven(&narrow).abs());
}
