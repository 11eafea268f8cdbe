//! The three forms of the free surface: order on a ball whose surface crosses four levels, and rest under gravity.

mod common;

use common::*;
use fluvial_foundation::DVec3;
use fluvial_tree::gradient::FreeSurface;

/// [octree, systems "Must show" 1] at finest 64; `examples/order.rs` goes to 256.
#[test]
fn pressure_errors_are_at_or_below_the_authors_on_every_level() {
    let authors = [5.6e-5, 5.2e-4, 7.6e-3, 2.6e-2];
    for form in [FreeSurface::Symmetric, FreeSurface::SecondOrder] {
        let (errors, _) = ball_errors(64, 1, form, &[-4, -3, -2, -1, 0, 1, 2, 3, 4]);
        for level in 0..4 {
            assert!(errors[level] <= authors[level], "{form:?} level {level}: {errors:?}");
            assert!(errors[level] > 0.0, "the liquid has cells of level {level}");
        }
    }
}

/// [octree Fig. 16] Still liquid under a gravity normal to its plane surface, through T-junctions: at rest to rounding in
/// the second-order form; in the symmetric one only where no junction is degenerate; never in the naive one.
#[test]
fn still_liquid_stays_still_in_the_second_order_form() {
    let tilted = DVec3::new(-0.35, 1.0, 0.25).normalize();
    let mut degenerate = 0;
    for seed in 0..12 {
        let tree = random_tree(4, [4, 4, 4], 0, seed);
        for normal in [tilted, DVec3::Y] {
            let [second, symmetric, naive] =
                [FreeSurface::SecondOrder, FreeSurface::Symmetric, FreeSurface::Naive]
                    .map(|form| speed_at_rest(&tree, normal, form));
            assert_eq!(second.2.theta_floors, 0, "no cell centre lies on the plane");
            assert!(second.0 < 1e-6, "{second:?}");
            let clamped = symmetric.2.degenerate_junctions + symmetric.2.theta_floors;
            if clamped == 0 {
                assert!(symmetric.0 < 1e-6, "{symmetric:?}");
            }
            assert!(symmetric.0 <= 1.0, "{symmetric:?}");
            if naive.2.surface_junctions > 20 {
                assert!(naive.0 > 0.1 && naive.1 > symmetric.1, "{naive:?}");
            }
            degenerate += clamped;
        }
    }
    assert!(degenerate > 20, "{degenerate}");
}
