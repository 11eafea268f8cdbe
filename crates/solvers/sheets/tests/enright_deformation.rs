//! Enright's deformation: the sheet stays whole with preservation and tears without; everything comes back.

use crate::enright::{END_S, Enright, Options, ball_m3};
use fluvial_sheets::Kind;

/// At 40 cells the sheet is thinner than a particle: the ball must be torn without help.
/// `examples/enright.rs` has 100.
#[test]
fn the_sheet_stays_whole_and_everything_comes_back() {
    let (n, steps) = (40, 200);
    let run = |options: Options| {
        let mut enright = Enright::new(n);
        let mass = enright.population.particles.total_mass();
        for _ in 0..steps / 2 {
            enright.step(END_S / steps as f32, options);
        }
        let widest = enright.mesh(2);
        assert!(widest.defects().is_clean());
        for _ in steps / 2..steps {
            enright.step(END_S / steps as f32, options);
        }
        assert_eq!(enright.population.particles.total_mass(), mass, "mass is a whole number");
        let back = enright.mesh(2);
        (Enright::topology(&widest), back.volume() / ball_m3(), enright)
    };
    let (with, volume, enright) = run(Options { preserve: true, correct: true });
    println!("{with:?} volume {volume}, most inserted {}", enright.most_inserted);
    assert_eq!((with.pieces, with.bubbles, with.handles), (1, 0, 0), "{with:?}");
    assert!((volume - 1.0).abs() < 0.03, "volume {volume}");
    let left = enright.population.count(Kind::Inserted);
    assert!(enright.most_inserted > 500, "{}", enright.most_inserted);
    assert!(left * 20 <= enright.most_inserted, "{left} of {} are left", enright.most_inserted);
    let (without, ..) = run(Options { preserve: false, correct: false });
    println!("{without:?}");
    assert!(without.pieces > 1, "{without:?}");
}
