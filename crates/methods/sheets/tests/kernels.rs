use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Particles;
use fluvial_sheets::{
    Bins, Families, distance_of_bell_density, distance_of_density, lattice_bell_density, lattice_density,
    velocity_at, w_sharp, w_smooth,
};
use fluvial_sheets::{Neighbours, Walls};

fn cloud(n: u64) -> (Particles, Neighbours) {
    let mut particles = Particles::default();
    for i in 0..n {
        let x = unit_vec3(i, 3);
        particles.push_small(x, Vec3::new(x.y, 2.0 - x.z, x.x));
    }
    let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.1, size: [10; 3] });
    neighbours.sort(&mut particles, &mut Families::default());
    (particles, neighbours)
}

#[test]
fn kernels_have_their_values() {
    assert_eq!(w_smooth(0.0, 2.0), 1.0);
    assert_eq!(w_smooth(1.0, 2.0), 0.75);
    assert_eq!((w_smooth(5.0, 2.0), w_sharp(5.0, 2.0)), (0.0, 0.0));
    assert_eq!(w_sharp(1.0, 2.0), 3.0);
    assert!(w_sharp(0.0, 2.0) > 9e5 && w_sharp(0.0, 2.0).is_finite());
    // The integral of the smooth kernel is 8 pi h^3 / 15; the lattice sum comes near.
    let exact = 8.0 * std::f32::consts::PI * 64.0 / 15.0;
    assert!((lattice_density(4.0) / exact - 1.0).abs() < 0.01, "{}", lattice_density(4.0));
}

#[test]
fn density_tells_the_distance_from_a_flat_surface() {
    // Closed form there and back.
    for n in -13..=13 {
        let s = n as f32 * 0.05;
        let share = 0.5 - 15.0 / 16.0 * (s - 2.0 / 3.0 * s.powi(3) + 0.2 * s.powi(5));
        assert!((distance_of_density(share) - s).abs() < 2e-5, "{s} {}", distance_of_density(share));
    }
    assert!(distance_of_density(0.0) < 0.72 && distance_of_density(1.0) > -0.72);
    // Particles on a lattice below a plane.
    let (d0, h) = (0.025, 0.1);
    let mut particles = Particles::default();
    for n in 0..40 * 20 * 40 {
        let at = [n % 40, n / 40 % 20, n / 800].map(|v| v as f32 + 0.5);
        particles.push_small(d0 * Vec3::from_array(at), Vec3::ZERO);
    }
    let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.05, size: [20; 3] });
    neighbours.sort(&mut particles, &mut Families::default());
    for n in -24..=24 {
        let s = n as f32 * 0.025;
        let share =
            neighbours.density(Vec3::new(0.5, 0.5 + s * h, 0.5), h, &Walls::NONE) / lattice_density(4.0);
        assert!((distance_of_density(share) - s).abs() < 0.02, "{s} {}", distance_of_density(share));
    }
}

/// Particles on a lattice below y = 0.5, displaced by `amplitude` times a product of waves.
fn pool(d0: f32, amplitude: f32, k: [f32; 2]) -> Neighbours {
    let mut particles = Particles::default();
    for n in 0..40 * 20 * 40 {
        let at = [n % 40, n / 40 % 20, n / 800].map(|v| v as f32 + 0.5);
        let x = d0 * Vec3::from_array(at);
        let wave = amplitude * (k[0] * x.x).cos() * (k[1] * x.z).cos();
        particles.push_small(x + wave * Vec3::Y, Vec3::ZERO);
    }
    let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.05, size: [20; 3] });
    neighbours.sort(&mut particles, &mut Families::default());
    neighbours
}

#[test]
fn bell_density_tells_the_distance_from_a_flat_surface() {
    let (d0, h) = (0.025, 0.1);
    let neighbours = pool(d0, 0.0, [0.0; 2]);
    for n in -16..=16 {
        let s = n as f32 * 0.025;
        let rho = neighbours.bell_density(Vec3::new(0.5, 0.5 + s * h, 0.5), h, &Walls::NONE);
        let found = distance_of_bell_density(rho / lattice_bell_density(4.0));
        assert!((found - s).abs() < 0.02, "{s} {found}");
    }
    for (share, held) in [(0.0, 0.75), (1.0, -0.75)] {
        assert!((distance_of_bell_density(share) - held).abs() < 1e-3, "{}", distance_of_bell_density(share));
    }
}

