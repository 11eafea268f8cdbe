use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape as TreeShape;
use fluvial_octree::divergence::signed_area;
use fluvial_octree::outlet::Outlet;
use fluvial_solids::{Motion, Nozzle, Shape};

#[test]
fn an_outlet_across_levels_flows_at_section_times_speed() {
    let shape = TreeShape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 2, roots: [16; 3] };
    let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < 0.55);
    let open = vec![1.0; tree.face_count()];
    let velocity = Vec3::new(0.4, -1.5, 0.3);
    let ball = Shape::Sphere { center: Vec3::new(0.52, 0.5, 0.49), radius: 0.15 };
    let nozzle = Nozzle::new(&ball, velocity, &Motion::Static, 0.0, shape.bounds());
    let outlet = Outlet::new(&nozzle, &tree, &open, nozzle.section_m2(|_| false));
    let levels = |level| outlet.flow_into_cell.iter().any(|(cell, _)| tree.cells()[*cell].level == level);
    assert!(levels(0) && levels(1), "the outlet lies across two sizes");
    let exact = std::f64::consts::PI * 0.0225 * velocity.length() as f64;
    let sum: f64 = outlet.flow_into_cell.iter().map(|(_, flow)| flow).sum();
    assert!((sum / exact - 1.0).abs() < 0.005, "{sum} {exact}");
    // A jet that flows on at the same velocity satisfies continuity in every cell.
    let mut area = open.clone();
    outlet.faces.iter().for_each(|f| area[f.face] = 1.0 - f.covered);
    for (cell, flow) in &outlet.flow_into_cell {
        let dx = tree.cell_dx(*cell) as f64;
        let out: f64 = (0..6)
            .map(|side| {
                let face = tree.cell_faces()[*cell][side] as usize;
                -signed_area(dx, side) * (area[face] * velocity[AXES[side / 2]]) as f64
            })
            .sum();
        assert!((out - flow).abs() < 0.02 * flow + 1e-3 * dx * dx, "{out} of {flow}");
    }
}
