use fluvial_foundation::Vec3;
use fluvial_sheets::Particles;

#[test]
fn radii_are_cube_roots() {
    let mut particles = Particles::default();
    particles.push_small(Vec3::ZERO, Vec3::ZERO);
    let mut radius_of = |count: u8, d0: f32| {
        particles.count[0] = count;
        particles.radius(0, d0)
    };
    assert_eq!((radius_of(1, 0.3), radius_of(8, 0.25), radius_of(27, 1.0)), (0.3, 0.5, 3.0));
    for n in 1..=255u8 {
        assert_eq!(radius_of(n, 1.0), (n as f64).cbrt() as f32);
    }
}
