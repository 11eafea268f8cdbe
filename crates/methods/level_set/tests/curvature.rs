//! Mean curvature of spheres, exact and redistanced.

use crate::common::*;
use fluvial_level_set::*;

const RADIUS: f64 = 0.31;
const CENTER: [f64; 3] = [0.49, 0.513, 0.505];
const OPEN: WallContact = [None; 6];

/// Largest relative error of 2/R over all crossings of the grid lines.
fn crossing_error(n: usize, from: impl Fn([f64; 3]) -> f64, redistancings: usize) -> f64 {
    let g = cube(n);
    let l = g.cell_centers();
    let band = 5.0 * g.dx;
    let mut phi = fill(&l, from);
    let mut scratch = Scratch::default();
    for _ in 0..redistancings {
        redistance(&mut phi, &l, band, &mut scratch);
    }
    let mut kappa = vec![0.0; phi.len()];
    assert_eq!(curvature(&mut kappa, &phi, &l, 2.0 * g.dx, &OPEN), 0);
    let mut worst = 0.0f64;
    for a in 0..phi.len() {
        let c = l.coordinates(a);
        for axis in 0..3 {
            if c[axis] + 1 < n && (phi[a] < 0.0) != (phi[a + l.stride(axis)] < 0.0) {
                let k = value_at_crossing(&kappa, &phi, a, a + l.stride(axis)) as f64;
                worst = worst.max((k * RADIUS / 2.0 - 1.0).abs());
            }
        }
    }
    worst
}

#[test]
fn sphere_exact_and_redistanced() {
    let exact = |x: [f64; 3]| distance(x, CENTER) - RADIUS;
    let distorted = |x: [f64; 3]| {
        let d = distance(x, CENTER) - RADIUS;
        d * (1.0 + 0.3 * (4.0 * x[0] + 2.0 * x[2]).sin() + 0.4 * d)
    };
    for (name, times, bound) in
        [("exact", 0, 0.001), ("redistanced", 1, 0.019), ("redistanced 10 times", 10, 0.019)]
    {
        let errors: Vec<f64> = [16, 32, 64]
            .map(
                |n| if times > 0 { crossing_error(n, distorted, times) } else { crossing_error(n, exact, 0) },
            )
            .into();
        println!("{name}: {errors:.7?} order {:.2}", order(&errors));
        let least_order = if times > 0 { 1.8 } else { 3.5 };
        assert!(errors[0] < bound && order(&errors) > least_order, "{name}: {errors:?}");
    }
}

/// Where all derivatives of phi are exact (quadratics) the curvature of the level set through a cell's centre is that of the formula, also at
/// the walls.
#[test]
fn quadrics_have_the_sum_of_both_curvatures() {
    let g = cube(16);
    let l = g.cell_centers();
    let dx = g.dx as f64;
    let through =
        |x: [f64; 3]| x[1] - 0.5 - (x[0] - 0.5).powi(2) + 0.5 * (x[2] - 0.5).powi(2) + 0.3 * x[0] * x[2];
    let exact = fill(&l, |x| {
        let (gx, gy, gz) = (-2.0 * (x[0] - 0.5) + 0.3 * x[2], 1.0, x[2] - 0.5 + 0.3 * x[0]);
        let (hx, hz, hxz) = (-2.0, 1.0, 0.3);
        let g2: f64 = gx * gx + gy * gy + gz * gz;
        (hx * (gy * gy + gz * gz) + hz * (gx * gx + gy * gy) - 2.0 * gx * gz * hxz) / g2.powf(1.5)
    });
    let mut kappa = vec![0.0; l.len()];
    for at in [[0, 0, 0], [7, 8, 7], [15, 3, 0], [1, 15, 14], [2, 4, 13], [0, 9, 15]] {
        let cell = l.index(at[0], at[1], at[2]);
        let center = [0, 1, 2].map(|a| (at[a] as f64 + 0.5) * dx);
        let phi = fill(&l, |x| through(x) - through(center));
        curvature(&mut kappa, &phi, &l, 0.1 * g.dx, &OPEN);
        let error = (kappa[cell] - exact[cell]).abs() as f64;
        assert!(error < 2e-6 / (dx * dx), "{at:?}: {error}"); // rounding of phi through second differences
        // Out of the band nothing is computed.
        assert_eq!(kappa[l.index(at[0], (at[1] + 8) % 16, at[2])], 0.0);
    }
}

#[test]
fn unresolved_curvature_is_limited_and_counted() {
    let g = cube(8);
    let l = g.cell_centers();
    let dx = g.dx as f64;
    let droplet = fill(&l, |x| distance(x, [4.5 * dx + 0.1 * dx, 4.5 * dx, 4.5 * dx]) - 0.6 * dx);
    let mut kappa = vec![0.0; l.len()];
    let limited = curvature(&mut kappa, &droplet, &l, 2.0 * g.dx, &OPEN);
    assert!(limited > 0);
    assert!(kappa.iter().all(|k| k.abs() <= 2.0 / g.dx));
}

/// Largest relative error of 2/R over all crossings in the cells at the floor, where a ball meets it at an angle.
fn error_at_the_floor(n: usize, degrees: f64) -> f64 {
    let (cosine, g) = (degrees.to_radians().cos(), cube(n));
    let l = g.cell_centers();
    let center = [CENTER[0], -RADIUS * cosine, CENTER[2]];
    let phi = fill(&l, |x| distance(x, center) - RADIUS);
    let mut kappa = vec![0.0; phi.len()];
    let mut contact = OPEN;
    contact[2] = Some(cosine as f32);
    curvature(&mut kappa, &phi, &l, 2.0 * g.dx, &contact);
    let mut worst = 0.0f64;
    for a in (0..phi.len()).filter(|&a| l.coordinates(a)[1] == 0) {
        for axis in [0, 2] {
            let b = a + l.stride(axis);
            if l.coordinates(a)[axis] + 1 < n && (phi[a] < 0.0) != (phi[b] < 0.0) {
                let k = value_at_crossing(&kappa, &phi, a, b) as f64;
                worst = worst.max((k * RADIUS / 2.0 - 1.0).abs());
            }
        }
    }
    assert!(worst > 0.0);
    worst
}

#[test]
fn balls_that_meet_a_wall_at_its_contact_angle() {
    for (degrees, bound, least_order) in [(90.0, 0.001, 3.5), (60.0, 0.02, 0.9), (120.0, 0.01, 0.75)] {
        let errors: Vec<f64> = [16, 32, 64].map(|n| error_at_the_floor(n, degrees)).into();
        println!("{degrees} degrees: {errors:.5?} order {:.2}", order(&errors));
        assert!(errors[0] < bound && order(&errors) > least_order, "{degrees}: {errors:?}");
    }
}
