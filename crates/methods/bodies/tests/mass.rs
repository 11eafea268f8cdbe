//! Mass properties.

use crate::cube;
use fluvial_bodies::mass_properties;
use fluvial_foundation::{Aabb, DMat3, Quat, Vec3};
use fluvial_solids::{MeshDistance, Shape};
use std::sync::Arc;

fn differ(a: DMat3, b: DMat3) -> f64 {
    (a - b).to_cols_array().iter().map(|v| v.abs()).fold(0.0, f64::max)
}

#[test]
fn mass_properties_are_the_known_ones() {
    let shapes = [
        Shape::Box { min: Vec3::new(0.1, 0.2, 0.3), max: Vec3::new(0.9, 0.6, 0.8) },
        Shape::Sphere { center: Vec3::new(0.1, 0.2, 0.3), radius: 0.4 },
        Shape::Cylinder { from: Vec3::ZERO, to: Vec3::new(0.3, 0.8, 0.1), radius: 0.3 },
        Shape::Capsule { from: Vec3::ZERO, to: Vec3::new(0.3, 0.8, 0.1), radius: 0.3 },
        Shape::Torus {
            center: Vec3::ONE,
            axis: Vec3::new(1.0, 2.0, 0.0),
            major_radius: 0.5,
            minor_radius: 0.2,
        },
    ];
    for shape in shapes {
        let exact = mass_properties(&shape).unwrap();
        // The same shape as a boolean, whose integrals are taken on a grid, turned and scaled.
        let boolean = Shape::Union(vec![shape.clone()]);
        let sampled = mass_properties(&boolean).unwrap();
        assert!((sampled.volume_m3 / exact.volume_m3 - 1.0).abs() < 2e-3, "{shape:?} {sampled:?} {exact:?}");
        assert!(sampled.center.distance(exact.center) < 1e-3, "{shape:?} {sampled:?} {exact:?}");
        let size = exact.inertia.x_axis.length();
        assert!(differ(sampled.inertia, exact.inertia) < 5e-3 * size, "{shape:?} {sampled:?} {exact:?}");
        let rotation = Quat::from_axis_angle(Vec3::ONE.normalize(), 0.7);
        let turned = |shape: Shape| Shape::Transform {
            shape: Box::new(shape),
            scale: 2.0,
            rotation,
            translate: Vec3::X,
        };
        let (a, b) =
            (mass_properties(&turned(shape.clone())).unwrap(), mass_properties(&turned(boolean)).unwrap());
        assert!((a.volume_m3 / exact.volume_m3 - 8.0).abs() < 1e-5, "{a:?}");
        assert!(differ(a.inertia, b.inertia) < 5e-3 * 32.0 * size, "{shape:?} {a:?} {b:?}");
    }
}

#[test]
fn a_mesh_weighs_what_it_encloses_and_a_shell_what_it_is() {
    let all = Aabb { min: Vec3::splat(-2.0), max: Vec3::splat(2.0) };
    let mesh = cube(0.5).triangulate(all, 0.5);
    let solid = Shape::Mesh(Arc::new(MeshDistance::new(mesh.clone()).unwrap()));
    let (found, exact) = (mass_properties(&solid).unwrap(), mass_properties(&cube(0.5)).unwrap());
    assert!((found.volume_m3 - 0.125).abs() < 1e-7 && found.center.length() < 1e-7, "{found:?}");
    assert!(differ(found.inertia, exact.inertia) < 1e-8, "{found:?} {exact:?}");
    let shell = Shape::Mesh(Arc::new(MeshDistance::shell(mesh, 0.01).unwrap()));
    let found = mass_properties(&shell).unwrap();
    assert!((found.volume_m3 - 6.0 * 0.25 * 0.01).abs() < 1e-6, "{found:?}");
    // A hollow cube: 5/18 m edge^2.
    let wanted = 5.0 / 18.0 * found.volume_m3 * 0.25;
    assert!((found.inertia.x_axis.x / wanted - 1.0).abs() < 1e-3, "{found:?} {wanted}");
    assert!(mass_properties(&Shape::Plane { point: Vec3::ZERO, normal: Vec3::Y }).is_none());
}
