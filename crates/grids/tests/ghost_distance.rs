use fluvial_grids::{GHOST_DISTANCE_FLOOR, ghost_theta};

#[test]
fn the_ghost_distance_is_where_phi_vanishes_but_never_below_its_floor() {
    assert_eq!(ghost_theta(-0.25, 0.75), (0.25, false));
    assert_eq!(ghost_theta(-1.0, 0.0), (1.0, false));
    assert_eq!(ghost_theta(-1e-6, 1.0), (GHOST_DISTANCE_FLOOR, true));
    assert!(ghost_theta(f32::NAN, 1.0).0.is_nan());
}
