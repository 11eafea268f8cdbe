use fluvial_foundation::Vec3;
use fluvial_grids::{TriangleMesh, add_lens};

#[test]
fn a_lens_is_flat_and_has_its_volume() {
    let (mut mesh, n) = (TriangleMesh::default(), Vec3::new(0.6, 0.0, 0.8));
    add_lens(&mut mesh, Vec3::splat(0.5), n, Vec3::X, 1e-3, 0.2);
    let reach =
        |along: Vec3| mesh.positions.iter().map(|x| (*x - 0.5).dot(along).abs()).fold(0.0f32, f32::max);
    assert!((mesh.volume() - 1e-3).abs() < 1e-8 && mesh.defects().is_clean());
    assert!(
        reach(n) < 0.012 && reach(Vec3::Y) > 0.15 && reach(Vec3::Y) < 0.2001,
        "{} {}",
        reach(n),
        reach(Vec3::Y)
    );
}
