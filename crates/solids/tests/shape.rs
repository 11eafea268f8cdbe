//! Tests of `shape`.

use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::Shape;

fn primitives() -> Vec<Shape> {
    let (a, b) = (Vec3::new(0.1, -0.2, 0.3), Vec3::new(0.5, 0.4, -0.1));
    vec![
        Shape::Box { min: Vec3::new(-0.3, -0.2, -0.4), max: Vec3::new(0.5, 0.3, 0.1) },
        Shape::Sphere { center: a, radius: 0.4 },
        Shape::Cylinder { from: a, to: b, radius: 0.25 },
        Shape::Capsule { from: a, to: b, radius: 0.2 },
        Shape::Torus { center: a, axis: b, major_radius: 0.5, minor_radius: 0.15 },
        Shape::Plane { point: a, normal: b },
    ]
}

fn transformed(shape: Shape) -> Shape {
    let rotation = Quat::from_scaled_axis(Vec3::new(0.4, -1.0, 0.3));
    Shape::Transform { shape: Box::new(shape), scale: 1.7, rotation, translate: Vec3::new(0.1, 0.2, -0.3) }
}

/// Along the gradient by the distance lies the surface, and nothing of the other sign is nearer: that is
/// what an exact signed distance means.
#[test]
fn primitives_have_exact_distances() {
    for shape in primitives().into_iter().flat_map(|s| [s.clone(), transformed(s)]) {
        let mut regular = 0;
        for n in 0..400 {
            let x = 3.0 * unit_vec3(n, 5) - 1.5;
            let d = shape.distance(x);
            let h = 1e-3;
            let partial = |e: Vec3| (shape.distance(x + h * e) - shape.distance(x - h * e)) / (2.0 * h);
            let gradient = Vec3::new(partial(Vec3::X), partial(Vec3::Y), partial(Vec3::Z));
            // At the medial axis the gradient jumps; everywhere else it has length 1.
            assert!(gradient.length() < 1.0 + 2e-3, "{shape:?} {x} {gradient}");
            if (gradient.length() - 1.0).abs() < 2e-3 {
                regular += 1;
                let foot = x - d * gradient.normalize();
                assert!(shape.distance(foot).abs() < 4e-3, "{shape:?} {x}: foot {}", shape.distance(foot));
            }
            for m in 0..50 {
                let direction = (2.0 * unit_vec3(n * 50 + m, 6) - 1.0).normalize_or_zero();
                let y = x + 0.99 * d.abs() * direction;
                assert!(shape.distance(y) * d >= -1e-6, "{shape:?}: the surface is nearer than {d} at {x}");
            }
        }
        assert!(regular > 380, "{shape:?} {regular}");
    }
}

#[test]
fn booleans_have_the_right_sign_and_slope() {
    let (a, b) = (primitives()[0].clone(), primitives()[1].clone());
    let union = Shape::Union(vec![a.clone(), b.clone()]);
    let both = Shape::Intersection(vec![a.clone(), b.clone()]);
    let minus = transformed(Shape::Difference(Box::new(a.clone()), Box::new(b.clone())));
    for n in 0..2000 {
        let x = 2.0 * unit_vec3(n, 9) - 1.0;
        let (in_a, in_b) = (a.distance(x) < 0.0, b.distance(x) < 0.0);
        assert_eq!(union.distance(x) < 0.0, in_a || in_b);
        assert_eq!(both.distance(x) < 0.0, in_a && in_b);
        let Shape::Transform { shape, .. } = &minus else { unreachable!() };
        assert_eq!(shape.distance(x) < 0.0, in_a && !in_b);
        let y = 2.0 * unit_vec3(n, 10) - 1.0;
        assert!((minus.distance(x) - minus.distance(y)).abs() <= x.distance(y) * (1.0 + 1e-5) + 1e-6);
    }
}

#[test]
fn bounds_hold_the_shape_tightly() {
    for shape in primitives().into_iter().take(5).flat_map(|s| [s.clone(), transformed(s)]) {
        let bounds = shape.bounds();
        for n in 0..20_000 {
            let x = 4.0 * unit_vec3(n, 3) - 2.0;
            assert!(shape.distance(x) > 0.0 || bounds.expand(1e-5).contains(x), "{shape:?} {x}");
        }
        if !matches!(shape, Shape::Transform { .. }) {
            // every side is touched
            for axis in 0..3 {
                for side in [bounds.min, bounds.max] {
                    let near = (0..40_000).map(|n| {
                        let mut x = bounds.min + unit_vec3(n, 4) * bounds.size();
                        x[axis] = side[axis];
                        shape.distance(x)
                    });
                    assert!(near.fold(f32::INFINITY, f32::min) < 5e-3, "{shape:?} axis {axis}");
                }
            }
        }
    }
}

#[test]
fn fingerprints_tell_shapes_apart() {
    let mut seen: Vec<u64> =
        primitives().into_iter().flat_map(|s| [s.clone(), transformed(s)]).map(|s| s.fingerprint()).collect();
    seen.push(Shape::Union(primitives()).fingerprint());
    seen.push(Shape::Intersection(primitives()).fingerprint());
    seen.push(Shape::Sphere { center: Vec3::new(0.1, -0.2, 0.3), radius: 0.41 }.fingerprint());
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

/// Where a ray meets a box or a ball is on its surface, and what it misses is nowhere on its way.
#[test]
fn rays_meet_shapes() {
    let cuboid = Shape::Box { min: Vec3::new(-0.3, -0.2, -0.1), max: Vec3::new(0.3, 0.2, 0.25) };
    let ball = Shape::Sphere { center: Vec3::new(0.1, 0.0, -0.05), radius: 0.27 };
    let turned = |shape: &Shape| Shape::Transform {
        shape: Box::new(shape.clone()),
        scale: 1.3,
        rotation: Quat::from_scaled_axis(Vec3::new(0.4, -0.2, 0.7)),
        translate: Vec3::new(0.05, 0.02, -0.03),
    };
    let mut met = 0;
    for shape in [cuboid.clone(), ball.clone(), turned(&cuboid), turned(&ball)] {
        for n in 0..1000 {
            let from = 1.6 * (unit_vec3(n, 0) - 0.5);
            // Rays along the axes, too, as grids send them.
            let toward =
                if n % 4 == 0 { Vec3::AXES[n as usize / 4 % 3] } else { (unit_vec3(n, 3) - 0.5).normalize() };
            if shape.distance(from) <= 1e-3 {
                continue;
            }
            let way = shape.way_to(from, toward).unwrap();
            let on_way = |part: f32| shape.distance(from + part * way.min(2.0) * toward);
            assert!(
                (0..20).all(|n| on_way(n as f32 / 20.0) > -1e-6),
                "{shape:?} from {from} to {toward}: {way}"
            );
            assert!(way.is_infinite() || on_way(1.0).abs() < 1e-5 || way > 2.0, "{way}");
            met += usize::from(way.is_finite());
        }
    }
    assert!(met > 200, "{met} rays met anything");
}
