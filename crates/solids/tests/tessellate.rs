//! Tests of `tessellate`.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_solids::Shape;
use std::f32::consts::PI;

#[test]
fn tessellations_are_closed_outward_and_have_the_exact_volume_in_the_limit() {
    let axis = Vec3::new(0.3, 1.0, -0.4).normalize();
    let from = Vec3::new(0.1, 0.2, 0.3);
    let cases = [
        (Shape::Box { min: Vec3::ZERO, max: Vec3::new(1.0, 2.0, 3.0) }, 6.0, 1e-6),
        (Shape::Sphere { center: from, radius: 0.5 }, 4.0 / 3.0 * PI as f64 * 0.125, 2e-3),
        (Shape::Cylinder { from, to: from + 0.8 * axis, radius: 0.5 }, PI as f64 * 0.25 * 0.8, 2e-3),
        (
            Shape::Capsule { from, to: from + 0.8 * axis, radius: 0.5 },
            PI as f64 * (0.25 * 0.8 + 4.0 / 3.0 * 0.125),
            2e-3,
        ),
        (
            Shape::Torus { center: from, axis, major_radius: 0.7, minor_radius: 0.2 },
            2.0 * (PI as f64).powi(2) * 0.7 * 0.04,
            5e-3,
        ),
    ];
    for (shape, volume, tolerance) in cases {
        let mesh = shape.triangulate(Aabb::EMPTY, 0.05);
        assert!(mesh.defects().is_clean(), "{shape:?} {:?}", mesh.defects());
        assert!((mesh.volume() / volume - 1.0).abs() < tolerance, "{shape:?} {} {volume}", mesh.volume());
    }
}
