//! A step that is given up leaves nothing behind, with all that a step may do switched on.

use fluvial_conformance::dam_break;
use fluvial_foundation::Vec3;
use fluvial_sheets::{Params, SheetsSolver};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, Source, StateWriter, StepError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn setup() -> Setup {
    let mut setup = dam_break(14, 1.0);
    let ball = |x: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, 0.6, 0.5), radius };
    let moves = Motion::Constant { linear: Vec3::new(0.5, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids.push(Solid { name: "ball".into(), shape: ball(0.6, 0.2), motion: moves });
    setup.sources.push(Source { shape: ball(0.15, 0.12), velocity: -Vec3::Y, active_s: [0.0, 9.0] });
    setup
}

fn saved(solver: &SheetsSolver) -> Vec<u8> {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn a_step_given_up_anywhere_changes_no_bit_of_what_follows() {
    let build = || SheetsSolver::new(setup(), Params::default()).unwrap();
    let (mut undisturbed, mut disturbed) = (build(), build());
    let (questions, yes_at) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
    let (asked, yes) = (questions.clone(), yes_at.clone());
    disturbed
        .stop_when(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) == yes.load(Ordering::Relaxed)));
    let mut given_up = 0;
    for step in 0..4 {
        undisturbed.step(0.01).unwrap();
        let before = saved(&disturbed);
        for place in 0.. {
            questions.store(0, Ordering::Relaxed);
            yes_at.store(place, Ordering::Relaxed);
            match disturbed.step(0.01) {
                Ok(_) => break,
                Err(StepError::Stopped) => given_up += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(saved(&disturbed) == before, "step {step}, question {place}");
        }
        assert!(saved(&disturbed) == saved(&undisturbed), "step {step}");
    }
    assert!(given_up >= 4 * 5, "{given_up}");
}
