use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Particles;
use fluvial_sheets::{Bins, Neighbours};
use fluvial_sheets::{Families, Kind, UNIT_MASS, deposit};

#[test]
fn cells_hold_what_the_particles_are() {
    let bins = Bins { min: Vec3::ZERO, cell_m: 0.1, size: [10; 3] };
    let mut particles = Particles::default();
    // One in the middle of a cell, one on a corner, and a crowd.
    particles.push(Vec3::new(0.25, 0.35, 0.45), Vec3::ZERO, 8 * UNIT_MASS, 8, Kind::Merged);
    particles.push(Vec3::new(0.7, 0.7, 0.7), Vec3::ZERO, 8 * UNIT_MASS, 8, Kind::Merged);
    let mut neighbours = Neighbours::new(bins);
    let mut held = vec![0.0; bins.count()];
    neighbours.sort(&mut particles, &mut Families::default());
    deposit(&mut held, &particles, &neighbours, 0.05, |i| particles.weight(i));
    assert!((held[bins.index([2, 3, 4])] - 8.0).abs() < 1e-4);
    for corner in 0..8 {
        let at = [6 + (corner & 1), 6 + (corner >> 1 & 1), 6 + (corner >> 2)];
        assert!((held[bins.index(at)] - 1.0).abs() < 1e-4, "{}", held[bins.index(at)]);
    }
    for n in 0..3000u64 {
        let count = 1 + (n % 8) as u8;
        let kind = if count == 1 { Kind::Small } else { Kind::Merged };
        particles.push(unit_vec3(n, 4), Vec3::ZERO, count as u32 * UNIT_MASS, count, kind);
    }
    neighbours.sort(&mut particles, &mut Families::default());
    deposit(&mut held, &particles, &neighbours, 0.05, |i| particles.weight(i));
    let total: f64 = held.iter().map(|&h| h as f64).sum();
    let mass = particles.total_mass() as f64 / UNIT_MASS as f64;
    assert!((total / mass - 1.0).abs() < 1e-5, "{total} {mass}");
}
