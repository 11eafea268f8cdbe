//! Tests of `mesh`.

use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::{MeshDistance, MeshError, Shape};

const EVERYWHERE: Aabb = Aabb { min: Vec3::splat(-9.0), max: Vec3::splat(9.0) };

/// The distance to a tessellated shape must agree with the shape's own, up to the tessellation's sag.
fn agrees(shape: &Shape, cell: f32, tolerance: f32) {
    let mesh = MeshDistance::new(shape.triangulate(EVERYWHERE, cell)).unwrap();
    let (mut inside, mut outside) = (0, 0);
    for n in 0..3000 {
        let bounds = shape.bounds().expand(0.3);
        let x = bounds.min + unit_vec3(n, 2) * bounds.size();
        let (exact, found) = (shape.distance(x), mesh.distance(x));
        assert!((exact - found).abs() < tolerance, "{shape:?} at {x}: {exact} {found}");
        if found < 0.0 { inside += 1 } else { outside += 1 }
    }
    assert!(inside > 100 && outside > 100, "{inside} {outside}");
}

#[test]
fn mesh_distance_agrees_with_the_shapes_it_was_made_of() {
    agrees(&Shape::Box { min: Vec3::new(-0.2, 0.1, 0.0), max: Vec3::new(0.4, 0.5, 0.9) }, 0.1, 1e-6);
    agrees(&Shape::Sphere { center: Vec3::new(0.1, 0.0, 0.2), radius: 0.5 }, 0.02, 1e-3);
    agrees(
        &Shape::Torus {
            center: Vec3::ZERO,
            axis: Vec3::new(1.0, 1.0, 0.2),
            major_radius: 0.6,
            minor_radius: 0.2,
        },
        0.02,
        1e-3,
    );
    agrees(&Shape::Cylinder { from: Vec3::ZERO, to: Vec3::new(0.3, 0.5, 0.1), radius: 0.3 }, 0.02, 1e-3);
    agrees(&Shape::Capsule { from: Vec3::ZERO, to: Vec3::new(0.3, 0.5, 0.1), radius: 0.3 }, 0.02, 1e-3);
}

#[test]
fn the_sign_is_right_arbitrarily_close_to_the_surface() {
    let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.5 };
    let mesh = MeshDistance::new(ball.triangulate(EVERYWHERE, 0.05)).unwrap();
    for (n, t) in mesh.mesh().triangles.iter().enumerate() {
        let [a, b, c] = t.map(|v| mesh.mesh().positions[v as usize]);
        let weights = unit_vec3(n as u64, 1) + 0.05;
        let weights = weights / weights.element_sum();
        let normal = (b - a).cross(c - a).normalize();
        let p = weights.x * a + weights.y * b + weights.z * c;
        assert!(mesh.distance(p + 1e-4 * normal) > 0.0);
        assert!(mesh.distance(p - 1e-4 * normal) < 0.0);
    }
}

#[test]
fn a_known_neighbour_changes_nothing_but_the_work() {
    let ring = Shape::Torus { center: Vec3::ZERO, axis: Vec3::Y, major_radius: 0.6, minor_radius: 0.2 };
    let mesh = MeshDistance::new(ring.triangulate(EVERYWHERE, 0.05)).unwrap();
    for n in 0..3000 {
        let a = 2.0 * unit_vec3(n, 2) - 1.0;
        let b = a + 0.2 * (unit_vec3(n, 3) - 0.5);
        assert_eq!(mesh.distance(b), mesh.distance_from(b, a, mesh.distance(a)));
    }
}

fn cube() -> TriangleMesh {
    Shape::Box { min: Vec3::ZERO, max: Vec3::ONE }.triangulate(EVERYWHERE, 1.0)
}

/// Of a square sheet: flat beside it, round along its rim, and crossed by what passes through it.
#[test]
fn a_shell_has_two_sides_and_a_rim() {
    let corner = |x: f32, z: f32| Vec3::new(x, 0.0, z);
    let positions = vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
    let sheet = TriangleMesh { positions, triangles: vec![[0, 1, 2], [0, 2, 3]], ..Default::default() };
    let shape = Shape::Mesh(std::sync::Arc::new(MeshDistance::shell(sheet, 0.1).unwrap()));
    for (x, distance) in [
        (Vec3::new(0.3, 0.25, 0.6), 0.2),
        (Vec3::new(0.3, -0.25, 0.6), 0.2),
        (Vec3::new(0.3, 0.02, 0.6), -0.03),
        (Vec3::new(1.3, 0.4, 0.5), 0.45),
    ] {
        assert!((shape.distance(x) - distance).abs() < 1e-6, "{x}");
        let beside = Vec3::new(0.9, 0.1, 0.2);
        let known = shape.distance_from(x, beside, shape.distance(beside));
        assert!((known - distance).abs() < 1e-6, "{x}");
    }
    let [above, below] = [Vec3::new(0.5, 0.3, 0.5), Vec3::new(0.6, -0.3, 0.4)];
    assert!(shape.is_crossed(above, below, 1e-4));
    assert!(!shape.is_crossed(above, above + Vec3::X, 1e-4));
    assert!(shape.bounds().contains(Vec3::new(-0.04, 0.04, 0.5)));
}

#[test]
fn holes_and_flips_are_counted_and_located() {
    let mut hole = cube();
    hole.triangles.pop();
    match MeshDistance::new(hole) {
        Err(MeshError::Holes { open_edges: 3, at }) => {
            assert!(at.cmpge(Vec3::ZERO).all() && at.cmple(Vec3::ONE).all());
        }
        other => panic!("{other:?}"),
    }
    let mut flipped = cube();
    flipped.triangles[0].swap(0, 1);
    assert!(matches!(MeshDistance::new(flipped), Err(MeshError::Orientation { bad_edges: 3, .. })));
    assert!(matches!(MeshDistance::new(TriangleMesh::default()), Err(MeshError::Empty)));
    let mut wild = cube();
    wild.triangles[0][0] = 99;
    assert!(matches!(MeshDistance::new(wild), Err(MeshError::Format(_))));
    let mut nan = cube();
    nan.positions[0].x = f32::NAN;
    assert!(matches!(MeshDistance::new(nan), Err(MeshError::Format(_))));
}

#[test]
fn triangle_soup_is_welded_and_turned_outward() {
    let cube = cube();
    let mut soup = TriangleMesh::default();
    for (n, t) in cube.triangles.iter().enumerate() {
        let first = soup.positions.len() as u32;
        // last digits differ, as after a round trip through text
        soup.positions.extend(t.map(|v| cube.positions[v as usize] + 1e-7 * unit_vec3(n as u64, v as u64)));
        soup.triangles.push([first, first + 2, first + 1]); // inside out
    }
    let mesh = MeshDistance::new(soup).unwrap();
    assert_eq!(mesh.mesh().positions.len(), cube.positions.len());
    assert!((mesh.mesh().volume() - 1.0).abs() < 1e-5);
    assert!(mesh.distance(Vec3::splat(0.5)) < -0.49);
}
