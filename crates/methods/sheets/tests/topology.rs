use fluvial_foundation::Vec3;
use fluvial_sheets::Topology;

/// A closed tube around the z axis, `n` around and `m` along: a torus.
fn torus(n: u32, m: u32, center: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (mut positions, mut triangles) = (vec![], vec![]);
    for a in 0..n {
        for b in 0..m {
            let (u, v) = (a as f32 / n as f32 * 6.283_185_5, b as f32 / m as f32 * 6.283_185_5);
            let r = 1.0 + 0.3 * v.cos();
            positions.push(center + Vec3::new(r * u.cos(), r * u.sin(), 0.3 * v.sin()));
            let at = |a: u32, b: u32| (a % n) * m + b % m;
            triangles.push([at(a, b), at(a + 1, b), at(a + 1, b + 1)]);
            triangles.push([at(a, b), at(a + 1, b + 1), at(a, b + 1)]);
        }
    }
    (positions, triangles)
}

#[test]
fn tori_boxes_and_bubbles_are_counted() {
    let (mut positions, mut triangles) = torus(24, 16, Vec3::ZERO);
    let one = Topology::of(&positions, &triangles);
    assert_eq!((one.pieces, one.bubbles, one.handles), (1, 0, 1));
    let exact = 4.0 * std::f64::consts::PI.powi(2) * 0.3;
    assert!((one.area_m2 / exact - 1.0).abs() < 0.03, "{}", one.area_m2);
    // A tetrahedron beside it, and one turned inside out.
    for flip in [false, true] {
        let first = positions.len() as u32;
        positions.extend([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z].map(|p| p + 5.0));
        for t in [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3u32]] {
            let t = t.map(|v| v + first);
            triangles.push(if flip { [t[1], t[0], t[2]] } else { t });
        }
    }
    let all = Topology::of(&positions, &triangles);
    assert_eq!((all.pieces, all.bubbles, all.handles, all.handles_of_largest), (2, 1, 1, 1));
}
