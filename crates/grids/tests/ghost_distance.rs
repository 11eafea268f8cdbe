use fluvial_grids::{GHOST_DISTANCE_FLOOR, ghost_theta, thrown_distance};

#[test]
fn the_ghost_distance_is_where_phi_vanishes_but_never_below_its_floor() {
    assert_eq!(ghost_theta(-0.25, 0.75), (0.25, false));
    assert_eq!(ghost_theta(-1.0, 0.0), (1.0, false));
    assert_eq!(ghost_theta(-1e-6, 1.0), (GHOST_DISTANCE_FLOOR, true));
    assert!(ghost_theta(f32::NAN, 1.0).0.is_nan());
}

/// Where next to nothing is between a cell's centre and the surface, pressure throws it at the speed of Bernoulli.
#[test]
fn short_columns_are_thrown_at_the_speed_of_bernoulli() {
    let (dx, dt) = (0.03f32, 0.02f32);
    for pressure_over_density in [0.7f32, 4.0] {
        let bernoulli = (2.0 * pressure_over_density).sqrt();
        for d in [1e-2f32, 1e-3, 1e-4] {
            let gained = pressure_over_density * dt / (d * dx);
            let longer = -thrown_distance(-d * dx, dx, gained, 0.0, dt / dx).unwrap() / dx;
            let missing = 1.0 - gained * d / longer / bernoulli;
            assert!((0.0..3.0 * d).contains(&missing.abs()), "{missing} is missing with a column of {d}");
        }
    }
    assert_eq!(thrown_distance(-1e-3 * dx, dx, 0.5, 0.2, dt / dx), None);
    assert_eq!(thrown_distance(-0.5 * dx, dx, 0.1, 0.0, dt / dx), None);
}
