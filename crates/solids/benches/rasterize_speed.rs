//! Times solids on a grid: `cargo bench -p fluvial-solids --bench rasterize_speed [n]`.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{MeshDistance, Motion, Shape, SolidFields, rasterize};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let n: usize =
        std::env::args().filter(|a| a != "--bench").nth(1).and_then(|a| a.parse().ok()).unwrap_or(128);
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let ball = Shape::Sphere { center: Vec3::splat(0.5), radius: 0.25 };
    let box_around = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
    let fine = MeshDistance::new(ball.triangulate(box_around, 0.004)).expect("a tessellated ball is closed");
    println!("grid {n}^3, mesh of {} triangles", fine.mesh().triangles.len());
    let mesh = Shape::Mesh(Arc::new(fine));
    let rod =
        Shape::Cylinder { from: Vec3::new(0.75, 0.1, 0.5), to: Vec3::new(0.75, 1.0, 0.5), radius: 0.06 };
    let stir =
        Motion::Constant { linear: Vec3::ZERO, angular: Vec3::new(0.0, 3.0, 0.0), about: Vec3::splat(0.5) };
    for (name, shape, motion) in [
        ("static ball", &ball, &Motion::Static),
        ("static mesh", &mesh, &Motion::Static),
        ("moving rod", &rod, &stir),
        ("moving mesh", &mesh, &stir),
    ] {
        let mut fields = SolidFields::default();
        let mut time_step = |step: usize| {
            let start = Instant::now();
            rasterize(&mut fields, &[(shape, motion)], [false; 6], &grid, 0.01 * step as f64);
            1e3 * start.elapsed().as_secs_f64()
        };
        let first = time_step(0);
        let mut later: Vec<f64> = (1..12).map(&mut time_step).collect();
        later.sort_by(f64::total_cmp);
        println!("{name}: first {first:.1} ms, then {:.2} ms a step (median)", later[5]);
    }
}