/// Waves of 2 to 16 cells along the grid, and of 2.5 to 16 that cross: a crest is higher than a trough. (Of 2 cells
/// that cross the lattice of the particles itself leaves nothing.) The smooth kernel sees the shortest upside down.
#[test]
fn every_wave_of_the_grid_is_felt_with_its_own_sign() {
    let (d0, h, cell) = (0.025f32, 0.1, 0.05);
    for cells in [2.0f32, 2.5, 4.0, 8.0, 16.0] {
        let k = std::f32::consts::TAU / (cells * cell);
        for k in [[k, 0.0], [k, k]].into_iter().filter(|k| cells > 2.0 || k[1] == 0.0) {
            let neighbours = pool(d0, 0.1 * d0, k);
            let crest = |shift: f32| Vec3::new((0.5 / cell / cells).round() * cells * cell + shift, 0.5, 0.5);
            let crest =
                |shift: f32| if k[1] == 0.0 { crest(shift) } else { crest(shift).with_z(crest(0.0).x) };
            let half = 0.5 * cells * cell;
            let bell = |x: Vec3| neighbours.bell_density(x, h, &Walls::NONE) / lattice_bell_density(4.0);
            let felt = bell(crest(0.0)) - bell(crest(half));
            assert!(felt > 1e-4, "{cells} cells, {k:?}: {felt}");
            if cells == 2.0 && k[1] == 0.0 {
                let smooth = |x: Vec3| neighbours.density(x, h, &Walls::NONE);
                assert!(smooth(crest(0.0)) < smooth(crest(half)), "the smooth kernel is as good");
            }
        }
    }
}

#[test]
fn density_is_that_of_a_plain_sum() {
    let (particles, neighbours) = cloud(3000);
    let walls = Walls { low: [0.0; 3], high: [1.0; 3], solid: None };
    for n in 0..200 {
        let x = unit_vec3(n, 8);
        let mut exact = 0.0f64;
        for p in &particles.x {
            for image in 0..27 {
                let mirror = |v: f32, which: usize| [v, -v, 2.0 - v][which];
                let q = Vec3::new(mirror(p.x, image % 3), mirror(p.y, image / 3 % 3), mirror(p.z, image / 9));
                exact += w_smooth((q - x).length_squared(), 0.15) as f64;
            }
        }
        let found = neighbours.density(x, 0.15, &walls) as f64;
        assert!((found - exact).abs() < 1e-4 * exact, "{found} {exact}");
    }
}

#[test]
fn velocity_is_that_of_a_plain_sum() {
    let (mut particles, mut neighbours) = cloud(3000);
    for i in 0..particles.len() {
        particles.count[i] = 1 + (i % 8) as u8;
        particles.mass[i] *= particles.count[i] as u32;
    }
    neighbours.weigh(&particles);
    for n in 0..200 {
        let (x, d0) = (unit_vec3(n, 9), 0.04);
        let (mut sum, mut weight) = (Vec3::ZERO, 0.0);
        for i in 0..particles.len() {
            let r2 = (particles.x[i] - x).length_squared();
            let w = particles.weight(i) * w_sharp(r2, 1.2 * particles.radius(i, d0));
            sum += w * particles.v[i];
            weight += w;
        }
        let found = velocity_at(x, &particles, &neighbours, (d0, 2.0 * d0, 1.2), 0.2).unwrap();
        assert!((found - sum / weight).length() < 1e-5, "{found} {}", sum / weight);
    }
}

#[test]
fn velocity_at_a_particle_is_its_own() {
    let (particles, neighbours) = cloud(3000);
    for i in 0..500 {
        let v = velocity_at(particles.x[i], &particles, &neighbours, (0.08, 0.08, 1.0), 0.2).unwrap();
        assert!((v - particles.v[i]).length() < 1e-3, "{v} {}", particles.v[i]);
    }
}

#[test]
fn linear_velocity_comes_back_on_average() {
    let (particles, neighbours) = cloud(20_000);
    let mut error = Vec3::ZERO;
    for n in 0..2000 {
        let x = 0.2 + 0.6 * unit_vec3(n, 4);
        let v = velocity_at(x, &particles, &neighbours, (0.06, 0.06, 1.0), 0.2).unwrap();
        error += v - Vec3::new(x.y, 2.0 - x.z, x.x);
    }
    assert!((error / 2000.0).length() < 1e-3, "{}", error / 2000.0);
}

#[test]
fn where_nothing_weighs_the_nearest_speaks_and_far_away_nobody() {
    let mut particles = Particles::default();
    particles.push_small(Vec3::splat(0.5), Vec3::X);
    particles.push_small(Vec3::splat(0.9), Vec3::Y);
    let mut neighbours = Neighbours::new(Bins { min: Vec3::ZERO, cell_m: 0.1, size: [10; 3] });
    neighbours.sort(&mut particles, &mut Families::default());
    let at = |x: f32| velocity_at(Vec3::new(x, 0.5, 0.5), &particles, &neighbours, (0.05, 0.05, 1.0), 0.2);
    assert_eq!(at(0.6), Some(Vec3::X));
    assert_eq!(at(0.2), None);
}
