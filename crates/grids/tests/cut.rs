use fluvial_foundation::random::unit_f32;
use fluvial_grids::cut::{
    CUBE_FACES, cube_below, cube_below_plane, square_below, tetrahedron_below, tetrahedron_below_both,
};

fn unit(trial: u64, k: u64) -> f64 {
    unit_f32(trial, k) as f64
}

/// Corner `n` of the unit cube, from its centre.
fn corner(n: usize) -> [f64; 3] {
    [0, 1, 2].map(|a| (n >> a & 1) as f64 - 0.5)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Three ways to the same part of a cube below random planes: tetrahedra, the closed form, inclusion and
/// exclusion.
#[test]
fn planes_cut_what_they_should() {
    for trial in 0..500 {
        let slope = [0, 1, 2].map(|k| 0.05 + unit(trial, k));
        let value = (unit(trial, 3) - 0.5) * slope.iter().sum::<f64>();
        let exact = (0..8)
            .map(|n| {
                let deep = (-value - dot(slope, corner(n))).max(0.0);
                let sign = if (n as u32).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * deep.powi(3)
            })
            .sum::<f64>()
            / (6.0 * slope.iter().product::<f64>());
        let field: [f64; 8] = std::array::from_fn(|n| value + dot(slope, corner(n)));
        assert!((cube_below(field) - exact).abs() < 1e-9, "{} {exact}", cube_below(field));
        assert!((cube_below_plane(value, slope) - exact).abs() < 1e-9);
        assert!((cube_below_plane(value, [-slope[1], slope[2], -slope[0]]) - exact).abs() < 1e-9);
        assert!((cube_below(field.map(|v| -v)) + exact - 1.0).abs() < 1e-9, "the complement");
        // The face z low: a square below a line.
        let line = value - 0.5 * slope[2];
        let deep = |x: f64, y: f64| (-line - slope[0] * x - slope[1] * y).max(0.0).powi(2);
        let area = (deep(-0.5, -0.5) - deep(0.5, -0.5) - deep(-0.5, 0.5) + deep(0.5, 0.5))
            / (2.0 * slope[0] * slope[1]);
        let corners = CUBE_FACES[4].map(|n| field[n]);
        assert!((square_below(corners) - area).abs() < 1e-9);
    }
    for slope in [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1e-6, 0.3, 1.0]] {
        let field: [f64; 8] = std::array::from_fn(|n| 0.1 + dot(slope, corner(n)));
        assert!((cube_below_plane(0.1, slope) - cube_below(field)).abs() < 1e-6);
    }
}

/// Both fields at once against points drawn at random, and as a partition.
#[test]
fn two_fields_divide_a_tetrahedron_in_four() {
    for trial in 0..300 {
        let p: [[f64; 2]; 4] = std::array::from_fn(|n| [0, 4].map(|k| unit(trial, n as u64 + k) - 0.5));
        let part = |s: f64, t: f64| tetrahedron_below_both(p.map(|v| [s * v[0], t * v[1]]));
        let all = part(1.0, 1.0) + part(-1.0, 1.0) + part(1.0, -1.0) + part(-1.0, -1.0);
        assert!((all - 1.0).abs() < 1e-9, "{all}");
        let first = part(1.0, 1.0) + part(1.0, -1.0);
        assert!((first - tetrahedron_below(p.map(|v| v[0]))).abs() < 1e-9);
        if trial < 5 {
            let (count, mut hits) = (20_000, 0);
            for n in 0..count {
                // Sorted spacings of three uniform numbers are uniform barycentric coordinates.
                let mut u = [0, 1, 2].map(|k| unit(n, 10 + k + 3 * trial));
                u.sort_unstable_by(f64::total_cmp);
                let w = [u[0], u[1] - u[0], u[2] - u[1], 1.0 - u[2]];
                let at = |k: usize| (0..4).map(|n| w[n] * p[n][k]).sum::<f64>();
                hits += (at(0) < 0.0 && at(1) < 0.0) as u32;
            }
            assert!((hits as f64 / count as f64 - part(1.0, 1.0)).abs() < 0.015);
        }
    }
}
