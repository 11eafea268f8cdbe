use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Particles;
use fluvial_sheets::SheetParams;
use fluvial_sheets::density_and_mean;
use fluvial_sheets::{Bins, Families, Shapes, covariance, deposit};
use fluvial_sheets::{Neighbours, Walls};

const D0: f32 = 0.01;

fn shapes(particles: &mut Particles, params: &SheetParams) -> (Shapes, Neighbours) {
    let bins = Bins { min: Vec3::splat(-0.5), cell_m: 2.0 * D0, size: [50; 3] };
    let mut neighbours = Neighbours::new(bins);
    neighbours.sort(particles, &mut Families::default());
    let mut shapes = Shapes::default();
    let mut mass = vec![0.0; bins.count()];
    deposit(&mut mass, particles, &neighbours, &Walls::NONE, D0, |i| particles.weight(i));
    shapes.measure(particles, &neighbours, &mass, &Walls::NONE, params);
    (shapes, neighbours)
}

/// A patch of the lattice `n` particles wide, placed by `at`.
fn patch(particles: &mut Particles, n: [i32; 3], at: impl Fn(Vec3) -> Vec3) {
    for k in 0..n[2] {
        for j in 0..n[1] {
            for i in 0..n[0] {
                particles.push_small(at(D0 * Vec3::new(i as f32, j as f32, k as f32)), Vec3::ZERO);
            }
        }
    }
}

#[test]
fn covariance_is_that_of_a_plain_sum() {
    let mut particles = Particles::default();
    (0..4000).for_each(|i| particles.push_small(0.2 * unit_vec3(i, 1), Vec3::ZERO));
    let (_, neighbours) = shapes(&mut particles, &SheetParams::new(D0));
    let h = 0.04f64;
    for i in (0..4000).step_by(97) {
        let x = particles.x[i].as_dvec3();
        let w = |d: fluvial_foundation::DVec3| (1.0 - d.length_squared() / (h * h)).max(0.0);
        let all = || particles.x.iter().map(|p| p.as_dvec3());
        let total: f64 = all().map(|p| w(p - x)).sum();
        let mean = all().map(|p| w(p - x) * p).sum::<fluvial_foundation::DVec3>() / total;
        let total: f64 = all().map(|p| w(p - mean)).sum();
        let c = |a: usize, b: usize| {
            all().map(|p| w(p - mean) * (p - mean)[a] * (p - mean)[b]).sum::<f64>() / total
        };
        let exact = [c(0, 0), c(1, 1), c(2, 2), c(0, 1), c(0, 2), c(1, 2)].map(|v| v * 7.0 / (h * h));
        let (_, offset) = density_and_mean(&neighbours, particles.x[i], h as f32, &Walls::NONE);
        let found = covariance(&neighbours, particles.x[i] + offset, h as f32, None);
        assert!((offset.as_dvec3() + x - mean).length() < 1e-6);
        for k in 0..6 {
            assert!((found[k] as f64 - exact[k]).abs() < 1e-4, "{found:?} {exact:?}");
        }
    }
}

#[test]
fn a_sheet_is_thin_and_a_pool_is_not() {
    let params = SheetParams { junction_rounds: 0, ..SheetParams::new(D0) };
    for (layers, thin) in [(1, true), (2, true), (3, false), (12, false)] {
        let mut particles = Particles::default();
        patch(&mut particles, [24, 24, layers], |x| x);
        let (shapes, _) = shapes(&mut particles, &params);
        let middle: Vec<usize> = (0..particles.len())
            .filter(|&i| (particles.x[i] - 0.115).abs().truncate().max_element() < 0.05)
            .collect();
        assert!(!middle.is_empty());
        assert!(middle.iter().all(|&i| shapes.thin[i] == thin), "{layers} layers");
    }
    // Inside the pool the density is full and nothing is measured; a flat surface has about half of it.
    let mut particles = Particles::default();
    patch(&mut particles, [24, 24, 24], |x| x);
    let (shapes, _) = shapes(&mut particles, &params);
    for i in 0..particles.len() {
        let inside = (particles.x[i] - 0.115).abs().max_element() < 0.07;
        assert!(!inside || (shapes.density[i] - 1.0).abs() < 1e-5 && shapes.stretch_of(i).is_none());
    }
    let top = (0..particles.len()).find(|&i| (particles.x[i] - Vec3::new(0.11, 0.11, 0.23)).length() < 1e-3);
    let rho = shapes.density[top.unwrap()];
    assert!(rho > 0.5 && rho < 0.65, "{rho}");
}

