//! Enright's deformation: the sheet stays whole with preservation and tears without; everything comes back.

use crate::enright::{END_S, Enright, Options, ball_m3};
use fluvial_sheets::Kind;

/// At 40 cells the sheet is thinner than a particle: the ball must be torn without help.
/// `examples/enright.rs` has 100.
#[test]
fn the_sheet_stays_whole_and_everything_comes_back() {
    let (n, steps) = (40, 200);
    let half_way = |enright: &mut Enright, options| {
        for _ in 0..steps / 2 {
            enright.step(END_S / steps as f32, options);
        }
        let mesh = enright.mesh(2);
        assert!(mesh.defects().is_clean());
        mesh
    };
    let mut enright = Enright::new(n);
    let mass = enright.population.particles.total_mass();
    let helped = Options { preserve: true, correct: true };
    let with = Enright::topology(&half_way(&mut enright, helped));
    let volume = half_way(&mut enright, helped).volume() / ball_m3();
    assert_eq!(enright.population.particles.total_mass(), mass, "mass is a whole number");
    println!("{with:?} volume {volume}, most inserted {}", enright.most_inserted);
    assert_eq!((with.pieces, with.bubbles, with.handles), (1, 0, 0), "{with:?}");
    assert!((volume - 1.0).abs() < 0.03, "volume {volume}");
    let left = enright.population.count(Kind::Inserted);
    assert!(enright.most_inserted > 500, "{}", enright.most_inserted);
    assert!(left * 20 <= enright.most_inserted, "{left} of {} are left", enright.most_inserted);
    let without =
        Enright::topology(&half_way(&mut Enright::new(n), Options { preserve: false, correct: false }));
    println!("{without:?}");
    assert!(without.pieces > 1, "{without:?}");
}
