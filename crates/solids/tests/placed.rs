//! Tests of `placed`.

use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, PlacedSolids, Shape};

#[test]
fn the_nearest_solid_speaks() {
    let ball = |x: f32| Shape::Sphere { center: Vec3::new(x, 0.0, 0.0), radius: 0.5 };
    let (near, far) = (ball(0.0), ball(3.0));
    let moves = Motion::Constant { linear: Vec3::new(0.0, 2.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
    let rests = Motion::Constant { linear: Vec3::ZERO, angular: Vec3::ZERO, about: Vec3::ZERO };
    let solids = PlacedSolids::new([(&near, &rests), (&far, &moves)].into_iter(), 0.25);
    // After a quarter of a second the moving one is half a metre up.
    assert!((solids.distance(Vec3::new(3.0, 0.0, 0.0), 9.0) - 0.0).abs() < 1e-6);
    assert!((solids.distance(Vec3::new(3.0, 0.5, 0.0), 9.0) + 0.5).abs() < 1e-6);
    assert!((solids.distance(Vec3::new(1.0, 0.0, 0.0), 9.0) - 0.5).abs() < 1e-6);
    assert_eq!(solids.distance(Vec3::new(9.0, 0.0, 0.0), 1.0), 1.0, "nothing within the band");
    assert_eq!(solids.velocity(Vec3::new(3.0, 0.4, 0.0), 1.0), Vec3::new(0.0, 2.0, 0.0));
    assert_eq!(solids.velocity(Vec3::new(0.9, 0.0, 0.0), 1.0), Vec3::ZERO);
}
