//! Skins of shapes whose walls are thinner than samples.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;

fn volume_and_area(mesh: &TriangleMesh) -> (f64, f64) {
    let corners = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize]);
    let area =
        mesh.triangles.iter().map(corners).map(|[p, q, r]| 0.5 * (q - p).cross(r - p).length() as f64).sum();
    (mesh.volume(), area)
}

const CLIP: Aabb = Aabb { min: Vec3::splat(-2.0), max: Vec3::splat(2.0) };

#[test]
fn a_boolean_keeps_its_thin_walls() {
    let ball = |radius: f32| Shape::Sphere { center: Vec3::new(0.01, 0.02, 0.03), radius };
    for wall in [0.1f32, 0.001, 0.00001] {
        let half =
            Shape::Plane { point: Vec3::new(0.0, 0.02, 0.0), normal: Vec3::new(0.1, 1.0, 0.0).normalize() };
        let outer = Shape::Intersection(vec![ball(0.5), half]);
        let bowl = Shape::Difference(Box::new(outer), Box::new(ball(0.5 - wall)));
        let (_, area) = volume_and_area(&bowl.skin(CLIP, 0.08));
        let (r, s) = (0.5f64, 0.5 - f64::from(wall));
        let exact = 2.0 * std::f64::consts::PI * (r * r + s * s + 0.5 * (r * r - s * s));
        assert!((area / exact - 1.0).abs() < 0.02, "wall {wall}: {area} of {exact}");
    }
}

/// A tank without a lid, one with a wall inside, and two blocks that touch.
#[test]
fn faces_that_coincide_are_there_or_not() {
    let block =
        |min: f32, top: f32| Shape::Box { min: Vec3::splat(min), max: Vec3::new(1.0 - min, top, 1.0 - min) };
    let open = Shape::Difference(Box::new(block(0.0, 1.0)), Box::new(block(0.1, 1.0)));
    let (volume, area) = volume_and_area(&open.skin(CLIP, 0.2));
    assert!((volume - (1.0 - 0.64 * 0.9)).abs() < 1e-3, "{volume}");
    assert!((area - (5.0 + 4.0 * 0.72 + 0.64 + 0.36)).abs() < 1e-2, "{area}");
    let beside = Shape::Box { min: Vec3::X, max: Vec3::new(2.0, 1.0, 1.0) };
    let whole = Shape::Difference(Box::new(block(0.0, 1.0)), Box::new(beside));
    let (volume, area) = volume_and_area(&whole.skin(CLIP, 0.2));
    assert!((volume - 1.0).abs() < 1e-3 && (area - 6.0).abs() < 1e-3, "{volume} {area}");
}

#[test]
fn a_ball_is_closed_and_points_outward() {
    let (volume, area) = volume_and_area(&Shape::Sphere { center: Vec3::ONE, radius: 0.5 }.skin(CLIP, 0.05));
    assert!((volume / (4.0 / 3.0 * std::f64::consts::PI * 0.125) - 1.0).abs() < 0.01, "{volume}");
    assert!((area / std::f64::consts::PI - 1.0).abs() < 0.01, "{area}");
}
