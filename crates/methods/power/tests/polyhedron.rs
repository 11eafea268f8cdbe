use fluvial_power::polyhedron::{HalfSpace, Polyhedron};

#[test]
fn a_corner_cut_off_a_cube_has_the_known_volume_and_area() {
    let mut body = Polyhedron::cube(1);
    body.clip(0, HalfSpace { normal: [1, 1, 1], offset: 1 });
    // The corner beyond x + y + z = 1 has legs of length 2.
    assert!((body.volume() - (8.0 - 8.0 / 6.0)).abs() < 1e-14);
    let cut = body.faces().iter().find(|f| f.name == Some(0)).unwrap();
    assert!((cut.area() - 3f64.sqrt() / 4.0 * 8.0).abs() < 1e-14);
    cut.centroid().iter().for_each(|c| assert!((c - 1.0 / 3.0).abs() < 1e-14));
}

#[test]
fn planes_through_corners_and_edges_make_no_face() {
    let mut body = Polyhedron::cube(1);
    body.clip(0, HalfSpace { normal: [1, 1, 1], offset: 3 });
    body.clip(1, HalfSpace { normal: [1, 1, 0], offset: 2 });
    assert_eq!(body, Polyhedron::cube(1));
}

#[test]
fn four_planes_through_one_point_share_it_exactly() {
    let mut body = Polyhedron::cube(3);
    for (n, (s, t)) in [(1, 1), (1, -1), (-1, 1), (-1, -1)].into_iter().enumerate() {
        body.clip(n, HalfSpace { normal: [3, s, t], offset: 5 });
    }
    let apex = [5, 0, 0, 3];
    let at_apex = body.faces().iter().filter(|f| f.corners.contains(&apex)).count();
    assert_eq!(at_apex, 4);
    // Pyramid over the square |y|, |z| <= 3 with x = (5 - |y| - |z|) / 3: its mean height over the square
    // is 2/3.
    assert!((body.volume() - 36.0 * (3.0 + 2.0 / 3.0)).abs() < 1e-12, "{}", body.volume());
}