#[test]
fn the_normal_of_a_sheet_is_its_shortest_axis() {
    let normal = Vec3::new(1.0, 2.0, 3.0).normalize();
    let (a, b) = normal.any_orthonormal_pair();
    let mut particles = Particles::default();
    patch(&mut particles, [24, 24, 2], |x| x.x * a + x.y * b + x.z * normal);
    let center = 0.115 * (a + b);
    let (shapes, _) = shapes(&mut particles, &SheetParams::new(D0));
    let i = (0..particles.len()).find(|&i| (particles.x[i] - center).length() < D0).unwrap();
    let stretch = shapes.stretch_of(i).unwrap();
    assert!(stretch.vectors[2].dot(normal).abs() > 0.999, "{stretch:?}");
    // In the plane, 7/6 of a ball; across, a quarter of d0^2.
    assert!((stretch.values[0] - 7.0 / 6.0).abs() < 0.05, "{stretch:?}");
    assert!((stretch.values[2] - 0.25 * 7.0 / 16.0).abs() < 0.01, "{stretch:?}");
}

#[test]
fn joints_of_sheets_are_thin() {
    // A T: a plate with another standing on it. A V: two plates that meet at 70 degrees.
    let t = |particles: &mut Particles| {
        patch(particles, [30, 30, 1], |x| x);
        patch(particles, [30, 1, 15], |x| x + Vec3::new(0.0, 0.145, D0));
    };
    let v = |particles: &mut Particles| {
        patch(particles, [30, 1, 15], |x| x);
        let (sin, cos) = 70f32.to_radians().sin_cos();
        patch(particles, [30, 1, 14], |x| {
            let s = x.z + D0;
            Vec3::new(x.x, s * sin, s * cos)
        });
    };
    for (name, make, line) in
        [("T", &t as &dyn Fn(&mut Particles), Vec3::new(0.0, 0.145, 0.0)), ("V", &v, Vec3::ZERO)]
    {
        let unlabelled = |rounds: u32| {
            let mut particles = Particles::default();
            make(&mut particles);
            let (shapes, _) =
                shapes(&mut particles, &SheetParams { junction_rounds: rounds, ..SheetParams::new(D0) });
            (0..particles.len())
                .filter(|&i| {
                    let mut across = particles.x[i] - line;
                    across.x = 0.0;
                    across.length() < 3.0 * D0 && (particles.x[i].x - 0.145).abs() < 0.1 && !shapes.thin[i]
                })
                .count()
        };
        assert!(unlabelled(0) > 20, "{name}: eq. 11 alone is enough, nothing is tested");
        assert_eq!(unlabelled(2), 0, "{name}");
    }
    // A sheet that rises from a pool does not make the pool's surface thin.
    let mut particles = Particles::default();
    patch(&mut particles, [24, 24, 12], |x| x);
    patch(&mut particles, [24, 1, 12], |x| x + Vec3::new(0.0, 0.115, 12.0 * D0));
    let (shapes, _) = shapes(&mut particles, &SheetParams::new(D0));
    let labelled = (0..particles.len())
        .filter(|&i| (particles.x[i] - 0.115).abs().truncate().max_element() < 0.06 && shapes.thin[i])
        .filter(|&i| particles.x[i].z < 11.5 * D0)
        .count();
    assert_eq!(labelled, 0);
}
