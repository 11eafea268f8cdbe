// Private to the crate, and complete in itself.
#[path = "../src/quadric/mod.rs"]
#[allow(dead_code, unused_imports)]
mod quadric;

use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_f32;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use quadric::{Quadric, Touching};

/// Quadratics come back, on cells of any surroundings away from walls.
#[test]
fn quadratic_fields_are_fitted_exactly() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels: 3, roots: [5, 4, 4] };
    let tree =
        Octree::build(shape, 0, |c| unit_f32(c.at[0] as u64 + 9 * c.at[1] as u64, c.at[2] as u64) < 0.3);
    let field = |x: Vec3| 1.0 + x.x - 2.0 * x.y + 0.3 * x.x * x.x - 0.2 * x.y * x.z + 0.1 * x.z * x.z;
    let values: Vec<f32> = (0..tree.cell_count()).map(|c| field(tree.cell_center(c))).collect();
    let bounds = shape.bounds().expand(-0.5);
    let mut inner = 0;
    for cell in (0..tree.cell_count()).filter(|&c| bounds.contains(tree.cell_center(c))) {
        let touching = Touching::new(&tree, cell);
        let sizes = touching.cells().len();
        let dx = tree.cell_dx(cell);
        let q = Quadric::fit(&tree, &values, cell);
        if sizes < 20 || touching.at_wall {
            continue;
        }
        inner += 1;
        for d in [[0.4, -0.3, 0.2], [-0.5, 0.5, 0.5]] {
            let x = tree.cell_center(cell) + dx * Vec3::new(d[0] as f32, d[1] as f32, d[2] as f32);
            assert!((q.value(d) * dx as f64 - field(x) as f64).abs() < 2e-4, "cell {cell}");
        }
    }
    assert!(inner > 50, "{inner}");
}
