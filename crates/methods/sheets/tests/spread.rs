use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::Neighbours;
use fluvial_sheets::Particles;
use fluvial_sheets::{Bins, Families, Kind, Points, UNIT_MASS, spread_velocity, velocity_at};

#[test]
fn spread_velocities_are_those_of_the_points() {
    let bins = Bins { min: Vec3::splat(-0.1), cell_m: 0.1, size: [9, 8, 21] };
    let mut particles = Particles::default();
    for n in 0..3000u64 {
        let x = bins.min + bins.cell_m * Vec3::new(9.0, 8.0, 21.0) * unit_vec3(n, 4);
        let count = if n % 3 == 0 { 1 + (n % 8) as u8 } else { 1 };
        particles.push(x, unit_vec3(n, 5), count as u32 * UNIT_MASS, count, Kind::Small);
    }
    let mut neighbours = Neighbours::new(bins);
    neighbours.sort(&mut particles, &mut Families::default());
    let d0 = 0.05;
    for (axis, alpha) in [(0, 1.0), (1, 1.4), (2, 0.8), (2, 2.5)] {
        let mut points = Points { origin: bins.min + 0.5 * bins.cell_m, size: bins.size };
        points.origin[axis] -= 0.5 * bins.cell_m;
        points.size[axis] += 1;
        let n = points.size.iter().product();
        let (mut sum, mut weight) = (vec![1.0; n], vec![1.0; n]);
        let kernel = (d0, 2.0 * d0, alpha);
        spread_velocity((&mut sum, &mut weight), &points, axis, &particles, &neighbours, kernel);
        let mut reached = 0;
        for point in 0..n {
            let [a, b, _] = points.size;
            let at = Vec3::new((point % a) as f32, (point / a % b) as f32, (point / (a * b)) as f32);
            let x = points.origin + bins.cell_m * at;
            let plain = velocity_at(x, &particles, &neighbours, kernel, 0.0);
            if weight[point] > 1e-3 {
                let plain = plain.expect("somebody is near")[axis];
                assert!((sum[point] / weight[point] - plain).abs() < 1e-4, "{axis} {alpha} {at}");
                reached += 1;
            } else if weight[point] == 0.0 {
                assert_eq!(plain, None, "{axis} {alpha} {at}");
            }
        }
        assert!(reached > n / 2, "{reached} of {n}");
    }
}
