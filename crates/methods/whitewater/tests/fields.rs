//! Samples of the liquid at frames and between them.

use super::unit_box;
use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_whitewater::{Field, Interval, Moment};

fn swirl(x: Vec3) -> Vec3 {
    Vec3::new((3.0 * x.y).sin(), (2.0 * x.z + x.x).cos(), x.x * x.y)
}

#[test]
fn samples_are_of_second_order() {
    let phi = |x: Vec3| 0.5 * (2.0 * x.x).sin() * (3.0 * x.y).cos() - 0.2;
    let error = |n: usize| -> f32 {
        let grid = unit_box(n);
        let field = Field::from_formulas(grid, 10.0, phi, swirl);
        let off = |k: u64| {
            let x = 0.25 + 0.5 * unit_vec3(k, 1);
            let sample = field.sample(x);
            (sample.phi - phi(x)).abs().max(sample.u.unwrap().distance(swirl(x)))
        };
        (0..500).map(off).fold(0.0, f32::max)
    };
    let (coarse, fine) = (error(10), error(20));
    assert!((coarse / fine).log2() > 1.8, "{coarse} {fine}");
}

#[test]
fn velocity_ends_with_the_band_and_parts_give_back_the_field() {
    let grid = unit_box(20);
    let far = 3.0 * grid.dx;
    let field = Field::from_formulas(grid, far, |x| x.y - 0.3, |_| Vec3::X);
    assert_eq!(field.sample(Vec3::new(0.5, 0.05, 0.5)).u, Some(Vec3::X));
    let high = field.sample(Vec3::new(0.5, 0.9, 0.5));
    assert_eq!((high.u, high.phi), (None, far));
    let at_edge = Vec3::new(0.99, 0.31, 0.01);
    assert_eq!(field.sample(at_edge).u, Some(Vec3::X));
    assert!((field.normal(Vec3::new(0.4, 0.3, 0.6)) - Vec3::Y).length() < 1e-5);
    let (table, values) = field.parts();
    let again = Field::from_parts(grid, far, table.to_vec(), values.clone()).unwrap();
    assert!(again == field && values.as_flattened().iter().all(|v| v.is_finite()));
    assert!(Field::from_parts(grid, far, vec![7; table.len()], vec![]).is_err());
}

/// A ball that crosses eight cells between two frames.
#[test]
fn what_moves_evenly_is_exact_between_frames() {
    let (grid, w) = (unit_box(32), Vec3::new(0.25, 0.0, 0.0));
    let ball = |center: Vec3| Field::from_formulas(grid, 1.0, move |x| x.distance(center) - 0.15, |_| w);
    let (a, b) = (Vec3::new(0.3, 0.5, 0.5), Vec3::new(0.55, 0.5, 0.5));
    let (start, end) = (ball(a), ball(b));
    let interval = Interval { start: &start, end: &end, length_s: 1.0 };
    for at_s in [0.25, 0.5, 0.8] {
        let center = a + at_s * w;
        let x = center + Vec3::new(0.0, 0.15, 0.0);
        let sample = interval.sample_around(x, at_s);
        assert!(sample.phi.abs() < 0.02 * grid.dx + 0.5 * grid.dx * grid.dx / 0.15, "{}", sample.phi);
        let still = interval.sample(x, at_s, Vec3::ZERO);
        assert!(still.phi > 0.3 * grid.dx, "without the motion the surface is lost: {}", still.phi);
        assert!((sample.u.unwrap() - w).length() < 1e-5);
    }
}

/// Beside a cell centre, where some of the other cells around have no velocity and next to no weight.
#[test]
fn velocity_beside_a_cell_centre_is_the_cells() {
    let grid = unit_box(16);
    let field = Field::from_formulas(grid, 1.5 * grid.dx, |x| x.element_sum() - 1.0, |_| Vec3::X);
    for n in 0..grid.cell_centers().len() {
        let [i, j, k] = grid.cell_centers().coordinates(n);
        for off in [1e-9, 1e-7, 1e-6] {
            let x = grid.cell_centers().position(i, j, k) + off * Vec3::ONE;
            let speed = field.sample(x).u.map_or(1.0, |u| u.length());
            assert!((speed - 1.0).abs() < 1e-5, "{speed} m/s in cell {i} {j} {k}");
        }
    }
}
