//! Tests of `placed`.

use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_solids::{MeshDistance, Motion, PlacedSolids, Shape};

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

/// Few solids or many, in any order: inside of several the deepest speaks. Where the first one did, a place just below the ground
/// and deep in a cliff counted as half open.
#[test]
fn solids_that_overlap_are_their_union() {
    let ground = Shape::Plane { point: Vec3::ZERO, normal: Vec3::Y };
    let cliff = Shape::Box { min: Vec3::new(0.0, -9.0, -9.0), max: Vec3::splat(9.0) };
    let still = Motion::Static;
    let orders: [[&Shape; 2]; 2] = [[&ground, &cliff], [&cliff, &ground]];
    for order in orders {
        let solids = PlacedSolids::new(order.into_iter().map(|shape| (shape, &still)), 0.0);
        for x in [Vec3::new(0.5, -0.01, 0.0), Vec3::new(0.01, -0.5, 0.0), Vec3::new(0.5, 0.01, 0.0)] {
            let union = ground.distance(x).min(cliff.distance(x));
            assert_eq!(solids.distance(x, 1.0), union, "at {x}");
        }
    }
}

/// Two rings of triangles that overlap: inside one of them says nothing of the other.
#[test]
fn distances_follow_from_those_beside_them() {
    let ring = |x: f32| {
        let center = Vec3::new(x, 0.0, 0.0);
        let torus = Shape::Torus { center, axis: Vec3::Y, major_radius: 0.6, minor_radius: 0.2 };
        let everywhere = Aabb { min: Vec3::splat(-9.0), max: Vec3::splat(9.0) };
        Shape::Mesh(MeshDistance::new(torus.triangulate(everywhere, 0.05)).unwrap().into())
    };
    let (left, right) = (ring(-0.4), ring(0.45));
    let rests = Motion::Static;
    let solids = PlacedSolids::new([(&left, &rests), (&right, &rests)].into_iter(), 0.0);
    let mut inside = 0;
    for n in 0..4000 {
        let from = 2.4 * unit_vec3(n, 2) - 1.2;
        let x = from + 0.2 * (unit_vec3(n, 3) - 0.5);
        let (exact, band) = (solids.distance(x, 0.3), 0.3);
        let found = solids.distance_from(x, band, from, solids.distance(from, band));
        inside += (exact < 0.0) as usize;
        assert!((found - exact).abs() < 1e-5, "{found} instead of {exact} at {x}, from {from}");
    }
    assert!(inside > 200, "{inside}");
}

/// What a tree of boxes finds among many solids is what a look at each of them finds.
#[test]
fn many_solids_answer_as_one_by_one() {
    let boxes: Vec<Shape> = (0..60)
        .map(|n| {
            let min = 4.0 * unit_vec3(n, 0);
            Shape::Box { min, max: min + 0.1 + 0.4 * unit_vec3(n, 1) }
        })
        .collect();
    let still = Motion::Static;
    let all = PlacedSolids::new(boxes.iter().map(|shape| (shape, &still)), 0.0);
    for n in 0..400 {
        let (x, band) = (4.5 * unit_vec3(n, 2), if n % 2 == 0 { 0.3 } else { f32::MAX });
        let each = || boxes.iter().map(|shape| shape.distance(x));
        let nearest = each().fold(band, f32::min);
        assert_eq!(all.distance(x, band), nearest, "at {x}");
        let first = each().position(|distance| distance == nearest);
        assert_eq!(all.nearest_solid(x, band).map(|(n, _)| n), first.filter(|_| nearest < band));
        let from = x + 0.05 * unit_vec3(n, 3);
        let known = boxes.iter().map(|shape| shape.distance(from)).fold(band, f32::min);
        assert!((all.distance_from(x, band, from, known) - nearest).abs() < 1e-6, "from {from} to {x}");
        if known > 0.0 {
            let crossed = boxes.iter().any(|shape| shape.is_crossed(from, x, 1e-3));
            assert_eq!(all.is_crossed(from, x, 1e-3), crossed, "from {from} to {x}");
        }
    }
}
