use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_output::write_obj;

#[test]
fn positions_read_back_to_the_same_bits_and_indices_start_at_one() {
    let mesh = TriangleMesh {
        positions: vec![Vec3::new(0.1, -1e-8, 3.0e7), Vec3::X, Vec3::new(1.0 / 3.0, 2.0, -0.5)],
        velocities: vec![],
        triangles: vec![[2, 0, 1]],
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.obj");
    write_obj(&path, &mesh).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let read: Vec<Vec3> = text
        .lines()
        .filter_map(|l| l.strip_prefix("v "))
        .map(|l| {
            let v: Vec<f32> = l.split(' ').map(|s| s.parse().unwrap()).collect();
            Vec3::new(v[0], v[1], v[2])
        })
        .collect();
    assert_eq!(read, mesh.positions);
    assert!(text.ends_with("f 3 1 2\n"), "{text}");
}
