//! Tests of `contour`.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_solids::Shape;

#[test]
fn a_box_with_a_bore_keeps_its_edges_and_volume() {
    let cube = Shape::Box { min: Vec3::splat(0.2), max: Vec3::splat(0.8) };
    let bore = Shape::Cylinder { from: Vec3::new(0.5, 0.5, 0.0), to: Vec3::new(0.5, 0.5, 1.0), radius: 0.15 };
    let shape = Shape::Difference(Box::new(cube), Box::new(bore));
    let mesh = shape.triangulate(Aabb { min: Vec3::ZERO, max: Vec3::ONE }, 0.03);
    assert!(mesh.defects().is_clean(), "{:?}", mesh.defects());
    let exact = 0.216 - std::f64::consts::PI * 0.15f64.powi(2) * 0.6;
    assert!((mesh.volume() / exact - 1.0).abs() < 5e-3, "{} {exact}", mesh.volume());
    // the corners of the box are met, not cut off
    let corner = mesh.positions.iter().map(|p| p.distance(Vec3::splat(0.8))).fold(f32::INFINITY, f32::min);
    assert!(corner < 2e-3, "{corner}");
}

#[test]
fn a_plane_is_closed_by_the_clip_box() {
    let shape = Shape::Plane { point: Vec3::new(0.0, 0.3, 0.0), normal: Vec3::Y };
    let mesh = shape.triangulate(Aabb { min: Vec3::ZERO, max: Vec3::ONE }, 0.1);
    assert!(mesh.defects().is_clean());
    assert!((mesh.volume() - 0.3).abs() < 1e-3, "{}", mesh.volume());
}
