use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Particles;
use fluvial_sheets::{Bins, Neighbours};
use fluvial_sheets::{Families, Kind, SolidSamples, ThinSides, UNIT_MASS, Walls, deposit};

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
    deposit(&mut held, &particles, &neighbours, &Walls::NONE, 0.05, |i| particles.weight(i));
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
    deposit(&mut held, &particles, &neighbours, &Walls::NONE, 0.05, |i| particles.weight(i));
    let total: f64 = held.iter().map(|&h| h as f64).sum();
    let mass = particles.total_mass() as f64 / UNIT_MASS as f64;
    assert!((total / mass - 1.0).abs() < 1e-5, "{total} {mass}");
}

/// A particle whose cube reaches through a wall between two cells, along x and y: all of it is on its side.
#[test]
fn nothing_is_held_behind_a_thin_solid() {
    let bins = Bins { min: Vec3::ZERO, cell_m: 0.1, size: [6; 3] };
    let column = |cell: usize| cell % 6;
    let is_barred = |cell: usize, axis: usize, up: bool| {
        axis == 0 && (column(cell) == 2 && up || column(cell) == 3 && !up)
    };
    let sides = ThinSides::new(bins.size, |_| Some(0xff), is_barred);
    let phi = vec![1.0; 7 * 7 * 7];
    let solid = SolidSamples { origin: Vec3::ZERO, spacing: 0.1, size: [7; 3], phi: phi.into(), sides };
    let walls = Walls { solid: Some(solid), ..Walls::NONE };
    let mut particles = Particles::default();
    particles.push(Vec3::new(0.29, 0.3, 0.35), Vec3::ZERO, UNIT_MASS, 1, Kind::Small);
    let mut neighbours = Neighbours::new(bins);
    neighbours.sort(&mut particles, &mut Families::default());
    let mut held = vec![0.0; bins.count()];
    deposit(&mut held, &particles, &neighbours, &walls, 0.05, |i| particles.weight(i));
    let behind: f32 = (0..held.len()).filter(|&cell| column(cell) > 2).map(|cell| held[cell]).sum();
    let [below, own] = [[2, 2, 3], [2, 3, 3]].map(|at| held[bins.index(at)]);
    // Of the half that lies in the lower row, 0.7 are on its side of the wall; the rest is in its own cell.
    assert!(behind == 0.0 && (below - 0.35).abs() < 1e-4 && (own - 0.65).abs() < 1e-4, "{below} {own}");
}
