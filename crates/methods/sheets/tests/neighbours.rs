use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Families;
use fluvial_sheets::Particles;
use fluvial_sheets::ThinSides;
use fluvial_sheets::{Bins, Neighbours, SolidSamples, Walls};
use std::sync::Arc;

fn cloud(n: u64, seed: u64) -> Particles {
    let mut particles = Particles::default();
    (0..n).for_each(|i| particles.push_small(1.2 * unit_vec3(i, seed) - 0.1, Vec3::ZERO));
    particles
}

#[test]
fn neighbours_are_those_that_brute_force_finds() {
    let bins = Bins { min: Vec3::ZERO, cell_m: 0.11, size: [9, 8, 10] };
    for seed in 0..20 {
        let mut particles = cloud(500, seed);
        let mut neighbours = Neighbours::new(bins);
        neighbours.sort(&mut particles, &mut Families::default());
        for (n, reach) in (0..60).map(|n| (n, 0.02 + 0.005 * n as f32)) {
            let center = 1.2 * unit_vec3(n, 77 + seed) - 0.1;
            let mut found = vec![];
            neighbours.for_each_within(center, reach, |i, d, r2| {
                assert_eq!(d, particles.x[i] - center);
                assert_eq!(r2, d.length_squared());
                found.push(i);
            });
            let all =
                (0..particles.len()).filter(|&i| (particles.x[i] - center).length_squared() <= reach * reach);
            found.sort();
            assert_eq!(found, all.collect::<Vec<_>>(), "seed {seed}, reach {reach}");
            let nearest = neighbours.nearest(center, reach).map(|(_, r2)| r2);
            let brute = particles.x.iter().map(|x| (*x - center).length_squared()).fold(f32::MAX, f32::min);
            assert_eq!(nearest, (brute <= reach * reach).then_some(brute));
            assert_eq!(neighbours.is_empty_within(center, reach), brute >= reach * reach);
            let sum = neighbours.density(center, reach, &Walls::NONE);
            let exact: f32 = particles
                .x
                .iter()
                .map(|x| (1.0 - (*x - center).length_squared() / (reach * reach)).max(0.0))
                .sum();
            assert!((sum - exact).abs() < 1e-4 * (1.0 + exact), "{sum} {exact}");
        }
    }
}

#[test]
fn sorting_keeps_the_order_within_a_cell_and_loses_nobody() {
    let mut particles = cloud(2000, 5);
    let bins = Bins { min: Vec3::ZERO, cell_m: 0.25, size: [4; 3] };
    let mut neighbours = Neighbours::new(bins);
    neighbours.sort(&mut particles, &mut Families::default());
    let mut seen = 0;
    for cell in 0..bins.count() {
        let range = neighbours.of_cell(cell);
        seen += range.len();
        assert!(range.clone().all(|i| bins.index(bins.coordinates(particles.x[i])) == cell));
        assert!(range.clone().skip(1).all(|i| particles.id[i - 1] < particles.id[i]));
    }
    assert_eq!(seen, 2000);
}

#[test]
fn walls_mirror_faces_edges_and_corners() {
    let walls = Walls { low: [0.0; 3], high: [1.0, f32::INFINITY, 1.0], solid: None };
    let images = |x: Vec3| {
        let mut seen = vec![];
        walls.for_each_image(x, 0.1, |x| seen.push(x));
        seen
    };
    assert_eq!(images(Vec3::splat(0.5)).len(), 1);
    assert_eq!(images(Vec3::new(0.05, 0.5, 0.5)), [Vec3::new(0.05, 0.5, 0.5), Vec3::new(-0.05, 0.5, 0.5)]);
    assert_eq!(images(Vec3::new(0.95, 7.0, 0.03)).len(), 4);
    assert_eq!(images(Vec3::new(0.95, 0.01, 0.03)).len(), 8);
}

#[test]
fn solids_mirror_what_is_near_them() {
    // A sloped plane through the middle of a lattice: its samples are exact.
    let normal = Vec3::new(0.3, 0.9, -0.2).normalize();
    let (size, spacing) = ([12usize, 11, 10], 0.1);
    let place = |n: usize| {
        spacing * Vec3::new((n % 12) as f32, (n / 12 % 11) as f32, (n / 132) as f32) - Vec3::splat(0.2)
    };
    let phi: Arc<[f32]> = (0..12 * 11 * 10).map(|n| normal.dot(place(n) - Vec3::splat(0.3))).collect();
    let solid =
        Some(SolidSamples { origin: Vec3::splat(-0.2), spacing, size, phi, sides: ThinSides::default() });
    let walls = Walls { solid, ..Walls::NONE };
    for n in 0..200 {
        let x = 0.6 * unit_vec3(n, 4);
        let distance = normal.dot(x - 0.3);
        let mut seen = vec![];
        walls.for_each_image(x, 0.1, |x| seen.push(x));
        assert_eq!(seen.len(), 1 + (distance < 0.1) as usize, "{distance}");
        assert_eq!(walls.are_far(x, 0.1), seen.len() == 1);
        if let Some(image) = seen.get(1) {
            assert!(image.distance(x - 2.0 * distance * normal) < 1e-5, "{image}");
        }
    }
}
