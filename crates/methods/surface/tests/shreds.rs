use fluvial_foundation::Vec3;
use fluvial_grids::Lattice;
use fluvial_surface::without_shreds;

#[test]
fn sheets_and_puddles_stay_and_shreds_go() {
    let cells = Lattice { size: [20; 3], origin: Vec3::splat(0.5), spacing: 1.0 };
    let sheet = |x: Vec3| (x.y - 12.3).abs() - 0.6;
    let puddle = |x: Vec3| x.y - 0.8;
    let thread = |x: Vec3| Vec3::new(x.x - 10.5, x.y - 5.5, 0.0).length() - 0.4;
    let drop = |x: Vec3| x.distance(Vec3::new(5.5, 17.5, 5.5)) - 0.3;
    let phi_of = |shape: &dyn Fn(Vec3) -> f32| -> Vec<f32> {
        (0..cells.len()).map(|n| shape(cells.position(n % 20, n / 20 % 20, n / 400))).collect()
    };
    let liquid = |phi: &[f32]| phi.iter().filter(|phi| **phi < 0.0).count();
    for whole in [&sheet as &dyn Fn(Vec3) -> f32, &puddle] {
        let phi = phi_of(whole);
        assert!(liquid(&phi) >= 400 && without_shreds(&phi, &cells) == phi);
    }
    for shred in [&thread as &dyn Fn(Vec3) -> f32, &drop] {
        let phi = phi_of(shred);
        assert!(liquid(&phi) >= 1 && liquid(&without_shreds(&phi, &cells)) == 0);
    }
}
